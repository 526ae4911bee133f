"""Until when the sidecar is known to keep the session.

What was sent at some moment and is answered was taken after that moment, on a stream that stood then; the session
outlives the stream by `ttl`. So it lives at least until the send time of the last answered command, plus `ttl`. Nothing
else is known: a stream that looks whole may have broken on the other side long ago.
"""

from __future__ import annotations

from math import inf
from typing import Final

from keyturn._session.turns.margin import margin_of

# Parts of `ttl`: after how long without proof one is asked for, and after how long the stream is taken for dead.
_PROVE_AFTER: Final = 1 / 3
_DEAD_AFTER: Final = 2 / 3
# A connection takes its time: one that is slower than a very short `ttl` is not dead for it. Seconds.
_LEAST_DEAD: Final = 1.0
# So long a process that stood still waits for a proof before it gives its turns up, seconds.
_ASK: Final = 1.0


class Liveness:
    """All moments are of one monotonic clock, in seconds."""

    def __init__(self, ttl: float, margin: float | None) -> None:
        self.ttl = ttl
        """Seconds; the sidecar may answer hello with another one."""
        self._margin = margin
        self._proved_at = -inf
        self._busy_since = inf
        self._asked_at = -inf
        self.is_asked = False
        """A proof was asked for on the stream that there is, and has not come."""

    def heard(self) -> None:
        """The proof that was asked for has come, or never will."""
        self.is_asked = False

    def proved(self, sent_at: float) -> None:
        self._proved_at = max(self._proved_at, sent_at)

    def woke(self, now: float, late: float) -> None:
        """The process was woken so much later than it should have been: a handler kept it busy, or it was suspended.

        What comes later than the margin, and than `stop_at`, comes too late to stop anybody in time, so the sidecar is asked before
        anything is given up: it may have kept everything. Once in a silence: a process that is always late would give up nothing.
        """
        is_too_late = late > self.margin and now >= self._proved_at + self.ttl - self.margin
        if is_too_late and self._proved_at >= self._asked_at:
            self._asked_at = now

    def busy(self, now: float) -> None:
        """From now on there are calls or turns to lose, so silence counts."""
        self._busy_since = min(self._busy_since, now)

    def idle(self) -> None:
        self._busy_since = inf

    @property
    def margin(self) -> float:
        """How long before the end of the session the holders of its turns are told to stop."""
        return margin_of(self.ttl, self._margin)

    @property
    def stop_at(self) -> float:
        """When the holders of turns are told to stop."""
        return max(self._proved_at + self.ttl - self.margin, self._asked_at + _ASK)

    @property
    def prove_at(self) -> float:
        """When to ask for a proof."""
        if self.is_asked:
            return inf
        return max(self._proved_at, self._busy_since) + self.ttl * _PROVE_AFTER

    def dead_at(self, since: float) -> float:
        """`since`: when the stream began; an older silence is not its fault."""
        heard = max(self._proved_at, self._busy_since)
        return max(max(heard, since) + max(self.ttl * _DEAD_AFTER, _LEAST_DEAD), self._asked_at + _ASK)
