"""One candidacy: what it was told, what it says, what the clock says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any, Final, Generic, Protocol, TypeVar

from keyturn._connection.backoff import BackOff
from keyturn._connection.waits import Background
from keyturn._gen import leader_pb2 as pb
from keyturn._lead import words
from keyturn._lead.link import LeadLink
from keyturn._lead.options import LeadSettings, state_of
from keyturn._lead.term import TermCore
from keyturn._words.answers import seconds
from keyturn._words.log import log
from keyturn._words.requests import duration
from keyturn._words.status import command_error
from keyturn.errors import KeyturnError, TermLoss
from keyturn.words import HandOverReason, Predecessor

# A hand-over that is not confirmed is said again after so long, seconds.
_SAY_AGAIN: Final = 1.0
# How long a worker that was told that its time is over is waited for, seconds.
_AFTER_LOSS: Final = 0.8
_WORTH_ANOTHER_TRY: Final = ("UNAVAILABLE", "RESOURCE_EXHAUSTED")

T = TypeVar("T")


class CareerRunner(Protocol[T]):
    """Runs what a worker does in each phase: as tasks, or in threads."""

    def begin(self, core: TermCore) -> T:
        """The term as the worker gets it."""

    async def inaugurate(self, term: T, core: TermCore) -> None: ...

    async def execute(self, term: T, core: TermCore) -> None: ...

    async def hand_over(self, term: T, core: TermCore, reason: HandOverReason) -> object: ...


class LeadershipCore(Generic[T]):
    """A worker that stands, and leads when its turn comes, until it is stopped."""

    def __init__(
        self,
        link: LeadLink,
        settings: LeadSettings,
        runner: CareerRunner[T],
        loop: asyncio.AbstractEventLoop,
        forget: Callable[[LeadershipCore[T]], None],
    ) -> None:
        self.settings = settings
        self.failure: KeyturnError | None = None
        """Why the sidecar refused it."""
        self.ended = asyncio.Event()
        """Set when it stands no more."""
        self.position: int | None = None
        self._link = link
        self._runner = runner
        self._loop = loop
        self._forget = forget
        self._back_off = BackOff()
        self._phases = Background(loop)
        self._core: TermCore | None = None
        self._term: T | None = None
        self._farewell: tuple[int, bytes, bool] | None = None
        self._farewell_until = 0.0
        self._again: asyncio.TimerHandle | None = None
        self._stop_timer: asyncio.TimerHandle | None = None
        self._deadline = inf
        self._is_stopping = False
        # Zero: it does not stand at the sidecar.
        self._number = 0
        self._stand()

    @property
    def term(self) -> int | None:
        """While this worker has one that is known to live."""
        return self._core.number if self._core is not None and self._core.is_known_to_live else None

    def yield_(self, failed: bool = False) -> None:
        """Its own wish needs nobody's word: it hands over also while the sidecar is away."""
        core = self._core
        if core is None:
            return
        self._say(words.yielded(core.number, failed))
        self._hand_over(core.number, "yield", self.settings.hand_over_timeout)

    def stop(self, timeout: float) -> None:
        """Hand over and stand no more; there is so long for it. The shorter of two times counts."""
        deadline = self._loop.time() + timeout
        if self.ended.is_set() or deadline >= self._deadline:
            return
        self._deadline = deadline
        if self._stop_timer is not None:
            self._stop_timer.cancel()
        # A loop takes no timer of many years.
        self._stop_timer = self._loop.call_later(min(timeout, 1e6), self._cut_off)
        if self._is_stopping:
            return
        self._is_stopping = True
        if self._core is None and self._farewell is None:
            self._leave()
            return
        self._say(words.withdrawn())
        if self._core is not None:
            self._hand_over(self._core.number, "yield", self.settings.hand_over_timeout)

    async def finish(self) -> None:
        """Wait until it stands no more."""
        await self.ended.wait()

    def opened(self) -> None:
        settings = self.settings
        farewell = self._farewell
        term = self._core.number if self._core is not None else 0 if farewell is None else farewell[0]
        stand = pb.Stand(
            group=settings.group,
            candidate_id=settings.candidate_id,
            ttl=duration(settings.ttl),
            inaugurate_timeout=duration(settings.inaugurate_timeout),
            hand_over_timeout=duration(settings.hand_over_timeout),
            metadata=settings.metadata,
            term=term,
        )
        self._say(pb.LeadCommand(stand=stand))
        if farewell is not None:
            self._say(words.handed_over(*farewell))
        elif self._core is not None:
            self._core.live()
        if self._is_stopping:
            self._say(words.withdrawn())

    def broke(self, error: KeyturnError) -> None:
        self.position = None
        if self._core is not None:
            self._core.broke()
        log.info("the stream of leaders broke, group %s: %s", self.settings.group, error)

    def told(self, news: pb.LeadNews) -> None:
        if self.ended.is_set():
            return
        self.position = None
        kind = news.WhichOneof("news")
        if kind == "standing":
            self.position = news.standing.position
        elif kind == "inaugurate":
            self._is_chosen(news.inaugurate.term, words.predecessor_of(news.inaugurate.predecessor))
        elif kind == "kept":
            self._kept(news.kept.term, seconds(news.kept.ttl))
        elif kind == "execute":
            self._execute(news.execute.term)
        elif kind == "hand_over":
            asked = news.hand_over
            self._hand_over(asked.term, words.reason_of(asked.reason), seconds(asked.within))
        elif kind == "lost":
            self._is_lost(news.lost.term, words.loss_of(news.lost.cause))
        elif kind == "released":
            self._released(news.released.term)
        elif kind == "refused":
            self._refused(command_error(news.refused))

    def _stand(self) -> None:
        self._number = self._link.number()
        self._link.stand(self._number, self)

    def _say(self, command: pb.LeadCommand) -> bool:
        return self._number != 0 and self._link.say(self._number, command)

    def _is_chosen(self, number: int, predecessor: Predecessor) -> None:
        core = self._core
        if core is not None:
            # The sidecar was away when it was told, or knows it no more.
            if core.number == number and core.phase in ("inaugurated", "executing"):
                self._say(words.inaugurated(number))
            return
        if self._farewell is not None and self._farewell[0] == number:
            return
        core = TermCore(
            number, predecessor, self.settings, self._loop, lambda term: self._say(words.alive(term.number)), self._loses
        )
        self._core = core
        core.live()

    def _kept(self, number: int, ttl: float) -> None:
        core = self._core
        if core is None or core.number != number:
            return
        core.kept(ttl)
        # Only now it is known since when the term lives at least: `inaugurate` may have been under way for long.
        if core.phase == "unconfirmed" and core.is_known_to_live:
            core.phase = "inaugurating"
            self._term = self._runner.begin(core)
            self._phase(self._inaugurates(core, self._term))

    def _phase(self, work: Coroutine[Any, Any, None]) -> None:
        self._phases.start(work)

    async def _inaugurates(self, core: TermCore, term: T) -> None:
        failed = await self._failed(core, "inauguration", self._runner.inaugurate(term, core))
        if core.loss is not None:
            self._finish(core, b"", True)
        elif failed:
            self._finish(core, b"", False)
        elif core.asked is not None:
            self._leave_office(core)
        else:
            core.phase = "inaugurated"
            self._say(words.inaugurated(core.number))

    async def _failed(self, core: TermCore, phase: str, work: Coroutine[Any, Any, None]) -> bool:
        """Whether a phase ended with an error. What goes wrong is told to the log."""
        try:
            await work
        except BaseException as error:  # SystemExit of a career would end the loop, which is not what it was for.
            if error is core.loss or error is core.asked:
                return False
            if core.loss is None:
                log.warning("the %s of a leader failed, group %s", phase, self.settings.group, exc_info=error)
            return True
        return False

    def _execute(self, number: int) -> None:
        core = self._core
        if core is None or core.number != number or core.phase != "inaugurated" or self._term is None:
            return
        if not core.is_known_to_live:
            self._loses(core, "unreachable")
            return
        core.phase = "executing"
        self._phase(self._executes(core, self._term))

    async def _executes(self, core: TermCore, term: T) -> None:
        failed = await self._failed(core, "work", self._runner.execute(term, core))
        core.phase = "ended"
        if core.loss is not None:
            self._finish(core, b"", True)
        elif core.asked is not None:
            self._leave_office(core)
        elif self._core is core:
            self.yield_(failed)

    def _hand_over(self, number: int, reason: HandOverReason, within: float) -> None:
        core = self._core
        if core is None or core.number != number or core.asked is not None or core.loss is not None:
            return
        core.ask_to_hand_over(reason, within)
        if core.phase in ("ended", "inaugurated"):
            self._leave_office(core)
        elif core.phase == "unconfirmed":
            self._finish(core, b"", False)

    def _leave_office(self, core: TermCore) -> None:
        if self._term is None or core.asked is None:
            return
        core.phase = "handing_over"
        self._phase(self._hands_over(core, self._term, core.asked.asked))

    async def _hands_over(self, core: TermCore, term: T, reason: HandOverReason) -> None:
        left = [b""]

        async def work() -> None:
            left[0] = state_of(await self._runner.hand_over(term, core, reason))

        if await self._failed(core, "hand-over", work()):
            self._finish(core, b"", True)
        else:
            self._finish(core, left[0], core.loss is not None and not left[0])

    def _loses(self, core: TermCore, loss: TermLoss) -> None:
        """By the clock of this process, or as the sidecar says: the worker has to stop."""
        if core is not self._core or not core.lose(loss):
            return
        log.warning("%s", core.loss)
        # In the other phases the worker ends it when it has stopped.
        if core.is_idle:
            self._finish(core, b"", True)

    def _finish(self, core: TermCore, state: bytes, lost: bool) -> None:
        """The worker has stopped. That is said until it is confirmed."""
        if self._core is not core:
            return
        core.end()
        self._core = None
        self._term = None
        self._farewell = (core.number, state, lost)
        self._farewell_until = self._loop.time() + core.ttl
        self._is_stopping = self._is_stopping or self.settings.once
        self._say_farewell()
        if self._is_stopping and not self.ended.is_set():
            self._say(words.withdrawn())

    def _say_farewell(self) -> None:
        """Who ends does not wait for a sidecar that is away for longer: it is not known whether the term lives there still."""
        if self._farewell is None or self.ended.is_set():
            return
        if self._is_stopping and self._loop.time() >= self._farewell_until:
            self._released(self._farewell[0])
            return
        self._say(words.handed_over(*self._farewell))
        if self._number != 0:
            self._later(_SAY_AGAIN, self._say_farewell)

    def _later(self, delay: float, work: Callable[[], None]) -> None:
        if self._again is not None:
            self._again.cancel()
        self._again = self._loop.call_later(delay, work)

    def _is_lost(self, number: int, loss: TermLoss) -> None:
        if self._core is not None and self._core.number == number:
            self._loses(self._core, loss)
        elif self._farewell is not None and self._farewell[0] == number:
            # What had stopped before is confirmed by that, too.
            self._released(number)
        else:
            self._say(words.handed_over(number, b"", True))

    def _released(self, number: int) -> None:
        if self._farewell is None or self._farewell[0] != number:
            return
        self._farewell = None
        if self._again is not None:
            self._again.cancel()
        if self._is_stopping:
            self._leave()

    def _leave(self) -> None:
        self._say(words.withdrawn())
        self._over(None)

    def _refused(self, error: KeyturnError) -> None:
        self._link.remove(self._number)
        self._number = 0
        if error.code not in _WORTH_ANOTHER_TRY:
            if self._core is not None:
                self._core.lose("unknown")
            self._over(error)
            return
        if self._core is not None:
            self._core.broke()
        self._later(self._back_off.next(error.retry_after or 0.0), self._stand_again)

    def _stand_again(self) -> None:
        if self._is_stopping and self._core is None and self._farewell is None:
            self._over(None)
            return
        self._stand()
        self._say_farewell()

    def _cut_off(self) -> None:
        """The time is over. Who stops at once still says so."""
        if self._core is not None:
            self._loses(self._core, "closed")
        if not self.ended.is_set():
            self._stop_timer = self._loop.call_later(_AFTER_LOSS, self._over, None)

    def _over(self, error: KeyturnError | None) -> None:
        if self.ended.is_set():
            return
        self.failure = error
        self.ended.set()
        for timer in (self._again, self._stop_timer):
            if timer is not None:
                timer.cancel()
        if self._core is not None:
            self._core.lose("closed")
            self._core.end()
        if self._number != 0:
            self._link.remove(self._number)
            self._number = 0
        if error is not None:
            log.error("a candidacy of group %s is over: %s", self.settings.group, error)
        self._forget(self)
