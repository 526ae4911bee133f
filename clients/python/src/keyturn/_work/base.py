"""What everything that is built on the calls needs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final, Literal

from keyturn._ids import Ids
from keyturn._transport import Transport
from keyturn.errors import KeyturnError

log = logging.getLogger("keyturn")

# How long a call that does not wait may take before it is given up, seconds.
GRACE: Final = 10.0

Failure = Literal["away", "full", "lost", "cancelled", "refused"]
"""`away`: nothing was heard from a sidecar that takes work, the call may have been carried out or not; `full`: refused
for now, nothing was done; `lost`: the turn is not ours; `refused`: it will be refused again."""


class Base:
    """The transport of a client, and its ids."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.loop: asyncio.AbstractEventLoop = transport.loop
        self.ids = Ids()
        self._background: set[asyncio.Task[None]] = set()

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """What is to be done although nobody waits for it any more. Bounded in time; raises nothing."""
        task = self.loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def settled(self) -> None:
        """Wait until all of it is done."""
        if self._background:
            await asyncio.wait(list(self._background))

    def now(self) -> float:
        return self.loop.time()


def failure_of(error: BaseException) -> Failure:
    if not isinstance(error, KeyturnError):
        return "refused"
    if error.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
        return "away"
    if error.code in ("INTERNAL", "UNKNOWN"):
        # Without a reason it comes from the transport, which has several words for a connection that broke.
        return "refused" if error.reason else "away"
    if error.code == "RESOURCE_EXHAUSTED":
        return "full"
    if error.reason == "TURN_LOST":
        return "lost"
    return "cancelled" if error.code == "CANCELLED" else "refused"


def retry_after_of(error: BaseException) -> float:
    """How long the sidecar asks us to wait, seconds; 0: it does not say."""
    return (error.retry_after or 0.0) if isinstance(error, KeyturnError) else 0.0
