"""The files of a spool: what was confirmed is handed over, whatever becomes of process, disk and directory."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyturn import NewItem, SpoolError
from keyturn._produce.spool import disk, marks, record
from keyturn._produce.spool.store import Store

MAX_BYTES = 65_536 * 8


class OpenStores:
    """Stores of one directory, one after another, as processes are."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._open: Store | None = None

    def open(self) -> Store:
        self.close()
        self._open = Store(self.directory, "events", MAX_BYTES)
        return self._open

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[OpenStores]:
    ones = OpenStores(tmp_path / "a" / "spool")
    yield ones
    ones.close()


def put(spool: Store, first: int, count: int, size: int = 10) -> list[str]:
    ids = [f"id-{n:03}" for n in range(first, first + count)]
    for item_id in ids:
        spool.append(record.encode_item(NewItem(b"x" * size, item_id=item_id)), 1)
    spool.sync()
    return ids


def drain(spool: Store, at_once: int = 7) -> list[str]:
    ids: list[str] = []
    while (chunk := spool.read(at_once, 1 << 20)) is not None:
        ids += [item.item_id for item in chunk.items]
        spool.advance(chunk)
    return ids


@pytest.mark.parametrize("sizes", [(20_000, 20_000), (20_000, 100), (100, 20_000), (100, 100), (1_000, 999)])
def test_what_is_spooled_after_a_drain_and_a_restart_is_all_handed_over(stores: OpenStores, sizes: tuple[int, int]) -> None:
    first, second = sizes
    spool = stores.open()
    assert drain_all(spool, put(spool, 0, 20, first))
    spool = stores.open()
    ids = put(spool, 20, 20, second)
    spool = stores.open()
    assert drain(spool) == ids


def drain_all(spool: Store, ids: list[str]) -> bool:
    return drain(spool) == ids


def test_a_number_is_never_used_again(stores: OpenStores) -> None:
    numbers: list[str] = []
    for at in range(3):
        spool = stores.open()
        put(spool, at, 1)
        numbers += [path.name for path in stores.directory.glob("*.spool")]
        drain(spool)
    assert len(set(numbers)) == 3


def test_a_number_that_only_a_cursor_of_an_older_version_tells_is_not_used_again(stores: OpenStores) -> None:
    stores.open()
    stores.close()
    (stores.directory / "cursor").write_bytes(record.encode(marks._CURSOR.pack(7, 100)))
    put(stores.open(), 0, 1)
    assert [path.name for path in stores.directory.glob("*.spool")] == ["0000000008.spool"]


def test_a_segment_of_an_older_version_leaves_its_number(stores: OpenStores) -> None:
    put(stores.open(), 0, 1)
    stores.close()
    (stores.directory / "last").unlink()
    drain(stores.open())
    put(stores.open(), 1, 1)
    assert [path.name for path in stores.directory.glob("*.spool")] == ["0000000002.spool"]


def test_the_cursor_goes_with_its_segment(stores: OpenStores) -> None:
    spool = stores.open()
    put(spool, 0, 20)
    drain(spool)
    assert not (stores.directory / "cursor").exists()


@pytest.mark.parametrize("offset", [1, 60, 10_000])
def test_a_cursor_that_points_into_a_record_or_beyond_skips_nothing(stores: OpenStores, offset: int) -> None:
    ids = put(stores.open(), 0, 20)
    stores.close()
    (stores.directory / "cursor").write_bytes(record.encode(marks._CURSOR.pack(1, offset)))
    assert drain(stores.open()) == ids


def test_what_was_noted_as_done_is_not_read_again(stores: OpenStores) -> None:
    spool = stores.open()
    ids = put(spool, 0, 20)
    chunk = spool.read(7, 1 << 20)
    assert chunk is not None
    spool.advance(chunk)
    spool = stores.open()
    assert spool.items == 13
    assert drain(spool) == ids[7:]


class FullDisk:
    """Writes and makes files no more while `is_full`; to read and to remove works."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        self.takes = 0
        """So many bytes of the next write come through."""
        self._write, self._open = os.write, os.open
        monkeypatch.setattr(os, "write", self._on_write)
        monkeypatch.setattr(os, "open", self._on_open)

    def _on_write(self, file: int, data: Any) -> int:
        if not self.is_full:
            return self._write(file, data)
        if self.takes == 0:
            raise OSError(errno.ENOSPC, "no space left on device")
        taken, self.takes = self.takes, 0
        return self._write(file, data[:taken])

    def _on_open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        if self.is_full and flags & os.O_CREAT and not Path(path).exists():
            raise OSError(errno.ENOSPC, "no space left on device")
        return self._open(path, flags, mode)


@pytest.fixture(name="disk")
def full_disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(monkeypatch)


def test_a_full_disk_does_not_stop_the_replay(stores: OpenStores, disk: FullDisk) -> None:
    spool = stores.open()
    ids = put(spool, 0, 20)
    disk.is_full = True
    assert drain(spool) == ids


@pytest.mark.parametrize("takes", [0, 1, 30])
@pytest.mark.parametrize("is_first", [True, False])
def test_after_a_full_disk_items_are_taken_again_and_nothing_is_damaged(
    stores: OpenStores, disk: FullDisk, takes: int, is_first: bool
) -> None:
    spool = stores.open()
    ids = [] if is_first else put(spool, 0, 3)
    disk.is_full, disk.takes = True, takes
    with pytest.raises(SpoolError, match="no space"):
        put(spool, 100, 1)
    assert not spool.is_uncertain
    disk.is_full = False
    ids += put(spool, 3, 3)
    # As after kill -9: nothing is closed in peace.
    copy = OpenStores(stores.directory.parent / "copy")
    copy.directory.mkdir()
    for path in stores.directory.iterdir():
        (copy.directory / path.name).write_bytes(path.read_bytes())
    assert copy.open().torn is None
    assert drain(copy.open()) == ids
    copy.close()
    assert drain(spool) == ids


def test_after_a_sync_that_failed_nothing_of_it_is_ever_called_safe(
    stores: OpenStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = stores.open()
    ids = put(spool, 0, 1)
    sync = os.fsync

    def fails(_: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(SpoolError, match="synced"):
        ids += put(spool, 1, 1)
    ids.append("id-001")
    monkeypatch.setattr(os, "fsync", sync)
    # The system tells a failure once; what it says after it means nothing.
    with pytest.raises(SpoolError, match="synced"):
        spool.sync()
    assert spool.is_uncertain
    assert drain(spool) == ids
    with pytest.raises(SpoolError, match="synced"):
        spool.sync()
    assert spool.begin_anew()
    put(spool, 2, 1)


def test_the_names_of_a_new_directory_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    sync = os.fsync

    def fsync(file: int) -> None:
        synced.append(Path(f"/proc/self/fd/{file}").readlink())
        sync(file)

    monkeypatch.setattr(os, "fsync", fsync)
    Store(tmp_path / "a" / "b" / "spool", "events", MAX_BYTES).close()
    assert {tmp_path, tmp_path / "a", tmp_path / "a" / "b"} <= set(synced)


def test_what_is_cut_away_at_the_start_does_not_come_back(stores: OpenStores, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = put(stores.open(), 0, 2)
    stores.close()
    (segment,) = stores.directory.glob("*.spool")
    with segment.open("ab") as file:
        file.write(b"half")
    synced: list[tuple[Path, int]] = []
    sync = os.fsync

    def fsync(file: int) -> None:
        synced.append((Path(f"/proc/self/fd/{file}").readlink(), os.fstat(file).st_size))
        sync(file)

    monkeypatch.setattr(os, "fsync", fsync)
    spool = stores.open()
    assert spool.torn is not None
    assert (segment, segment.stat().st_size) in synced
    assert drain(spool) == ids


def test_a_segment_that_nothing_could_be_written_to_is_removed(stores: OpenStores, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = stores.open()
    write = disk.write_all

    def fails(file: int, data: bytes) -> None:
        if len(data) > 500:
            raise OSError(errno.ENOSPC, "no space left on device")
        write(file, data)

    monkeypatch.setattr(disk, "write_all", fails)
    for n in range(3):
        with pytest.raises(SpoolError):
            put(spool, n, 1, 1_000)
        assert drain(spool) == []
    assert not list(stores.directory.glob("*.spool"))
