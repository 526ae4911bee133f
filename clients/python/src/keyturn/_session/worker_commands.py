"""The eight calls of a worker as commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from keyturn._call import Call
from keyturn._gen import coordinator_pb2 as pb
from keyturn._session.command import Books, CallCommand, Claim, Settles
from keyturn._turns.held import turn_lost
from keyturn._wire import answers, requests
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

# The longest wait that a queue's policy can ask for, seconds.
LONGEST_WAIT: Final = 300.0

Confirm = Callable[[Sequence[Turn], float, Call[Any], Any], None]
"""Lets turns with a lease of their own be confirmed before an answer is handed on."""


class EnqueueCommand(CallCommand[EnqueueAnswer]):
    __slots__ = ("_confirm", "_key", "_leaves_wait", "_queue", "_ticket", "_tied", "_wait")
    method = "enqueue"

    def __init__(
        self,
        future: Call[EnqueueAnswer],
        queue: str,
        key: str,
        ticket: str,
        wait: float | None,
        lease: float | None,
        idempotency_key: str,
        consumer_id: str,
        confirm: Confirm,
    ) -> None:
        message = requests.enqueue(queue, key, ticket, wait, lease, idempotency_key, consumer_id)
        super().__init__("enqueue", message, future)
        self._queue, self._key, self._ticket = queue, key, ticket
        self._wait = LONGEST_WAIT if wait is None else wait
        self._leaves_wait = wait is None
        self._tied = lease is None
        self._confirm = confirm

    @property
    def wait(self) -> float:
        return self._wait

    @property
    def leaves_wait(self) -> bool:
        return self._leaves_wait

    def claim(self) -> Claim | None:
        return Claim((self._queue,), self._key) if self._ticket else None

    def read(self, reply: pb.Reply) -> EnqueueAnswer:
        return answers.enqueue(reply.enqueue, self._queue, self._key, self._ticket)

    def book(self, answer: EnqueueAnswer, books: Books) -> None:
        turn = answer.turn
        if turn is None:
            return
        if not self.abandoned:
            books.given(turn, self._tied, self._ticket)
        self.gave((turn,), self._ticket, books)

    def hand_on(self, answer: EnqueueAnswer) -> None:
        if self._tied or answer.turn is None or self.abandoned:
            self.future.resolve(answer)
        else:
            self._confirm((answer.turn,), self.asked_at, self.future, answer)


class DequeueCommand(CallCommand[DequeueAnswer]):
    __slots__ = ("_key", "_queue", "_ticket", "_token")
    method = "dequeue"
    keeps_or_ends = True

    def __init__(
        self,
        future: Call[DequeueAnswer],
        queue: str,
        key: str,
        token: int | None,
        ticket: str | None,
        abandoned: bool,
        result: bytes,
    ) -> None:
        super().__init__("dequeue", requests.dequeue(queue, key, token, ticket, abandoned, result), future)
        self._queue, self._key, self._token, self._ticket = queue, key, token, ticket or ""

    def settles(self) -> Settles | None:
        return None if self._token is None else Settles(self._queue, self._token)

    def read(self, reply: pb.Reply) -> DequeueAnswer:
        return answers.dequeue(reply.dequeue)

    def book(self, answer: DequeueAnswer, books: Books) -> None:
        books.settled(self._queue, self._key, self._token, self._ticket)


class SubmitCommand(CallCommand[list[SubmitResult]]):
    __slots__ = ("_wait",)
    method = "submit"

    def __init__(
        self,
        future: Call[list[SubmitResult]],
        queue: str,
        items: Sequence[NewItem],
        wait_for_room: float | None,
        durability: Durability | None,
    ) -> None:
        super().__init__("submit", requests.submit(queue, items, wait_for_room, durability), future)
        self._wait = wait_for_room or 0.0

    @property
    def wait(self) -> float:
        return self._wait

    def read(self, reply: pb.Reply) -> list[SubmitResult]:
        return answers.submit(reply.submit)


class AcquireCommand(CallCommand[list[Delivery]]):
    __slots__ = ("_asked", "_confirm")
    method = "acquire"

    def __init__(self, future: Call[list[Delivery]], asked: AcquireCall, confirm: Confirm) -> None:
        super().__init__("acquire", requests.acquire(asked), future)
        self._asked = asked
        self._confirm = confirm

    @property
    def wait(self) -> float:
        return self._asked.wait or 0.0

    def claim(self) -> Claim | None:
        return _claim_of(self._asked)

    def read(self, reply: pb.Reply) -> list[Delivery]:
        return answers.acquire(reply.acquire, *_said(self._asked))

    def book(self, answer: list[Delivery], books: Books) -> None:
        _book(answer, self._asked, books, self)

    def hand_on(self, answer: list[Delivery]) -> None:
        if self._asked.lease is None or self.abandoned:
            self.future.resolve(answer)
        else:
            turns = [delivery.turn for delivery in answer]
            self._confirm(turns, self.asked_at, self.future, answer)


class AckCommand(CallCommand[AckAnswer]):
    __slots__ = ("_confirm", "_next", "_turn")
    method = "ack"
    keeps_or_ends = True

    def __init__(
        self,
        future: Call[AckAnswer],
        turn: TurnRef,
        result: bytes,
        follow_ups: Sequence[FollowUp],
        following: AcquireCall | None,
        confirm: Confirm,
    ) -> None:
        super().__init__("ack", requests.ack(turn, result, follow_ups, following), future)
        self._turn = turn
        self._next = following
        self._confirm = confirm

    @property
    def wait(self) -> float:
        return 0.0 if self._next is None else self._next.wait or 0.0

    def claim(self) -> Claim | None:
        return None if self._next is None else _claim_of(self._next)

    def settles(self) -> Settles | None:
        return Settles(self._turn.queue, self._turn.token)

    def read(self, reply: pb.Reply) -> AckAnswer:
        return answers.ack(reply.ack, *(("", "") if self._next is None else _said(self._next)))

    def book(self, answer: AckAnswer, books: Books) -> None:
        books.settled(self._turn.queue, self._turn.key, self._turn.token, "")
        if answer.next is not None and self._next is not None:
            _book(answer.next, self._next, books, self)

    def hand_on(self, answer: AckAnswer) -> None:
        if self._next is None or self._next.lease is None or self.abandoned:
            self.future.resolve(answer)
        else:
            turns = [delivery.turn for delivery in answer.next or ()]
            self._confirm(turns, self.asked_at, self.future, answer)


class NackCommand(CallCommand[NackAnswer]):
    __slots__ = ("_turn",)
    method = "nack"
    keeps_or_ends = True

    def __init__(
        self,
        future: Call[NackAnswer],
        turn: TurnRef,
        kind: NackKind,
        delay: float | None,
        error: str,
        done: int,
    ) -> None:
        super().__init__("nack", requests.nack(turn, kind, delay, error, done), future)
        self._turn = turn

    def settles(self) -> Settles | None:
        return Settles(self._turn.queue, self._turn.token)

    def read(self, reply: pb.Reply) -> NackAnswer:
        return answers.nack(reply.nack)

    def book(self, answer: NackAnswer, books: Books) -> None:
        books.settled(self._turn.queue, self._turn.key, self._turn.token, "")


class RenewCommand(CallCommand[list[RenewResult]]):
    __slots__ = ("_turns",)
    method = "renew"
    keeps_or_ends = True

    def __init__(self, future: Call[list[RenewResult]], turns: Sequence[TurnRef], lease: float | None) -> None:
        super().__init__("renew", requests.renew(turns, lease), future)
        self._turns = turns

    def read(self, reply: pb.Reply) -> list[RenewResult]:
        return answers.renew(reply.renew)

    def book(self, answer: list[RenewResult], books: Books) -> None:
        for turn, result in zip(self._turns, answer, strict=False):
            if not result.alive:
                error = turn_lost(turn.queue, turn.key, result.cause or "unknown")
                books.lost(turn.queue, turn.token, error)


class AwaitCommand(CallCommand[AwaitAnswer]):
    __slots__ = ("_wait",)
    method = "await_item"

    def __init__(self, future: Call[AwaitAnswer], queue: str, item_id: str, wait: float | None) -> None:
        super().__init__("await_item", requests.await_item(queue, item_id, wait), future)
        self._wait = wait or 0.0

    @property
    def wait(self) -> float:
        return self._wait

    def read(self, reply: pb.Reply) -> AwaitAnswer:
        return answers.await_item(reply.await_item)


def _claim_of(call: AcquireCall) -> Claim | None:
    return Claim(tuple(call.queues), call.key) if call.ticket else None


def _said(call: AcquireCall) -> tuple[str, str]:
    """What the answer may leave out: the queue and the key of a call that asks for one key."""
    return (call.queues[0], call.key) if call.key and call.queues else ("", "")


def _book(deliveries: Sequence[Delivery], call: AcquireCall, books: Books, command: CallCommand[Any]) -> None:
    turns = [delivery.turn for delivery in deliveries]
    if not command.abandoned:
        for turn in turns:
            books.given(turn, call.lease is None, call.ticket)
    command.gave(turns, call.ticket, books)
