"""A spool whose process ends, or whose disk fails, at any of the calls that it makes to the system."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from keyturn import NewItem, SpoolError
from keyturn._produce.spool import record
from keyturn._produce.spool.store import Store

MAX_BYTES = 65_536 * 8
# Two of them fill a segment.
LARGE = 30_000

Files = dict[str, bytes]


class Disk:
    """The calls that change something on disk. `before` is called with the name and what would be written where."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.before: Callable[[str, Path | None, bytes], None] = lambda *_: None
        write, opened = os.write, os.open
        truncate_path, truncate_file = os.truncate, os.ftruncate
        unlink, replace = Path.unlink, Path.replace

        def on_write(file: int, data: Any) -> int:
            self.before("write", Path(f"/proc/self/fd/{file}").readlink(), bytes(data))
            return write(file, data)

        def on_open(path: Any, flags: int, *rest: Any, **more: Any) -> int:
            if flags & (os.O_CREAT | os.O_TRUNC):
                self.before("open", None, b"")
            return opened(path, flags, *rest, **more)

        def told(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
            def on_call(*args: Any, **more: Any) -> Any:
                self.before(name, None, b"")
                return call(*args, **more)

            return on_call

        patch.setattr(os, "write", on_write)
        patch.setattr(os, "open", on_open)
        # The disk itself is not waited for: it takes minutes.
        patch.setattr(os, "fsync", told("fsync", lambda _: None))
        patch.setattr(os, "truncate", told("truncate", truncate_path))
        patch.setattr(os, "ftruncate", told("ftruncate", truncate_file))
        patch.setattr(Path, "unlink", told("unlink", unlink))
        patch.setattr(Path, "replace", told("replace", replace))


class Producer:
    """Uses a spool as a producer does, and remembers what it was told."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.confirmed: list[str] = []
        self.unsure: set[str] = set()
        self.handed: set[str] = set()
        self._count = 0
        self._store: Store | None = None

    def put(self, *sizes: int) -> None:
        store = self._opened()
        if store is None or (store.is_uncertain and not store.begin_anew()):
            return
        ids = [f"id-{self._count + n:03}" for n in range(len(sizes))]
        self._count += len(sizes)
        # Until it is confirmed nobody knows.
        self.unsure.update(ids)
        try:
            for item_id, size in zip(ids, sizes, strict=True):
                store.append(record.encode_item(NewItem(b"x" * size, item_id=item_id)), 1)
            store.sync()
        except SpoolError:
            return
        self.confirmed += ids
        self.unsure.difference_update(ids)

    def hand_over(self, count: int) -> list[str]:
        store = self._opened()
        if store is None:
            return []
        try:
            chunk = store.read(count, 1 << 20)
        except SpoolError as error:
            assert error.problem != "damaged", error
            return []
        if chunk is None:
            return []
        ids = [item.item_id for item in chunk.items]
        self.handed.update(ids)
        with suppress(SpoolError):
            store.advance(chunk)
        return ids

    def drain(self) -> list[str]:
        ids: list[str] = []
        while more := self.hand_over(2):
            ids += more
        return ids

    def end(self) -> None:
        if self._store is not None:
            with suppress(SpoolError):
                self._store.close()
            self._store = None

    def _opened(self) -> Store | None:
        if self._store is None:
            try:
                self._store = Store(self.directory, "events", MAX_BYTES)
            except SpoolError as error:
                assert error.problem != "damaged", error
        return self._store


def works(producer: Producer) -> None:
    """Everything that a spool does, some of it twice."""
    for _ in range(2):
        producer.put(10, LARGE, LARGE)
        producer.put(LARGE, 10)
        producer.hand_over(1)
        producer.hand_over(1)
        producer.put(10)
        producer.end()
        producer.put(10, 10)
        producer.drain()
        producer.put(10)
        producer.drain()
        producer.put(LARGE, LARGE, LARGE)
        producer.end()


def goes_on(directory: Path, left: Producer) -> None:
    """What another process finds: all that was confirmed and not handed over, in order; and it can go on for ever after."""
    found = Producer(directory)
    drained = found.drain()
    assert not set(drained) - set(left.confirmed) - left.unsure
    assert [one for one in drained if one in set(left.confirmed) - left.handed] == [
        one for one in left.confirmed if one not in left.handed
    ]
    assert drained == sorted(drained)
    found.put(10, LARGE, LARGE)
    found.end()
    again = Producer(directory)
    assert again.drain() == found.confirmed != []
    again.end()


class Calls:
    """Counted; those from `first` on fail, before `end`. `takes_part`: half of what was to be written is there all the same."""

    def __init__(self, first: int = 0, end: int = 0, takes_part: bool = False) -> None:
        self.count = 0
        self._first, self._end, self._takes_part = first, end, takes_part

    def __call__(self, name: str, path: Path | None, data: bytes) -> None:
        self.count += 1
        if self._first < self.count <= self._end:
            if path is not None and self._takes_part:
                with path.open("ab") as file:
                    file.write(data[: len(data) // 2])
            raise OSError(errno.EIO, f"{name} failed")


def copy_of(directory: Path) -> Files:
    return {path.name: path.read_bytes() for path in directory.iterdir()} if directory.exists() else {}


def laid_out(files: Files, directory: Path) -> Path:
    directory.mkdir()
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return directory


def test_a_process_may_end_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = Producer(tmp_path / "spool")
    moments: list[tuple[Files, Producer]] = []

    def snapshot(_: str, path: Path | None, data: bytes) -> None:
        files = copy_of(producer.directory)
        left = Producer(producer.directory)
        left.confirmed, left.unsure, left.handed = list(producer.confirmed), set(producer.unsure), set(producer.handed)
        moments.append((files, left))
        if path is not None:
            # A write that was cut off.
            for part in {1, len(data) // 2, len(data) - 1}:
                moments.append((files | {path.name: files.get(path.name, b"") + data[:part]}, left))

    with monkeypatch.context() as patch:
        disk = Disk(patch)
        disk.before = snapshot
        works(producer)
        disk.before = lambda *_: None
        assert len(moments) > 100
        for at, (files, left) in enumerate(moments):
            goes_on(laid_out(files, tmp_path / str(at)), left)


@pytest.mark.parametrize("lasts", [1, 2, 5])
@pytest.mark.parametrize("takes_part", [False, True])
def test_a_disk_may_fail_at_any_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasts: int, takes_part: bool) -> None:
    with monkeypatch.context() as patch:
        disk = Disk(patch)
        disk.before = calls = Calls()
        works(Producer(tmp_path / "spool"))
        total = calls.count
        for first in range(total):
            producer = Producer(tmp_path / f"{first}")
            disk.before = Calls(first, first + lasts, takes_part)
            works(producer)
            disk.before = lambda *_: None
            files = copy_of(producer.directory)
            goes_on(laid_out(files, tmp_path / f"{first}-killed"), producer)
            producer.end()
    assert total > 50
