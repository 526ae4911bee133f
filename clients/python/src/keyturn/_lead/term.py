"""One term: how long it is known to live."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Final, Literal

from keyturn._lead.options import LeadSettings
from keyturn._words.log import log
from keyturn.errors import HandOverAskedError, TermLoss, TermLostError
from keyturn.words import HandOverReason, Predecessor

Phase = Literal["unconfirmed", "inaugurating", "inaugurated", "executing", "ended", "handing_over"]
"""`unconfirmed`: nobody knows yet since when it lives; `ended`: the work has ended."""

# On a stream that answers nothing more signs of life help nobody.
_MOST_UNCONFIRMED: Final = 16


class TermCore:
    """By the clock of this process it lives until the last sign of life that was confirmed was sent, and its ttl."""

    def __init__(
        self,
        number: int,
        predecessor: Predecessor,
        settings: LeadSettings,
        loop: asyncio.AbstractEventLoop,
        say_alive: Callable[[TermCore], bool],
        loses: Callable[[TermCore, TermLoss], None],
    ) -> None:
        self.number = number
        self.predecessor = predecessor
        self.settings = settings
        self.phase: Phase = "unconfirmed"
        self.loss: TermLostError | None = None
        self.asked: HandOverAskedError | None = None
        self.hand_over_by = inf
        self.ttl = settings.ttl
        self.progressed = True
        self._loop = loop
        self._say_alive = say_alive
        self._loses = loses
        self._sent: deque[float] = deque()
        self._until = -inf
        self._is_over = False
        self._alive_timer: asyncio.TimerHandle | None = None
        self._loss_timer: asyncio.TimerHandle | None = None
        self._listeners: list[Callable[[BaseException], object]] = []

    def listen(self, told: Callable[[BaseException], object]) -> None:
        """Told of a hand-over that is asked for, and of the loss; at once if it was."""
        self._listeners.append(told)
        for reason in (self.asked, self.loss):
            if reason is not None:
                told(reason)

    def live(self) -> None:
        """Say that it lives, and go on doing so."""
        if self._is_over or self.loss is not None:
            return
        must_show = self.settings.progress == "manual" and self.phase == "executing"
        if (not must_show or self.progressed) and len(self._sent) < _MOST_UNCONFIRMED:
            self.progressed = False
            now = self._loop.time()
            if self._say_alive(self):
                self._sent.append(now)
        if self._alive_timer is not None:
            self._alive_timer.cancel()
        self._alive_timer = self._loop.call_later((self.ttl - self.settings.margin_of(self.ttl)) / 3, self.live)

    def kept(self, ttl: float) -> None:
        """The first that was sent is confirmed."""
        if not self._sent or self._is_over:
            return
        at = self._sent.popleft()
        if self.loss is not None:
            return
        self.ttl = ttl
        self._until = max(self._until, at + ttl - self.settings.margin_of(ttl))
        if self._loss_timer is not None:
            self._loss_timer.cancel()
        self._loss_timer = self._loop.call_at(self._until, self._loses, self, "unreachable")

    def broke(self) -> None:
        """What was sent is not confirmed any more."""
        self._sent.clear()

    @property
    def is_known_to_live(self) -> bool:
        """At this moment: timers of a process that stood still come late."""
        return not self._is_over and self.loss is None and self._loop.time() < self._until

    @property
    def is_idle(self) -> bool:
        """Nothing of the worker runs."""
        return self.phase in ("unconfirmed", "inaugurated", "ended")

    @property
    def time_left(self) -> float:
        """For the hand-over that was asked for."""
        return max(0.0, self.hand_over_by - self._loop.time())

    def ask_to_hand_over(self, reason: HandOverReason, within: float) -> None:
        self.asked = HandOverAskedError(self.settings.group, self.number, reason)
        self.hand_over_by = self._loop.time() + within
        self._tell(self.asked)

    def lose(self, loss: TermLoss) -> bool:
        """False: it was lost before."""
        if self._is_over or self.loss is not None:
            return False
        self.loss = TermLostError(self.settings.group, self.number, loss)
        self._stop_timers()
        self._tell(self.loss)
        return True

    def end(self) -> None:
        self._is_over = True
        self._stop_timers()
        self._listeners.clear()

    def _tell(self, reason: BaseException) -> None:
        for told in list(self._listeners):
            try:
                told(reason)
            except BaseException:  # Whoever listens must not keep the others from learning it.
                log.exception("who was told that a leader has to stop raised")

    def _stop_timers(self) -> None:
        for timer in (self._alive_timer, self._loss_timer):
            if timer is not None:
                timer.cancel()
