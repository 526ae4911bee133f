"""How long before the end of a life its holder is told to stop."""

from __future__ import annotations

from typing import Final

_LARGEST: Final = 2.0


def margin_of(life: float, wanted: float | None) -> float:
    """A margin above half a life would leave no time to work. Seconds."""
    return min(life / 10, _LARGEST) if wanted is None else min(wanted, life / 2)
