"""The calls of a worker, each by itself, with the leases of turns renewed by their holder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeVar

from keyturn._connection.call import Call
from keyturn._connection.channel import Connection
from keyturn._connection.unary import Unary
from keyturn._session.turns.confirmations import Confirmations
from keyturn._session.turns.held import Held
from keyturn._session.turns.renewals import Renewals
from keyturn._words.calls import Acquire, Dequeue, Nack
from keyturn._words.limits import GIVING_UP
from keyturn._words.metrics import Metrics
from keyturn._words.worker_call import Taking, WorkerCall, ref_of
from keyturn.errors import TurnLoss
from keyturn.words import Turn

A = TypeVar("A")


class UnaryTransport:
    """See `keyturn._session.transport.Transport`."""

    def __init__(
        self,
        connection: Connection,
        *,
        consumer_id: str,
        margin: float | None,
        metrics: Metrics | None,
    ) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._unary = Unary(connection, metrics)
        self._consumer_id = consumer_id
        self._metrics = metrics
        self._renewals = Renewals(self.ask, self.loop, margin, self._lose)
        self._confirmations = Confirmations(self.ask, self.loop)
        # Calls that give back what nobody got, and give up places.
        self._leaving: set[asyncio.Future[Any]] = set()
        self._is_closing = False

    def ask(self, call: WorkerCall[A], timeout: float | None) -> Call[A]:
        def after(answer: A, asked_at: float, future: Call[A]) -> None:
            self._given(call.turns(answer), asked_at, future, answer)

        def give_back(answer: A) -> None:
            self._give_back(call.turns(answer))

        taking = call.taking()
        future = self._unary.ask(
            f"CoordinatorService/{call.rpc}",
            lambda: call.request(self._consumer_id),
            call.answer,
            call.read,
            timeout,
            call.max_wait,
            after if taking else None,
            give_back if taking else None,
        )
        # What an Ack takes along it does not wait for.
        if taking and taking.ticket and not call.keeps_or_ends:
            self._leaves(future, call, taking)
        return future

    def hold(self, turn: Turn, asked_at: float) -> Held:
        held = Held(turn, self._renewals.drop)
        self._renewals.keep(held, self._confirmations.since(turn, asked_at))
        return held

    def give_back(self, turn: Turn) -> None:
        if self._is_closing:
            self._give_back((turn,))

    def call_off(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._renewals.close("closed")
            self._unary.call_off()
            # What this gives back is not called off.
            self._confirmations.close()

    async def close(self) -> None:
        self.call_off()
        await self.settled(GIVING_UP)
        await self._unary.close()

    async def settled(self, timeout: float) -> None:
        until = self.loop.time() + timeout
        # What comes with one is given back with another.
        while self._leaving and self.loop.time() < until:
            await asyncio.wait(list(self._leaving), timeout=until - self.loop.time())

    def _given(self, turns: Sequence[Turn], asked_at: float, future: Call[A], answer: A) -> None:
        if self._metrics is not None:
            for turn in turns:
                self._metrics.turn_granted(turn.queue)
        self._confirmations.of(turns, asked_at, future, answer)

    def _lose(self, held: Held, cause: TurnLoss) -> None:
        if self._metrics is not None and not held.lost:
            self._metrics.turn_lost(held.turn.queue, cause)
        held.lose(cause)

    def _leaves(self, future: Call[A], call: WorkerCall[A], taking: Taking) -> None:
        """A cancelled call leaves its ticket where it is, with what it got meanwhile; to leave takes a call of its own."""
        end = future.on_cancel
        if end is None:
            return

        def cancelled(leaves: bool) -> None:
            end(leaves)
            if leaves:
                self._leave(call, taking)

        future.on_cancel = cancelled

    def _leave(self, call: WorkerCall[A], taking: Taking) -> None:
        if isinstance(call, Acquire) and not call.asked.key:
            # Ask once more with its ticket: what comes is what the earlier call got, and goes back.
            again = self.ask(Acquire(call.asked._replace(wait=0)), GIVING_UP)
            again.add_done_callback(lambda done: None if _failed(done) else self._give_back(call.turns(done.result())))
            self._leave_with(again)
        else:
            # Should this fail too, the place ends with its `ticket_ttl`.
            queue = taking.queues[0] if taking.queues else ""
            self._leave_with(self.ask(Dequeue(queue, taking.key, None, taking.ticket, abandoned=True), GIVING_UP))

    def _give_back(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            self._leave_with(self.ask(Nack(ref_of(turn), "release"), GIVING_UP))

    def _leave_with(self, call: Call[Any]) -> None:
        self._leaving.add(call)
        call.add_done_callback(self._left)

    def _left(self, done: asyncio.Future[Any]) -> None:
        self._leaving.discard(done)
        _failed(done)


def _failed(done: asyncio.Future[Any]) -> bool:
    """What a call failed with that nobody waits for counts as told."""
    return done.cancelled() or done.exception() is not None
