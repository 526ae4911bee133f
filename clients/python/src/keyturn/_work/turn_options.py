"""What may be said of a scoped turn."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, Literal, NamedTuple, TypeVar

from keyturn._options import DAY, number_within, word_within
from keyturn._work.claim import Plan
from keyturn.errors import Blocked, Declined, NotGranted, WrongArgumentError
from keyturn.words import Order, Reason

V = TypeVar("V")

# The built-in `wait` of a queue, for the call that knows no such default, seconds.
_STRICT_WAIT: Final = 3.0


@dataclass(frozen=True)
class TurnOutcome(Generic[V]):
    """What became of a `with_turn`."""

    status: Literal["done", "declined", "blocked"]
    """`done`: the handler ran, and its turn lived until it was given back; `declined`: the message is not needed;
    `blocked`: the wait ended first, no place is kept."""
    value: V | None = None
    """Done: what the handler returned."""
    token: int | None = None
    reason: Reason | None = None
    """Declined: why."""
    survivor_id: str | None = None
    """Declined: who stands in."""
    ahead: int | None = None
    """Blocked: how many stood before us; None with `order="strict"`."""
    retry_after: float | None = None
    """When it is worth asking again, seconds."""
    result: bytes | None = None
    """Already done: the remembered result."""


def not_granted(answer: NotGranted) -> TurnOutcome[V]:
    if isinstance(answer, Declined):
        return TurnOutcome(
            "declined",
            reason=answer.reason,
            survivor_id=answer.survivor_id,
            retry_after=answer.retry_after,
            result=answer.result,
        )
    if isinstance(answer, Blocked):
        return TurnOutcome("blocked", ahead=answer.ahead, retry_after=answer.retry_after)
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
