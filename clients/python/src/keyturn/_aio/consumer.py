"""A consumer whose handlers are tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from inspect import isawaitable
from types import TracebackType
from typing import Any

from keyturn._aio.running_tasks import RunningTasks
from keyturn._consume.consumption import Consumption
from keyturn._consume.delivered import Delivered
from keyturn._consume.holding import Holding
from keyturn._consume.options import DEFAULT_STOP
from keyturn._words.checks import number_within
from keyturn._words.limits import DAY
from keyturn.errors import TurnLostError
from keyturn.words import Delivery


class Work(Delivered):
    """A turn with its items, as a handler gets it."""

    # Said here too, so that the documentation has them where they are looked for.
    queue = Delivered.queue
    key = Delivered.key
    token = Delivered.token
    attempt = Delivered.attempt
    items = Delivered.items
    item = Delivered.item

    def __init__(self, delivery: Delivery, holding: Holding) -> None:
        self._delivery = delivery
        self._holding = holding

    @property
    def lost(self) -> bool:
        """The turn is, or must be taken for, somebody else's."""
        return self._holding.loss is not None

    @property
    def loss(self) -> TurnLostError | None:
        """Why it is lost."""
        return self._holding.loss

    def check(self) -> None:
        """Raise TurnLostError, HoldTimeoutError or ConsumerStoppedError if the work must stop."""
        if self._holding.reason is not None:
            raise self._holding.reason


class Tasks:
    """Runs each handler as a task; to stop it is to cancel the task."""

    def __init__(self, handler: Callable[[Work], Awaitable[object]], of_client: RunningTasks) -> None:
        self._handler = handler
        self._running = RunningTasks(of_client)

    def may_wait(self) -> None:
        """Raise in a handler, which would wait for itself."""
        self._running.refuse("a handler must not wait for the end of its own consumer")

    def work(self, delivery: Delivery, holding: Holding) -> Work:
        return Work(delivery, holding)

    async def run(self, work: Work, holding: Holding) -> object:
        running = self._handler(work)
        if not isawaitable(running):
            raise TypeError(f"the handler returned {type(running).__name__}; needed is a coroutine: async def")
        task = asyncio.ensure_future(running)
        holding.listen(lambda _: _cancel(task))
        self._running.add(task)
        await asyncio.wait((task,))
        if task.cancelled() and holding.reason is not None:
            raise holding.reason
        return task.result()


def _cancel(task: asyncio.Future[object]) -> None:
    task.cancel()


class Consumer:
    """Workers of a queue's items, made by `Client.consume`.

    Await it, or `wait()`, to wait for its end. It ends by `stop`, or with an error when it cannot go on: the sidecar refuses
    its Acquire (a bad name, no permission), or `on_error` raises.
    """

    def __init__(self, core: Consumption[Work], tasks: Tasks) -> None:
        self._core = core
        self._handlers = tasks

    @property
    def held(self) -> int:
        """How many turns are held now."""
        return self._core.held

    async def wait(self) -> None:
        """Wait until it has ended; raise why it could not go on."""
        self._handlers.may_wait()
        await self._core.finish()
        if self._core.failure is not None:
            raise self._core.failure

    def __await__(self) -> Generator[Any, None, None]:
        return self.wait().__await__()

    async def stop(self, timeout: float = DEFAULT_STOP) -> bool:
        """Take no more turns, let handlers finish, release what was delivered and not started.

        After `timeout` seconds handlers are cancelled; it returns at the latest three seconds after that. Why the consumer
        could not go on is told by `wait` alone. Not to be called by a handler of this consumer, which would wait for itself.
        Returns False when handlers had not ended in time: each is told to `on_error` (`stop`) and the log.
        """
        number_within("timeout", timeout, 0, DAY)
        self._handlers.may_wait()
        self._core.stop(timeout)
        await self._core.finish()
        return not self._core.has_cut_off

    async def __aenter__(self) -> Consumer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
