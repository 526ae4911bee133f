"""What shall become of a turn's items: what the handler returned or raised, read as a settling call."""

import json
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

from keyturn._words.ids import Ids, named_follow_ups
from keyturn._words.item_check import LARGEST_MESSAGE
from keyturn._words.limits import MIB, MOST_ITEMS
from keyturn.errors import Portable
from keyturn.words import FollowUp, NackKind, NewItem


class Done(NamedTuple):
    """The work is done, with more than a result: made by `done`."""

    value: object
    follow_ups: Sequence[FollowUp]


def done(value: object = None, *, follow_ups: Sequence[FollowUp] = ()) -> Done:
    """What a handler returns when a result is not enough.

    `value`: the result, as a handler returns it: bytes as they are, None as none, everything else as JSON.
    `follow_ups`: up to 1,000 items, submitted in the same step: the end of this turn and they, or neither.
    """
    wrong = next((one for one in follow_ups if not isinstance(one, FollowUp)), None)
    if wrong is not None:
        raise TypeError(f"follow_ups has {wrong!r}; needed is a FollowUp")
    return Done(value, follow_ups)


class GivenBack(Portable):
    """Raised by a handler, and no failure of its own."""

    kind: ClassVar[NackKind]

    def __init__(self, message: str, *, done: int = 0) -> None:
        super().__init__(message)
        self.delay: float | None = None
        self.done = done
        """How many items from the first are finished nevertheless."""


class RetryLater(GivenBack):
    """Raised by a handler: try again, the attempt counts."""

    kind = "retry"

    def __init__(self, delay: float | None = None, message: str = "the handler asked for a retry", *, done: int = 0) -> None:
        super().__init__(message, done=done)
        self.delay = delay
        """Seconds until then, up to 30 days; None: the queue's back-off."""


class DeadLetter(GivenBack):
    """Raised by a handler: never try again, the items become dead letters."""

    kind = "dead_letter"

    def __init__(self, message: str = "the handler refused the item", *, done: int = 0) -> None:
        super().__init__(message, done=done)


class Release(GivenBack):
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


def verdict_of(handled: object, ids: Ids, ignored: Callable[[str], None]) -> Ack:
    """`ignored` gets the reason why a value has no result: JSON cannot say it.

    Raises TypeError for follow-ups that are none, DeadLetter for what can never be sent.
    """
    value, follow_ups = handled if isinstance(handled, Done) else (handled, ())
    ack = Ack(_result_of(value, ignored), named_follow_ups(follow_ups, ids))
    _refuse_too_large(ack)
    return ack


def _refuse_too_large(ack: Ack) -> None:
    """Another attempt would return the same."""
    if len(ack.result) > MIB:
        raise DeadLetter(f"the result takes {len(ack.result)} bytes; at most {MIB}")
    if len(ack.follow_ups) > MOST_ITEMS:
        raise DeadLetter(f"there are {len(ack.follow_ups)} follow-ups; at most {MOST_ITEMS}")
    size = len(ack.result) + sum(_bytes_of(item) for _, item in ack.follow_ups)
    if size > LARGEST_MESSAGE:
        raise DeadLetter(f"the result and the follow-ups take {size} bytes; at most {LARGEST_MESSAGE} fit into one Ack")


def _bytes_of(item: NewItem) -> int:
    headers = item.headers or {}
    return len(item.payload) + sum(len(name) + len(text) for name, text in headers.items())


def _result_of(value: object, ignored: Callable[[str], None]) -> bytes:
    if value is None:
        return b""
    try:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except Exception as error:  # A type of the application's may raise anything.
        ignored(text_of(error))
        return b""


def verdict_on_error(error: BaseException, items: int) -> Nack:
    """`items`: how many the turn has; `done` is never more."""
    if isinstance(error, GivenBack):
        done = min(max(0, error.done), items) if isinstance(error.done, int) else 0
        return Nack(error.kind, error.delay, done, shortened(text_of(error)))
    return Nack("retry", None, 0, shortened(text_of(error) or type(error).__name__))


def text_of(error: BaseException) -> str:
    """Anything can be raised: what cannot be shown as a text, too."""
    try:
        return str(error)
    except Exception:
        return "what was raised has no text"


def shortened(text: str) -> str:
    written = text.encode(errors="replace")
    return written[:_LONGEST_ERROR].decode(errors="ignore")
