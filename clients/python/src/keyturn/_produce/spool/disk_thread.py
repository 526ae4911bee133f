"""The thread that waits for the disk."""

from __future__ import annotations

import concurrent.futures
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

A = TypeVar("A")


class DiskThread:
    """One task after another.

    Not an executor: those take nothing more when the program ends, and that is when a client that was not closed still has
    something to sync. A daemon, so that a disk that does not answer keeps no program from ending.
    """

    def __init__(self, name: str) -> None:
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, task: Callable[[], A]) -> concurrent.futures.Future[A]:
        future: concurrent.futures.Future[A] = concurrent.futures.Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = task()
            except BaseException as error:  # It is told to the one who asked.
                future.set_exception(error)
            else:
                future.set_result(result)

        self._tasks.put(work)
        return future

    def end(self) -> None:
        """Returns when nothing is left of it."""
        self._tasks.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (work := self._tasks.get()) is not None:
            work()
