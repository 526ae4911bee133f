"""What a spool knows besides its segments: how far the oldest was handed over, and which number was the last.

A number is never used again. Else a cursor that outlived its segment would fit the next one of that number, and what stands
before it would never be handed over.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from keyturn._produce.spool import disk, record

_CURSOR: Final = struct.Struct("<QQ")
_LAST: Final = struct.Struct("<Q")


class Cursor(NamedTuple):
    """Everything before this place was handed over."""

    segment: int
    offset: int


class Marks:
    """Two small files, each a record with its checksum: one that was cut off counts as none."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._cursor = directory / "cursor"
        self._last = directory / "last"
        self._used = 0

    def cursor(self) -> Cursor | None:
        body = _body(self._cursor, _CURSOR.size)
        return None if body is None else Cursor(*_CURSOR.unpack(body))

    def move_cursor(self, cursor: Cursor) -> None:
        """It saves work, it is not needed: the sidecar knows the items again by their ids.

        So it is not synced, and a disk without room for it keeps nothing from being handed over.
        """
        with suppress(OSError), disk.opened(self._cursor, os.O_CREAT | os.O_WRONLY | os.O_TRUNC) as file:
            disk.write_all(file, record.encode(_CURSOR.pack(*cursor)))

    def drop_cursor(self) -> None:
        """Its segment goes. Should this fail, its number fits no other one."""
        with suppress(OSError):
            self._cursor.unlink(missing_ok=True)

    def last_number(self) -> int:
        """The largest that was ever used, as far as these files tell; 0: none."""
        body = _body(self._last, _LAST.size)
        self._used = 0 if body is None else _LAST.unpack(body)[0]
        cursor = self.cursor()
        return max(self._used, 0 if cursor is None else cursor.segment)

    def use_number(self, number: int) -> None:
        """It counts as used when this returns. The name is on disk when the directory is synced."""
        if number <= self._used:
            return
        new = self._directory / "last.new"
        with disk.opened(new, os.O_CREAT | os.O_WRONLY | os.O_TRUNC) as file:
            disk.write_all(file, record.encode(_LAST.pack(number)))
            os.fsync(file)
        new.replace(self._last)
        self._used = number


def _body(path: Path, size: int) -> bytes | None:
    try:
        body = record.body_at(path.read_bytes(), 0)
    except FileNotFoundError:
        return None
    return body if body is not None and len(body) == size else None
