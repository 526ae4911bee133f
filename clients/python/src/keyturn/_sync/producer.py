"""A buffer in front of a queue, for threads."""

from __future__ import annotations

import concurrent.futures
import threading
from math import inf
from types import TracebackType

from keyturn._produce.options import LONGEST_CLOSE, ProducerResult, ProducerSettings
from keyturn._produce.production import Production
from keyturn._sync.loop_thread import LoopThread
from keyturn._words.checks import number_within, timeout_of
from keyturn._words.ids import Ids
from keyturn._words.item_check import checked_size, with_id
from keyturn.errors import ProducerClosedError, ProducerFullError
from keyturn.words import NewItem


class Capacity:
    """Lets through what there is room for: the bound holds before anything crosses to the other thread."""

    def __init__(self, max_items: int, max_bytes: int) -> None:
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._items = 0
        self._bytes = 0
        self._changed = threading.Condition()

    def enter(self, size: int, timeout: float) -> bool:
        """False: there was no room for so many seconds. One that is larger than the bound goes alone."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_room(size), timeout):
                return False
            self._items += 1
            self._bytes += size
            return True

    def leave(self, size: int) -> None:
        with self._changed:
            self._items -= 1
            self._bytes -= size
            self._changed.notify_all()

    def _has_room(self, size: int) -> bool:
        fits = self._items < self._max_items and self._bytes + size <= self._max_bytes
        return self._items == 0 or fits


class Producer:
    """Made by `Client.producer`; may be used from all threads. As a context manager it is closed at the end."""

    def __init__(
        self,
        owner: object,
        thread: LoopThread,
        core: Production,
        settings: ProducerSettings,
    ) -> None:
        # A client ends with the last reference to it: not while this one is used.
        self._owner = owner
        self._thread = thread
        self._core = core
        self._settings = settings
        self._capacity = Capacity(settings.max_items, settings.max_bytes)
        self._ids = Ids()
        self._is_closed = False

    @property
    def pending(self) -> int:
        """Items that are neither accepted, nor refused, nor on disk."""
        return self._core.pending

    def add(self, item: NewItem) -> concurrent.futures.Future[ProducerResult]:
        """Take an item; the future tells what became of it.

        With `when_full="wait"` it waits for room, up to `timeout` of the producer. Raises ProducerFullError, ProducerClosedError,
        and KeyturnError for an item that cannot be sent. The future may have a KeyturnError (refused), ProducerTimeoutError,
        ProducerClosedError, or SpoolError. Items of one thread keep their order.
        """
        named = self._core.stamped(with_id(item, self._ids))
        size = checked_size(named, 0, self._settings.spool is not None)
        if self._is_closed or self._thread.is_stopped:
            raise ProducerClosedError("the producer is closed")
        self._thread.may_wait()
        waits = self._settings.when_full == "wait"
        if not self._capacity.enter(size, self._settings.timeout if waits else 0):
            limits = f"{self._settings.max_items} of together {self._settings.max_bytes} bytes"
            raise ProducerFullError(f"no room for one more item; allowed are {limits}")
        try:
            future = self._thread.begin(lambda: self._core.add(named))
        except BaseException:
            self._capacity.leave(size)
            raise
        future.add_done_callback(lambda _: self._capacity.leave(size))
        return future

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that was added before is accepted, refused, or on disk. False: not within `timeout` seconds."""
        if timeout_of("timeout", timeout) == inf:
            timeout = None
        if self._thread.is_stopped:
            return True
        try:
            self._thread.wait_for(self._core.flush, timeout)
        except concurrent.futures.TimeoutError:
            return False
        return True

    def close(self, timeout: float | None = None) -> None:
        """Take nothing more, and flush. What is not handed over after `timeout` is refused with ProducerClosedError."""
        if timeout is not None:
            number_within("timeout", timeout, 0, LONGEST_CLOSE)
        self._thread.may_wait()
        self._is_closed = True
        if not self._thread.is_stopped:
            self._thread.call(lambda: self._core.close(timeout))

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
