"""Settings of a consumer, checked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Generic, Literal, TypeVar

from keyturn._words.checks import callable_needed, count_within, number_within, text_needed, text_within
from keyturn._words.limits import DAY, LONGEST_WAIT, MOST_ITEMS
from keyturn.errors import WrongArgumentError

W = TypeVar("W")

Stage = Literal["acquire", "handler", "dead_letter", "turn_lost", "settle", "stop"]
"""Where something went wrong. `acquire`: no turns could be taken, it is tried again; `handler`: it raised, or returned what
it may not, the items are given back; `dead_letter`: that was the last time, they are dead letters; `turn_lost`: the turn was
lost before it could be settled, the items are somebody else's; `settle`: the turn could not be settled, it ends with its lease
or its session; `stop`: the handler had not ended when the time of a stop was over, the items are given back, no attempt is
counted."""


@dataclass(frozen=True)
class Trouble(Generic[W]):
    """What went wrong and does not end the consumer."""

    error: BaseException
    stage: Stage
    work: W | None
    """Of which work; None for `acquire`."""


@dataclass(frozen=True)
class ConsumeSettings(Generic[W]):
    """With every default filled in."""

    queues: Sequence[str]
    concurrency: int
    max_items_per_turn: int
    wait: float
    lease: float | None
    max_hold: float | None
    settle_timeout: float
    consumer_id: str
    on_error: Callable[[Trouble[W]], object] | None


DEFAULT_STOP: Final = 20.0


def consume_settings(
    queues: str | Sequence[str],
    *,
    concurrency: int,
    most: int,
    max_items_per_turn: int,
    wait: float,
    lease: float | None,
    max_hold: float | None,
    settle_timeout: float,
    consumer_id: str | None,
    on_error: Callable[[Trouble[W]], object] | None,
) -> ConsumeSettings[W]:
    """`most`: the largest concurrency. Raises WrongArgumentError naming what is wrong."""
    if not isinstance(queues, (str, Sequence)):
        raise WrongArgumentError(f"queues is {queues!r}; needed is a name, or several", "queues")
    names = [queues] if isinstance(queues, str) else list(queues)
    count_within("the number of queues", len(names), 1, 100)
    for name in names:
        text_needed("queues", name)
    count_within("concurrency", concurrency, 1, most)
    count_within("max_items_per_turn", max_items_per_turn, 1, MOST_ITEMS)
    number_within("wait", wait, 0.1, LONGEST_WAIT)
    number_within("settle_timeout", settle_timeout, 0.001, DAY)
    if lease is not None:
        number_within("lease", lease, 0.1, DAY)
    if max_hold is not None:
        number_within("max_hold", max_hold, 0.001, inf)
    if consumer_id is not None:
        text_within("consumer_id", consumer_id)
    if on_error is not None:
        callable_needed("on_error", on_error)
    return ConsumeSettings(
        tuple(dict.fromkeys(names)),
        concurrency,
        max_items_per_turn,
        wait,
        lease,
        max_hold,
        settle_timeout,
        consumer_id or "",
        on_error,
    )
