"""Settings of a producer, checked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from keyturn._produce.spool.options import Spool
from keyturn._words.checks import callable_needed, count_within, number_within, text_needed, word_within
from keyturn._words.item_limits import queue_problem
from keyturn._words.limits import DAY, MIB, MOST_ITEMS
from keyturn._words.log import log
from keyturn._words.requests import DURABILITIES
from keyturn.errors import WrongArgumentError
from keyturn.words import Decision, Durability, NewItem, Reason

OnProducerError = Callable[[Exception, NewItem | None], object]
"""Told of every item that was not handed over; no item: it concerns the spool as a whole, and nothing is lost by it."""


class ProducerResult(NamedTuple):
    """What became of an item: decided by the sidecar, or safe on disk until it can be handed over."""

    item_id: str
    decision: Decision | Literal["spooled"]
    reason: Reason | None = None
    survivor_id: str | None = None
    superseded_id: str | None = None
    retry_after: float | None = None
    on_its_way: bool = False


@dataclass(frozen=True)
class ProducerSettings:
    """With every default filled in."""

    queue: str
    count: int
    interval: float
    max_items: int
    max_bytes: int
    when_full: Literal["wait", "error"]
    durability: Durability | None
    timeout: float
    on_error: OnProducerError | None
    spool: Spool | None

    def tell(self, error: Exception, item: NewItem | None) -> None:
        """Tell `on_error`, if there is one. What it raises must not end what goes on behind it."""
        if self.on_error is None:
            return
        try:
            self.on_error(error, item)
        except BaseException:
            log.exception("on_error of the producer of %s raised", self.queue)


LONGEST_CLOSE: Final = DAY


def producer_settings(
    queue: str,
    *,
    count: int,
    interval: float,
    max_items: int,
    max_bytes: int,
    when_full: Literal["wait", "error"],
    durability: Durability | None,
    timeout: float,
    on_error: OnProducerError | None,
    spool: Spool | None,
) -> ProducerSettings:
    """Raises WrongArgumentError naming what is wrong."""
    text_needed("queue", queue)
    if spool is not None and (problem := queue_problem(queue)) is not None:
        raise WrongArgumentError(f"queue is {problem}", "queue")
    count_within("count", count, 1, MOST_ITEMS)
    number_within("interval", interval, 0, 60)
    count_within("max_items", max_items, 1, 1_000_000)
    count_within("max_bytes", max_bytes, 1_024, 1_024 * MIB)
    number_within("timeout", timeout, 0.001, DAY)
    word_within("when_full", when_full, ("wait", "error"))
    word_within("durability", durability, DURABILITIES)
    if spool is not None and not isinstance(spool, Spool):
        raise WrongArgumentError(f"spool is {spool!r}; needed is a Spool", "spool")
    if on_error is not None:
        callable_needed("on_error", on_error)
    elif spool is not None:
        raise WrongArgumentError("on_error is None; with a spool it is needed: items on disk have no future", "on_error")
    return ProducerSettings(queue, count, interval, max_items, max_bytes, when_full, durability, timeout, on_error, spool)
