"""What a spool does with files besides reading them. Raises OSError, and SpoolError where it says so."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keyturn.errors import SpoolError


def write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    file = os.open(path, flags, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def truncate(path: Path, size: int) -> None:
    """On disk when it returns: what was cut away must not come back in front of what is written later."""
    with opened(path, os.O_WRONLY) as file:
        os.ftruncate(file, size)
        os.fsync(file)


def sync_directory(directory: Path) -> None:
    """A file whose name is not on disk is not there after a power cut."""
    with opened(directory, os.O_RDONLY) as file:
        os.fsync(file)


def make_directory(directory: Path, mode: int = 0o700) -> None:
    """With its parents; the names of new ones are on disk when it returns."""
    if directory.is_dir():
        return
    if directory.parent != directory:
        make_directory(directory.parent, 0o777)
    # Another producer may make it at the same moment.
    directory.mkdir(exist_ok=True, mode=mode)
    sync_directory(directory.parent)


def lock(path: Path) -> int:
    """One producer has the directory. The system lets go of the lock when its process ends, however that comes.

    Raises SpoolError.
    """
    if sys.platform == "win32":
        raise SpoolError("io", str(path), "a spool needs file locks, which this system does not have")
    import fcntl  # noqa: PLC0415  (there is none on Windows)

    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise SpoolError("io", str(path), f"cannot be made: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        what = "the directory is in use; each producer needs one of its own"
        raise SpoolError("in_use", str(path), what) from error
    except OSError as error:
        os.close(descriptor)
        raise SpoolError("io", str(path), f"cannot be locked: {error}") from error
    return descriptor
