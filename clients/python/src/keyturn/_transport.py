"""What every transport of the client does: a session stream (the normal one), or unary calls."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from keyturn._call import Call
from keyturn._turns.held import Held
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


class Transport(Protocol):
    """The calls of a worker, each safe to be sent again. Every failure is a KeyturnError.

    `timeout`: seconds until the call is given up (DEADLINE_EXCEEDED), answered or not, connected or not; None: its wait
    and ten seconds.
    """

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...

    def enqueue(
        self,
        queue: str,
        key: str,
        ticket: str,
        wait: float | None,
        lease: float | None,
        idempotency_key: str,
        consumer_id: str,
        timeout: float | None,
    ) -> Call[EnqueueAnswer]: ...

    def dequeue(
        self,
        queue: str,
        key: str,
        token: int | None,
        ticket: str | None,
        abandoned: bool,
        result: bytes,
        timeout: float | None,
    ) -> Call[DequeueAnswer]: ...

    def submit(
        self,
        queue: str,
        items: Sequence[NewItem],
        wait_for_room: float | None,
        durability: Durability | None,
        timeout: float | None,
    ) -> Call[list[SubmitResult]]: ...

    def acquire(self, asked: AcquireCall, timeout: float | None) -> Call[list[Delivery]]: ...

    def ack(
        self,
        turn: TurnRef,
        result: bytes,
        follow_ups: Sequence[FollowUp],
        following: AcquireCall | None,
        timeout: float | None,
    ) -> Call[AckAnswer]: ...

    def nack(
        self,
        turn: TurnRef,
        kind: NackKind,
        delay: float | None,
        error: str,
        done: int,
        timeout: float | None,
    ) -> Call[NackAnswer]: ...

    def renew(self, turns: Sequence[TurnRef], lease: float | None, *, timeout: float | None) -> Call[list[RenewResult]]: ...

    def await_item(self, queue: str, item_id: str, wait: float | None, timeout: float | None) -> Call[AwaitAnswer]: ...

    def hold(self, turn: Turn, asked_at: float) -> Held:
        """Keep a turn alive. `asked_at`: when the call was sent that gave it; its life is counted from there."""

    def give_back(self, turn: Turn) -> None:
        """The work under it has ended, after the client began to close: nobody else would end it."""

    def call_off(self) -> None:
        """Begin to close: refuse what is open and what is asked from now on (CANCELLED), tell those who hold turns."""

    async def settled(self, timeout: float) -> None:
        """Wait until what was called off has ended, and what it brought all the same was given back; for so many seconds."""

    async def close(self) -> None:
        """Call off what was not yet. Nothing is left when it returns."""
