"""Who waits until a session that closes has settled what it began."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Settlers:
    """Told once nothing is being settled any more, or there is no stream to hear it on."""

    def __init__(self, loop: asyncio.AbstractEventLoop, is_settling: Callable[[], bool]) -> None:
        self._loop = loop
        self._is_settling = is_settling
        self._waiting: list[asyncio.Future[None]] = []

    async def wait(self, timeout: float) -> None:
        """For so many seconds at most."""
        if not self._is_settling():
            return
        settled: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(settled)
        await asyncio.wait((settled,), timeout=timeout)
        if settled in self._waiting:
            self._waiting.remove(settled)

    def look(self) -> None:
        """Something was settled, or never will be."""
        if not self._waiting or self._is_settling():
            return
        waiting, self._waiting = self._waiting, []
        for settled in waiting:
            if not settled.done():
                settled.set_result(None)
