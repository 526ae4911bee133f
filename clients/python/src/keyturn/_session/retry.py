"""Calls that may be sent again (a ticket, an item id or a token goes with each) outlive a sidecar that restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from keyturn._connection.backoff import BackOff
from keyturn._session.base import Base, Failure, failure_of, retry_after_of
from keyturn.errors import KeyturnError

A = TypeVar("A")


async def with_retries(
    base: Base,
    until: float,
    retriable: Collection[Failure],
    ask: Callable[[float], Awaitable[A]],
    give_up: Callable[[], bool] | None = None,
) -> A:
    """Ask until there is an answer, or `until` has come, by the clock; raises what the last try failed with.

    `ask` gets the seconds that are left; `give_up`: no other try is worth it.
    """
    back_off = BackOff()
    while True:
        try:
            return await ask(max(0.001, until - base.now()))
        except KeyturnError as error:
            if failure_of(error) not in retriable or (give_up is not None and give_up()):
                raise
            pause = back_off.next(retry_after_of(error))
            if base.now() + pause >= until:
                raise
            await asyncio.sleep(pause)
            if give_up is not None and give_up():
                raise
