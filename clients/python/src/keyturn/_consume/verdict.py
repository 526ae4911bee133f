"""What shall become of a turn's items: what the handler returned or raised, read as a settling call."""

from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple

from keyturn._words.ids import Ids, named_follow_ups
from keyturn.errors import Portable
from keyturn.words import FollowUp, NackKind


class Outcome(NamedTuple):
    """What a handler may return when a result is not enough."""

    result: bytes = b""
    """For whoever awaits the item, and for its idempotency key, up to 1 MiB."""
    follow_ups: Sequence[FollowUp] = ()
    """Up to 1,000 items, submitted in the same step: the end of this turn and they, or neither."""


Handled = bytes | Outcome | None
"""What a handler may return: nothing, the result of the items, or more."""


class _GivenBack(Portable):
    kind: ClassVar[NackKind]

    def __init__(self, message: str, *, done: int = 0) -> None:
        super().__init__(message)
        self.delay: float | None = None
        self.done = done
        """How many items from the first are finished nevertheless."""


class RetryLater(_GivenBack):
    """Raised by a handler: try again, the attempt counts."""

    kind = "retry"

    def __init__(self, delay: float | None = None, message: str = "the handler asked for a retry", *, done: int = 0) -> None:
        super().__init__(message, done=done)
        self.delay = delay
        """Seconds until then, up to 30 days; None: the queue's back-off."""


class DeadLetter(_GivenBack):
    """Raised by a handler: never try again, the items become dead letters."""

    kind = "dead_letter"

    def __init__(self, message: str = "the handler refused the item", *, done: int = 0) -> None:
        super().__init__(message, done=done)


class Release(_GivenBack):
    """Raised by a handler: give the items back for another worker; no attempt is counted, there is no back-off."""

    kind = "release"

    def __init__(self, message: str = "the handler released the item", *, done: int = 0) -> None:
        super().__init__(message, done=done)


class Ack(NamedTuple):
    """The items are done."""

    result: bytes
    follow_ups: Sequence[FollowUp]


class Nack(NamedTuple):
    """The items go back."""

    kind: NackKind
    delay: float | None
    done: int
    error: str


# What a Nack may say, bytes of UTF-8.
_LONGEST_ERROR: Final = 8_192


def verdict_of(handled: object, ids: Ids) -> Ack:
    """Raises TypeError for what a handler may not return."""
    if handled is None:
        return Ack(b"", ())
    if isinstance(handled, (bytes, bytearray, memoryview)):
        return Ack(bytes(handled), ())
    if not isinstance(handled, Outcome):
        allowed = "allowed are None, bytes (the result), or an Outcome"
        raise TypeError(f"the handler returned {type(handled).__name__}; {allowed}")
    return Ack(bytes(handled.result or b""), named_follow_ups(handled.follow_ups, ids))


def verdict_on_error(error: BaseException, items: int) -> Nack:
    """`items`: how many the turn has; `done` is never more."""
    if isinstance(error, _GivenBack):
        done = min(max(0, error.done), items) if isinstance(error.done, int) else 0
        return Nack(error.kind, error.delay, done, shortened(str(error)))
    return Nack("retry", None, 0, shortened(str(error) or type(error).__name__))


def shortened(text: str) -> str:
    written = text.encode(errors="replace")
    return written[:_LONGEST_ERROR].decode(errors="ignore")
