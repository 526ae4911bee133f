"""The turns that the application was given on a session, by queue and token: as many as the sidecar has live turns of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf
from typing import Any, Final

from keyturn._session.turns.held import Held
from keyturn.errors import TurnLoss
from keyturn.words import Turn, TurnRef

# How many lost turns are remembered: the newest.
_MOST_LOST: Final = 10_000


class GivenTurn(Held):
    """A turn that the application was given on this session and has not settled."""

    __slots__ = ("answers", "end_at", "in_use", "safe_until", "ticket", "tied", "was_in_use")

    def __init__(self, turn: Turn, tied: bool, ticket: str, on_release: Callable[[Held], None]) -> None:
        super().__init__(turn, on_release)
        self.tied = tied
        """It lives as long as its session does."""
        self.ticket = ticket
        self.answers = 1
        """How many answers brought it: with one ticket the same turn is told again."""
        self.safe_until = inf
        """Until when it lives for certain; inf: as long as the session. A new stream that does not list it sets this."""
        self.in_use = False
        """Somebody holds it, and will release it."""
        self.was_in_use = False
        """Somebody held it when it was lost as unreachable: an attempt that ended by silence."""
        self.end_at = 0.0
        """It was lost as unreachable: its holder has ended by this moment."""


class GivenTurns:
    """A turn can be found by its ticket too: of equal tickets, which only other keys can have, the newest."""

    def __init__(self) -> None:
        self._by_token: dict[tuple[str, int], GivenTurn] = {}
        self._by_ticket: dict[str, GivenTurn] = {}
        self._lost: dict[tuple[str, int], TurnLoss] = {}
        self._given_up: dict[tuple[str, int], GivenTurn] = {}
        self.tied = 0
        """How many are tied."""

    def add(self, given: GivenTurn) -> None:
        self._by_token[(given.turn.queue, given.turn.token)] = given
        if given.tied:
            self.tied += 1
        if given.ticket:
            self._by_ticket[given.ticket] = given

    def find(self, queue: str, token: int) -> GivenTurn | None:
        return self._by_token.get((queue, token))

    def find_by_ticket(self, queue: str, key: str, ticket: str) -> GivenTurn | None:
        given = self._by_ticket.get(ticket)
        if given is None or given.turn.queue != queue or given.turn.key != key:
            return None
        return given

    def take_loss(self, turn: Turn) -> TurnLoss | None:
        """Why it was lost before anybody held it; told once."""
        return self._lost.pop((turn.queue, turn.token), None)

    def remove(self, given: GivenTurn) -> None:
        if self._by_token.pop((given.turn.queue, given.turn.token), None) is None:
            return
        if given.tied:
            self.tied -= 1
        if given.ticket and self._by_ticket.get(given.ticket) is given:
            del self._by_ticket[given.ticket]

    def lose(self, given: GivenTurn, cause: TurnLoss) -> None:
        self.remove(given)
        _shorten(self._lost)
        self._lost[(given.turn.queue, given.turn.token)] = cause
        if given.tied and cause == "unreachable":
            self.give_up(given)
        given.lose(cause)

    def give_up(self, given: GivenTurn) -> None:
        """Its holder was told to stop, and the sidecar may keep it all the same."""
        _shorten(self._given_up)
        self._given_up[(given.turn.queue, given.turn.token)] = given

    def given_up(self, turn: TurnRef) -> GivenTurn | None:
        """The turn, if its holder was told that the sidecar cannot be reached."""
        return self._given_up.get((turn.queue, turn.token))

    def forget_given_up(self, told: Collection[tuple[str, int]]) -> None:
        """Of those that the sidecar did not list: it does not keep them."""
        for turn in [turn for turn in self._given_up if turn not in told]:
            del self._given_up[turn]

    def all(self) -> list[GivenTurn]:
        return list(self._by_token.values())


def _shorten(remembered: dict[tuple[str, int], Any]) -> None:
    while len(remembered) >= _MOST_LOST:
        del remembered[next(iter(remembered))]
