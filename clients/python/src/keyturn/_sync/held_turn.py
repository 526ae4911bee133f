"""A turn of a raw call, for threads."""

from __future__ import annotations

import threading

from keyturn import aio
from keyturn._sync.loop_thread import LoopThread
from keyturn._sync.stopping import Stoppable
from keyturn.errors import TurnLostError
from keyturn.words import (
    Turn,
)


class HeldTurn(Stoppable):
    """A turn of a raw call that is kept alive until `release`."""

    stopping: threading.Event
    """Set, in time, when the work must stop: wait on it instead of sleeping."""
    # Said here too, so that the documentation has them where they are looked for.
    lost = Stoppable.lost
    check = Stoppable.check
    on_stop = Stoppable.on_stop

    def __init__(self, owner: object, thread: LoopThread, client: aio.Client, turn: Turn, asked_at: float) -> None:
        super().__init__()
        self.turn = turn
        self._thread = thread

        async def hold() -> aio.HeldTurn:
            held = client.hold(turn, asked_at)
            held.on_lost(self._stop)
            return held

        self._held = thread.call(hold)
        # A client ends with the last reference to it: not while this one is used.
        self._owner = owner

    @property
    def loss(self) -> TurnLostError | None:
        """Why it is lost."""
        return self._reason if isinstance(self._reason, TurnLostError) else None

    def release(self) -> None:
        """Do not keep it alive any more: it was settled, or is about to be."""
        if not self._thread.is_stopped:
            self._thread.soon(self._held.release)
