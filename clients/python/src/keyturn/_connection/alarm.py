"""One timer for everything that is due some time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf


class Alarm:
    """Goes off once, at the earliest moment that it was set to since it went off or was cancelled."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: Callable[[float], None]) -> None:
        """`wake`: how long after the moment that it was set to, in seconds."""
        self._loop = loop
        self._wake = wake
        self._timer: asyncio.TimerHandle | None = None
        self._at = inf

    def set(self, at: float) -> None:
        if at < self._at:
            self.cancel()
            self._at = at
            self._timer = self._loop.call_at(at, self._go_off)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._at = inf

    def _go_off(self) -> None:
        late = self._loop.time() - self._at
        self._timer = None
        self._at = inf
        self._wake(late)
