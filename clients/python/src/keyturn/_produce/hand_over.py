"""One Submit of a batch, and what it means for each item."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from keyturn._session.base import Base, failure_of
from keyturn._words import calls
from keyturn.errors import ErrorDetails, KeyturnError
from keyturn.words import Durability, NewItem, SubmitResult

_ITEM_FIELD: Final = re.compile(r"^items\[(\d+)\]")
# How long one Submit may take, seconds.
CALL: Final = 10.0
# How long a Submit waits for room, seconds: room is told as soon as it is there. When a queue is full for longer the
# sidecar says when to come again.
WAIT_FOR_ROOM: Final = 1.0


class HandedOver(NamedTuple):
    """`answered`: one result for each, in order; `some_refused`: these, by their index, will never be accepted, nothing of
    the others was; `too_many`: more than the queue can ever hold together; `again`: another try may do: nobody answered, and
    it may have been accepted, or there is no room now."""

    kind: Literal["answered", "some_refused", "too_many", "refused", "again"]
    results: Sequence[SubmitResult] = ()
    errors: Mapping[int, KeyturnError] = {}
    error: KeyturnError | None = None


async def until(event: asyncio.Event, handing_over: Coroutine[Any, Any, HandedOver]) -> HandedOver | None:
    """None: the event came before that. What was sent may have been accepted; the sidecar knows it again."""
    asked = asyncio.ensure_future(handing_over)
    over = asyncio.ensure_future(event.wait())
    await asyncio.wait((asked, over), return_when=asyncio.FIRST_COMPLETED)
    over.cancel()
    if asked.done():
        return asked.result()
    asked.cancel()
    await asyncio.wait((asked,))
    return None


async def hand_over(
    base: Base,
    queue: str,
    items: Sequence[NewItem],
    timeout: float,
    wait_for_room: float,
    durability: Durability | None,
) -> HandedOver:
    """`timeout`: seconds until the sidecar is taken to be away, the wait for room not counted."""
    call = calls.Submit(queue, items, wait_for_room, durability)
    try:
        results = await base.transport.ask(call, timeout + wait_for_room)
    except KeyturnError as error:
        failure = failure_of(error)
        if failure in ("refused", "cancelled"):
            return _refusal(error, len(items))
        return HandedOver("again", error=error)
    return HandedOver("answered", results=results)


def _refusal(error: KeyturnError, count: int) -> HandedOver:
    if error.code == "INVALID_ARGUMENT":
        indexes = {_index(field) for field, _ in error.violations}
        errors = {at: _for_item(error, at) for at in indexes if at is not None and at < count}
        if errors:
            return HandedOver("some_refused", errors=errors)
        if count > 1 and any(field == "items" for field, _ in error.violations):
            return HandedOver("too_many", error=error)
    return HandedOver("refused", error=error)


def _index(field: str) -> int | None:
    found = _ITEM_FIELD.match(field)
    return None if found is None else int(found[1])


def _for_item(error: KeyturnError, index: int) -> KeyturnError:
    """Of a batch that was refused, what concerns one item."""
    mine = tuple(one for one in error.violations if _index(one.field) == index)
    told = "; ".join(f"{field}: {what}" for field, what in mine)
    return KeyturnError(told, error.code, error.reason, ErrorDetails(violations=mine))
