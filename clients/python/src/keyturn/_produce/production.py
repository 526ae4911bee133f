"""Collects items and hands them over in batches, one after another, so that the order of each key holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from keyturn._produce.backlog import Backlog, Entry
from keyturn._produce.delivery import Delivery
from keyturn._produce.options import LONGEST_CLOSE, ProducerResult, ProducerSettings
from keyturn._produce.spool_route import SpoolRoute
from keyturn._session.base import Base
from keyturn._words.checks import number_within
from keyturn._words.item_check import LARGEST_MESSAGE, checked_size, with_id
from keyturn.errors import ProducerClosedError, ProducerFullError, ProducerTimeoutError
from keyturn.words import NewItem

_CLOSED: Final = "the producer is closed"


class Production:
    """The core of a producer, on its loop."""

    def __init__(self, base: Base, settings: ProducerSettings, on_closed: Callable[[Production], None]) -> None:
        self._base = base
        self._on_closed = on_closed
        self._settings = settings
        self._backlog = Backlog(settings.max_items, settings.max_bytes, settings.when_full == "wait")
        self._spool: SpoolRoute | None = None
        if settings.spool is not None:
            self._spool = SpoolRoute(base, settings, settings.spool, self)
        self._delivery = Delivery(base, settings, self._spool, self)
        self._unsettled: set[asyncio.Future[ProducerResult]] = set()
        self._sending: asyncio.Task[None] | None = None
        self._interval: asyncio.TimerHandle | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._flushing = 0
        self._is_closed = False
        self._closing: asyncio.Future[None] | None = None

    @property
    def pending(self) -> int:
        """Items that are neither accepted, nor refused, nor on disk."""
        return self._backlog.size

    def add(self, item: NewItem) -> asyncio.Future[ProducerResult]:
        """What becomes of the item; what is wrong with it is raised at once."""
        if self._is_closed:
            raise ProducerClosedError(_CLOSED)
        named = self.stamped(with_id(item, self._base.ids))
        size = checked_size(named, 0, self._spool is not None)
        now = self._base.now()
        future: asyncio.Future[ProducerResult] = self._base.loop.create_future()
        entry = Entry(named, size, now, now + self._settings.timeout, future)
        if not self._backlog.add(entry):
            limits = f"{self._settings.max_items} of together {self._settings.max_bytes} bytes"
            raise ProducerFullError(f"{self._backlog.size} items wait to be handed over; allowed are {limits}")
        if not self._backlog.has_room:
            self._room.clear()
        self._unsettled.add(future)
        future.add_done_callback(lambda done: self._told(named, done))
        self._arm_expiry()
        self._wake()
        return future

    def stamped(self, item: NewItem) -> NewItem:
        """With the context of whoever adds it; in his task or thread."""
        tracer = self._base.tracer
        return item if tracer is None else tracer.stamped(item)

    async def ready(self) -> None:
        """Wait until an item that is added now need not wait for room."""
        if self._spool is not None:
            await self._spool.opened()
        await self._room.wait()
        if self._is_closed:
            raise ProducerClosedError(_CLOSED)

    async def flush(self) -> None:
        """Wait until everything that was added before is accepted, refused, or on disk: at the latest after `timeout`."""
        self._flushing += 1
        try:
            self._wake()
            if self._unsettled:
                await asyncio.wait(list(self._unsettled))
        finally:
            self._flushing -= 1

    async def close(self, timeout: float | None = None) -> None:
        """Take nothing more, flush, let go of the spool. After `timeout` what is left is refused."""
        if timeout is not None:
            number_within("timeout", timeout, 0, LONGEST_CLOSE)
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close(timeout))
            # Whoever asked for it may be gone by then.
            self._closing.add_done_callback(lambda _: self._on_closed(self))
        await asyncio.shield(self._closing)

    async def _close(self, timeout: float | None) -> None:
        self._is_closed = True
        self._room.set()
        if self._spool is not None:
            self._spool.closing()
        limit = None if timeout is None else self._base.loop.call_later(timeout, self._give_up)
        await self.flush()
        for timer in (limit, self._expiry, self._interval):
            if timer is not None:
                timer.cancel()
        if self._sending is not None:
            await asyncio.wait([self._sending])
        if self._spool is not None:
            await self._spool.close()

    def resolve(self, entry: Entry, result: ProducerResult) -> None:
        """Of an entry that was taken."""
        if not entry.future.done():
            entry.future.set_result(result)
        self._settled(entry)

    def reject(self, entry: Entry, error: Exception) -> None:
        """Of an entry that was taken."""
        if not entry.future.done():
            entry.future.set_exception(error)
        self._settled(entry)

    def _settled(self, entry: Entry) -> None:
        self._backlog.settled(entry)
        self._room_changed()

    def _told(self, item: NewItem, future: asyncio.Future[ProducerResult]) -> None:
        """Whoever gave `on_error` may leave the futures alone (fire and forget)."""
        self._unsettled.discard(future)
        if self._settings.on_error is None or future.cancelled():
            return
        error = future.exception()
        if isinstance(error, Exception):
            self._settings.tell(error, item)

    def _wake(self) -> None:
        """Send what is due, and see to it that the rest will be."""
        first = self._backlog.first
        if self._sending is not None or first is None or self._backlog.admitted == 0:
            return
        left = first.since + self._settings.interval - self._base.now()
        is_due = (
            self._backlog.admitted >= self._settings.count
            or self._backlog.bytes >= LARGEST_MESSAGE
            or self._flushing > 0
            or left <= 0
        )
        if is_due:
            self._sending = self._base.loop.create_task(self._send())
        elif self._interval is None:
            self._interval = self._base.loop.call_later(left, self._interval_over)

    def _interval_over(self) -> None:
        self._interval = None
        self._wake()

    async def _send(self) -> None:
        if self._interval is not None:
            self._interval.cancel()
            self._interval = None
        try:
            await self._delivery.deliver(self._backlog.take(self._settings.count, LARGEST_MESSAGE))
        finally:
            self._sending = None
            self._wake()

    def _arm_expiry(self) -> None:
        """Of those that are not on their way: whoever sends looks after the others."""
        first = self._backlog.first
        if self._expiry is None and first is not None:
            self._expiry = self._base.loop.call_at(first.deadline + 0.001, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        self._refuse(self._backlog.expire(self._base.now()), None)
        self._arm_expiry()

    def _give_up(self) -> None:
        error = ProducerClosedError("the producer was closed")
        self._delivery.give_up(error)
        self._refuse(self._backlog.expire(), error)

    def _refuse(self, entries: Sequence[Entry], error: Exception | None) -> None:
        for entry in entries:
            if not entry.future.done():
                late = ProducerTimeoutError(entry.item.item_id, self._settings.timeout)
                entry.future.set_exception(error or late)
        self._room_changed()

    def _room_changed(self) -> None:
        if self._backlog.size == 0 and self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if self._backlog.has_room:
            self._room.set()
