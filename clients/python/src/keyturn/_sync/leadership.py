"""A leader whose phases run in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from keyturn._lead.leadership import LeadershipCore
from keyturn._lead.led import Led
from keyturn._lead.options import DEFAULT_STOP
from keyturn._lead.term import TermCore
from keyturn._sync.consumer import for_a_future
from keyturn._sync.handler_threads import HandlerThreads
from keyturn._sync.loop_thread import LoopThread
from keyturn._words.checks import number_within, timeout_of
from keyturn._words.limits import DAY
from keyturn._words.log import log
from keyturn.errors import TermLostError
from keyturn.words import HandOverReason


class Term(Led):
    """One term of a leader."""

    # Said here too, so that the documentation has them where they are looked for.
    number = Led.number
    group = Led.group
    candidate_id = Led.candidate_id
    predecessor = Led.predecessor
    lost = Led.lost
    loss = Led.loss
    left = Led.left
    progress = Led.progress
    check = Led.check

    def __init__(self, core: TermCore) -> None:
        super().__init__(core)
        self.stopping = threading.Event()
        """Set, in time, when the work must stop: it is to hand over, or lost. Wait on it instead of sleeping."""
        self.losing = threading.Event()
        """Set, in time, when the term is lost, and then alone: wait on it in a hand-over instead of sleeping."""
        core.listen(self._told)

    def _told(self, reason: BaseException) -> None:
        if isinstance(reason, TermLostError):
            self.losing.set()
        self.stopping.set()


class LeaderCareer(Protocol):
    """What a worker does in each phase in which it leads. A class needs no more than `execute`."""

    def execute(self, term: Term) -> object:
        """Work, until `term.stopping` is set. To return is to hand over; to raise is, too, and the worker is asked again after
        a back-off only."""


class Threads:
    """Runs each phase in the thread of the leader; to stop it is to tell it so."""

    def __init__(self, career: LeaderCareer, threads: HandlerThreads) -> None:
        self._career: Any = career
        self._threads = threads

    def begin(self, core: TermCore) -> Term:
        return Term(core)

    async def inaugurate(self, term: Term, core: TermCore) -> None:
        inaugurate = getattr(self._career, "inaugurate", None)
        if inaugurate is not None:
            await self._run(lambda: inaugurate(term))

    async def execute(self, term: Term, core: TermCore) -> None:
        await self._run(lambda: self._career.execute(term))

    async def hand_over(self, term: Term, core: TermCore, reason: HandOverReason) -> object:
        hand_over = getattr(self._career, "hand_over", None)
        return None if hand_over is None else await self._run(lambda: hand_over(term, reason))

    async def _run(self, phase: Callable[[], object]) -> object:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[object] = loop.create_future()
        self._threads.run(lambda: self._perform(phase, loop, done))
        return await done

    def _perform(self, phase: Callable[[], object], loop: asyncio.AbstractEventLoop, done: asyncio.Future[object]) -> None:
        settle: Callable[[Any], None]
        outcome: Any
        try:
            settle, outcome = done.set_result, phase()
        except BaseException as error:  # It is the leader's to judge, whatever it is.
            settle, outcome = done.set_exception, for_a_future(error)
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else settle(outcome))
        except RuntimeError:
            log.warning("a phase of a leader ended after its client was closed")


class Leadership:
    """A worker that stands, and leads when its turn comes, made by `Client.lead`.

    It ends by `stop`, or with an error when the sidecar refuses it. As a context manager it is stopped at the end of the block.
    """

    def __init__(
        self,
        owner: object,
        thread: LoopThread,
        core: LeadershipCore[Term],
        threads: HandlerThreads,
        forget: Callable[[], None],
    ) -> None:
        # A client ends with the last reference to it: not while this one is used.
        self._owner = owner
        self._thread = thread
        self._core = core
        self._threads = threads
        self._forget = forget

    @property
    def group(self) -> str:
        return self._core.settings.group

    @property
    def candidate_id(self) -> str:
        return self._core.settings.candidate_id

    @property
    def term(self) -> int | None:
        """The number of the term, while this worker has one that is known to live."""
        return self._core.term

    @property
    def position(self) -> int | None:
        """The place among those who wait, from 1. None: it leads, or is not known to stand."""
        return self._core.position

    def yield_(self) -> None:
        """Does not want to lead any longer: the worker is asked to hand over, and stands again behind all others."""
        self._thread.soon(self._core.yield_)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it stands no more, and raise why the sidecar refused it. False: it stands still after `timeout` seconds."""

        async def ended() -> bool:
            try:
                await asyncio.wait_for(self._core.finish(), timeout)
            except asyncio.TimeoutError:
                return False
            return True

        timeout_of("timeout", timeout)
        self._may_wait()
        if not self._thread.is_stopped and not self._thread.call(ended):
            return False
        self._join()
        if self._core.failure is not None:
            raise self._core.failure
        return True

    def stop(self, timeout: float = DEFAULT_STOP) -> None:
        """Hand over if it leads, and stand no more.

        After `timeout` seconds the phase that runs is told that its term is lost (`closed`); it returns at the latest two seconds
        after that. Not to be called by a phase of this leader, which would wait for itself.
        """
        number_within("timeout", timeout, 0, DAY)

        async def stopped() -> None:
            self._core.stop(timeout)
            await self._core.finish()

        self._may_wait()
        if not self._thread.is_stopped:
            self._thread.call(stopped)
        self._join()

    def _may_wait(self) -> None:
        if self._threads.has_current:
            raise RuntimeError("a leader must not wait for the end of its own leadership: let another thread do that")

    def _join(self) -> None:
        self._forget()
        for thread in self._threads.join():
            log.warning("%s still runs a phase that was told to stop", thread.name)

    def __enter__(self) -> Leadership:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
