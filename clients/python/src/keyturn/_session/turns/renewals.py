"""Keeps turns alive that live by their lease.

Each is renewed when a third of it has passed, many with one Renew, and one that could not be renewed is given up before
its lease may have ended. The end of a lease is reckoned from the moment the last good renewal was *sent*, by the local
monotonic clock: so a turn is given up rather too early than too late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Final

from keyturn._connection.alarm import Alarm
from keyturn._connection.call import Call
from keyturn._session.turns.held import Held
from keyturn._session.turns.margin import margin_of
from keyturn._words.calls import Renew
from keyturn._words.limits import MOST_TURNS
from keyturn._words.worker_call import WorkerCall, ref_of
from keyturn.errors import TurnLoss
from keyturn.words import RenewResult

# Parts of a lease: when it is renewed, how long a renewal may take, and when one that failed is tried again.
_RENEW_AFTER: Final = 1 / 3
_TIMEOUT: Final = 1 / 3
_TRY_AGAIN_AFTER: Final = 1 / 10
# Turns whose renewal is due within this part of their lease are renewed together with those that are due now.
_TOGETHER: Final = 1 / 12


Ask = Callable[[WorkerCall[list[RenewResult]], float], Call[list[RenewResult]]]
"""Sends a Renew; the number is its time-out, seconds."""


class _Life:
    __slots__ = ("asking", "lease", "lose_at", "margin", "renew_at")

    def __init__(self, lease: float, margin: float) -> None:
        self.lease = lease
        self.margin = margin
        self.asking = False
        self.renew_at = 0.0
        self.lose_at = 0.0

    @property
    def next_at(self) -> float:
        return self.lose_at if self.asking else min(self.renew_at, self.lose_at)

    def is_due(self, now: float) -> bool:
        return not self.asking and self.renew_at - self.lease * _TOGETHER <= now

    def confirmed(self, sent_at: float) -> None:
        """It lived when what was sent at this moment was answered."""
        self.lose_at = sent_at + self.lease - self.margin
        self.renew_at = sent_at + self.lease * _RENEW_AFTER


class Renewals:
    """One timer for all of them."""

    def __init__(
        self,
        ask: Ask,
        loop: asyncio.AbstractEventLoop,
        margin: float | None,
        on_loss: Callable[[Held, TurnLoss], None],
    ) -> None:
        self._ask = ask
        self._loop = loop
        self._margin = margin
        self._on_loss = on_loss
        self._lives: dict[Held, _Life] = {}
        self._alarm = Alarm(loop, self._tick)

    def keep(self, held: Held, since: float) -> None:
        """`since`: when it was given, or confirmed, at the latest: what may have ended since is lost at once."""
        if held.lost or held in self._lives:
            return
        lease = held.turn.lease
        life = _Life(lease, margin_of(lease, self._margin))
        life.confirmed(since)
        if life.lose_at <= self._loop.time():
            self._on_loss(held, "unreachable")
            return
        self._lives[held] = life
        self._alarm.set(life.next_at)

    def is_over(self, held: Held) -> bool:
        """Its end by this clock is past: it was lost then.

        A process that stood still tells its holder only now. So it does not depend on what such a process reads first, its
        clock or what the sidecar says.
        """
        life = self._lives.get(held)
        return life is not None and life.lose_at <= self._loop.time()

    def drop(self, held: Held) -> None:
        self._lives.pop(held, None)
        if not self._lives:
            self._alarm.cancel()

    def close(self, cause: TurnLoss) -> None:
        """Nothing is renewed any more, and every turn is lost."""
        everyone = list(self._lives)
        self._lives.clear()
        self._alarm.cancel()
        for held in everyone:
            self._on_loss(held, cause)

    def _tick(self, _late: float) -> None:
        now = self._loop.time()
        due: list[Held] = []
        for held, life in list(self._lives.items()):
            if life.lose_at <= now:
                self.drop(held)
                self._on_loss(held, "unreachable")
            elif life.is_due(now):
                life.asking = True
                due.append(held)
        self._alarm.set(min((life.next_at for life in self._lives.values()), default=inf))
        for alike in _by_lease(due):
            for at in range(0, len(alike), MOST_TURNS):
                self._renew(alike[at : at + MOST_TURNS], now)

    def _renew(self, batch: Sequence[Held], now: float) -> None:
        # With their lease said: a sidecar that has just started and adopts them would else tie them to the session.
        turns = [ref_of(held.turn) for held in batch]
        timeout = max(0.001, min(self._patience(held, now) for held in batch))
        call = self._ask(Renew(turns, batch[0].turn.lease), timeout)
        call.add_done_callback(lambda done: self._answered(batch, now, done))

    def _patience(self, held: Held, now: float) -> float:
        life = self._lives.get(held)
        left = 0.0 if life is None else life.lose_at - now
        return min(held.turn.lease * _TIMEOUT, left)

    def _answered(self, batch: Sequence[Held], sent_at: float, call: asyncio.Future[list[RenewResult]]) -> None:
        # Whatever went wrong, a turn is ours until its lease ends, and then it is not.
        failed = call.cancelled() or call.exception() is not None
        results: Sequence[RenewResult | None] = [None] * len(batch) if failed else call.result()
        again = self._loop.time()
        for held, result in zip(batch, results, strict=False):
            life = self._lives.get(held)
            if life is None:
                continue
            life.asking = False
            if result is None:
                life.renew_at = again + life.lease * _TRY_AGAIN_AFTER
                self._alarm.set(life.next_at)
            elif result.alive:
                life.confirmed(sent_at)
                self._alarm.set(life.next_at)
            else:
                cause: TurnLoss = "unreachable" if self.is_over(held) else result.cause or "unknown"
                self.drop(held)
                self._on_loss(held, cause)


def _by_lease(turns: Iterable[Held]) -> Iterable[list[Held]]:
    """All of one Renew get the same."""
    alike: dict[float, list[Held]] = {}
    for held in turns:
        alike.setdefault(held.turn.lease, []).append(held)
    return alike.values()
