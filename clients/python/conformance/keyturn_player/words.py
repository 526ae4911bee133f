"""Requests, answers and errors between JSON and the words of the client."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Any

import keyturn
from keyturn import AcquireCall, Delivery, FollowUp, ItemRef, NewItem, SubmitResult, Turn

Json = dict[str, Any]


def put(**fields: Any) -> Json:
    """Without what is unset."""
    return {name: value for name, value in fields.items() if value is not None}


def seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / 1_000


def ms(value: float | None) -> int | None:
    return None if value is None else round(value * 1_000)


def to_bytes(value: Any) -> bytes:
    if isinstance(value, dict):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (KeyError, binascii.Error) as error:
            raise ValueError(f"no bytes: {value}") from error
    return str(value).encode()


def from_bytes(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def to_item(item: Json) -> NewItem:
    after = tuple(ItemRef(one["queue"], one["item_id"]) for one in item.get("after", ()))
    return NewItem(
        payload=to_bytes(item.get("payload", "")),
        key=item.get("key", ""),
        headers=item.get("headers"),
        item_id=item.get("item_id", ""),
        idempotency_key=item.get("idempotency_key", ""),
        delay=seconds(item.get("delay_ms")),
        after=after,
        after_unknown=item.get("after_unknown"),
    )


def to_follow_ups(follow_ups: Iterable[Json]) -> list[FollowUp]:
    return [FollowUp(one["queue"], to_item(one["item"])) for one in follow_ups]


def to_acquire(call: Json) -> AcquireCall:
    return AcquireCall(
        call["queues"],
        call.get("key", ""),
        call.get("ticket", ""),
        call.get("max_turns"),
        call.get("max_items_per_turn"),
        seconds(call.get("wait_ms")),
        seconds(call.get("lease_ms")),
    )


def from_turn(turn: Turn) -> Json:
    return {
        "queue": turn.queue,
        "key": turn.key,
        "token": turn.token,
        "lease_ms": ms(turn.lease),
        "attempt": turn.attempt,
    }


def from_deliveries(deliveries: Sequence[Delivery]) -> list[Json]:
    return [
        {
            "turn": from_turn(delivery.turn),
            "items": [
                put(
                    item_id=item.item_id,
                    payload=from_bytes(item.payload),
                    headers=dict(item.headers),
                    idempotency_key=item.idempotency_key,
                    attempt=item.attempt,
                )
                for item in delivery.items
            ],
        }
        for delivery in deliveries
    ]


def from_result(result: SubmitResult) -> Json:
    return put(
        item_id=result.item_id,
        decision=result.decision,
        reason=result.reason,
        survivor_id=result.survivor_id,
        superseded_id=result.superseded_id,
        retry_after_ms=ms(result.retry_after),
        on_its_way=result.on_its_way or None,
    )


_KINDS: Sequence[tuple[type[BaseException], str]] = (
    (keyturn.TurnLostError, "turn_lost"),
    (keyturn.WrongArgumentError, "wrong_argument"),
    (keyturn.KeyturnError, "call"),
    (keyturn.ItemFailedError, "item_failed"),
    (keyturn.ProducerFullError, "producer_full"),
    (keyturn.ProducerTimeoutError, "producer_timeout"),
    (keyturn.ProducerClosedError, "producer_closed"),
    (keyturn.SubmitManyError, "submit_many"),
    (keyturn.SpoolError, "spool"),
    (keyturn.HoldTimeoutError, "max_hold"),
)


def from_error(error: BaseException) -> Json:
    kind = next((name for kind, name in _KINDS if isinstance(error, kind)), "handler")
    told = {"kind": kind, "message": str(error)}
    if isinstance(error, keyturn.KeyturnError):
        violations = [{"field": field, "description": what} for field, what in error.violations]
        told |= put(
            code=error.code,
            reason=error.reason or None,
            retry_after_ms=ms(error.retry_after),
            violations=violations or None,
        )
    if isinstance(error, keyturn.TurnLostError):
        told["cause"] = error.cause
    if isinstance(error, keyturn.ItemFailedError):
        told["state"] = error.state
    if isinstance(error, keyturn.SpoolError):
        told["reason"] = error.problem
    if isinstance(error, keyturn.SubmitManyError) and error.__cause__ is not None:
        inner = from_error(error.__cause__)
        told |= {name: inner[name] for name in ("code", "reason", "violations") if name in inner}
    return told
