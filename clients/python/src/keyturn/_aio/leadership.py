"""A leader whose phases are tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from inspect import isawaitable
from types import TracebackType
from typing import Any, Protocol

from keyturn._aio.running_tasks import RunningTasks
from keyturn._lead.leadership import LeadershipCore
from keyturn._lead.led import Led
from keyturn._lead.options import DEFAULT_STOP
from keyturn._lead.term import TermCore
from keyturn._words.checks import number_within
from keyturn._words.limits import DAY
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
        self.stopping = asyncio.Event()
        """Set when the work must stop: it is to hand over, or lost. Wait on it instead of sleeping."""
        core.listen(lambda _: self.stopping.set())


class LeaderCareer(Protocol):
    """What a worker does in each phase in which it leads. A class needs no more than `execute`.

    A phase is cancelled when the term is lost, and then alone.
    """

    async def execute(self, term: Term) -> object:
        """Work, until `term.stopping` is set. To return is to hand over; to raise is, too, and the worker is asked again after
        a back-off only."""


class Tasks:
    """Runs each phase as a task."""

    def __init__(self, career: LeaderCareer, of_client: RunningTasks) -> None:
        self._career: Any = career
        self._running = RunningTasks(of_client)

    def may_wait(self) -> None:
        """Raise in a phase, which would wait for itself."""
        self._running.refuse("a leader must not wait for the end of its own leadership")

    def begin(self, core: TermCore) -> Term:
        return Term(core)

    async def inaugurate(self, term: Term, core: TermCore) -> None:
        inaugurate = getattr(self._career, "inaugurate", None)
        if inaugurate is not None:
            await self._run(core, lambda: inaugurate(term))

    async def execute(self, term: Term, core: TermCore) -> None:
        await self._run(core, lambda: self._career.execute(term))

    async def hand_over(self, term: Term, core: TermCore, reason: HandOverReason) -> object:
        hand_over = getattr(self._career, "hand_over", None)
        return None if hand_over is None else await self._run(core, lambda: hand_over(term, reason))

    async def _run(self, core: TermCore, phase: Callable[[], Awaitable[object]]) -> object:
        running = phase()
        if not isawaitable(running):
            raise TypeError(f"a phase of a leader returned {type(running).__name__}; needed is a coroutine: async def")
        task = asyncio.ensure_future(running)
        core.listen(lambda reason: _cancel(task, reason))
        self._running.add(task)
        await asyncio.wait((task,))
        if task.cancelled() and core.loss is not None:
            raise core.loss
        return task.result()


def _cancel(task: asyncio.Future[Any], reason: BaseException) -> None:
    if isinstance(reason, TermLostError):
        task.cancel()


class Leadership:
    """A worker that stands, and leads when its turn comes, made by `Client.lead`.

    Await it, or `wait()`, to wait for its end. It ends by `stop`, or with an error when the sidecar refuses it.
    """

    def __init__(self, core: LeadershipCore[Term], tasks: Tasks) -> None:
        self._core = core
        self._tasks = tasks

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
        self._core.yield_()

    async def wait(self) -> None:
        """Wait until it stands no more; raise why the sidecar refused it."""
        self._tasks.may_wait()
        await self._core.finish()
        if self._core.failure is not None:
            raise self._core.failure

    def __await__(self) -> Generator[Any, None, None]:
        return self.wait().__await__()

    async def stop(self, timeout: float = DEFAULT_STOP) -> None:
        """Hand over if it leads, and stand no more.

        After `timeout` seconds the phase that runs is cancelled (TermLostError, `closed`). Not to be called by a phase of this
        leader, which would wait for itself.
        """
        number_within("timeout", timeout, 0, DAY)
        self._tasks.may_wait()
        self._core.stop(timeout)
        await self._core.finish()

    async def __aenter__(self) -> Leadership:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
