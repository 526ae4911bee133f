"""Takes turns with items, never more than `concurrency` at once, and hands each to the handler."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from math import inf
from typing import Any, Final, Generic, TypeVar

from keyturn._connection.backoff import BackOff
from keyturn._connection.waits import Background, comes
from keyturn._consume.options import DEFAULT_STOP, ConsumeSettings, Stage, Trouble
from keyturn._consume.verdict import GivenBack, text_of
from keyturn._consume.worker import ConsumerContext, HandlerRunner, Next, Worker, release
from keyturn._session.base import LEAVING, Base, failure_of, retry_after_of
from keyturn._words import calls
from keyturn._words.limits import GRACE, LEAST_BETWEEN, MOST_TURNS
from keyturn._words.log import log
from keyturn.errors import ConsumerStoppedError, KeyturnError
from keyturn.words import AcquireCall, Delivery, Turn

W = TypeVar("W")

# How long a handler that was told to stop is waited for before its turn is released all the same, seconds.
_AFTER_STOP: Final = 0.8
# How long a handler that has ended is waited for after that, until its turn is settled, seconds.
_SETTLING: Final = 2.0


class Consumption(Generic[W]):
    """What the handler returns is the result of its items (Ack); what it raises gives them back (Nack).

    A turn that is lost stops its handler and is settled by nobody. The next turn is taken with the Ack of the one before;
    when there is nothing to do one call waits, for all that is free.
    """

    def __init__(self, base: Base, settings: ConsumeSettings[W], invoke: HandlerRunner[W]) -> None:
        self._base = base
        self._settings = settings
        self._for_workers = ConsumerContext(base, settings, invoke, self._next, self._take, self._trouble, self._ignored)
        self._has_ignored = False
        self._back_off = BackOff()
        self._context = contextvars.copy_context()
        self._workers: dict[Worker[W], asyncio.Task[None]] = {}
        self._tasks = Background(base.loop)
        self._acquiring: asyncio.Task[None] | None = None
        # A task that is cancelled before it began runs nothing: it would be waited for until the end.
        self._has_begun_to_acquire = False
        # Turns that calls on their way may bring. Held and asked for are never more than `concurrency`.
        self._asked = 0
        self._releasing = 0
        self._is_stopping = False
        self._deadline = inf
        self._timer: asyncio.TimerHandle | None = None
        self.has_cut_off = False
        """A handler had not ended when the time of a stop was over."""
        self.failure: BaseException | None = None
        """Why it could not go on."""
        self.ended = asyncio.Event()
        """Set when nothing runs any more, however that came."""
        self._fill()

    @property
    def held(self) -> int:
        return len(self._workers)

    def stop(self, timeout: float) -> None:
        """Take no more turns; after `timeout` handlers are told to stop. `ended` is set at the latest 3 s after that."""
        deadline = self._base.now() + timeout
        if self.ended.is_set() or deadline >= self._deadline:
            return
        self._deadline = deadline
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._base.loop.call_at(deadline, lambda: self._start(self._run_out()))
        if not self._is_stopping:
            self._is_stopping = True
            if self._acquiring is not None and self._has_begun_to_acquire:
                self._acquiring.cancel()
        self._end_if_idle()

    async def finish(self) -> None:
        """Wait until it has ended, and every task with it."""
        await self.ended.wait()
        await self._tasks.ended()

    @property
    def _free(self) -> int:
        return self._settings.concurrency - len(self._workers) - self._asked

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        # Not in the context of whoever settled the turn before: what one handler set is nothing to the next.
        return self._context.copy().run(self._tasks.start, work)

    def _fill(self) -> None:
        """One Acquire at a time waits, for all that is free: who comes free while it waits is served by the next one."""
        if self._is_stopping or self._free <= 0 or self._acquiring is not None:
            self._end_if_idle()
            return
        turns = min(self._free, MOST_TURNS)
        self._asked += turns
        self._acquiring = self._start(self._acquire(turns))

    async def _acquire(self, turns: int) -> None:
        taken: Next | None = None
        self._has_begun_to_acquire = True
        try:
            taken = await self._ask(turns)
        except asyncio.CancelledError:
            if not self._is_stopping:
                raise
            # A delivery may have crossed this: it goes back before the consumer has ended, or its client could close first.
            await self._base.transport.settled(LEAVING)
        finally:
            self._asked -= turns
            self._acquiring = None
            self._has_begun_to_acquire = False
            if taken is not None:
                self._take(taken)
            self._fill()

    async def _ask(self, turns: int) -> Next | None:
        """Try until there is an answer. None: it stops."""
        wait = self._settings.wait
        # One ticket for all tries: turns whose answer was lost are in the next one.
        asked = calls.Acquire(self._acquire_call(turns, wait))
        asked_at = self._base.now()
        while not self._is_stopping:
            tried = self._base.now()
            call = self._base.transport.ask(asked, wait + GRACE)
            call.leaves = True
            try:
                deliveries = await call
            except KeyturnError as error:
                if failure_of(error) in ("refused", "cancelled"):
                    self._fail(error)
                    return None
                self._trouble(error, "acquire", None)
                await asyncio.sleep(self._back_off.next(retry_after_of(error)))
                continue
            self._back_off.reset()
            if not deliveries:
                await asyncio.sleep(max(0.0, tried + LEAST_BETWEEN - self._base.now()))
            return Next(deliveries, asked_at)
        return None

    def _acquire_call(self, turns: int, wait: float) -> AcquireCall:
        settings = self._settings
        return AcquireCall(
            settings.queues,
            "",
            self._base.ids.new(),
            turns,
            settings.max_items_per_turn,
            wait,
            settings.lease,
            settings.consumer_id,
        )

    def _next(self) -> AcquireCall | None:
        """An Ack takes the next turn along, without waiting for one: its own answer must not wait."""
        if self._acquiring is not None or self._is_stopping or self._free < 0:
            return None
        return self._acquire_call(1, 0)

    def _take(self, taken: Next) -> None:
        for delivery in taken.deliveries:
            if self._is_stopping or not delivery.items:
                self._releasing += 1
                self._start(self._release(delivery))
            else:
                worker = Worker(self._for_workers, delivery, taken.asked_at)
                self._workers[worker] = self._start(self._run(worker))

    async def _run(self, worker: Worker[W]) -> None:
        try:
            await worker.run()
        finally:
            self._workers.pop(worker, None)
            self._fill()

    async def _release(self, delivery: Delivery) -> None:
        await release(self._base, delivery)
        self._releasing -= 1
        self._end_if_idle()

    def _trouble(self, error: BaseException, stage: Stage, work: W | None, turn: Turn | None = None) -> None:
        self.has_cut_off = self.has_cut_off or stage == "stop"
        log.warning(
            "consumer of %s: %s: %s%s",
            ", ".join(self._settings.queues),
            stage,
            text_of(error),
            "" if turn is None else _of(turn),
            exc_info=error if stage == "handler" and not isinstance(error, GivenBack) else None,
        )
        if self._settings.on_error is None:
            return
        try:
            self._settings.on_error(Trouble(error, stage, work))
        except BaseException:  # It is the application's, and ends nothing here.
            log.exception("on_error of the consumer of %s raised", ", ".join(self._settings.queues))

    def _ignored(self, why: str, turn: Turn) -> None:
        """Once: every handler returns the same."""
        if not self._has_ignored:
            self._has_ignored = True
            log.warning("what a handler returned is no result, and is ignored: %s%s", why, _of(turn))

    def _fail(self, error: BaseException) -> None:
        """It cannot go on: what runs may finish, then `failure` says why."""
        if self.failure is None:
            self.failure = error
            log.error("consumer of %s ends: %s", ", ".join(self._settings.queues), error)
        self.stop(DEFAULT_STOP)

    async def _run_out(self) -> None:
        reason = ConsumerStoppedError("the consumer was stopped, and the time for handlers to finish is over")
        for worker in list(self._workers):
            worker.stop(reason)
        if await comes(self.ended, _AFTER_STOP):
            return
        left = dict(self._workers)
        self._workers.clear()
        settling = [task for worker, task in left.items() if worker.is_settling]
        await asyncio.gather(*(worker.give_up() for worker in left if not worker.is_settling))
        if settling:
            # Their Acks and Nacks are on their way: a release could only undo what was done.
            await asyncio.wait(settling, timeout=_SETTLING)
        for task in left.values():
            task.cancel()
        self._end()

    def _end_if_idle(self) -> None:
        if self._is_stopping and not self._workers and not self._releasing and not self._asked:
            self._end()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.ended.set()


def _of(turn: Turn) -> str:
    return f" (queue {turn.queue}, key {turn.key!r}, attempt {turn.attempt}, token {turn.token})"
