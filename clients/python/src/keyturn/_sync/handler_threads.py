"""Threads that run handlers: as many as there is work for, never more than `most`."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Final

# How long threads that have nothing to do may take to end, seconds.
_JOINING: Final = 1.0


class HandlerThreads:
    """Daemons, so that a program which forgets to close its client can end; `join` waits for them."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._busy = 0

    def run(self, work: Callable[[], None]) -> None:
        """`work` raises nothing."""
        with self._lock:
            self._busy += 1
            if self._busy > len(self._threads) and len(self._threads) < self._most:
                name = f"{self._name}-{len(self._threads) + 1}"
                self._start(threading.Thread(target=self._loop, name=name, daemon=True))
        self._work.put(work)

    def _start(self, thread: threading.Thread) -> None:
        try:
            thread.start()
        except RuntimeError:
            # The system gives no more of them: those that there are do the work, if there are any.
            if not self._threads:
                self._busy -= 1
                raise
        else:
            self._threads.append(thread)

    @property
    def has_current(self) -> bool:
        """Whether this is asked by one of them."""
        with self._lock:
            return threading.current_thread() in self._threads

    def join(self) -> list[threading.Thread]:
        """End them; returns those that still run a handler."""
        with self._lock:
            threads, self._threads = self._threads, []
        for _ in threads:
            self._work.put(None)
        ends = time.monotonic() + _JOINING
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, ends - time.monotonic()))
        return [thread for thread in threads if thread.is_alive()]

    def _loop(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            finally:
                with self._lock:
                    self._busy -= 1
