"""Pauses between tries: exponential with full jitter.

Many clients of a sidecar that comes back do not come together (M. Brooker, "Exponential Backoff And Jitter", 2015).
"""

from __future__ import annotations

import random
from typing import Final

_FIRST: Final = 0.05
_LEAST: Final = 0.001


class BackOff:
    """Seconds."""

    def __init__(self, longest: float = 5.0) -> None:
        self._longest = longest
        self._ceiling = _FIRST

    def next(self, at_least: float = 0.0) -> float:
        """`at_least`: what the sidecar asked for; the jitter comes on top of it."""
        jitter = random.random() * self._ceiling
        self._ceiling = min(2 * self._ceiling, self._longest)
        # Never 0: a failure that comes at once must not make a busy loop.
        return at_least + max(_LEAST, jitter)

    def reset(self) -> None:
        """After a success."""
        self._ceiling = _FIRST
