package keyturn

import (
	"math"
	"time"
)

// NoWait asks for an answer at once, where a wait of zero means that none was said.
const NoWait time.Duration = math.MinInt64

// AtOnce is a delay of nothing at all, where a delay of zero means that none was said.
const AtOnce = NoWait

// Forever is a wait without an end of its own, for [TurnOptions] and [ResultOptions]. The context ends it.
const Forever time.Duration = math.MaxInt64

// Decision is what became of an item that was submitted.
type Decision string

// The decisions.
const (
	// DecisionAccept means that it is kept.
	DecisionAccept Decision = "accept"
	// DecisionDecline means that it is not needed.
	DecisionDecline Decision = "decline"
	// DecisionSpooled means that an item is on disk here, to be handed over: only a [Producer] with a spool says so.
	DecisionSpooled Decision = "spooled"
)

// Reason says why a message was declined.
type Reason string

// The reasons.
const (
	// ReasonWaiterExists means that the line of the key has no room; SurvivorID stands in for the message.
	ReasonWaiterExists Reason = "waiter_exists"
	// ReasonSuperseded means that a newer arrival took the place.
	ReasonSuperseded Reason = "superseded"
	// ReasonAlreadyDone means that the idempotency key is done; its result is known.
	ReasonAlreadyDone Reason = "already_done"
	// ReasonTooSoon means that the last turn of the key started less than the queue's min_interval ago.
	ReasonTooSoon Reason = "too_soon"
)

// NackKind says what shall become of the items of a turn that is given back.
type NackKind string

// The kinds.
const (
	// NackRetry tries again after the back-off; the attempt counts.
	NackRetry NackKind = "retry"
	// NackRelease gives back: no attempt is counted and there is no back-off.
	NackRelease NackKind = "release"
	// NackDeadLetter refuses for good: the items become dead letters.
	NackDeadLetter NackKind = "dead_letter"
)

// ItemState is what is known of an item.
type ItemState string

// The states.
const (
	// ItemWaiting means that it waits in its line.
	ItemWaiting ItemState = "waiting"
	// ItemInFlight means that a worker has it.
	ItemInFlight ItemState = "in_flight"
	// ItemDone means that it was acked.
	ItemDone ItemState = "done"
	// ItemDead means that it is a dead letter.
	ItemDead ItemState = "dead"
	// ItemSuperseded means that a newer item took its place.
	ItemSuperseded ItemState = "superseded"
	// ItemDiscarded means that a person discarded it.
	ItemDiscarded ItemState = "discarded"
	// ItemUnknown means that no such item is known, or that it was forgotten.
	ItemUnknown ItemState = "unknown"
)

// LossCause says why a turn is not ours any more.
type LossCause string

// The causes. The last three only a client knows.
const (
	// LossLeaseExpired means that the lease or max_hold ended.
	LossLeaseExpired LossCause = "lease_expired"
	// LossEvicted means that a person evicted the holder.
	LossEvicted LossCause = "evicted"
	// LossTakenOver means that a waiting caller took over.
	LossTakenOver LossCause = "taken_over"
	// LossSettled means that another settling call came first.
	LossSettled LossCause = "settled"
	// LossUnknown means that the sidecar knows nothing of the token.
	LossUnknown LossCause = "unknown"
	// LossUnreachable means that nothing was heard from the sidecar for so long that the turn may have ended.
	LossUnreachable LossCause = "unreachable"
	// LossReplaced means that another client has the session.
	LossReplaced LossCause = "replaced"
	// LossClosed means that this client was closed.
	LossClosed LossCause = "closed"
)

// Durability says what has happened when an item of a durable queue is accepted, and so what a crash can lose.
type Durability string

// The durabilities. Empty is that of the queue.
const (
	// DurabilityOnFlush means that it is on the disk of the sidecar.
	DurabilityOnFlush Durability = "on_flush"
	// DurabilityInterval means that it will be within the queue's flush_interval.
	DurabilityInterval Durability = "interval"
	// DurabilityCount means the same, and sooner once the queue's flush_count changes wait.
	DurabilityCount Durability = "count"
	// DurabilityMemory means that it is in memory only.
	DurabilityMemory Durability = "memory"
)

// AfterUnknown says what becomes of an item that shall wait for one of which nothing is known.
type AfterUnknown string

// What can become of it. Empty is AfterUnknownRefuse.
const (
	// RefuseUnknown refuses the call, and nothing is kept.
	AfterUnknownRefuse AfterUnknown = "refuse"
	// WaitUnknown keeps the item until the other one is submitted and done.
	AfterUnknownWait AfterUnknown = "wait"
)

// TurnRef names a turn. Any process that knows it may settle it.
type TurnRef struct {
	// Queue of the key.
	Queue string
	// Key; empty for a keyless item.
	Key string
	// Token is larger than every earlier one of its key: let what you write to refuse a smaller one of the same key.
	Token uint64
}

// TurnInfo tells of a turn that was given.
type TurnInfo struct {
	TurnRef
	// Lease is how long the turn lives without being renewed.
	Lease time.Duration
	// LeaseExpiresAt is when it ends unless it is renewed, by the sidecar's clock. Zero: its session keeps it alive.
	LeaseExpiresAt time.Time
	// Attempt says which try of its first item this is, from 1; 0 for a turn without items.
	Attempt int

	// What the transport knows of it: its life is counted from the moment in which its call was sent.
	held  *heldTurn
	since moment
}

// ItemRef names an item of any queue.
type ItemRef struct {
	// Queue of the item.
	Queue string
	// ItemID of the item.
	ItemID string
}

// NewItem is a message to be kept until a worker takes it.
type NewItem struct {
	// Key; empty: no order, no exclusion.
	Key string
	// Payload is the message, up to 1 MiB.
	Payload []byte
	// Headers, up to 64, 8 KiB together.
	Headers map[string]string
	// ItemID is the identity of this submission, up to 256 bytes: a resend is not a second message. Empty: one is made.
	ItemID string
	// IdempotencyKey is your business id, up to 256 bytes.
	IdempotencyKey string
	// Delay before which it does not start, up to 30 days. It holds the key.
	Delay time.Duration
	// After are items that must be done before this one starts, of any queues, up to 100.
	After []ItemRef
	// AfterUnknown says what becomes of it when nothing is known of one of these.
	AfterUnknown AfterUnknown
}

// Item is a message as a worker gets it.
type Item struct {
	// ItemID of the item.
	ItemID string
	// Payload is the message.
	Payload []byte
	// Headers of the message.
	Headers map[string]string
	// IdempotencyKey is your business id.
	IdempotencyKey string
	// SubmittedAt is when it was submitted, by the sidecar's clock.
	SubmittedAt time.Time
	// Attempt says which try this is, from 1.
	Attempt int
}

// SubmitResult is the decision on one item.
type SubmitResult struct {
	// ItemID of the item, yours or one that was made.
	ItemID string
	// Decision is DecisionAccept or DecisionDecline; of a producer also DecisionSpooled.
	Decision Decision
	// Reason of a Decline.
	Reason Reason
	// SurvivorID says with ReasonWaiterExists who stands in.
	SurvivorID string
	// SupersededID says with DecisionAccept whose place it took, if it took one.
	SupersededID string
	// RetryAfter says with ReasonTooSoon when it is worth submitting again.
	RetryAfter time.Duration
	// OnItsWay says with DecisionAccept that it is a follow-up to another group of a cluster: it is submitted there later,
	// once; what its queue decides is not told.
	OnItsWay bool
}
