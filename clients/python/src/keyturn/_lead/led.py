"""A term as the worker gets it: what tasks and threads have in common."""

from __future__ import annotations

from keyturn._lead.term import TermCore
from keyturn.errors import TermLostError
from keyturn.words import Predecessor


class Led:
    """Part of `Term`."""

    def __init__(self, core: TermCore) -> None:
        self._term = core

    @property
    def number(self) -> int:
        """The fencing token: larger than that of every earlier term of the group. Let what you write to refuse a smaller one."""
        return self._term.number

    @property
    def group(self) -> str:
        return self._term.settings.group

    @property
    def candidate_id(self) -> str:
        return self._term.settings.candidate_id

    @property
    def predecessor(self) -> Predecessor:
        """Who led before, and what the last hand-over left."""
        return self._term.predecessor

    @property
    def lost(self) -> bool:
        """The term is, or must be taken for, somebody else's: stop at once."""
        return self._term.loss is not None

    @property
    def loss(self) -> TermLostError | None:
        """Why it is lost; None: it is not known to be."""
        return self._term.loss

    @property
    def left(self) -> float:
        """Seconds that are left for the hand-over that was asked for; `math.inf`: none was."""
        return self._term.time_left

    def progress(self) -> None:
        """The work goes on: with `progress="manual"` to be called at every step, else the term is lost after the ttl."""
        self._term.progressed = True

    def check(self) -> None:
        """Raise TermLostError or HandOverAskedError if the work must stop."""
        reason = self._term.loss or self._term.asked
        if reason is not None:
            raise reason
