"""The calls of a worker over a session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from keyturn._call import Call, check_loop, unwritable
from keyturn._channel import Connection
from keyturn._ids import Ids
from keyturn._metrics import Metrics
from keyturn._options import timeout_of
from keyturn._session import worker_commands as commands
from keyturn._session.command import CallCommand
from keyturn._session.open_commands import OpenLimits
from keyturn._session.session import Session
from keyturn._turns.confirmations import Confirmations
from keyturn._turns.held import Held
from keyturn._turns.renewals import Renewals
from keyturn.errors import KeyturnError, TurnLoss
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


class SessionTransport:
    """See `keyturn._transport.Transport`."""

    def __init__(
        self,
        connection: Connection,
        *,
        session_id: str,
        consumer_id: str,
        ttl: float,
        margin: float | None,
        limits: OpenLimits,
        metrics: Metrics | None,
    ) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._ids = Ids()
        # Of turns with a lease of their own. What is tied lives as long as the session is known to.
        self._confirmations = Confirmations(self.renew, self.loop)
        renewals = Renewals(self.renew, self.loop, margin, self._lose)
        self._session = Session(
            connection,
            session_id=session_id,
            consumer_id=consumer_id,
            ttl=ttl,
            margin=margin,
            limits=limits,
            metrics=metrics,
            renewals=renewals,
        )

    def _lose(self, held: Held, cause: TurnLoss) -> None:
        self._session.turns.lose(held, cause)

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
    ) -> Call[EnqueueAnswer]:
        def make(future: Call[EnqueueAnswer]) -> CallCommand[EnqueueAnswer]:
            return commands.EnqueueCommand(
                future,
                queue,
                key,
                ticket,
                wait,
                lease,
                idempotency_key,
                consumer_id,
                self._confirmations.of,
            )

        return self._ask(make, timeout)

    def dequeue(
        self,
        queue: str,
        key: str,
        token: int | None,
        ticket: str | None,
        abandoned: bool,
        result: bytes,
        timeout: float | None,
    ) -> Call[DequeueAnswer]:
        return self._ask(
            lambda future: commands.DequeueCommand(future, queue, key, token, ticket, abandoned, result),
            timeout,
        )

    def submit(
        self,
        queue: str,
        items: Sequence[NewItem],
        wait_for_room: float | None,
        durability: Durability | None,
        timeout: float | None,
    ) -> Call[list[SubmitResult]]:
        def make(future: Call[list[SubmitResult]]) -> CallCommand[list[SubmitResult]]:
            # Items without an id get one: sent again after a lost answer, they would be others.
            named = [item if item.item_id else item._replace(item_id=self._ids.new()) for item in items]
            return commands.SubmitCommand(future, queue, named, wait_for_room, durability)

        return self._ask(make, timeout)

    def acquire(self, asked: AcquireCall, timeout: float | None) -> Call[list[Delivery]]:
        confirm = self._confirmations.of
        return self._ask(lambda future: commands.AcquireCommand(future, asked, confirm), timeout)

    def ack(
        self,
        turn: TurnRef,
        result: bytes,
        follow_ups: Sequence[FollowUp],
        following: AcquireCall | None,
        timeout: float | None,
    ) -> Call[AckAnswer]:
        def make(future: Call[AckAnswer]) -> CallCommand[AckAnswer]:
            # As in submit: an Ack that is sent again must be the same Ack.
            named = [
                one if one.item.item_id else FollowUp(one.queue, one.item._replace(item_id=self._ids.new()))
                for one in follow_ups
            ]
            return commands.AckCommand(future, turn, result, named, following, self._confirmations.of)

        return self._ask(make, timeout)

    def nack(
        self,
        turn: TurnRef,
        kind: NackKind,
        delay: float | None,
        error: str,
        done: int,
        timeout: float | None,
    ) -> Call[NackAnswer]:
        return self._ask(lambda future: commands.NackCommand(future, turn, kind, delay, error, done), timeout)

    def renew(self, turns: Sequence[TurnRef], lease: float | None, *, timeout: float | None) -> Call[list[RenewResult]]:
        return self._ask(lambda future: commands.RenewCommand(future, turns, lease), timeout)

    def await_item(self, queue: str, item_id: str, wait: float | None, timeout: float | None) -> Call[AwaitAnswer]:
        return self._ask(lambda future: commands.AwaitCommand(future, queue, item_id, wait), timeout)

    def hold(self, turn: Turn, asked_at: float) -> Held:
        return self._session.hold(turn, self._confirmations.since(turn, asked_at))

    def give_back(self, turn: Turn) -> None:
        self._session.give_back(turn)

    def call_off(self) -> None:
        # First: the session knows their turns as given.
        self._confirmations.close()
        self._session.call_off()

    async def settled(self, timeout: float) -> None:
        await self._session.settled(timeout)

    async def close(self) -> None:
        await self._session.close()

    def _ask(self, make: Callable[[Call[A]], CallCommand[A]], timeout: float | None) -> Call[A]:
        """Nothing here waits, so that nothing is made besides the future of the answer."""
        check_loop(self.loop)
        future: Call[A] = Call(loop=self.loop)
        try:
            timeout_of("timeout", timeout)
            command: CallCommand[Any] = make(future)
        except (TypeError, ValueError, KeyError, AttributeError, KeyturnError) as error:
            future.reject(unwritable(error))
        else:
            self._session.ask(command, timeout)
        return future
