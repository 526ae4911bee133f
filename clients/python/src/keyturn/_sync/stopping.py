"""How work in a thread learns that it must stop: nobody can interrupt it, so it looks."""

from __future__ import annotations

import threading
from collections.abc import Callable

from keyturn._consume.holding import Holding
from keyturn._words.log import log
from keyturn.errors import TurnLostError


class Stoppable:
    """Part of `ScopedTurn` and `Work`."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        """Set, in time, when the work must stop: wait on it instead of sleeping."""
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[BaseException], object]] = []
        self._reason: BaseException | None = None
        self._holding: Holding | None = None

    @property
    def lost(self) -> bool:
        """The turn is, or must be taken for, somebody else's."""
        return self.loss is not None

    @property
    def loss(self) -> TurnLostError | None:
        """Why it is lost."""
        return None if self._holding is None else self._holding.loss

    def check(self) -> None:
        """Raise TurnLostError, HoldTimeoutError or ConsumerStoppedError if the work must stop."""
        reason = self.loss or self._reason
        if reason is not None:
            raise reason

    def on_stop(self, callback: Callable[[BaseException], object]) -> None:
        """Call back once, with the reason, when the work must stop; at once if it must.

        It runs in the thread of the client: be short, and do not wait for the client there.
        """
        with self._lock:
            if self._reason is None:
                self._callbacks.append(callback)
                return
        callback(self._reason)

    def _stop(self, reason: BaseException) -> None:
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks, self._callbacks = self._callbacks, []
        self.stopping.set()
        for callback in callbacks:
            try:
                callback(reason)
            except BaseException:  # SystemExit would end the thread of the client, not the program.
                log.exception("a callback of on_stop raised")
