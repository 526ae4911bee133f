"""The calls themselves."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from keyturn._aio.held_turn import HeldTurn
from keyturn._connection.call import Call
from keyturn._session.base import Base
from keyturn._words import calls
from keyturn._words.checks import number_within, turn_needed
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


class Calls:
    """Part of `Client`: the calls of the contract, and `hold` for the turns that they give."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self._transport = base.transport

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
    ) -> Call[EnqueueAnswer]:
        """EnQueue: ask for the turn of a key. With a ticket it is safe to be sent again.

        A turn with a `lease` lives by it; without one its session keeps it alive. `timeout` of this and the other calls: seconds
        until it is given up (DEADLINE_EXCEEDED), connected or not; None: its wait and ten seconds.
        """
        return self._transport.ask(calls.Enqueue(queue, key, ticket, wait, lease, idempotency_key, consumer_id), timeout)

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
    ) -> Call[DequeueAnswer]:
        """DeQueue: end a caller's turn by its token, or give up a place or a turn by its ticket.

        `abandoned`: the work was not done. `result` is remembered with the idempotency key.
        """
        return self._transport.ask(calls.Dequeue(queue, key, token, ticket, abandoned, result), timeout)

    def submit_batch(
        self,
        queue: str,
        items: Sequence[NewItem],
        *,
        wait_for_room: float | None = None,
        durability: Durability | None = None,
        timeout: float | None = None,
    ) -> Call[list[SubmitResult]]:
        """Submit: hand over 1 to 1,000 items in one message, which an error accepts none of."""
        return self._transport.ask(calls.Submit(queue, items, wait_for_room, durability), timeout)

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
    ) -> Call[list[Delivery]]:
        """Acquire: take the next turns of any keys with items; with `key`: wait in the line of this key."""
        names = (queues,) if isinstance(queues, str) else queues
        asked = AcquireCall(names, key, ticket, max_turns, max_items_per_turn, wait, lease, consumer_id)
        return self._transport.ask(calls.Acquire(asked), timeout)

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
    ) -> Call[AckAnswer]:
        """Ack: end a turn as done; in the same step submit follow-ups, and take what `next` says."""
        return self._transport.ask(calls.Ack(TurnRef(queue, key, token), result, follow_ups, next), timeout)

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
    ) -> Call[NackAnswer]:
        """Nack: give a turn back. `done`: how many items from the first are finished nevertheless."""
        return self._transport.ask(calls.Nack(TurnRef(queue, key, token), kind, delay, error, done), timeout)

    def renew(
        self, turns: Sequence[TurnRef], *, lease: float | None = None, timeout: float | None = None
    ) -> Call[list[RenewResult]]:
        """Renew: let the leases of live turns start again, 1 to 1,000 of them."""
        return self._transport.ask(calls.Renew(turns, lease), timeout)

    def await_item(
        self, queue: str, item_id: str, *, wait: float | None = None, timeout: float | None = None
    ) -> Call[AwaitAnswer]:
        """Await: ask what became of an item, and wait so long for its end."""
        return self._transport.ask(calls.Await(queue, item_id, wait), timeout)

    def now(self) -> float:
        """The clock that `hold` counts by."""
        return self._base.now()

    def hold(self, turn: Turn, asked_at: float) -> HeldTurn:
        """Keep a turn of a raw call alive, and tell in time when it is lost.

        `asked_at`: `now()` before the call that gave it; its life is counted from there, because only durations are trusted.
        """
        turn_needed("turn", turn)
        number_within("asked_at", asked_at, -inf, inf)
        return HeldTurn(self._transport.hold(turn, asked_at))
