"""Limits of the contract, and times that several parts of the client share. Seconds and bytes."""

from __future__ import annotations

from typing import Final

DAY: Final = 86_400.0
MIB: Final = 1_048_576

# The longest that one call may wait.
LONGEST_WAIT: Final = 300.0
# How long a call may take beyond its wait before it is given up.
GRACE: Final = 10.0
# How long the giving up of a place or a turn may take before it is left to `ticket_ttl`, the lease, or the session.
GIVING_UP: Final = 2.0
# A sidecar that answers at once though it was asked to wait is not asked in a busy loop.
LEAST_BETWEEN: Final = 0.05
# The most items of one Submit.
MOST_ITEMS: Final = 1_000
# The most turns that one Renew may name, or one Acquire take.
MOST_TURNS: Final = 1_000
