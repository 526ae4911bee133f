"""The files of a spool. Everything here waits for the disk: it is called from one thread of its own."""

from __future__ import annotations

import os
import re
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from keyturn._spool import record
from keyturn.errors import SpoolError
from keyturn.words import NewItem

_LARGEST_SEGMENT: Final = 8 * 1_048_576
# Space comes free by segments: a small spool has small ones.
_SEGMENTS: Final = 8
_NAME: Final = re.compile(r"\d{10}\.spool")
_CURSOR: Final = struct.Struct("<QQ")


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
        self.torn: SpoolError | None = None
        """What was cut away from the newest segment."""
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise SpoolError("io", str(directory), f"cannot be made: {error}") from error
        self._lock = _lock(directory / "lock")
        try:
            self._look(queue)
        except OSError as error:
            os.close(self._lock)
            raise SpoolError("io", str(directory), f"cannot be read: {error}") from error
        except SpoolError:
            os.close(self._lock)
            raise
        self._next_number = self._sealed[-1].number + 1 if self._sealed else 1

    @property
    def items(self) -> int:
        return sum(segment.items for segment in self._all())

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._all())

    @property
    def title_size(self) -> int:
        return len(self._title)

    @property
    def is_nearly_empty(self) -> bool:
        """Everything that is left stands in the segment that is being read."""
        return self._active is None and len(self._sealed) <= 1

    def append(self, records: bytes, items: int) -> None:
        """Nothing is safe before `sync`."""
        try:
            segment = self._segment_for(len(records))
            _write_all(self._file, records)
        except OSError as error:
            raise SpoolError("io", self._where(), f"cannot be written: {error}") from error
        segment.size += len(records)
        segment.items += items

    def sync(self) -> None:
        if self._active is None:
            return
        try:
            os.fsync(self._file)
        except OSError as error:
            raise SpoolError("io", self._where(), f"cannot be synced: {error}") from error

    def read(self, most: int, size: int) -> Chunk | None:
        """The next items, at least one; None: there are none. They stay until `advance`."""
        if not self._sealed:
            self.seal()
        if not self._sealed:
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
        """These items, the last that were read, are done with."""
        oldest = self._sealed[0]
        try:
            if chunk.end < oldest.size:
                self._offset = chunk.end
                oldest.items -= len(chunk.items)
                # It saves work, it is not needed: the sidecar knows the items again by their ids. So it is not synced.
                self._cursor.write_bytes(record.encode(_CURSOR.pack(oldest.number, chunk.end)))
                return
            oldest.path.unlink()
        except OSError as error:
            raise SpoolError("io", str(oldest.path), f"what was handed over cannot be noted: {error}") from error
        self._sealed.pop(0)
        self._data = None
        self._offset = 0

    def seal(self) -> None:
        """Nothing is written to the newest segment any more: it may be read."""
        self.sync()
        if self._active is None:
            return
        segment, self._active = self._active, None
        os.close(self._file)
        if segment.items > 0:
            self._sealed.append(segment)

    def close(self) -> None:
        """What is left is there for the next start."""
        try:
            self.seal()
        finally:
            os.close(self._lock)

    @property
    def _cursor(self) -> Path:
        return self._directory / "cursor"

    def _where(self) -> str:
        return str(self._directory if self._active is None else self._active.path)

    def _all(self) -> list[Segment]:
        return self._sealed if self._active is None else [*self._sealed, self._active]

    def _segment_for(self, size: int) -> Segment:
        active = self._active
        if active is not None and active.items > 0 and active.size + size > self._most:
            self.seal()
        if self._active is not None:
            return self._active
        path = self._directory / f"{self._next_number:010}.spool"
        self._file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
        self._active = Segment(self._next_number, path, len(self._title), 0)
        self._next_number += 1
        _write_all(self._file, self._title)
        os.fsync(self._file)
        # A file whose name is not on disk is not there after a power cut.
        descriptor = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return self._active

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
            os.truncate(last.path, last.size)
            what = f"{scan.torn} bytes of a record that was never confirmed were cut away"
            self.torn = SpoolError("torn", str(last.path), what)
        for segment, _ in found:
            if segment.items == 0:
                segment.path.unlink()
        left = [(segment, scan) for segment, scan in found if segment.items > 0]
        self._sealed = [segment for segment, _ in left]
        if left:
            self._go_to_cursor(*left[0])

    def _go_to_cursor(self, oldest: Segment, scan: record.Scan) -> None:
        if not self._cursor.exists():
            return
        body = record.body_at(self._cursor.read_bytes(), 0)
        if body is None or len(body) != _CURSOR.size:
            return
        number, offset = _CURSOR.unpack(body)
        if number == oldest.number and offset in scan.starts[:-1]:
            self._offset = offset
            oldest.items -= scan.starts.index(offset)


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _lock(path: Path) -> int:
    """One producer has the directory. The system lets go of the lock when its process ends, however that comes."""
    if sys.platform == "win32":
        raise SpoolError("io", str(path), "a spool needs file locks, which this system does not have")
    import fcntl  # noqa: PLC0415  (there is none on Windows)

    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise SpoolError("io", str(path), f"cannot be made: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        what = "the directory is in use; each producer needs one of its own"
        raise SpoolError("in_use", str(path), what) from error
    return descriptor
