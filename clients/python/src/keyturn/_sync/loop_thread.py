"""An event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from keyturn._connection.call import Call, client_closed
from keyturn._words.log import log
from keyturn.errors import KeyturnError

A = TypeVar("A")


class Asked(concurrent.futures.Future[A]):
    """What another thread waits for, and what runs for it on the loop."""

    beneath: asyncio.Future[A] | None = None

    def drop(self) -> None:
        """Nobody gets its answer. On the loop."""
        if isinstance(self.beneath, Call):
            self.beneath.drop()


class LoopThread:
    """Runs what other threads ask for, in the order in which they asked.

    The thread is a daemon so that a program which forgets to close its client can end; `stop` joins it.
    """

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._asked: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._is_woken = False
        self._is_stopped = False
        self._process = os.getpid()
        self._ending: asyncio.Future[object] | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_stopped(self) -> bool:
        return self._is_stopped

    @property
    def is_inherited(self) -> bool:
        """This process is a fork of the one that made it: the thread is not here, and its socket is not ours."""
        return os.getpid() != self._process

    def may_wait(self) -> None:
        """Raise where a wait for the loop would never end."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a callback of the client must not wait for the client: use another thread")

    def begin(self, make: Callable[[], Awaitable[A]]) -> Asked[A]:
        """Run `make` and await what it returns, on the loop, in the context of this thread. To cancel the future ends it there."""
        future: Asked[A] = Asked()
        self.soon(partial(contextvars.copy_context().run, self._start, make, future))
        return future

    def call(self, make: Callable[[], Awaitable[A]]) -> A:
        """The same, and wait for it. A wait that is interrupted (Ctrl+C) ends it."""
        return self.wait_for(make, None)

    def wait_for(self, make: Callable[[], Awaitable[A]], timeout: float | None) -> A:
        """The same, for so many seconds; raises TimeoutError after them."""
        self.may_wait()
        future = self.begin(make)
        try:
            return future.result(timeout)
        except BaseException:
            # The answer may have come at this very moment, to nobody.
            if not future.cancel() and not self.loop.is_closed():
                self.loop.call_soon_threadsafe(future.drop)
            raise

    def soon(self, task: Callable[[], None]) -> None:
        """Wakes the loop once for all that is asked until it looks."""
        if self.is_inherited:
            # Before the lock: somebody may have had it at the moment of the fork.
            raise KeyturnError("the client was made before a fork: connect in the process that uses it", "CANCELLED")
        with self._lock:
            if self._is_stopped:
                raise client_closed()
            self._asked.append(task)
            if self._is_woken:
                return
            self._is_woken = True
        self.loop.call_soon_threadsafe(self._work)

    def stop(self) -> None:
        """Nothing is left when it returns. Twice is fine."""
        with self._lock:
            is_first = not self._is_stopped
            self._is_stopped = True
        if is_first:
            self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def end_with(self, make: Callable[[], Awaitable[object]]) -> None:
        """Run this and stop, without waiting for it, and without a lock: a garbage collector may call it anywhere."""

        def start() -> None:
            self._ending = asyncio.ensure_future(make())
            self._ending.add_done_callback(lambda _: self._end())

        if not self.is_inherited and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(start)

    def _end(self) -> None:
        with self._lock:
            self._is_stopped = True
        self.loop.stop()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            while not self._is_stopped:
                self._run_loop()
            self._work()
            self._end_tasks()
        finally:
            self.loop.close()

    def _run_loop(self) -> None:
        try:
            self.loop.run_forever()
        except BaseException:  # SystemExit of a callback would end all who wait for this thread never to be answered.
            log.exception("a callback of the client raised what ends a thread; the client goes on")

    def _end_tasks(self) -> None:
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        if left:
            self.loop.run_until_complete(asyncio.wait(left, timeout=1))

    def _work(self) -> None:
        with self._lock:
            self._is_woken = False
            asked, self._asked = self._asked, deque()
        for task in asked:
            try:
                task()
            except Exception:
                # Those who asked after it must be answered.
                log.exception("what was asked of the client's thread raised")

    def _start(self, make: Callable[[], Awaitable[A]], future: Asked[A]) -> None:
        if future.cancelled():
            return
        try:
            running = asyncio.ensure_future(make())
        except BaseException as error:  # It is told to the one who asked.
            _fail(future, error)
            return
        future.beneath = running
        running.add_done_callback(partial(_hand_on, future))
        future.add_done_callback(partial(self._called_off, running))

    def _called_off(self, running: asyncio.Future[Any], future: concurrent.futures.Future[Any]) -> None:
        if future.cancelled() and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(running.cancel)


def _hand_on(future: Asked[A], running: asyncio.Future[A]) -> None:
    if running.cancelled():
        future.cancel()
        return
    error = running.exception()
    if error is not None:
        _fail(future, error)
        return
    try:
        future.set_result(running.result())
    except concurrent.futures.InvalidStateError:
        future.drop()  # Whoever asked has called it off meanwhile.


def _fail(future: concurrent.futures.Future[A], error: BaseException) -> None:
    try:
        future.set_exception(error)
    except concurrent.futures.InvalidStateError:
        return  # As above.
