"""What `client.admin` shows of a sidecar, as plain objects.

Durations are seconds. Instants are by the sidecar's wall clock, for people. What is None is unset.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from keyturn.words import Item, ItemRef, Predecessor

LaneState = Literal["INIT", "PROCESS", "BLOCK", "READY", "DELAY", "PARK"]
"""`INIT`: nothing to do; `PROCESS`: somebody processes the key; `BLOCK`: and others wait; `READY`: the head of the line could
start; `DELAY`: nobody may start yet; `PARK`: stopped after a dead letter."""


class Rate(NamedTuple):
    """Turns of a whole queue."""

    per_second: float
    burst: int
    """How many may start at once after a pause."""


class Retry(NamedTuple):
    """The back-off of items."""

    max_attempts: int
    max_crashes: int | None
    initial: float
    factor: float
    max: float
    jitter: str


class Policy(NamedTuple):
    """The settings of a queue, as they are in force; the words are those of the configuration."""

    waiting_per_key: str
    when_full: str
    lease: float
    max_hold: float | None
    wait: float
    on_wait_timeout: str
    ticket_ttl: float
    min_interval: float
    when_too_soon: str
    rate: Rate | None
    max_in_flight: int
    """0: no limit."""
    retry: Retry
    on_dead_letter: str
    delivery: str
    idempotency_ttl: float
    result_ttl: float
    max_waiting: int
    max_dead_letters: int
    max_remembered: int
    durable: bool
    durability: str
    flush_interval: float
    flush_count: int
    on_dependency_dead: str
    group: str
    """In a cluster: queues of one group have one home. Empty: the queue is a group of its own."""
    spread: int
    """In a cluster: over so many partitions the queue is spread, by key."""
    slow_hold: float | None
    """A turn that is held for longer is written to the log. None: none is."""


class QueueInfo(NamedTuple):
    """A queue."""

    name: str
    policy: Policy
    states: Mapping[LaneState, int]
    """Keys by state."""
    waiting: int
    live_turns: int
    oldest_waiting: float | None
    """None: nobody waits."""
    dead_letters: int
    paused: bool


class Unavailable(NamedTuple):
    """A partition of a cluster that could not be asked: what it would have told is missing in the answer."""

    partition: int
    why: str
    """And what to look at."""


class QueuePage(NamedTuple):
    """Queues, by name."""

    queues: Sequence[QueueInfo]
    next_page_token: str
    """Empty: that was the last page."""
    startup_hold_until: datetime | None
    """Until then no queue gives a turn, because the sidecar was just started. None: they do."""
    unavailable: Sequence[Unavailable] = ()
    """Who could not be asked, of a cluster."""


class KeyInfo(NamedTuple):
    """A key in a list."""

    key: str
    state: LaneState
    since: datetime | None
    waiting: int
    consumer_id: str | None
    """Who holds it."""


class KeyPage(NamedTuple):
    """Keys, longest in their state first."""

    keys: Sequence[KeyInfo]
    next_page_token: str
    """Empty: that was the last page."""
    unavailable: Sequence[Unavailable] = ()
    """Who could not be asked, of a cluster."""


class HeldItem(NamedTuple):
    """One item of a live turn."""

    item_id: str
    attempt: int
    """From 1 on."""
    trace_id: str | None
    """The trace of who submitted it, 32 hexadecimal digits. None: none is known."""


class Holder(NamedTuple):
    """The live turn of a key."""

    consumer_id: str
    token: int
    since: datetime
    lease_left: float | None
    """None: its session renews it, and no `max_hold` ends it."""
    renewals: int
    items: int
    """0 for a caller."""
    held_for_ticket: str | None
    """The turn waits for its absent caller to come back with this ticket."""
    session_id: str | None
    session_broken_since: datetime | None
    held_items: Sequence[HeldItem]
    """The first 10 of its items."""


class LineEntry(NamedTuple):
    """One that waits."""

    kind: Literal["caller", "item"]
    id: str
    """An item's id, else a caller's ticket, else its consumer id."""
    since: datetime
    attempts: int
    last_error: str | None
    after: Sequence[ItemRef]
    """What must be done before it and is not yet, the first 10."""
    after_count: int
    """How many these are."""
    trace_id: str | None
    """The trace of who submitted the item, 32 hexadecimal digits. None: none is known."""


class KeyExplanation(NamedTuple):
    """The answer to every operator's question about a key."""

    state: LaneState
    since: datetime | None
    holder: Holder | None
    waiting: int
    waiting_callers: int
    waiting_items: int
    line: Sequence[LineEntry]
    """The first 100."""
    attempts: int
    """Of the item at the head, or in the turn."""
    last_error: str | None
    why: str
    """Why it does not move, in one sentence; empty when nothing holds it."""
    until: datetime | None
    dead_letters: int
    unavailable: Sequence[Unavailable] = ()
    """Who could not be asked, of a cluster."""


class ItemReport(NamedTuple):
    """What became of one item. `state` is `WAITING`, `IN_FLIGHT`, `DONE`, `DEAD`, `SUPERSEDED`, `DISCARDED` or `UNKNOWN`."""

    state: str
    key: str
    """Empty: it has none, or it ended and its key is not remembered."""
    item: Item | None
    """Without payload and headers unless they were asked for. None: it ended, and only that is remembered."""
    attempts: int
    """How often it was tried, the try that is going on not counted."""
    last_error: str
    not_before: datetime | None
    after: Sequence[ItemRef]
    """What must be done before it and is not yet: the first 10."""
    after_count: int
    consumer_id: str
    token: int
    died_at: datetime | None
    cause: str
    result: bytes
    why: str
    """Waiting: why, in one sentence."""
    trace_id: str
    payload_bytes: int
    unavailable: Sequence[Unavailable]


class SessionTurn(NamedTuple):
    """A turn that lives as long as a session."""

    queue: str
    key: str
    token: int
    since: datetime | None
    consumer_id: str


class SessionInfo(NamedTuple):
    """Who is connected. `broken_since` and `ends_at` are None while its stream is open."""

    session_id: str
    principal: str
    broken_since: datetime | None
    ends_at: datetime | None
    turns: int
    held: Sequence[SessionTurn]
    """The first 20 of its turns."""


class SessionPage(NamedTuple):
    """Sessions, by id."""

    sessions: Sequence[SessionInfo]
    next_page_token: str
    unavailable: Sequence[Unavailable]


class Right(NamedTuple):
    """What somebody may do, on which queues and groups."""

    may: Sequence[str]
    queues: Sequence[str]
    groups: Sequence[str]


class LimitUse(NamedTuple):
    """How much of a limit is in use."""

    limit: str
    used: int
    most: int | None
    """None: no bound."""


class Server(NamedTuple):
    """The sidecar that is asked, and who asks."""

    version: str
    runtime: str
    started_at: datetime | None
    now: datetime | None
    principal: str
    rights: Sequence[Right]
    auth: bool
    tls: bool
    audit: bool
    cluster: str
    keeps: str
    grpc_address: str
    http_address: str
    console_address: str
    settings: str
    """What differs from what is built in, as YAML. Empty without the right to view all queues."""
    limits: Sequence[LimitUse]


class Eviction(NamedTuple):
    """What an eviction changed."""

    evicted: bool
    token: int
    consumer_id: str
    items_returned: int
    items_discarded: int
    state: LaneState
    """Of the key, now."""


class RetriedNow(NamedTuple):
    """What `retry_now` changed."""

    changed: bool
    ended: Sequence[str]
    """`retry` (a back-off), `delay`, `min_interval`."""
    was_until: datetime | None
    key: str
    item_id: str | None
    state: LaneState
    why: str
    """What still keeps the key from moving."""


class Resumed(NamedTuple):
    """What `resume_key` changed."""

    resumed: bool
    """It was parked, and goes on."""
    state: LaneState


class Limits(NamedTuple):
    """The limits of a queue that can be changed while it runs."""

    rate: Rate | None
    max_in_flight: int
    """0: none."""
    unavailable: Sequence[Unavailable] = ()
    """Who could not be asked, of a cluster."""


class DeadItem(NamedTuple):
    """A dead letter."""

    item: Item
    key: str
    attempts: int
    last_error: str
    died_at: datetime
    cause: Literal["max_attempts", "max_crashes", "refused", "dependency"]


class DeadLetterPage(NamedTuple):
    """Dead letters, in the order of their submission."""

    dead_letters: Sequence[DeadItem]
    next_page_token: str
    """Empty: that was the last page."""
    unavailable: Sequence[Unavailable] = ()
    """Who could not be asked, of a cluster."""


class ClusterMember(NamedTuple):
    """One sidecar of a cluster."""

    id: str
    """Of this start of its process."""
    name: str
    """Its host. Several may have the same one."""
    peer: str
    """Where other sidecars reach it."""
    address: str
    """Where clients reach it."""
    version: str
    weight: float
    state: str
    """`live` or `leaving`."""
    partitions: int
    """How many it has."""


class PartitionHome(NamedTuple):
    """Who decides about one partition."""

    partition: int
    member: str
    """The id of the member that has it; empty: nobody."""
    epoch: int
    """Grows with every claim."""
    state: str
    """`open`, `unreachable`, `none`; of the sidecar that answers also `claiming`, `loading`, `handing_over` and others."""
    queues: int
    """How many live there, as far as that is known."""
    pinned: str
    """It was moved by hand to the member of this name, or `NAME at PEER`. Empty: it was not."""


class MovedPartition(NamedTuple):
    """What became of a partition that was moved by hand."""

    state: str
    """`moved`, `already_there`, `under_way` (see `why`) or `released`."""
    member: str
    """The id of the member that is wanted, or of the home of one that was released. Empty: there is none."""
    name: str
    previous: str
    """The name of the home before. Empty: there was none."""
    paused: float | None
    """How long nobody decided about it, seconds. None: it was not moved, or this is not known."""
    why: str
    """What is in the way."""


class QueueRoute(NamedTuple):
    """Where a queue lives."""

    queue: str
    group: str
    """Queues of one group live in one partition."""
    spread: int
    """Over so many parts it is spread by key; 1: it is not."""
    partitions: Sequence[int]
    """Those in which its keys are, in their order."""
    changing: bool
    """It is being changed now: calls about the queue wait."""


class RoutedQueue(NamedTuple):
    """Where a queue lives now."""

    route: QueueRoute
    changed: bool
    """It was another one before."""


class Cluster(NamedTuple):
    """A cluster as one sidecar sees it."""

    name: str
    partitions: int
    store: str
    """Its address, without user and password."""
    registry: str
    members: Sequence[ClusterMember]
    homes: Sequence[PartitionHome]
    """Of each partition, by number."""
    unavailable: Sequence[Unavailable] = ()
    """Why partitions are not open, where they are not."""
    format: int = 1
    """Of rows, as it is fixed."""
    routes: Sequence[QueueRoute] = ()
    """Of queues that have a group of others, or are spread, by name."""
    routes_version: int = 1
    """Grows with every change of them."""


class Finalized(NamedTuple):
    """The format of rows that is fixed."""

    format: int
    changed: bool
    """It was another one before."""


class RestoredPartition(NamedTuple):
    """What became of a partition that was to be written back."""

    partition: int
    outcome: str
    """`written_back`, `begun_empty`, `not_lost`, `no_core` or `under_way`."""
    member: str
    """The name of the member that kept it, or that began it; empty: none."""
    why: str
    """What is in the way."""


class Restore(NamedTuple):
    """What became of partitions that were to be written back."""

    record_written: bool
    """The record of the cluster was gone from the store, too, and is back."""
    partitions: Sequence[RestoredPartition]
    """By number."""


LeaderPhase = Literal["inaugurating", "executing", "handing_over", "lost"]
"""`lost`: it was told that its term is lost, and has not said yet that it has stopped."""


class Leader(NamedTuple):
    """Who leads a group."""

    candidate_id: str
    term: int
    """The fencing token: larger than that of every earlier leader of the group."""
    phase: LeaderPhase
    since: datetime
    metadata: Mapping[str, str]
    """What it said of itself."""
    holds_until: datetime
    holds_for: float
    """That it leads is known to hold for so long from when it was answered, seconds."""


class LeaderGroup(NamedTuple):
    """Who leads, and who waits."""

    group: str
    leader: Leader | None
    """None: nobody."""
    candidates: int
    """How many wait, those included that keep a place without a stream."""
    predecessor: Predecessor
    """Who led before; without its state."""
    why: str
    """What those who stand wait for, in one sentence; empty when nobody does."""
    until: datetime | None
    """Until when at the latest. None: nobody knows."""


class YieldAsked(NamedTuple):
    """Who was asked to hand over."""

    candidate_id: str
    term: int
