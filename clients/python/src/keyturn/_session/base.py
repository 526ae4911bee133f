"""What everything that is built on the calls needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

from keyturn._connection.failure import TlsError
from keyturn._connection.waits import Background, comes
from keyturn._session.transport import Transport
from keyturn._words.ids import Ids
from keyturn._words.log import log
from keyturn._words.tracing import Tracer
from keyturn.errors import KeyturnError

# How long those who wait in a line may take to leave it when their client is closed, seconds.
LEAVING: Final = 1.0

Failure = Literal["away", "full", "lost", "cancelled", "refused"]
"""`away`: nothing was heard from a sidecar that takes work, the call may have been carried out or not; `full`: refused
for now, nothing was done; `lost`: the turn is not ours; `refused`: it will be refused again."""


class Base:
    """The transport of a client, its ids, and who traces it."""

    def __init__(self, transport: Transport, tracer: Tracer | None) -> None:
        self.transport = transport
        self.tracer = tracer
        """None: nobody traces."""
        self.loop: asyncio.AbstractEventLoop = transport.loop
        self.ids = Ids()
        self._background = Background(self.loop)
        self._waiting: set[Callable[[], None]] = set()
        self._nobody_waits = asyncio.Event()
        self._blocks: dict[object, object] = {}
        self._blocks_ended: asyncio.Future[None] | None = None
        self._closer: object = None
        self.is_closing = False
        """Whoever begins to wait now would not be told to leave his line."""

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """What is to be done although nobody waits for it any more. Bounded in time; raises nothing."""
        self._background.start(work)

    async def settled(self, timeout: float | None = None) -> None:
        """Wait until all of it is done, for so many seconds."""
        await self._background.ended(timeout)

    @contextmanager
    def waiting(self, call_off: Callable[[], None]) -> Iterator[None]:
        """Somebody stands in a line with a ticket meanwhile; `call_off` makes him leave it."""
        self._waiting.add(call_off)
        try:
            yield
        finally:
            self._waiting.discard(call_off)
            if not self._waiting:
                self._nobody_waits.set()

    def entered(self, block: object, owner: object) -> None:
        """Somebody works under a turn, until `left`. `owner`: the task or thread that does."""
        self._blocks[block] = owner

    def left(self, block: object) -> None:
        self._blocks.pop(block, None)
        if self._blocks_ended is not None and not self._blocks_ended.done() and not self._others(self._closer):
            self._blocks_ended.set_result(None)

    async def blocks_ended(self, closer: object) -> None:
        """Blocks that were told that their client closes end, most of them at once; who closes does not wait for itself."""
        if not self._others(closer):
            return
        self._closer = closer
        self._blocks_ended = self.loop.create_future()
        await asyncio.wait((self._blocks_ended,), timeout=LEAVING)

    def _others(self, closer: object) -> bool:
        return any(owner != closer for owner in self._blocks.values())

    async def call_off(self) -> None:
        """Whoever waits leaves his line, while the sidecar can still be told: nobody will call again with his ticket."""
        self.is_closing = True
        if not self._waiting:
            return
        self._nobody_waits.clear()
        for call_off in list(self._waiting):
            call_off()
        if not await comes(self._nobody_waits, LEAVING):
            log.debug("%d places are left to their ticket_ttl", len(self._waiting))

    def now(self) -> float:
        return self.loop.time()


def failure_of(error: BaseException) -> Failure:
    if not isinstance(error, KeyturnError):
        return "refused"
    if isinstance(error, TlsError) and error.is_certain:
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
