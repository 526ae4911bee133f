"""The calls themselves, for threads."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from keyturn import aio
from keyturn._sync.held_turn import HeldTurn
from keyturn._sync.loop_thread import LoopThread
from keyturn.words import (
    AckAnswer,
    AcquireCall,
    AwaitAnswer,
    Delivery,
    DequeueAnswer,
    Durability,
    EnqueueAnswer,
    FollowUp,
    NackAnswer,
    NackKind,
    NewItem,
    RenewResult,
    SubmitResult,
    Turn,
    TurnRef,
)

A = TypeVar("A")


class Calls:
    """Part of `Client`: the calls of the contract, and `hold` for the turns that they give."""

    _thread: LoopThread
    _aio: aio.Client

    def enqueue(
        self,
        queue: str,
        key: str,
        *,
        ticket: str = "",
        wait: float | None = None,
        lease: float | None = None,
        idempotency_key: str = "",
        consumer_id: str = "",
        timeout: float | None = None,
    ) -> EnqueueAnswer:
        """EnQueue: ask for the turn of a key. With a ticket it is safe to be sent again.

        A turn with a `lease` lives by it; without one its session keeps it alive. `timeout` of this and the other calls: seconds
        until it is given up (DEADLINE_EXCEEDED), connected or not; None: its wait and ten seconds.
        """
        return self._thread.call(
            lambda: self._aio.enqueue(
                queue,
                key,
                ticket=ticket,
                wait=wait,
                lease=lease,
                idempotency_key=idempotency_key,
                consumer_id=consumer_id,
                timeout=timeout,
            )
        )

    def dequeue(
        self,
        queue: str,
        key: str,
        *,
        token: int | None = None,
        ticket: str | None = None,
        abandoned: bool = False,
        result: bytes = b"",
        timeout: float | None = None,
    ) -> DequeueAnswer:
        """DeQueue: end a caller's turn by its token, or give up a place or a turn by its ticket.

        `abandoned`: the work was not done. `result` is remembered with the idempotency key.
        """
        return self._thread.call(
            lambda: self._aio.dequeue(
                queue, key, token=token, ticket=ticket, abandoned=abandoned, result=result, timeout=timeout
            )
        )

    def submit_batch(
        self,
        queue: str,
        items: Sequence[NewItem],
        *,
        wait_for_room: float | None = None,
        durability: Durability | None = None,
        timeout: float | None = None,
    ) -> list[SubmitResult]:
        """Submit: hand over 1 to 1,000 items in one message, which an error accepts none of."""
        return self._thread.call(
            lambda: self._aio.submit_batch(queue, items, wait_for_room=wait_for_room, durability=durability, timeout=timeout)
        )

    def acquire(
        self,
        queues: str | Sequence[str],
        *,
        key: str = "",
        ticket: str = "",
        max_turns: int | None = None,
        max_items_per_turn: int | None = None,
        wait: float | None = None,
        lease: float | None = None,
        consumer_id: str = "",
        timeout: float | None = None,
    ) -> list[Delivery]:
        """Acquire: take the next turns of any keys with items; with `key`: wait in the line of this key."""
        return self._thread.call(
            lambda: self._aio.acquire(
                queues,
                key=key,
                ticket=ticket,
                max_turns=max_turns,
                max_items_per_turn=max_items_per_turn,
                wait=wait,
                lease=lease,
                consumer_id=consumer_id,
                timeout=timeout,
            )
        )

    def ack(
        self,
        queue: str,
        key: str,
        token: int,
        *,
        result: bytes = b"",
        follow_ups: Sequence[FollowUp] = (),
        next: AcquireCall | None = None,
        timeout: float | None = None,
    ) -> AckAnswer:
        """Ack: end a turn as done; in the same step submit follow-ups, and take what `next` says."""
        return self._thread.call(
            lambda: self._aio.ack(queue, key, token, result=result, follow_ups=follow_ups, next=next, timeout=timeout)
        )

    def nack(
        self,
        queue: str,
        key: str,
        token: int,
        kind: NackKind,
        *,
        delay: float | None = None,
        error: str = "",
        done: int = 0,
        timeout: float | None = None,
    ) -> NackAnswer:
        """Nack: give a turn back. `done`: how many items from the first are finished nevertheless."""
        return self._thread.call(
            lambda: self._aio.nack(queue, key, token, kind, delay=delay, error=error, done=done, timeout=timeout)
        )

    def renew(
        self, turns: Sequence[TurnRef], *, lease: float | None = None, timeout: float | None = None
    ) -> list[RenewResult]:
        """Renew: let the leases of live turns start again, 1 to 1,000 of them."""
        return self._thread.call(lambda: self._aio.renew(turns, lease=lease, timeout=timeout))

    def await_item(
        self, queue: str, item_id: str, *, wait: float | None = None, timeout: float | None = None
    ) -> AwaitAnswer:
        """Await: ask what became of an item, and wait so long for its end."""
        return self._thread.call(lambda: self._aio.await_item(queue, item_id, wait=wait, timeout=timeout))

    def now(self) -> float:
        """The clock that `hold` counts by."""
        return self._thread.loop.time()

    def hold(self, turn: Turn, asked_at: float) -> HeldTurn:
        """Keep a turn of a raw call alive, and tell in time when it is lost.

        `asked_at`: `now()` before the call that gave it; its life is counted from there, because only durations are trusted.
        """
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
