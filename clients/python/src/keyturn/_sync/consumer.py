"""A consumer whose handlers run in threads."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from keyturn._consume.consumption import Consumption
from keyturn._consume.delivered import Delivered
from keyturn._consume.holding import Holding
from keyturn._consume.options import DEFAULT_STOP
from keyturn._sync.handler_threads import HandlerThreads
from keyturn._sync.loop_thread import LoopThread
from keyturn._sync.stopping import Stoppable
from keyturn._words.checks import number_within, timeout_of
from keyturn._words.limits import DAY
from keyturn._words.log import log
from keyturn.words import Delivery


class Work(Stoppable, Delivered):
    """A turn with its items, as a handler gets it."""

    stopping: threading.Event
    """Set, in time, when the work must stop: wait on it instead of sleeping."""
    # Said here too, so that the documentation has them where they are looked for.
    lost = Stoppable.lost
    loss = Stoppable.loss
    check = Stoppable.check
    on_stop = Stoppable.on_stop

    queue = Delivered.queue
    key = Delivered.key
    token = Delivered.token
    attempt = Delivered.attempt
    items = Delivered.items
    item = Delivered.item

    def __init__(self, delivery: Delivery, holding: Holding) -> None:
        super().__init__()
        self._delivery = delivery
        self._holding = holding


class Threads:
    """Runs each handler in a thread; to stop it is to tell it so."""

    def __init__(self, handler: Callable[[Work], object], threads: HandlerThreads) -> None:
        self._handler = handler
        self._threads = threads

    def work(self, delivery: Delivery, holding: Holding) -> Work:
        return Work(delivery, holding)

    async def run(self, work: Work, holding: Holding) -> object:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[object] = loop.create_future()
        holding.listen(work._stop)
        # Its span is active here. What one handler sets is nothing to the next.
        context = contextvars.copy_context()
        self._threads.run(lambda: context.run(self._handle, work, loop, done))
        return await done

    def _handle(self, work: Work, loop: asyncio.AbstractEventLoop, done: asyncio.Future[object]) -> None:
        settle: Callable[[Any], None]
        outcome: Any
        try:
            settle, outcome = done.set_result, self._handler(work)
        except BaseException as error:  # It is the consumer's to judge, whatever it is.
            settle, outcome = done.set_exception, for_a_future(error)
        try:
            loop.call_soon_threadsafe(lambda: None if done.done() else settle(outcome))
        except RuntimeError:
            log.warning("a handler of %s ended after its client was closed", work.queue)


def for_a_future(error: BaseException) -> BaseException:
    """No future takes StopIteration, and SystemExit would end the thread of the client, which is not what it was for."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    told = RuntimeError(f"the handler raised {error!r}")
    told.__cause__ = error
    return told


class Consumer:
    """Workers of a queue's items, made by `Client.consume`.

    It ends by `stop`, or with an error when it cannot go on: the sidecar refuses its Acquire (a bad name, no permission), or
    `on_error` raises. As a context manager it is stopped at the end of the block.
    """

    def __init__(
        self, owner: object, thread: LoopThread, core: Consumption[Work], threads: HandlerThreads, forget: Callable[[], None]
    ) -> None:
        # A client ends with the last reference to it: not while this one is used.
        self._owner = owner
        self._forget = forget
        self._thread = thread
        self._core = core
        self._threads = threads

    @property
    def held(self) -> int:
        """How many turns are held now."""
        return self._core.held

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, and raise why it could not go on. False: it has not ended within `timeout` seconds."""

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

    def stop(self, timeout: float = DEFAULT_STOP) -> bool:
        """Take no more turns, let handlers finish, release what was delivered and not started.

        After `timeout` seconds handlers are told to stop (`work.stopping`); it returns at the latest five seconds after that.
        A handler that goes on all the same is left alone: its turn is released, and its thread ends with it. Not to be called by
        a handler of this consumer, which would wait for itself. Returns False when handlers had not ended in time: each is told to
        `on_error` (`stop`) and the log.
        """
        number_within("timeout", timeout, 0, DAY)

        async def stopped() -> None:
            self._core.stop(timeout)
            await self._core.finish()

        self._may_wait()
        if not self._thread.is_stopped:
            self._thread.call(stopped)
        self._join()
        return not self._core.has_cut_off

    def _may_wait(self) -> None:
        if self._threads.has_current:
            raise RuntimeError("a handler must not wait for the end of its own consumer: let another thread do that")

    def _join(self) -> None:
        self._forget()
        for thread in self._threads.join():
            log.warning("%s still runs a handler that was told to stop", thread.name)

    def __enter__(self) -> Consumer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
