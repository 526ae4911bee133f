"""What calls are made of, as the wire has it. What is left out is unset there."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, isnan
from typing import Final

from google.protobuf.duration_pb2 import Duration

from keyturn._gen import coordinator_pb2 as pb
from keyturn.words import AcquireCall, Durability, NackKind, NewItem

_NANOS: Final = 1_000_000_000
# The largest that google.protobuf.Duration allows, about 10,000 years.
_LONGEST: Final = 315_576_000_000.0

NACK_KINDS: Final[Mapping[NackKind, pb.NackKind]] = {
    "retry": pb.NACK_KIND_RETRY,
    "release": pb.NACK_KIND_RELEASE,
    "dead_letter": pb.NACK_KIND_DEAD_LETTER,
}
DURABILITIES: Final[Mapping[Durability, pb.Durability]] = {
    "on_flush": pb.DURABILITY_ON_FLUSH,
    "interval": pb.DURABILITY_INTERVAL,
    "count": pb.DURABILITY_COUNT,
    "memory": pb.DURABILITY_MEMORY,
}
_AFTER_UNKNOWN: Final = {
    None: pb.AFTER_UNKNOWN_UNSPECIFIED,
    "refuse": pb.AFTER_UNKNOWN_REFUSE,
    "wait": pb.AFTER_UNKNOWN_WAIT,
}


def duration(seconds: float | None) -> Duration | None:
    """Below zero becomes zero: a duration with mixed signs would be malformed."""
    if seconds is None:
        return None
    if not isinstance(seconds, (int, float)) or isnan(seconds):
        raise ValueError(f"{seconds!r} is no number of seconds")
    within = min(max(seconds, 0.0), _LONGEST) if isfinite(seconds) or seconds > 0 else 0.0
    whole, nanos = divmod(round(within * _NANOS), _NANOS)
    return Duration(seconds=whole, nanos=nanos)


def text(value: str) -> str:
    """The generated code takes bytes for a text too; then nothing here would find the turn again by its key."""
    if isinstance(value, str):
        return value
    raise TypeError(f"{value!r} is no text")


def acquire(call: AcquireCall, consumer_id: str = "") -> pb.AcquireRequest:
    return pb.AcquireRequest(
        queues=[text(queue) for queue in call.queues],
        key=text(call.key),
        consumer_id=call.consumer_id or consumer_id,
        ticket=call.ticket,
        max_turns=call.max_turns or 0,
        max_items_per_turn=call.max_items_per_turn or 0,
        wait=duration(call.wait),
        lease=duration(call.lease),
    )


def new_item(item: NewItem) -> pb.NewItem:
    return pb.NewItem(
        key=text(item.key),
        payload=item.payload,
        headers=item.headers,
        item_id=item.item_id,
        idempotency_key=item.idempotency_key,
        delay=duration(item.delay),
        after=[pb.ItemRef(queue=text(queue), item_id=text(item_id)) for queue, item_id in item.after],
        after_unknown=_AFTER_UNKNOWN[item.after_unknown],
    )
