"""One turn from its delivery to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from keyturn._consume.holding import Ending, Holding, run_under
from keyturn._consume.options import ConsumeSettings, Stage
from keyturn._consume.verdict import Ack, DeadLetter, Nack, Release, shortened, verdict_of, verdict_on_error
from keyturn._session.base import Base, failure_of
from keyturn._session.retry import with_retries
from keyturn._words import calls
from keyturn._words.limits import GIVING_UP
from keyturn._words.tracing import TraceOutcome, TraceSpan
from keyturn._words.worker_call import WorkerCall, ref_of
from keyturn.errors import ConsumerStoppedError, KeyturnError
from keyturn.words import AcquireCall, Delivery, FollowUp, Turn

W = TypeVar("W")
A = TypeVar("A")


class Next(NamedTuple):
    """Turns that were taken, and when they were asked for."""

    deliveries: Sequence[Delivery]
    asked_at: float


class HandlerRunner(Protocol, Generic[W]):
    """How a handler is run: as a task, or in a thread."""

    def work(self, delivery: Delivery, holding: Holding) -> W:
        """What the handler gets."""

    def run(self, work: W, holding: Holding) -> Awaitable[object]:
        """Run it, and see to it that it is told when `holding` says stop. Never returns before it has ended."""


@dataclass(frozen=True)
class ConsumerContext(Generic[W]):
    """What a worker knows of its consumer."""

    base: Base
    settings: ConsumeSettings[W]
    invoke: HandlerRunner[W]
    next: Callable[[], AcquireCall | None]
    """What an Ack that is sent now shall take along."""
    taken: Callable[[Next], None]
    """It did."""
    trouble: Callable[[BaseException, Stage, W | None, Turn | None], None]
    ignored: Callable[[str, Turn], None]
    """A handler returned what no result can be made of."""


class Worker(Generic[W]):
    """Begins to hold the turn when it is made."""

    def __init__(self, context: ConsumerContext[W], delivery: Delivery, asked_at: float) -> None:
        self._context = context
        self._delivery = delivery
        self._ref = ref_of(delivery.turn)
        self._holding = Holding(context.base, delivery.turn, asked_at, context.settings.max_hold)
        self._work = context.invoke.work(delivery, self._holding)
        self._span: TraceSpan | None = None
        self._is_given_up = False
        self.is_settling = False
        """Its handler has ended: it is not cut off, nor released."""
        # That it was cut off.
        self._is_told = False

    async def run(self) -> None:
        """Returns when the handler has ended and the turn is settled, or cannot be. Never raises."""
        tracer = self._context.base.tracer
        self._span = None if tracer is None else tracer.attempt(self._delivery)
        try:
            with nullcontext() if self._span is None else self._span.active():
                ending = await run_under(self._holding, lambda: self._context.invoke.run(self._work, self._holding))
            if not self._is_given_up:
                await self._finish(ending)
        finally:
            self._holding.release()
            if self._span is not None:
                self._span.end()

    def stop(self, reason: ConsumerStoppedError) -> None:
        """Tell the handler to stop. What it raises from now on gives the items back without counting an attempt."""
        if self.is_settling:
            return
        self._holding.stop(reason)

    async def give_up(self) -> None:
        """Give the turn back though the handler has not ended: it was told, and time is over."""
        self._is_given_up = True
        self._cut_off()
        self._outcome("release")
        await release(self._context.base, self._delivery)
        self._holding.release()

    def _cut_off(self) -> None:
        reason = self._holding.reason
        if isinstance(reason, ConsumerStoppedError) and not self._is_told:
            self._is_told = True
            self._trouble(reason, "stop")

    def _trouble(self, error: BaseException, stage: Stage) -> None:
        if self._span is not None:
            self._trace(self._span, error, stage)
        self._context.trouble(error, stage, self._work, self._delivery.turn)

    @staticmethod
    def _trace(span: TraceSpan, error: BaseException, stage: Stage) -> None:
        if stage == "turn_lost":
            span.outcome("lost")
        elif stage == "settle":
            span.outcome("unsettled")
        # To release is no failure; and why it is a dead letter was recorded when it failed.
        if stage != "dead_letter" and not isinstance(error, Release):
            span.failed(error)

    def _outcome(self, outcome: TraceOutcome) -> None:
        if self._span is not None:
            self._span.outcome(outcome)

    async def _finish(self, ending: Ending[object]) -> None:
        self.is_settling = True
        if ending.error is not None and ending.kind == "lost":
            self._trouble(ending.error, "turn_lost")
            return
        verdict = self._accept(ending.value) if ending.error is None else self._reject(ending.error)
        try:
            await self._settle(verdict)
        except KeyturnError as error:
            await self._not_settled(error)

    def _accept(self, value: object) -> Ack | Nack:
        try:
            return self._stamped(verdict_of(value, self._context.base.ids, self._ignored))
        except Exception as error:  # Whatever it returned, its turn is settled.
            return self._reject(error)

    def _ignored(self, why: str) -> None:
        self._context.ignored(why, self._delivery.turn)

    def _stamped(self, verdict: Ack) -> Ack:
        """What follows was caused by this attempt."""
        tracer, span = self._context.base.tracer, self._span
        if tracer is None or span is None:
            return verdict
        with span.active():
            follow_ups = [FollowUp(queue, tracer.stamped(item)) for queue, item in verdict.follow_ups]
        return verdict._replace(follow_ups=follow_ups)

    def _reject(self, error: BaseException) -> Nack:
        verdict = verdict_on_error(error, len(self._delivery.items))
        if isinstance(self._holding.reason, ConsumerStoppedError) and verdict.kind == "retry":
            self._cut_off()
            return verdict._replace(kind="release", delay=None)
        self._trouble(error, "handler")
        return verdict

    async def _settle(self, verdict: Ack | Nack) -> None:
        if isinstance(verdict, Ack):
            following = self._context.next()
            asked_at = self._context.base.now()
            answer = await self._send(calls.Ack(self._ref, verdict.result, verdict.follow_ups, following))
            self._outcome("ack")
            if answer.next is not None:
                self._context.taken(Next(answer.next, asked_at))
            return
        given_back = await self._send(calls.Nack(self._ref, verdict.kind, verdict.delay, verdict.error, verdict.done))
        count = given_back.dead_lettered
        self._outcome("dead_letter" if count > 0 else verdict.kind)
        if count > 0:
            told = "it is a dead letter" if count == 1 else f"{count} items are dead letters"
            self._trouble(DeadLetter(f"{told}: {verdict.error}"), "dead_letter")

    async def _send(self, call: WorkerCall[A]) -> A:
        """Goes on while the turn is ours, for as long as the settings say."""
        base = self._context.base
        until = base.now() + self._context.settings.settle_timeout
        return await with_retries(base, until, ("away", "full"), lambda left: base.transport.ask(call, left), self._is_lost)

    def _is_lost(self) -> bool:
        return self._holding.loss is not None

    async def _not_settled(self, error: KeyturnError) -> None:
        failure = failure_of(error)
        if failure == "lost":
            self._trouble(error, "turn_lost")
            return
        self._trouble(error, "settle")
        if self._is_lost() or failure != "refused":
            return
        # Refused as it is, the turn is ours still: what it said is wrong, or the queue gives items once only.
        kind: Final = "release" if error.reason == "AT_MOST_ONCE" else "retry"
        try:
            await self._settle(Nack(kind, None, 0, shortened(str(error))))
        except KeyturnError as again:
            self._trouble(again, "settle")


async def release(base: Base, delivery: Delivery) -> None:
    """Give a turn back that nobody works on, or nobody shall. If that fails, it ends with its lease or its session."""
    try:
        await base.transport.ask(calls.Nack(ref_of(delivery.turn), "release", error="the consumer stopped"), GIVING_UP)
    except KeyturnError:
        return
