"""The client for threads behind the face that the ops know: whatever waits does so in a thread of the player."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import keyturn
from keyturn import NewItem, ProducerResult

A = TypeVar("A")

# As many requests may wait at once; the driver asks for no more.
_MOST = 1_000
THREADS = "player"
pool = ThreadPoolExecutor(_MOST, THREADS)


async def in_thread(work: Callable[..., A], *args: Any, **options: Any) -> A:
    return await asyncio.get_running_loop().run_in_executor(pool, functools.partial(work, *args, **options))


class Begun(asyncio.Future[A]):
    """A call that was begun, as the documentation says it for calls that may be called off."""

    def __init__(self, client: keyturn.Client, make: Callable[[], keyturn.aio.Call[A]]) -> None:
        super().__init__()
        self._client = client
        self._calls: list[keyturn.aio.Call[A]] = []

        def ask() -> keyturn.aio.Call[A]:
            self._calls.append(make())
            return self._calls[0]

        self._begun = client.begin(ask)
        loop = self.get_loop()
        self._begun.add_done_callback(lambda _: loop.call_soon_threadsafe(self._ended))

    def cancel(self, msg: Any = None) -> bool:
        return self._begun.cancel()

    def leave(self) -> None:
        async def leave() -> None:
            self._calls[0].leave()

        self._client.begin(leave)

    def _ended(self) -> None:
        if self._begun.cancelled():
            super().cancel()
            return
        error = self._begun.exception()
        if error is None:
            self.set_result(self._begun.result())
        else:
            self.set_exception(error)


class Client:
    """Calls that may wait are begun, so that they can be called off; all others block a thread."""

    def __init__(self, client: keyturn.Client) -> None:
        self.threads = client

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        return functools.partial(in_thread, getattr(self.threads, name))

    def enqueue(self, *args: Any, **options: Any) -> Awaitable[Any]:
        if options.get("wait"):
            return Begun(self.threads, lambda: self.threads.aio.enqueue(*args, **options))
        return in_thread(self.threads.enqueue, *args, **options)

    def acquire(self, *args: Any, **options: Any) -> Awaitable[Any]:
        if options.get("wait"):
            return Begun(self.threads, lambda: self.threads.aio.acquire(*args, **options))
        return in_thread(self.threads.acquire, *args, **options)

    def submit_many(self, queue: str, items: Iterable[NewItem]) -> Awaitable[Any]:
        return in_thread(self.threads.submit_many, queue, items)

    async def producer(self, queue: str, **options: Any) -> Producer:
        return Producer(await in_thread(self.threads.producer, queue, **options))


class Producer:
    """`add` may wait for room. What one adds after another keeps its order: one thread has all of it."""

    def __init__(self, producer: keyturn.Producer) -> None:
        self._producer = producer
        self._line = ThreadPoolExecutor(1, THREADS)

    async def add(self, item: NewItem) -> ProducerResult:
        return await asyncio.wrap_future(await self._in_line(lambda: self._producer.add(item)))

    async def flush(self) -> None:
        # After what was asked before, but so that what is asked later need not wait for it.
        await self._in_line(lambda: None)
        await in_thread(self._producer.flush)

    async def close(self) -> None:
        await self._in_line(lambda: None)
        await in_thread(self._producer.close)

    async def _in_line(self, work: Callable[[], A]) -> A:
        return await asyncio.get_running_loop().run_in_executor(self._line, work)
