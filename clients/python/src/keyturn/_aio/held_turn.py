"""A turn of a raw call."""

from __future__ import annotations

from collections.abc import Callable

from keyturn._session.turns.held import Held
from keyturn._words.log import log
from keyturn.errors import TurnLostError
from keyturn.words import (
    Turn,
)


class HeldTurn:
    """A turn of a raw call that is kept alive until `release`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    @property
    def turn(self) -> Turn:
        """The turn."""
        return self._held.turn

    @property
    def lost(self) -> bool:
        """The turn is, or must be taken for, somebody else's."""
        return self._held.lost

    def check(self) -> None:
        """Raise TurnLostError if it is lost."""
        if self._held.loss is not None:
            raise self._held.loss

    def on_lost(self, callback: Callable[[TurnLostError], object]) -> None:
        """Call back once when it is lost, in time; at once if it is. Of several the last one counts."""

        def told(error: TurnLostError) -> None:
            try:
                callback(error)
            except BaseException:  # Those who hold other turns must be told too.
                log.exception("a callback of on_lost raised")

        self._held.watch(told)

    def release(self) -> None:
        """Do not keep it alive any more: it was settled, or is about to be."""
        self._held.release()
