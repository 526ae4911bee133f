"""Turns that go back to the sidecar, but not at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from math import inf
from typing import Final

from keyturn._session.given_turns import GivenTurn
from keyturn.words import TurnRef

# How long a turn waits for a call with the ticket whose earlier call was given up, seconds: as the sidecar keeps a place.
_UNCLAIMED: Final = 10.0
_MOST_UNCLAIMED: Final = 10_000


class Unclaimed:
    """Nobody learnt of them; a call with the ticket of an earlier one may still come for them."""

    def __init__(self) -> None:
        self._until: deque[tuple[float, TurnRef]] = deque()

    def add(self, turn: TurnRef, now: float) -> bool:
        """False: there are too many."""
        if len(self._until) >= _MOST_UNCLAIMED:
            return False
        self._until.append((now + _UNCLAIMED, turn))
        return True

    @property
    def next_at(self) -> float:
        return self._until[0][0] if self._until else inf

    def due(self, now: float) -> Iterator[TurnRef]:
        """Those that waited long enough: they are not here any more."""
        while self._until and now >= self._until[0][0]:
            yield self._until.popleft()[1]

    def clear(self) -> None:
        self._until.clear()


class Stopping:
    """They were given up, the session has them all the same, and their holders have not come to their end.

    A holder was told a margin before the end of its turn: nobody else shall begin before it has ended, or has had that time.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, give_back: Callable[[GivenTurn], None]) -> None:
        self._loop = loop
        self._give_back = give_back
        self._turns: set[GivenTurn] = set()

    def add(self, given: GivenTurn) -> None:
        if given.in_use and self._loop.time() < given.end_at:
            self._turns.add(given)
        else:
            self._give_back(given)

    @property
    def next_at(self) -> float:
        return min((given.end_at for given in self._turns), default=inf)

    def tick(self, now: float) -> None:
        for given in list(self._turns):
            if now >= given.end_at:
                self.ended(given)

    def ended(self, given: GivenTurn) -> None:
        """Its holder has come to its end, or has had the time to."""
        if given in self._turns:
            self._turns.remove(given)
            self._give_back(given)

    def clear(self) -> None:
        self._turns.clear()
