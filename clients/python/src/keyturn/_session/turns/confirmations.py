"""How old a turn is that lives by its lease.

It was given some time between the call and its answer, and only the local clock is trusted: after a wait, or when a
ticket was told its turn once more, its lease may be nearly over. So before the answer of such a call is handed on the
turn is renewed, and counts as young as that renewal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from keyturn._connection.call import Call, client_closed
from keyturn._session.turns.renewals import Ask
from keyturn._words.calls import Renew
from keyturn._words.worker_call import ref_of
from keyturn.words import AckAnswer, RenewResult, Turn

A = TypeVar("A")

# Part of a lease within which an answer is as good as fresh. It is when a turn is renewed anyhow.
_FRESH: Final = 1 / 3
# Of so many the moment is remembered: it is asked for right after the answer.
_MOST: Final = 10_000


class Confirmations:
    """Remembers when turns were confirmed, the newest ones."""

    def __init__(self, ask: Ask, loop: asyncio.AbstractEventLoop) -> None:
        self._ask = ask
        self._loop = loop
        self._confirmed_at: dict[tuple[str, int], float] = {}
        # Answers that wait until their turns are confirmed.
        self._pending: dict[Call[Any], Any] = {}
        self._is_closed = False

    def of(self, turns: Sequence[Turn], asked_at: float, call: Call[A], answer: A) -> None:
        """Hand the answer on once its turns are known to live, or known to be lost."""
        if self._is_closed and turns:
            _refuse(call, answer)
            return
        age = self._loop.time() - asked_at
        old = [turn for turn in turns if age > turn.lease * _FRESH]
        if not old:
            call.resolve(answer)
            return
        sent_at = self._loop.time()
        shortest = min(turn.lease for turn in old)
        # Where one was asked for all have it, and it is said again: a sidecar that started anew would tie turns to the
        # session that it adopts without one. Where each has its queue's nothing is tied.
        lease = shortest if all(turn.lease == shortest for turn in old) else None
        refs = [ref_of(turn) for turn in old]
        self._pending[call] = answer

        def confirmed(renewed: asyncio.Future[list[RenewResult]]) -> None:
            # Without an answer the turns are as old as they may be: whoever holds one is told that it is lost.
            if not renewed.cancelled() and renewed.exception() is None:
                for turn, result in zip(old, renewed.result(), strict=False):
                    if result.alive:
                        self._remember(turn, sent_at)
            if self._pending.pop(call, None) is not None:
                call.resolve(answer)

        self._ask(Renew(refs, lease), max(0.001, shortest)).add_done_callback(confirmed)

    def close(self) -> None:
        """Nobody waits for what is being confirmed any more: it goes back, and so does what comes from now on."""
        self._is_closed = True
        pending, self._pending = self._pending, {}
        for call, answer in pending.items():
            _refuse(call, answer)

    def since(self, turn: Turn, asked_at: float) -> float:
        """The later of the two moments from which its life may be counted."""
        return max(asked_at, self._confirmed_at.pop((turn.queue, turn.token), asked_at))

    def _remember(self, turn: Turn, at: float) -> None:
        while len(self._confirmed_at) >= _MOST:
            del self._confirmed_at[next(iter(self._confirmed_at))]
        self._confirmed_at[(turn.queue, turn.token)] = at


def _refuse(call: Call[Any], answer: object) -> None:
    call.unread()
    if isinstance(answer, AckAnswer):
        # It was accepted, whatever becomes of the turns that it took along.
        call.resolve(answer._replace(next=[]))
    else:
        call.reject(client_closed())
