"""A spool for asyncio: its files are touched by one thread, one task after another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from keyturn._connection.waits import Background
from keyturn._produce.spool.disk_thread import DiskThread
from keyturn._produce.spool.options import Spool
from keyturn._produce.spool.record import encode_item
from keyturn._produce.spool.store import Chunk, Store
from keyturn.errors import SpoolError
from keyturn.words import NewItem

A = TypeVar("A")


class SpoolFiles:
    """An append is confirmed when it is synced: after `interval` or `count` items, whatever comes first.

    When nobody knows what is on disk, nothing more is appended until all of it was handed over; it is still read.
    """

    def __init__(self, choice: Spool, queue: str) -> None:
        self._choice = choice
        self._queue = queue
        self._loop = asyncio.get_running_loop()
        self._disk = DiskThread("keyturn-spool")
        self._store: Store | None = None
        self._unsynced: list[asyncio.Future[None]] = []
        self._unsynced_items = 0
        self._timer: asyncio.TimerHandle | None = None
        self._syncing = Background(self._loop)
        self._bytes_coming = 0
        self._items_coming = 0
        self._hurries = False
        self.broken: SpoolError | None = None
        """Why nothing more is appended."""

    async def open(self) -> SpoolError | None:
        """What was cut away; raises SpoolError when the directory cannot be used, for whatever reason."""
        try:
            self._store = await self._run(lambda: Store(Path(self._choice.directory), self._queue, self._choice.max_bytes))
        except BaseException:
            self._disk.end()
            raise
        return self._store.torn

    @property
    def items(self) -> int:
        """How many are left, those on their way to disk included."""
        return self._items_coming + (0 if self._store is None else self._store.items)

    @property
    def is_nearly_empty(self) -> bool:
        return self._items_coming == 0 and (self._store is None or self._store.is_nearly_empty)

    @staticmethod
    def encode(item: NewItem) -> bytes:
        return encode_item(item)

    def fits(self, size: int, ever: bool = False) -> bool:
        """Whether so many bytes fit in, now; `ever`: into an empty spool."""
        store = self._opened
        taken = 0 if ever else store.size + self._bytes_coming
        return taken + size + store.title_size <= self._choice.max_bytes

    def append(self, records: Sequence[bytes]) -> asyncio.Future[None]:
        """Done when the items are synced; with a SpoolError they may be on disk or not."""
        safe: asyncio.Future[None] = self._loop.create_future()
        data = b"".join(records)
        self._bytes_coming += len(data)
        self._items_coming += len(records)
        self._syncing.start(self._append(data, len(records), safe))
        return safe

    async def read(self, most: int, size: int) -> Chunk | None:
        return await self._run(lambda: self._opened.read(most, size))

    async def advance(self, chunk: Chunk) -> None:
        """It is done with, also when this raises."""
        await self._run(lambda: self._opened.advance(chunk))

    async def drained(self) -> None:
        """All of it was handed over: what was uncertain is so no more."""
        if self.broken is not None and self.items == 0 and not self._unsynced and await self._run(self._opened.begin_anew):
            self.broken = None

    def hurry(self) -> None:
        """The producer is closing: nobody shall wait for the interval any more."""
        self._hurries = True
        if self._unsynced:
            self._syncing.start(self._sync())

    async def close(self) -> None:
        """Sync what is not yet, and let go of the directory."""
        while self._syncing:
            await self._syncing.ended()
        await self._sync()
        if self._store is not None:
            try:
                await self._run(self._store.close)
            except SpoolError as error:
                self._break(error)
            self._store = None
        self._disk.end()

    @property
    def _opened(self) -> Store:
        if self._store is None:
            raise SpoolError("io", str(self._choice.directory), "the spool is not open")
        return self._store

    async def _append(self, data: bytes, items: int, safe: asyncio.Future[None]) -> None:
        try:
            if self.broken is not None:
                raise self.broken
            await self._run(lambda: self._opened.append(data, items))
        except SpoolError as error:
            if self._opened.is_uncertain:
                self._break(error)
            safe.set_exception(error)
            return
        finally:
            self._bytes_coming -= len(data)
            self._items_coming -= items
        self._unsynced.append(safe)
        self._unsynced_items += items
        if self._hurries or self._unsynced_items >= self._choice.count:
            await self._sync()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._choice.interval, lambda: self._syncing.start(self._sync()))

    async def _sync(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._unsynced = self._unsynced, []
        self._unsynced_items = 0
        if not waiting:
            return
        try:
            await self._run(self._opened.sync)
        except SpoolError as error:
            for one in waiting:
                one.set_exception(self._break(error))
            return
        for one in waiting:
            one.set_result(None)

    def _break(self, error: SpoolError) -> SpoolError:
        if self.broken is None:
            self.broken = error
        return self.broken

    async def _run(self, task: Callable[[], A]) -> A:
        """Whatever a disk or its path does, it is told as an error of the spool: nobody waits for it for ever."""
        try:
            return await asyncio.wrap_future(self._disk.run(task), loop=self._loop)
        except SpoolError:
            raise
        except Exception as error:
            raise SpoolError("io", str(self._choice.directory), f"cannot be used: {error!r}") from error
