"""The way of items over the disk, while the sidecar cannot be reached or has no room."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from keyturn._connection.backoff import BackOff
from keyturn._connection.waits import comes
from keyturn._produce.backlog import Entry, Settling
from keyturn._produce.hand_over import CALL, WAIT_FOR_ROOM, hand_over, until
from keyturn._produce.options import ProducerResult, ProducerSettings
from keyturn._produce.spool.files import SpoolFiles
from keyturn._produce.spool.options import Spool
from keyturn._session.base import Base, retry_after_of
from keyturn._words.limits import MIB, MOST_ITEMS
from keyturn.errors import SpoolError
from keyturn.words import NewItem

_MOST_BYTES: Final = MIB
_FOR_EVER: Final = None


class SpoolRoute:
    """Once something is on disk everything goes that way, in order, until all of it was handed over."""

    def __init__(self, base: Base, settings: ProducerSettings, choice: Spool, settling: Settling) -> None:
        self._base = base
        self._settings = settings
        self._choice = choice
        self._settling = settling
        self._files = SpoolFiles(choice, settings.queue)
        self._closing = asyncio.Event()
        self._changed = asyncio.Event()
        self._replaying: asyncio.Task[None] | None = None
        self._is_closing = False
        # What is on disk cannot be read: nothing is skipped, and nothing passes it.
        self._damage: SpoolError | None = None
        # The last Submit from disk came through.
        self._is_reachable = False
        self._opening = base.loop.create_task(self._open())
        self._opening.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def opened(self) -> None:
        """Raises SpoolError when the directory cannot be used."""
        await asyncio.shield(self._opening)

    @property
    def is_in_use(self) -> bool:
        """Items must not be sent past those on disk."""
        return self._replaying is not None

    def begin(self) -> None:
        """The sidecar cannot be reached, or has no room: what comes goes to disk, until all of it was handed over."""
        self._is_reachable = False
        if not self._closing.is_set() and self._replaying is None:
            self._replaying = self._base.loop.create_task(self._replay())

    async def take(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Put on disk what there is room for, and settle it when it is safe; wait until there is something to do.

        Returns what is left, in order: for another call, or to be sent straight if the spool is not in use any more.
        """
        files = self._files
        # So near to the end nothing more is put behind: it would never come, with new items all the time.
        if self._damage is not None:
            for entry in entries:
                self._settling.reject(entry, self._damage)
            return []
        is_ending = self._is_reachable and files.is_nearly_empty and not self._is_closing
        if not is_ending and files.broken is None:
            left = self._append(entries)
            if len(left) < len(entries):
                return left
        self._changed.clear()
        if not self.is_in_use:
            return entries
        await comes(self._changed, max(0.0, entries[0].deadline - self._base.now()))
        return entries

    def closing(self) -> None:
        """The producer takes nothing more: what is left goes to disk if it cannot be sent at once."""
        self._is_closing = True
        self._files.hurry()
        self.wake()

    async def close(self) -> None:
        """What is not handed over stays on disk."""
        self._closing.set()
        self.wake()
        await asyncio.wait((self._opening,))
        if self._opening.exception() is not None:
            return
        if self._replaying is not None:
            await asyncio.wait((self._replaying,))
        await self._files.close()

    def wake(self) -> None:
        """Whoever waits in `take` looks again."""
        self._changed.set()

    async def _open(self) -> None:
        torn = await self._files.open()
        if torn is not None:
            self._settings.tell(torn, None)
        if self._files.items > 0:
            self.begin()

    def _append(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        files = self._files
        taken: list[Entry] = []
        records: list[bytes] = []
        size = handled = 0
        for entry in entries:
            data = files.encode(entry.item)
            if not files.fits(len(data), ever=True):
                self._settling.reject(entry, self._too_large(entry.item, len(data)))
            elif not files.fits(size + len(data)):
                break
            else:
                size += len(data)
                taken.append(entry)
                records.append(data)
            handled += 1
        if taken:
            # Not waited for: while it is synced, more is written.
            files.append(records).add_done_callback(lambda safe: self._safe(taken, safe))
        return entries[handled:]

    def _safe(self, taken: Sequence[Entry], safe: asyncio.Future[None]) -> None:
        error = safe.exception()
        for entry in taken:
            if isinstance(error, Exception):
                self._settling.reject(entry, error)
            else:
                self._settling.resolve(entry, ProducerResult(entry.item.item_id, "spooled"))

    def _too_large(self, item: NewItem, size: int) -> SpoolError:
        what = f"item {item.item_id} takes {size} bytes, max_bytes is {self._choice.max_bytes}"
        return SpoolError("too_large", str(self._choice.directory), what)

    async def _replay(self) -> None:
        """Hand over what is on disk, oldest first, until nothing is left."""
        back_off = BackOff()
        told = ""
        try:
            while not self._closing.is_set():
                try:
                    if await self._replay_some():
                        return
                    back_off.reset()
                except SpoolError as error:
                    if error.problem == "damaged":
                        self._damage = error
                    if str(error) != told:
                        self._settings.tell(error, None)
                    told = str(error)
                    self.wake()
                    # A disk may come back. What is damaged stays so until somebody has mended it.
                    await self._pause(back_off.next() if self._damage is None else _FOR_EVER)
        finally:
            self._replaying = None
            # What was put on disk in the meantime is not left there, and nothing passes it.
            if self._files.items > 0:
                self.begin()
            self.wake()

    async def _replay_some(self) -> bool:
        """Whether that was all, or it is closing."""
        chunk = await self._files.read(MOST_ITEMS, _MOST_BYTES)
        if chunk is None:
            if self._files.items > 0 or not (self._is_reachable or await self._is_back()):
                return False
            await self._files.drained()
            return self._files.items == 0
        if not await self._hand_over_all(chunk.items):
            return True
        try:
            await self._files.advance(chunk)
        finally:
            self.wake()
        return False

    async def _is_back(self) -> bool:
        """Nothing was on disk yet when the sidecar went away: it is not asked at once again."""
        await self._pause(BackOff().next())
        return self._files.items == 0

    async def _pause(self, seconds: float | None) -> None:
        await comes(self._closing, seconds)

    async def _hand_over_all(self, items: Sequence[NewItem]) -> bool:
        """False: it was closed before that."""
        back_off = BackOff()
        left = list(items)
        most = len(left)
        told = ""
        while left:
            if self._closing.is_set():
                return False
            part = left[:most]
            durability = self._settings.durability
            asked = hand_over(self._base, self._settings.queue, part, CALL, WAIT_FOR_ROOM, durability)
            handed = await until(self._closing, asked)
            if handed is None:
                return False
            if handed.kind == "answered":
                del left[: len(part)]
            elif handed.kind == "some_refused":
                for at in sorted(handed.errors, reverse=True):
                    self._settings.tell(handed.errors[at], left.pop(at))
            elif handed.kind == "too_many":
                most = (len(part) + 1) // 2
            elif handed.error is not None:
                self._is_reachable = False
                self.wake()
                # It is nothing about the items, so they are kept until somebody has put it right; it is told once.
                if handed.kind == "refused" and str(handed.error) != told:
                    self._settings.tell(handed.error, None)
                told = str(handed.error)
                await self._pause(back_off.next(retry_after_of(handed.error)))
                continue
            self._is_reachable = True
            back_off.reset()
        return True
