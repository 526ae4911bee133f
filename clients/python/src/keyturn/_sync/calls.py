"""Calls that run on while a thread does something else, and turns of raw calls."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any, TypeVar

from keyturn import aio
from keyturn._sync.held_turn import HeldTurn
from keyturn._sync.loop_thread import LoopThread
from keyturn._words.checks import number_within, turn_needed
from keyturn.words import Turn

A = TypeVar("A")


class Calls:
    """Part of `Client`."""

    _thread: LoopThread
    _aio: aio.Client

    def result_future(self, queue: str, item_id: str, *, timeout: float = 300.0) -> concurrent.futures.Future[bytes | None]:
        """The same as a future, which may be cancelled."""
        return self.begin(lambda: self._aio.result(queue, item_id, timeout=timeout))

    def now(self) -> float:
        """The clock that `hold` counts by."""
        return self._thread.loop.time()

    def hold(self, turn: Turn, asked_at: float) -> HeldTurn:
        """Keep a turn of a raw call alive, and tell in time when it is lost.

        `asked_at`: `now()` before the call that gave it; its life is counted from there, because only durations are trusted.
        """
        turn_needed("turn", turn)
        number_within("asked_at", asked_at, -inf, inf)
        return HeldTurn(self, self._thread, self._aio, turn, asked_at)

    def begin(self, make: Callable[[], Awaitable[A]]) -> concurrent.futures.Future[A]:
        """Run a call of `aio`, the asyncio client beneath, without waiting for it; to cancel the future ends the call.

        `client.begin(lambda: client.aio.enqueue("orders", "ada", wait=60))`
        """
        future = self._thread.begin(make)
        # A client ends with the last reference to it: not while this is waited for.
        future.add_done_callback(self._done_with)
        return future

    def _done_with(self, _: concurrent.futures.Future[Any]) -> None:
        return

    @property
    def aio(self) -> aio.Client:
        """The asyncio client beneath, for `begin`: it is used on its own thread alone."""
        return self._aio
