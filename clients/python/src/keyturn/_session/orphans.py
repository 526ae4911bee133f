"""Turns that the session has and nobody here holds, because their answers were lost with a stream.

Each is given back once no open call with a ticket can be answered with it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from keyturn._session.command import CallCommand
from keyturn.words import TurnRef

# A queue and a key; no key: whoever asks for any key of the queue.
_Group = tuple[str, str | None]


class Orphans:
    """`give_back` is called for every turn that nobody claimed, once, for some before this returns."""

    def __init__(
        self,
        turns: Iterable[TurnRef],
        commands: Iterable[CallCommand[Any]],
        give_back: Callable[[TurnRef], None],
    ) -> None:
        self._give_back = give_back
        self._claimants: dict[_Group, int] = {}
        self._groups_of: dict[CallCommand[Any], list[_Group]] = {}
        self._waiting: dict[_Group, set[TurnRef]] = {}
        self._blockers: dict[TurnRef, int] = {}
        for command in commands:
            self._add_claimant(command)
        for turn in turns:
            self._add(turn)

    @property
    def is_empty(self) -> bool:
        return not self._blockers

    def add(self, turn: TurnRef, commands: Iterable[CallCommand[Any]]) -> None:
        """One more, of which a notice told. `commands` may be answered with it now."""
        for command in commands:
            if command not in self._groups_of:
                self._add_claimant(command)
        if turn not in self._blockers:
            self._add(turn)

    def claimed(self, turn: TurnRef) -> None:
        """An answer has brought it after all."""
        if self._blockers.pop(turn, None) is None:
            return
        for group in _groups(turn):
            self._waiting.get(group, set()).discard(turn)

    def give_back_all(self) -> None:
        """The client closes: no answer will bring one any more."""
        for turn in list(self._blockers):
            self.claimed(turn)
            self._give_back(turn)

    def done(self, command: CallCommand[Any]) -> None:
        """It is answered, or given up before it was sent: it claims nothing any more."""
        for group in self._groups_of.pop(command, ()):
            self._claimants[group] -= 1
            if self._claimants[group] > 0:
                continue
            del self._claimants[group]
            for turn in self._waiting.pop(group, ()):
                self._blockers[turn] -= 1
                if self._blockers[turn] == 0:
                    del self._blockers[turn]
                    self._give_back(turn)

    def _add_claimant(self, command: CallCommand[Any]) -> None:
        claim = command.claim()
        if claim is None:
            return
        groups: list[_Group] = [(queue, claim.key or None) for queue in dict.fromkeys(claim.queues)]
        self._groups_of[command] = groups
        for group in groups:
            self._claimants[group] = self._claimants.get(group, 0) + 1

    def _add(self, turn: TurnRef) -> None:
        groups = [group for group in _groups(turn) if group in self._claimants]
        if not groups:
            self._give_back(turn)
            return
        self._blockers[turn] = len(groups)
        for group in groups:
            self._waiting.setdefault(group, set()).add(turn)


def _groups(turn: TurnRef) -> tuple[_Group, ...]:
    """Those who ask for any key of the queue, and those who ask for this one."""
    return ((turn.queue, None), (turn.queue, turn.key)) if turn.key else ((turn.queue, None),)
