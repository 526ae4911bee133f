"""The eight calls of a worker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from google.protobuf.message import Message

from keyturn._gen import coordinator_pb2 as pb
from keyturn._words import answers, requests
from keyturn._words.ids import Ids, named, named_follow_ups
from keyturn._words.limits import LONGEST_WAIT
from keyturn._words.worker_call import Ended, Taking, WorkerCall
from keyturn.errors import KeyturnError
from keyturn.words import (
    AckAnswer,
    AcquireCall,
    AwaitAnswer,
    Delivery,
    DequeueAnswer,
    Durability,
    EnqueueAnswer,
    FollowUp,
    LossCause,
    NackAnswer,
    NackKind,
    NewItem,
    RenewResult,
    SubmitResult,
    Turn,
    TurnRef,
)


@dataclass(slots=True, eq=False)
class Enqueue(WorkerCall[EnqueueAnswer]):
    rpc = "EnQueue"
    field = "enqueue"
    answer = pb.EnQueueResponse
    queue: str
    key: str
    ticket: str
    wait: float | None
    lease: float | None
    idempotency_key: str
    consumer_id: str

    @property
    def max_wait(self) -> float:
        return LONGEST_WAIT if self.wait is None else self.wait

    @property
    def leaves_wait(self) -> bool:
        return self.wait is None

    def request(self, consumer_id: str = "") -> Message:
        return pb.EnQueueRequest(
            queue=requests.text(self.queue),
            key=requests.text(self.key),
            consumer_id=self.consumer_id or consumer_id,
            ticket=self.ticket,
            wait=requests.duration(self.wait),
            lease=requests.duration(self.lease),
            idempotency_key=self.idempotency_key,
        )

    def read(self, message: pb.EnQueueResponse) -> EnqueueAnswer:
        return answers.enqueue(message, self.queue, self.key, self.ticket)

    def taking(self) -> Taking:
        return Taking((self.queue,), self.key, self.ticket, self.lease is None)

    def turns(self, answer: EnqueueAnswer) -> Sequence[Turn]:
        return () if answer.turn is None else (answer.turn,)


@dataclass(slots=True, eq=False)
class Dequeue(WorkerCall[DequeueAnswer]):
    rpc = "DeQueue"
    field = "dequeue"
    answer = pb.DeQueueResponse
    keeps_or_ends = True
    queue: str
    key: str
    token: int | None
    ticket: str | None
    abandoned: bool
    result: bytes = b""

    def request(self, consumer_id: str = "") -> Message:
        by_token = self.token is not None
        return pb.DeQueueRequest(
            queue=requests.text(self.queue),
            key=requests.text(self.key),
            token=self.token,
            ticket=None if by_token else self.ticket,
            abandoned=self.abandoned,
            result=self.result,
        )

    def read(self, message: pb.DeQueueResponse) -> DequeueAnswer:
        return answers.dequeue(message)

    def ended(self) -> Ended:
        return Ended(self.queue, self.key, self.token, self.ticket or "")


@dataclass(slots=True, eq=False)
class Submit(WorkerCall[list[SubmitResult]]):
    rpc = "Submit"
    field = "submit"
    answer = pb.SubmitResponse
    queue: str
    items: Sequence[NewItem]
    wait_for_room: float | None
    durability: Durability | None

    @property
    def max_wait(self) -> float:
        return self.wait_for_room or 0.0

    def named(self, ids: Ids) -> Submit:
        items = [named(item, ids) for item in self.items]
        return Submit(self.queue, items, self.wait_for_room, self.durability)

    def request(self, consumer_id: str = "") -> Message:
        how = pb.DURABILITY_UNSPECIFIED if self.durability is None else requests.DURABILITIES[self.durability]
        return pb.SubmitRequest(
            queue=requests.text(self.queue),
            items=[requests.new_item(item) for item in self.items],
            wait_for_room=requests.duration(self.wait_for_room),
            durability=how,
        )

    def read(self, message: pb.SubmitResponse) -> list[SubmitResult]:
        results = answers.submit(message)
        if len(results) == len(self.items):
            return results
        what = f"the answer has {len(results)} results for {len(self.items)} items"
        raise KeyturnError(what, "INTERNAL", "BAD_ANSWER")


@dataclass(slots=True, eq=False)
class Acquire(WorkerCall[list[Delivery]]):
    rpc = "Acquire"
    field = "acquire"
    answer = pb.AcquireResponse
    asked: AcquireCall

    @property
    def max_wait(self) -> float:
        return self.asked.wait or 0.0

    def request(self, consumer_id: str = "") -> Message:
        return requests.acquire(self.asked, consumer_id)

    def read(self, message: pb.AcquireResponse) -> list[Delivery]:
        return answers.acquire(message, *_said(self.asked))

    def taking(self) -> Taking:
        return _taking(self.asked)

    def turns(self, answer: list[Delivery]) -> Sequence[Turn]:
        return [delivery.turn for delivery in answer]


@dataclass(slots=True, eq=False)
class Ack(WorkerCall[AckAnswer]):
    rpc = "Ack"
    field = "ack"
    answer = pb.AckResponse
    keeps_or_ends = True
    turn: TurnRef
    result: bytes
    follow_ups: Sequence[FollowUp]
    following: AcquireCall | None
    """What it takes along."""

    @property
    def max_wait(self) -> float:
        return 0.0 if self.following is None else self.following.wait or 0.0

    def named(self, ids: Ids) -> Ack:
        return Ack(self.turn, self.result, named_follow_ups(self.follow_ups, ids), self.following)

    def request(self, consumer_id: str = "") -> Message:
        return pb.AckRequest(
            queue=requests.text(self.turn.queue),
            key=requests.text(self.turn.key),
            token=self.turn.token,
            result=self.result,
            follow_ups=[
                pb.FollowUp(queue=requests.text(queue), item=requests.new_item(item)) for queue, item in self.follow_ups
            ],
            next=None if self.following is None else requests.acquire(self.following, consumer_id),
        )

    def read(self, message: pb.AckResponse) -> AckAnswer:
        return answers.ack(message, *(("", "") if self.following is None else _said(self.following)))

    def taking(self) -> Taking | None:
        return None if self.following is None else _taking(self.following)

    def turns(self, answer: AckAnswer) -> Sequence[Turn]:
        return [delivery.turn for delivery in answer.next or ()]

    def ended(self) -> Ended:
        return Ended(*self.turn)


@dataclass(slots=True, eq=False)
class Nack(WorkerCall[NackAnswer]):
    rpc = "Nack"
    field = "nack"
    answer = pb.NackResponse
    keeps_or_ends = True
    turn: TurnRef
    kind: NackKind
    delay: float | None = None
    error: str = ""
    done: int = 0

    def request(self, consumer_id: str = "") -> Message:
        return pb.NackRequest(
            queue=requests.text(self.turn.queue),
            key=requests.text(self.turn.key),
            token=self.turn.token,
            kind=requests.NACK_KINDS[self.kind],
            delay=requests.duration(self.delay),
            error=self.error,
            done=self.done,
        )

    def read(self, message: pb.NackResponse) -> NackAnswer:
        return answers.nack(message)

    def ended(self) -> Ended:
        return Ended(*self.turn)


@dataclass(slots=True, eq=False)
class Renew(WorkerCall[list[RenewResult]]):
    rpc = "Renew"
    field = "renew"
    answer = pb.RenewResponse
    keeps_or_ends = True
    refs: Sequence[TurnRef]
    lease: float | None

    def request(self, consumer_id: str = "") -> Message:
        refs = [
            pb.TurnRef(queue=requests.text(turn.queue), key=requests.text(turn.key), token=turn.token) for turn in self.refs
        ]
        return pb.RenewRequest(turns=refs, lease=requests.duration(self.lease))

    def read(self, message: pb.RenewResponse) -> list[RenewResult]:
        return answers.renew(message)

    def losses(self, answer: list[RenewResult]) -> Iterable[tuple[TurnRef, LossCause]]:
        return [
            (turn, result.cause or "unknown") for turn, result in zip(self.refs, answer, strict=False) if not result.alive
        ]


@dataclass(slots=True, eq=False)
class Await(WorkerCall[AwaitAnswer]):
    rpc = "Await"
    field = "await_item"
    answer = pb.AwaitResponse
    queue: str
    item_id: str
    wait: float | None

    @property
    def max_wait(self) -> float:
        return self.wait or 0.0

    def request(self, consumer_id: str = "") -> Message:
        queue, item_id = requests.text(self.queue), requests.text(self.item_id)
        return pb.AwaitRequest(queue=queue, item_id=item_id, wait=requests.duration(self.wait))

    def read(self, message: pb.AwaitResponse) -> AwaitAnswer:
        return answers.await_item(message)


def _taking(asked: AcquireCall) -> Taking:
    return Taking(asked.queues, asked.key, asked.ticket, asked.lease is None)


def _said(asked: AcquireCall) -> tuple[str, str]:
    """What the answer may leave out: the queue and the key of a call that asks for one key."""
    return (asked.queues[0], asked.key) if asked.key and asked.queues else ("", "")
