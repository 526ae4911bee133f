"""What may be said of a scoped turn."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from keyturn._consume.claim import Plan
from keyturn._words.checks import number_within, word_within
from keyturn._words.limits import DAY
from keyturn.errors import Blocked, Declined, NotGranted, WrongArgumentError
from keyturn.words import Order, Reason

V = TypeVar("V")

# The built-in `wait` of a queue, for the call that knows no such default, seconds.
_STRICT_WAIT: Final = 3.0


@dataclass(frozen=True)
class TurnDone(Generic[V]):
    """The handler ran, and its turn lived until it was given back."""

    value: V
    """What the handler returned."""
    token: int
    status: Literal["done"] = "done"


@dataclass(frozen=True)
class TurnDeclined:
    """The message is not needed: drop it."""

    reason: Reason
    survivor_id: str | None = None
    """Waiter exists, superseded: who stands in."""
    retry_after: float | None = None
    """Too soon: when it is worth asking again, seconds."""
    result: bytes | None = None
    """Already done: the remembered result."""
    status: Literal["declined"] = "declined"


@dataclass(frozen=True)
class TurnBlocked:
    """The wait ended first. No place is kept."""

    ahead: int | None
    """How many stood before us, the holder included; 0 behind a gate. None with `order="strict"`."""
    retry_after: float | None = None
    """Behind a gate: when it is worth asking again, seconds."""
    status: Literal["blocked"] = "blocked"


TurnOutcome: TypeAlias = TurnDone[V] | TurnDeclined | TurnBlocked
"""What became of a `with_turn`: its `status` says which of the three it is."""


def not_granted(answer: NotGranted) -> TurnDeclined | TurnBlocked:
    if isinstance(answer, Declined):
        return TurnDeclined(answer.reason, answer.survivor_id, answer.retry_after, answer.result)
    if isinstance(answer, Blocked):
        return TurnBlocked(answer.ahead, answer.retry_after)
    raise answer


class TurnOptions(NamedTuple):
    """Checked."""

    plan: Plan
    max_hold: float | None


def turn_options(
    queue: str,
    key: str,
    *,
    wait: float | None,
    order: Order,
    lease: float | None,
    max_hold: float | None,
    idempotency_key: str,
    consumer_id: str,
) -> TurnOptions:
    if wait is not None:
        number_within("wait", wait, 0, inf)
    if lease is not None:
        number_within("lease", lease, 0.1, DAY)
    if max_hold is not None:
        number_within("max_hold", max_hold, 0.001, inf)
    word_within("order", order, ("coalesce", "strict"))
    if order == "strict" and idempotency_key:
        raise WrongArgumentError(
            f'idempotency_key is {idempotency_key!r}; with order "strict" it is not allowed',
            "idempotency_key",
        )
    if wait is None and order == "strict":
        wait = _STRICT_WAIT
    return TurnOptions(Plan(queue, key, order, wait, lease, idempotency_key, consumer_id), max_hold)


ResultOf = Callable[[V], bytes | None]
