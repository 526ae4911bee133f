"""Answers of CoordinatorService in the client's words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Final

from google.protobuf.duration_pb2 import Duration

from keyturn._gen import coordinator_pb2 as pb
from keyturn.errors import KeyturnError
from keyturn.words import (
    AckAnswer,
    AwaitAnswer,
    Delivery,
    DequeueAnswer,
    EnqueueAnswer,
    Item,
    ItemState,
    LossCause,
    NackAnswer,
    Reason,
    RenewResult,
    SubmitResult,
    Turn,
)

_LARGEST_TOKEN: Final = 2**53 - 1

_REASONS: Final[Mapping[int, Reason]] = {
    pb.REASON_WAITER_EXISTS: "waiter_exists",
    pb.REASON_SUPERSEDED: "superseded",
    pb.REASON_ALREADY_DONE: "already_done",
    pb.REASON_TOO_SOON: "too_soon",
}
_STATES: Final[Mapping[int, ItemState]] = {
    pb.ITEM_STATE_WAITING: "waiting",
    pb.ITEM_STATE_IN_FLIGHT: "in_flight",
    pb.ITEM_STATE_DONE: "done",
    pb.ITEM_STATE_DEAD: "dead",
    pb.ITEM_STATE_SUPERSEDED: "superseded",
    pb.ITEM_STATE_DISCARDED: "discarded",
    pb.ITEM_STATE_UNKNOWN: "unknown",
}
CAUSES: Final[Mapping[int, LossCause]] = {
    pb.LOSS_CAUSE_LEASE_EXPIRED: "lease_expired",
    pb.LOSS_CAUSE_EVICTED: "evicted",
    pb.LOSS_CAUSE_TAKEN_OVER: "taken_over",
    pb.LOSS_CAUSE_SETTLED: "settled",
    pb.LOSS_CAUSE_UNKNOWN: "unknown",
}


def seconds(message: Duration) -> float:
    return message.seconds + message.nanos / 1e9


def instant(nanos: int) -> datetime:
    # Through whole microseconds, so that what is equal there is equal here.
    return datetime.fromtimestamp(nanos // 1_000_000_000, timezone.utc).replace(microsecond=nanos % 1_000_000_000 // 1_000)


def token_of(token: int) -> int:
    """What no turn ever has becomes 0, which none has either."""
    return token if token <= _LARGEST_TOKEN else 0


def turn(message: pb.Turn, queue: str = "", key: str = "") -> Turn:
    """`queue`, `key`: what the call said of itself; a session may leave it out."""
    lease = message.lease
    expires = message.lease_expires_at if message.HasField("lease_expires_at") else None
    return Turn(
        message.queue or queue,
        message.key or key,
        token_of(message.token),
        lease.seconds + lease.nanos / 1e9,
        message.attempt,
        None if expires is None else instant(expires.ToNanoseconds()),
    )


def enqueue(message: pb.EnQueueResponse, queue: str, key: str, ticket: str) -> EnqueueAnswer:
    decision = message.decision
    if decision == pb.DECISION_ACCEPT:
        return EnqueueAnswer("accept", turn(message.turn, queue, key), message.ticket or ticket or None)
    after = seconds(message.retry_after) if message.HasField("retry_after") else None
    if decision == pb.DECISION_BLOCK:
        return EnqueueAnswer("block", ticket=message.ticket or ticket or None, ahead=message.ahead, retry_after=after)
    if decision != pb.DECISION_DECLINE:
        raise unknown_word("decision", decision)
    return EnqueueAnswer(
        "decline",
        reason=_reason(message.reason),
        retry_after=after,
        result=message.result or None,
        survivor_id=message.survivor_id or None,
    )


def dequeue(message: pb.DeQueueResponse) -> DequeueAnswer:
    return DequeueAnswer(message.promoted, message.waiting)


def submit(message: pb.SubmitResponse) -> list[SubmitResult]:
    return [_submit_result(result) for result in message.results]


def _submit_result(message: pb.SubmitResult) -> SubmitResult:
    if message.decision == pb.DECISION_ACCEPT:
        return SubmitResult(
            message.item_id,
            "accept",
            superseded_id=message.superseded_id or None,
            on_its_way=message.on_its_way,
        )
    if message.decision != pb.DECISION_DECLINE:
        raise unknown_word("decision", message.decision)
    return SubmitResult(
        message.item_id,
        "decline",
        _reason(message.reason),
        message.survivor_id or None,
        retry_after=seconds(message.retry_after) if message.HasField("retry_after") else None,
    )


def acquire(message: pb.AcquireResponse, queue: str = "", key: str = "") -> list[Delivery]:
    return [
        Delivery(turn(delivery.turn, queue, key), [item(one) for one in delivery.items]) for delivery in message.deliveries
    ]


def item(message: pb.Item) -> Item:
    return Item(
        message.item_id,
        message.payload,
        dict(message.headers),
        message.idempotency_key or None,
        instant(message.submitted_at.ToNanoseconds()),
        message.attempt,
    )


def ack(message: pb.AckResponse, queue: str = "", key: str = "") -> AckAnswer:
    following = acquire(message.next, queue, key) if message.HasField("next") else None
    return AckAnswer([_submit_result(result) for result in message.follow_ups], following)


def nack(message: pb.NackResponse) -> NackAnswer:
    at = instant(message.retry_at.ToNanoseconds()) if message.HasField("retry_at") else None
    return NackAnswer(at, message.dead_lettered)


def renew(message: pb.RenewResponse) -> list[RenewResult]:
    return [_renew_result(result) for result in message.results]


def _renew_result(message: pb.RenewResult) -> RenewResult:
    if not message.alive:
        return RenewResult(False, cause=CAUSES.get(message.cause, "unknown"))
    has_end = message.HasField("lease_expires_at")
    return RenewResult(True, instant(message.lease_expires_at.ToNanoseconds()) if has_end else None)


def await_item(message: pb.AwaitResponse) -> AwaitAnswer:
    state = _STATES.get(message.state)
    if state is None:
        raise unknown_word("state", message.state)
    # An empty result of a done item is none: the wire does not tell the two apart.
    return AwaitAnswer(state, message.result or None, message.error or None, message.attempt)


def _reason(number: int) -> Reason:
    reason = _REASONS.get(number)
    if reason is None:
        raise unknown_word("reason", number)
    return reason


def unknown_word(field: str, value: object) -> KeyturnError:
    """A server of another version may say what this client has no word for; guessing would be worse than failing."""
    return KeyturnError(f"the answer has a {field} that this client does not know: {value}", "INTERNAL", "BAD_ANSWER")
