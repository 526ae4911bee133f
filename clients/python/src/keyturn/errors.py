"""What a refused or failed call looks like to those who use the client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from keyturn.words import HandOverReason, LossCause, NewItem, Reason, SubmitResult

TurnLoss = LossCause | Literal["unreachable", "replaced", "closed"]
"""Why a turn is not ours any more.

`unreachable`: nothing was heard from the sidecar for so long that it may have ended; `replaced`: another client has
the session; `closed`: this client was closed.
"""

TermLoss = Literal["ttl", "inaugurate_timeout", "hand_over_timeout", "unknown", "unreachable", "closed"]
"""Why a term is lost.

`ttl`: the sidecar heard nothing for so long; `unknown`: it does not know the term, or another one lives; `unreachable`: by
the clock of this process, because nothing was confirmed; `closed`: this client was closed, or the time to stop was over.
"""

FailedState = Literal["dead", "discarded", "superseded", "unknown"]
"""How an item can end, or be, without a result to come."""


class FieldViolation(NamedTuple):
    """A field that is wrong."""

    field: str
    """By its name in the proto, with indexes: `items[3].key`."""
    description: str
    """The value that was given, and what is allowed."""


@dataclass(frozen=True)
class ErrorDetails:
    """What the sidecar said besides code and message."""

    metadata: Mapping[str, str] = field(default_factory=dict)
    violations: Sequence[FieldViolation] = ()
    quota: Sequence[tuple[str, str]] = ()
    retry_after: float | None = None
    resource: str | None = None


NO_DETAILS = ErrorDetails()


def _rebuilt(kind: type[BaseException], args: tuple[object, ...], state: dict[str, object]) -> BaseException:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class Portable(Exception):  # noqa: N818  (what the errors of this client have in common)
    """Can be copied, and sent to another process: by its state, because its constructor wants more than a message."""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), self.args, self.__dict__)


class KeyturnError(Portable):
    """A call was refused by the sidecar, or did not come through."""

    def __init__(self, message: str, code: str, reason: str = "", details: ErrorDetails = NO_DETAILS) -> None:
        super().__init__(message)
        self.code = code
        """The name of the gRPC status: `ABORTED`, `UNAVAILABLE`, …"""
        self.reason = reason
        """Of the contract: `QUEUE_FULL`, …; empty when the error did not come from the sidecar itself."""
        self.details = details

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the same call is worth another try; None: the sidecar did not say."""
        return self.details.retry_after

    @property
    def violations(self) -> Sequence[FieldViolation]:
        """Each wrong field with what is allowed."""
        return self.details.violations


class WrongArgumentError(KeyturnError, ValueError):
    """An argument that this client refuses itself. Nothing was sent."""

    def __init__(self, message: str, field: str = "") -> None:
        violations = (FieldViolation(field, message),) if field else ()
        super().__init__(message, "INVALID_ARGUMENT", "BAD_REQUEST", ErrorDetails(violations=violations))


class UnauthenticatedError(KeyturnError):
    """The sidecar does not know who asks (`NO_CREDENTIALS`), or the client has no token to show: see `token` of `connect`."""


class PermissionDeniedError(KeyturnError):
    """The settings of the sidecar (`auth.rights`) do not allow it (`NOT_ALLOWED`).

    `details.metadata` has `verb` and `what`.
    """


class TurnLostError(KeyturnError):
    """The turn is, or must be taken for, somebody else's: stop working on it."""

    def __init__(self, message: str, cause: TurnLoss, details: ErrorDetails = NO_DETAILS) -> None:
        super().__init__(message, "ABORTED", "TURN_LOST", details)
        self.cause: TurnLoss = cause


_WHY_LOST: Mapping[TermLoss, str] = {
    "ttl": "the sidecar heard nothing for its ttl",
    "inaugurate_timeout": "the inauguration took too long",
    "hand_over_timeout": "the hand-over took too long",
    "unknown": "the sidecar does not know it, or another one lives",
    "unreachable": "the sidecar confirmed nothing for its ttl less the margin",
    "closed": "the client was closed, or the time to stop was over",
}


class TermLostError(KeyturnError):
    """The term is, or must be taken for, somebody else's: stop at once."""

    def __init__(self, group: str, term: int, loss: TermLoss) -> None:
        super().__init__(f"term {term} of group {group!r} is lost: {_WHY_LOST[loss]}", "ABORTED", "TERM_LOST")
        self.group = group
        self.term = term
        self.loss: TermLoss = loss


class HandOverAskedError(KeyturnError):
    """The leader is asked to hand over: finish what is in hand."""

    def __init__(self, group: str, term: int, asked: HandOverReason) -> None:
        super().__init__(f"the leader of group {group!r} is asked to hand over ({asked})", "CANCELLED", "HAND_OVER")
        self.group = group
        self.term = term
        self.asked: HandOverReason = asked


class HoldTimeoutError(TimeoutError):
    """The turn was held for `max_hold`: stop working on it."""


class ConsumerStoppedError(Exception):
    """The consumer is stopped, and the time for handlers to finish is over."""


class NotGranted(Portable):
    """There is no turn: see `Declined` and `Blocked`."""


class Declined(NotGranted):
    """The message is not needed: drop it."""

    def __init__(
        self,
        reason: Reason,
        survivor_id: str | None = None,
        retry_after: float | None = None,
        result: bytes | None = None,
    ) -> None:
        super().__init__(f"declined: {reason}")
        self.reason: Reason = reason
        self.survivor_id = survivor_id
        """Waiter exists, superseded: who stands in."""
        self.retry_after = retry_after
        """Too soon: when it is worth asking again, seconds."""
        self.result = result
        """Already done: the remembered result."""


class Blocked(NotGranted):
    """Not yet: the wait ended first. No place is kept."""

    def __init__(self, ahead: int | None, retry_after: float | None = None) -> None:
        super().__init__("the wait ended before the turn came")
        self.ahead = ahead
        """How many stood before us, the holder included; 0 behind a gate. None with `order="strict"`."""
        self.retry_after = retry_after
        """Behind a gate: when it is worth asking again, seconds."""


_WHAT_HAPPENED: Mapping[FailedState, str] = {
    "dead": "is a dead letter",
    "discarded": "was discarded",
    "superseded": "was superseded by a newer one",
    "unknown": "is not known, or was forgotten",
}


class ItemFailedError(Portable):
    """The item has no result and gets none."""

    def __init__(self, queue: str, item_id: str, state: FailedState, last_error: str | None, attempt: int) -> None:
        why = f": {last_error}" if last_error else ""
        super().__init__(f"item {item_id} of queue {queue} {_WHAT_HAPPENED[state]}{why}")
        self.queue = queue
        self.item_id = item_id
        self.state: FailedState = state
        self.last_error = last_error
        """What the worker said, if it failed."""
        self.attempt = attempt
        """How many attempts there were."""


class SubmitManyError(Portable):
    """Some messages of a `submit_many` were accepted before one failed, which is `__cause__`."""

    def __init__(self, cause: BaseException, results: Sequence[SubmitResult], rest: Sequence[NewItem]) -> None:
        super().__init__(f"{len(results)} items were handed over, {len(rest)} were not: {cause}")
        self.results = results
        """Of the first items, in order: these are settled."""
        self.rest = rest
        """The items after them, with their ids; a first part may have been accepted: sending them again is safe."""


class ProducerFullError(Exception):
    """The buffer of a producer has no room."""


class ProducerTimeoutError(Portable):
    """An item could not be handed over in time. It may have been accepted: submit it again with its id."""

    def __init__(self, item_id: str, timeout: float) -> None:
        super().__init__(f"item {item_id} was not accepted within {timeout:g} s")
        self.item_id = item_id


class ProducerClosedError(Exception):
    """The producer is closed."""


SpoolProblem = Literal["in_use", "other_queue", "damaged", "torn", "too_large", "io"]
"""`in_use`: another producer has the directory; `other_queue`: it has items of another queue; `damaged`: a file is
not what was written, nothing was skipped; `torn`: the last record was cut off and never confirmed, it was cut away;
`too_large`: the item does not fit into the spool, empty or not; `io`: the file system failed."""


class SpoolError(Portable):
    """Something is wrong with a spool, told with the file it concerns."""

    def __init__(self, problem: SpoolProblem, file: str, what: str) -> None:
        super().__init__(f"{file}: {what}")
        self.problem: SpoolProblem = problem
        self.file = file
