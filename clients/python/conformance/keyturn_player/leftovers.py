"""What the clients left behind after all were closed."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path
from typing import Any

from keyturn_player.threads.client import THREADS
from keyturn_player.words import Json

_OWN = ("stdin", THREADS)


def _sockets() -> set[str]:
    found: set[str] = set()
    for entry in Path("/proc/self/fd").iterdir() if Path("/proc/self/fd").is_dir() else ():
        try:
            target = str(entry.readlink())
        except OSError:
            continue
        if target.startswith("socket:"):
            found.add(target)
    return found


async def leftovers(own_tasks: set[asyncio.Task[Any]]) -> Json:
    # grpc lets go of a socket when the last object of its channel is gone, a moment after close() has returned.
    for _ in range(20):
        gc.collect()
        what = _what(own_tasks)
        if not what:
            break
        await asyncio.sleep(0.05)
    return {"count": len(what), "what": what}


def _what(own_tasks: set[asyncio.Task[Any]]) -> list[str]:
    tasks = [task for task in asyncio.all_tasks() if task not in own_tasks and not _is_main(task)]
    threads = [
        thread
        for thread in threading.enumerate()
        if thread is not threading.main_thread() and not thread.name.startswith(_OWN)
    ]
    connections = _connections()
    return [*(repr(task) for task in tasks), *(repr(thread) for thread in threads), *connections]


def _is_main(task: asyncio.Task[Any]) -> bool:
    coroutine = task.get_coro()
    return getattr(coroutine, "__qualname__", "") == "run"


def _connections() -> list[str]:
    """TCP connections of this process that stand."""
    inodes = {target[len("socket:[") : -1] for target in _sockets()}
    found: list[str] = []
    for table in ("tcp", "tcp6"):
        path = Path("/proc/net") / table
        if not path.exists():
            continue
        for line in path.read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes:
                found.append(f"{table} {fields[1]} -> {fields[2]} state {fields[3]}")
    return found
