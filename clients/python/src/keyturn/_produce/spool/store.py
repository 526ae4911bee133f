"""The files of a spool. Everything here waits for the disk: it is called from one thread of its own."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from keyturn._produce.spool import disk, record
from keyturn._produce.spool.marks import Cursor, Marks
from keyturn._words.limits import MIB
from keyturn.errors import SpoolError
from keyturn.words import NewItem

_LARGEST_SEGMENT: Final = 8 * MIB
# Space comes free by segments: a small spool has small ones.
_SEGMENTS: Final = 8
_NAME: Final = re.compile(r"\d{10}\.spool")


@dataclass
class Segment:
    """A file of records that is only appended to."""

    number: int
    path: Path
    size: int
    items: int


class Chunk(NamedTuple):
    """Items in the order in which they were appended, and where the segment is read on after them."""

    items: list[NewItem]
    end: int


class Store:
    """Appends to the newest segment, reads the oldest, removes it when all its items were handed over.

    One writer and one reader, which do not meet: a segment is read when it is not written to any more. Raises SpoolError.
    """

    def __init__(self, directory: Path, queue: str, max_bytes: int) -> None:
        self._directory = directory
        self._title = record.encode_title(queue)
        self._most = min(_LARGEST_SEGMENT, max_bytes // _SEGMENTS)
        self._sealed: list[Segment] = []
        self._active: Segment | None = None
        self._file = -1
        self._offset = 0
        self._data: bytes | None = None
        # Handed over, and not removed yet.
        self._done: list[Segment] = []
        self._last_number = 0
        """The largest that was ever used."""
        self._failure: SpoolError | None = None
        self.torn: SpoolError | None = None
        """What was cut away from the newest segment."""
        try:
            disk.make_directory(directory)
        except OSError as error:
            raise SpoolError("io", str(directory), f"cannot be made: {error}") from error
        self._marks = Marks(directory)
        self._lock = disk.lock(directory / "lock")
        try:
            self._look(queue)
        except OSError as error:
            os.close(self._lock)
            raise SpoolError("io", str(directory), f"cannot be read: {error}") from error
        except BaseException:
            os.close(self._lock)
            raise

    @property
    def items(self) -> int:
        return sum(segment.items for segment in self._all())

    @property
    def size(self) -> int:
        return sum(segment.size for segment in (*self._all(), *self._done))

    @property
    def title_size(self) -> int:
        return len(self._title)

    @property
    def is_nearly_empty(self) -> bool:
        """Everything that is left stands in the segment that is being read."""
        return self._active is None and len(self._sealed) <= 1

    @property
    def is_uncertain(self) -> bool:
        """What is on disk nobody knows: a sync failed, or what was half written could not be taken back."""
        return self._failure is not None

    def append(self, records: bytes, items: int) -> None:
        """Nothing is safe before `sync`. When it fails nothing was appended, unless `is_uncertain`."""
        if self._failure is not None:
            raise self._failure
        try:
            segment = self._segment_for(len(records))
            self._write(segment, records)
        except OSError as error:
            raise SpoolError("io", self._where(), f"cannot be written: {error}") from error
        segment.size += len(records)
        segment.items += items

    def sync(self) -> None:
        # After a failure the system forgets what it could not write: that the next sync is fine means nothing.
        if self._failure is not None:
            raise self._failure
        if self._active is None:
            return
        try:
            os.fsync(self._file)
        except OSError as error:
            self._failure = SpoolError("io", self._where(), f"cannot be synced: {error}")
            raise self._failure from error

    def read(self, most: int, size: int) -> Chunk | None:
        """The next items, at least one; None: there are none. They stay until `advance`."""
        if not self._sealed:
            self._seal()
        if not self._sealed:
            self._try_to_remove()
            return None
        oldest = self._sealed[0]
        path = str(oldest.path)
        if self._data is None:
            try:
                self._data = oldest.path.read_bytes()
            except OSError as error:
                raise SpoolError("io", path, f"cannot be read: {error}") from error
            self._offset = self._offset or record.size_of(record.body_at(self._data, 0) or b"")
        items: list[NewItem] = []
        offset, total = self._offset, 0
        while len(items) < most and offset < oldest.size:
            body = record.body_at(self._data, offset)
            if body is None:
                raise SpoolError("damaged", path, f"damaged at byte {offset}")
            if items and total + len(body) > size:
                break
            items.append(record.decode_item(path, body))
            total += len(body)
            offset += record.size_of(body)
        return Chunk(items, offset)

    def advance(self, chunk: Chunk) -> None:
        """These items, the last that were read, are done with, also when it raises."""
        oldest = self._sealed[0]
        if chunk.end < oldest.size:
            self._offset = chunk.end
            oldest.items -= len(chunk.items)
            self._marks.move_cursor(Cursor(oldest.number, chunk.end))
            return
        self._done.append(self._sealed.pop(0))
        self._data = None
        self._offset = 0
        self._marks.drop_cursor()
        self._remove_done()

    def begin_anew(self) -> bool:
        """Whether there is nothing on disk any more, so that nothing of it is uncertain."""
        self._try_to_remove()
        if self._sealed or self._active is not None or self._done:
            return False
        self._failure = None
        return True

    def close(self) -> None:
        """What is left is there for the next start."""
        try:
            self.sync()
        finally:
            self._let_go()
            self._try_to_remove()
            os.close(self._lock)

    def _where(self) -> str:
        return str(self._directory if self._active is None else self._active.path)

    def _all(self) -> list[Segment]:
        return self._sealed if self._active is None else [*self._sealed, self._active]

    def _remove_done(self) -> None:
        try:
            while self._done:
                segment = self._done[0]
                # Of the newest its name was what told the number, where an older version wrote it.
                if segment.number == self._last_number:
                    self._marks.use_number(segment.number)
                segment.path.unlink(missing_ok=True)
                self._done.pop(0)
        except OSError as error:
            what = f"was handed over and cannot be removed: {error}; after a restart it would be handed over again"
            raise SpoolError("io", str(self._done[0].path), what) from error

    def _try_to_remove(self) -> None:
        """Should it fail, it was told before, or it harms nothing."""
        with suppress(SpoolError):
            self._remove_done()

    def _seal(self) -> None:
        """Nothing is written to the newest segment any more: it may be read.

        After a failure it is read as it is: those who wait for its sync are told of the failure all the same.
        """
        if self._failure is None:
            self.sync()
        self._let_go()

    def _let_go(self) -> None:
        if self._active is None:
            return
        # What counts is asked for by another thread: nothing may be missing meanwhile. One without items is only removed: should
        # it stay with what was half written, behind it nothing could be read after a restart.
        (self._sealed if self._active.items > 0 else self._done).append(self._active)
        self._active = None
        os.close(self._file)

    def _write(self, segment: Segment, records: bytes) -> None:
        try:
            disk.write_all(self._file, records)
        except OSError as error:
            # What follows a record that was cut off could not be read after a restart.
            try:
                os.ftruncate(self._file, segment.size)
            except OSError:
                self._failure = SpoolError("io", str(segment.path), f"cannot be written: {error}")
            raise

    def _segment_for(self, size: int) -> Segment:
        active = self._active
        if active is not None and active.items > 0 and active.size + size > self._most:
            self._seal()
        if self._active is None:
            self._active = self._new_segment()
        return self._active

    def _new_segment(self) -> Segment:
        number = self._last_number + 1
        path = self._directory / f"{number:010}.spool"
        self._marks.use_number(number)
        self._last_number = number
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            disk.write_all(file, self._title)
            os.fsync(file)
            disk.sync_directory(self._directory)
        except OSError as error:
            os.close(file)
            try:
                path.unlink()
            except OSError:
                self._failure = SpoolError("io", str(path), f"cannot be written: {error}")
                self._done.append(Segment(number, path, len(self._title), 0))
            raise
        self._file = file
        return Segment(number, path, len(self._title), 0)

    def _look(self, queue: str) -> None:
        """All segments are looked at before any is changed."""
        paths = sorted(path for path in self._directory.iterdir() if _NAME.fullmatch(path.name))
        found: list[tuple[Segment, record.Scan]] = []
        for at, path in enumerate(paths):
            data = path.read_bytes()
            scan = record.scan(str(path), data, queue, at == len(paths) - 1)
            items = max(0, len(scan.starts) - 1)
            found.append((Segment(int(path.name[:10]), path, len(data) - scan.torn, items), scan))
        if found and found[-1][1].torn:
            last, scan = found[-1]
            disk.truncate(last.path, last.size)
            what = f"{scan.torn} bytes of a record that was never confirmed were cut away"
            self.torn = SpoolError("torn", str(last.path), what)
        self._last_number = max(self._marks.last_number(), found[-1][0].number if found else 0)
        self._done = [segment for segment, _ in found if segment.items == 0]
        self._try_to_remove()
        left = [(segment, scan) for segment, scan in found if segment.items > 0]
        self._sealed = [segment for segment, _ in left]
        self._go_to_cursor(*left[0]) if left else self._marks.drop_cursor()

    def _go_to_cursor(self, oldest: Segment, scan: record.Scan) -> None:
        cursor = self._marks.cursor()
        if cursor is None:
            return
        if cursor.segment == oldest.number and cursor.offset in scan.starts[:-1]:
            self._offset = cursor.offset
            oldest.items -= scan.starts.index(cursor.offset)
        else:
            self._marks.drop_cursor()
