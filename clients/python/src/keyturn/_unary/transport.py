"""The calls of a worker, each by itself, with the leases of turns renewed by their holder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from google.protobuf.message import Message

from keyturn._call import Call
from keyturn._channel import Connection
from keyturn._gen import coordinator_pb2 as pb
from keyturn._ids import Ids
from keyturn._metrics import Metrics
from keyturn._session.worker_commands import LONGEST_WAIT
from keyturn._turns.confirmations import Confirmations
from keyturn._turns.held import Held
from keyturn._turns.renewals import Renewals
from keyturn._unary.calls import Unary
from keyturn._wire import answers, requests
from keyturn.errors import TurnLoss
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
M = TypeVar("M", bound=Message)

GRACE: Final = 10.0
# A longer deadline is no deadline, seconds.
_LONGEST: Final = 86_400.0 * 365
# How long the giving up of a place may take before it is left to `ticket_ttl`, seconds.
_GIVING_UP: Final = 2.0


class UnaryTransport:
    """See `keyturn._transport.Transport`."""

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
        self._ids = Ids()
        self._consumer_id = consumer_id
        self._metrics = metrics
        self._renewals = Renewals(self.renew, self.loop, margin, self._lose)
        self._confirmations = Confirmations(self.renew, self.loop)
        # Calls that give back what nobody got, and give up places.
        self._leaving: set[asyncio.Future[Any]] = set()
        self._is_closing = False

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
        def make() -> Message:
            who = consumer_id or self._consumer_id
            return requests.enqueue(queue, key, ticket, wait, lease, idempotency_key, who)

        def after(answer: EnqueueAnswer, asked_at: float, future: Call[EnqueueAnswer]) -> None:
            self._given(() if answer.turn is None else (answer.turn,), asked_at, future, answer)

        call = self._ask(
            "EnQueue",
            make,
            pb.EnQueueResponse,
            lambda message: answers.enqueue(message, queue, key, ticket),
            LONGEST_WAIT if wait is None else wait,
            timeout,
            after,
            lambda answer: self._give_back(() if answer.turn is None else (answer.turn,)),
        )
        if ticket:
            self._leaves(call, lambda: self._give_up(queue, key, ticket))
        return call

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
            "DeQueue",
            lambda: requests.dequeue(queue, key, token, ticket, abandoned, result),
            pb.DeQueueResponse,
            answers.dequeue,
            0,
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
        return self._ask(
            "Submit",
            lambda: requests.submit(queue, items, wait_for_room, durability),
            pb.SubmitResponse,
            answers.submit,
            wait_for_room,
            timeout,
        )

    def acquire(self, asked: AcquireCall, timeout: float | None) -> Call[list[Delivery]]:
        def after(answer: list[Delivery], asked_at: float, future: Call[list[Delivery]]) -> None:
            self._given([delivery.turn for delivery in answer], asked_at, future, answer)

        call = self._ask(
            "Acquire",
            lambda: requests.acquire(asked, self._consumer_id),
            pb.AcquireResponse,
            answers.acquire,
            asked.wait,
            timeout,
            after,
            self._give_all_back,
        )
        if asked.ticket and asked.key:
            self._leaves(call, lambda: self._give_up(asked.queues[0] if asked.queues else "", asked.key, asked.ticket))
        elif asked.ticket:
            self._leaves(call, lambda: self._take_back(asked))
        return call

    def ack(
        self,
        turn: TurnRef,
        result: bytes,
        follow_ups: Sequence[FollowUp],
        following: AcquireCall | None,
        timeout: float | None,
    ) -> Call[AckAnswer]:
        def after(answer: AckAnswer, asked_at: float, future: Call[AckAnswer]) -> None:
            self._given([delivery.turn for delivery in answer.next or ()], asked_at, future, answer)

        return self._ask(
            "Ack",
            lambda: requests.ack(turn, result, follow_ups, following, self._consumer_id),
            pb.AckResponse,
            answers.ack,
            None if following is None else following.wait,
            timeout,
            after,
            lambda answer: self._give_all_back(answer.next or ()),
        )

    def nack(
        self,
        turn: TurnRef,
        kind: NackKind,
        delay: float | None,
        error: str,
        done: int,
        timeout: float | None,
    ) -> Call[NackAnswer]:
        return self._ask(
            "Nack",
            lambda: requests.nack(turn, kind, delay, error, done),
            pb.NackResponse,
            answers.nack,
            0,
            timeout,
        )

    def renew(self, turns: Sequence[TurnRef], lease: float | None, *, timeout: float | None) -> Call[list[RenewResult]]:
        return self._ask("Renew", lambda: requests.renew(turns, lease), pb.RenewResponse, answers.renew, 0, timeout)

    def await_item(self, queue: str, item_id: str, wait: float | None, timeout: float | None) -> Call[AwaitAnswer]:
        return self._ask(
            "Await",
            lambda: requests.await_item(queue, item_id, wait),
            pb.AwaitResponse,
            answers.await_item,
            wait,
            timeout,
        )

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
        await self.settled(_GIVING_UP)
        await self._unary.close()

    async def settled(self, timeout: float) -> None:
        until = self.loop.time() + timeout
        # What comes with one is given back with another.
        while self._leaving and self.loop.time() < until:
            await asyncio.wait(list(self._leaving), timeout=until - self.loop.time())

    def _ask(
        self,
        method: str,
        make: Callable[[], Message],
        answer: type[M],
        read: Callable[[M], A],
        wait: float | None,
        timeout: float | None,
        after: Callable[[A, float, Call[A]], None] | None = None,
        give_back: Callable[[A], None] | None = None,
    ) -> Call[A]:
        return self._unary.ask(f"CoordinatorService/{method}", make, answer, read, timeout, wait, after, give_back)

    def _given(self, turns: Sequence[Turn], asked_at: float, future: Call[A], answer: A) -> None:
        if self._metrics is not None:
            for turn in turns:
                self._metrics.turn_granted(turn.queue)
        self._confirmations.of(turns, asked_at, future, answer)

    def _lose(self, held: Held, cause: TurnLoss) -> None:
        if self._metrics is not None and not held.lost:
            self._metrics.turn_lost(held.turn.queue, cause)
        held.lose(cause)

    @staticmethod
    def _leaves(call: Call[A], leave: Callable[[], None]) -> None:
        """A cancelled call leaves its ticket where it is, with what it got meanwhile; to leave takes a call of its own."""
        end = call.on_cancel

        def cancelled(leaves: bool) -> None:
            if end is not None:
                end(leaves)
            if leaves:
                leave()

        if end is not None:
            call.on_cancel = cancelled

    def _give_up(self, queue: str, key: str, ticket: str) -> None:
        # Should this fail too, the place ends with its `ticket_ttl`.
        self._leave_with(self.dequeue(queue, key, None, ticket, True, b"", _GIVING_UP))

    def _take_back(self, asked: AcquireCall) -> None:
        """Ask once more with its ticket: what comes is what the earlier call got, and goes back."""
        again = self.acquire(asked._replace(wait=0), _GIVING_UP)
        again.add_done_callback(lambda done: None if _failed(done) else self._give_all_back(done.result()))
        self._leave_with(again)

    def _give_all_back(self, deliveries: Sequence[Delivery]) -> None:
        self._give_back([delivery.turn for delivery in deliveries])

    def _give_back(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            ref = TurnRef(turn.queue, turn.key, turn.token)
            self._leave_with(self.nack(ref, "release", None, "", 0, _GIVING_UP))

    def _leave_with(self, call: Call[Any]) -> None:
        self._leaving.add(call)
        call.add_done_callback(self._left)

    def _left(self, done: asyncio.Future[Any]) -> None:
        self._leaving.discard(done)
        _failed(done)


def _failed(done: asyncio.Future[Any]) -> bool:
    """What a call failed with that nobody waits for counts as told."""
    return done.cancelled() or done.exception() is not None
