"""Hands items over, and waits for their results."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from math import ceil, inf
from typing import Final, NamedTuple

from keyturn._session.base import Base, Failure
from keyturn._session.retry import with_retries
from keyturn._words import calls
from keyturn._words.checks import number_within, text_within, word_within
from keyturn._words.item_check import LARGEST_MESSAGE, checked_size, with_id
from keyturn._words.limits import GRACE, LEAST_BETWEEN, LONGEST_WAIT, MOST_ITEMS
from keyturn._words.requests import DURABILITIES
from keyturn.errors import ItemFailedError, KeyturnError, SubmitManyError, WrongArgumentError
from keyturn.words import AwaitAnswer, Durability, NewItem, SubmitResult

# A call that failed so may be sent again.
_RETRIABLE: Final[tuple[Failure, ...]] = ("away",)
# The answer to a wait that ends with the caller's time needs its way, seconds; and the first call needs a connection.
_WAY_BACK: Final = 0.5
_LEAST: Final = 1.0


class SubmitOptions(NamedTuple):
    """Checked."""

    wait_for_room: float
    durability: Durability | None
    timeout: float | None


def submit_options(wait_for_room: float, durability: Durability | None, timeout: float | None) -> SubmitOptions:
    number_within("wait_for_room", wait_for_room, 0, LONGEST_WAIT)
    word_within("durability", durability, DURABILITIES)
    if timeout is not None:
        number_within("timeout", timeout, 0.001, inf)
    return SubmitOptions(wait_for_room, durability, timeout)


async def submit(base: Base, queue: str, item: NewItem, options: SubmitOptions) -> SubmitResult:
    text_within("queue", queue)
    named = _named(base, item)
    checked_size(named, 0)
    return (await _send(base, queue, [named], options))[0]


async def submit_many(base: Base, queue: str, items: Iterable[NewItem], options: SubmitOptions) -> list[SubmitResult]:
    text_within("queue", queue)
    named = [_named(base, item) for item in _iterator(items)]
    results: list[SubmitResult] = []
    try:
        for message in _messages(named):
            results += await _send(base, queue, message, options)
    except KeyturnError as error:
        raise SubmitManyError(error, results, named[len(results) :]) from error
    return results


def _iterator(items: Iterable[NewItem]) -> Iterator[NewItem]:
    try:
        # A sequence may have `__getitem__` alone.
        return iter(items)
    except TypeError:
        raise WrongArgumentError(f"items is {items!r:.80}; needed are items", "items") from None


def _named(base: Base, item: NewItem) -> NewItem:
    named = with_id(item, base.ids)
    return named if base.tracer is None else base.tracer.stamped(named)


def _messages(items: Sequence[NewItem]) -> list[list[NewItem]]:
    """Cuts at 1,000 items and below the size of a message. All items are looked at before the first is sent."""
    messages: list[list[NewItem]] = []
    size = LARGEST_MESSAGE
    for index, item in enumerate(items):
        more = checked_size(item, index)
        if size + more > LARGEST_MESSAGE or len(messages[-1]) == MOST_ITEMS:
            messages.append([])
            size = 0
        messages[-1].append(item)
        size += more
    return messages


async def _send(base: Base, queue: str, items: Sequence[NewItem], options: SubmitOptions) -> list[SubmitResult]:
    room = options.wait_for_room
    patience = room + GRACE if options.timeout is None else options.timeout
    return await with_retries(
        base,
        base.now() + patience,
        _RETRIABLE,
        lambda left: base.transport.ask(calls.Submit(queue, items, room, options.durability), left),
    )


async def result(base: Base, queue: str, item_id: str, timeout: float) -> bytes | None:
    """The result of an item, whoever submitted it and wherever it is worked on."""
    number_within("timeout", timeout, 0, inf)
    until = base.now() + timeout
    while True:
        asked = base.now()
        answer = await _ask(base, queue, item_id, until)
        if answer.state == "done":
            return answer.result
        if answer.state != "waiting" and answer.state != "in_flight":  # noqa: PLR1714  (so that the type is narrowed)
            raise ItemFailedError(queue, item_id, answer.state, answer.error, answer.attempt)
        if base.now() >= until:
            what = f"item {item_id} of queue {queue} is still {answer.state} after {timeout:g} s"
            raise KeyturnError(what, "DEADLINE_EXCEEDED")
        # The sidecar may answer early; it is not asked in a busy loop.
        await asyncio.sleep(max(0.0, asked + LEAST_BETWEEN - base.now()))


async def _ask(base: Base, queue: str, item_id: str, until: float) -> AwaitAnswer:
    """One part of the wait. A sidecar that is away is asked again until the time is over."""
    over = max(until + _WAY_BACK, base.now() + _LEAST)

    async def once(_: float) -> AwaitAnswer:
        left = max(0.0, min(until - base.now(), LONGEST_WAIT))
        wait = ceil(left * 1_000) / 1_000
        # Of a wait that goes on after this call the answer may be as late as any.
        patience = GRACE if until - base.now() > LONGEST_WAIT else over - base.now() - wait
        return await base.transport.ask(calls.Await(queue, item_id, wait), wait + patience)

    return await with_retries(base, over, _RETRIABLE, once)
