"""Waiting for what goes on in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def comes(event: asyncio.Event, timeout: float | None) -> bool:
    """Wait for it; False: not within so many seconds."""
    try:
        await asyncio.wait_for(event.wait(), timeout)
    except asyncio.TimeoutError:
        return False
    return True


class Background:
    """Tasks that nobody awaits one by one. Kept until they end: else a garbage collector could end them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[Any]] = set()

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self.keep(task)
        return task

    def keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def ended(self, timeout: float | None = None) -> set[asyncio.Task[Any]]:
        """Wait until those that there are have ended; returns those that have not after so many seconds."""
        if not self._tasks:
            return set()
        _, late = await asyncio.wait(list(self._tasks), timeout=timeout)
        return late
