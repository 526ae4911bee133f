"""The words of the contract as types: what is asked of a sidecar and what it answers.

Durations are seconds. Instants in answers are by the sidecar's wall clock, for people and logs; nothing is ever
compared with them. Tokens are integers below 2^53. What is None is unset.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

Decision = Literal["accept", "block", "decline"]
Reason = Literal["waiter_exists", "superseded", "already_done", "too_soon"]
LossCause = Literal["lease_expired", "evicted", "taken_over", "settled", "unknown"]
ItemState = Literal["waiting", "in_flight", "done", "dead", "superseded", "discarded", "unknown"]
NackKind = Literal["retry", "release", "dead_letter"]
Order = Literal["coalesce", "strict"]
AfterUnknown = Literal["refuse", "wait"]
HandOverReason = Literal["yield", "operator", "drain"]
"""Why a leader is asked to hand over: it asked for it, or its work returned; a person did; the sidecar ends."""
Succession = Literal["none", "handed_over", "lost"]
"""How a term ended: nobody is known to have led; it was handed over; the leader may have stopped in the middle."""
Durability = Literal["on_flush", "interval", "count", "memory"]
"""What has happened when an item of a durable queue is accepted: it is on the disk (`on_flush`), will be within the
queue's `flush_interval` (`interval`) or sooner after its `flush_count` changes (`count`), or stays in memory."""


class Turn(NamedTuple):
    """The right to process a key now."""

    queue: str
    key: str
    token: int
    """Larger than every earlier token of the queue: let what you write to refuse a smaller one."""
    lease: float
    """Life without renewal, seconds."""
    attempt: int
    """Which try of its first item, from 1; 0 for a turn without items."""
    lease_expires_at: datetime | None
    """None: its session keeps it alive."""


class Predecessor(NamedTuple):
    """The last one that was inaugurated."""

    candidate_id: str
    term: int
    how: Succession
    """How its term ended."""
    state: bytes
    """What the last hand-over left, by whomever."""


class TurnRef(NamedTuple):
    """A turn by what names it: any process that knows this may settle it."""

    queue: str
    key: str
    token: int


class ItemRef(NamedTuple):
    """An item of any queue."""

    queue: str
    item_id: str


class EnqueueAnswer(NamedTuple):
    """The decision, and what belongs to it."""

    decision: Decision
    turn: Turn | None = None
    """Accept: the turn."""
    ticket: str | None = None
    """Call again with it to go on waiting in the same place."""
    ahead: int | None = None
    """Block: how many stand before the caller, the holder included; 0 behind a gate."""
    reason: Reason | None = None
    """Decline: why."""
    retry_after: float | None = None
    """Block behind a gate, or decline with too_soon: when it is worth asking again, seconds."""
    result: bytes | None = None
    """Already done: the remembered result."""
    survivor_id: str | None = None
    """Waiter exists, superseded: an item's id, else a caller's ticket, else its consumer id."""


class DequeueAnswer(NamedTuple):
    """What the end of a turn led to."""

    promoted: bool
    """A waiting caller has the turn now."""
    waiting: int
    """How many still wait in the line of the key."""


class NewItem(NamedTuple):
    """A message to be kept."""

    payload: bytes = b""
    """Up to 1 MiB."""
    key: str = ""
    """Empty: no order, no exclusion."""
    headers: Mapping[str, str] | None = None
    item_id: str = ""
    """Identity of this submission: a resend with the same id is not a second message. Empty: one is made."""
    idempotency_key: str = ""
    """Your own business id."""
    delay: float | None = None
    """Not before this has passed, seconds, up to 30 days."""
    after: Sequence[ItemRef] = ()
    """Items that must be done before this one starts, of any queues, up to 100. Until then it holds its key."""
    after_unknown: AfterUnknown | None = None
    """Nothing is known of one of these: the item is refused (None), or waits until such an item is submitted and done."""


class FollowUp(NamedTuple):
    """An item that the end of a turn submits, in the same step."""

    queue: str
    item: NewItem


class SubmitResult(NamedTuple):
    """The decision on one item."""

    item_id: str
    decision: Decision
    reason: Reason | None = None
    survivor_id: str | None = None
    superseded_id: str | None = None
    """Accept: whose place it took (`when_full: replace`)."""
    retry_after: float | None = None
    on_its_way: bool = False
    """A follow-up to another group of a cluster: it is submitted there later, once; what its queue decides is not told."""


class Item(NamedTuple):
    """A message as a worker gets it."""

    item_id: str
    payload: bytes
    headers: Mapping[str, str]
    idempotency_key: str | None
    submitted_at: datetime
    attempt: int
    """Which try this is, from 1."""


class Delivery(NamedTuple):
    """One turn with its items."""

    turn: Turn
    items: Sequence[Item]
    """Consecutive items of the key, in order; none when the worker brought its own message."""


class AcquireCall(NamedTuple):
    """What an Ack shall take along (`next`)."""

    queues: Sequence[str]
    key: str = ""
    ticket: str = ""
    max_turns: int | None = None
    max_items_per_turn: int | None = None
    wait: float | None = None
    lease: float | None = None
    consumer_id: str = ""


class AckAnswer(NamedTuple):
    """What an Ack led to."""

    follow_ups: Sequence[SubmitResult]
    next: Sequence[Delivery] | None
    """Present when `next` was asked for."""


class NackAnswer(NamedTuple):
    """What became of the items."""

    retry_at: datetime | None
    """When the key may be tried again; None: nothing went back with a delay."""
    dead_lettered: int


class RenewResult(NamedTuple):
    """What is known of one turn."""

    alive: bool
    lease_expires_at: datetime | None = None
    cause: LossCause | None = None
    """Not alive: why."""


class AwaitAnswer(NamedTuple):
    """What is known of an item."""

    state: ItemState
    result: bytes | None
    """Done: the result of its Ack."""
    error: str | None
    """The last error, if it failed before."""
    attempt: int
