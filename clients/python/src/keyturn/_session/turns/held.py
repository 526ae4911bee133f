"""One turn that somebody holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from keyturn.errors import TurnLoss, TurnLostError
from keyturn.words import Turn

_BECAUSE: Final[Mapping[TurnLoss, str]] = {
    "lease_expired": "its lease or max_hold ended",
    "evicted": "its holder was evicted",
    "taken_over": "a waiting caller took it over",
    "settled": "somebody else settled it",
    "unknown": "the sidecar knows nothing of it",
    "unreachable": "nothing was heard from the sidecar for so long that it may have ended",
    "replaced": "another client has the session",
    "closed": "the client was closed",
}


def turn_lost(queue: str, key: str, cause: TurnLoss) -> TurnLostError:
    return TurnLostError(f"the turn of key {key!r} of queue {queue} is lost: {_BECAUSE[cause]}", cause)


class Held:
    """Kept alive until `release`; its watcher is told once, in time, when it is lost."""

    __slots__ = ("_on_release", "_watcher", "loss", "turn")

    def __init__(self, turn: Turn, on_release: Callable[[Held], None]) -> None:
        self.turn = turn
        self.loss: TurnLostError | None = None
        self._on_release = on_release
        self._watcher: Callable[[TurnLostError], None] | None = None

    @property
    def lost(self) -> bool:
        return self.loss is not None

    def watch(self, watcher: Callable[[TurnLostError], None]) -> None:
        """Tell `watcher` of the loss; at once if it is lost already."""
        self._watcher = watcher
        if self.loss is not None:
            watcher(self.loss)

    def lose(self, cause: TurnLoss) -> None:
        """Only the first cause counts."""
        if self.loss is not None:
            return
        self.loss = turn_lost(self.turn.queue, self.turn.key, cause)
        if self._watcher is not None:
            self._watcher(self.loss)

    def release(self) -> None:
        """It is settled, or somebody else's business: it is not kept alive any more."""
        self._watcher = None
        self._on_release(self)
