"""A clock, for what asks nothing else of its loop."""

from __future__ import annotations


class Stands:
    def __init__(self) -> None:
        self.now = 0.0

    def time(self) -> float:
        return self.now
