package keyturn

import "time"

// EnQueueCall asks for the turn of one key.
type EnQueueCall struct {
	// Queue, 1 to 128 characters of A-Z a-z 0-9 . _ : / -
	Queue string
	// Key, 1 to 1,024 bytes of UTF-8.
	Key string
	// Ticket is the identity of this request, up to 256 bytes: keeps its place and makes a retry harmless.
	Ticket string
	// Wait for the turn, up to 5 min. Zero: the queue's. [NoWait]: answer at once.
	Wait time.Duration
	// Lease is how long the turn shall live without being renewed. Zero: kept by the session, else the queue's.
	Lease time.Duration
	// IdempotencyKey is your business id: once done, it is not done again while it is remembered.
	IdempotencyKey string
	// ConsumerID says who asks, for people who look. Empty: the client's.
	ConsumerID string
}

// EnQueueAnswer is the decision.
type EnQueueAnswer struct {
	// Decision is Accept, Block or Decline.
	Decision Decision
	// Turn comes with Accept, else it is nil.
	Turn *TurnInfo
	// Ticket of the request: call again with it to go on waiting in the same place.
	Ticket string
	// Ahead says with Block how many stand before the caller, the holder included; 0 behind a gate.
	Ahead int
	// Reason of a Decline.
	Reason Reason
	// RetryAfter says with Block behind a gate, or with TooSoon, when it is worth asking again. Zero: not said.
	RetryAfter time.Duration
	// Result comes with AlreadyDone: the remembered one.
	Result []byte
	// SurvivorID says with WaiterExists and Superseded who stands in.
	SurvivorID string
}

// DeQueueCall ends a caller's turn, or gives up a place or a turn by its ticket.
type DeQueueCall struct {
	// Queue of the key.
	Queue string
	// Key of the turn.
	Key string
	// Token of the turn; or
	Token uint64
	// Ticket of the place or of the turn that is given up.
	Ticket string
	// Abandoned: the work was not done; the idempotency key is not remembered as done.
	Abandoned bool
	// Result is remembered with the idempotency key, up to 1 MiB.
	Result []byte
}

// DeQueueAnswer tells what the end of the turn led to.
type DeQueueAnswer struct {
	// Promoted: a waiting caller has the turn now.
	Promoted bool
	// Waiting says how many still wait in the line of the key.
	Waiting int
}

// SubmitCall hands over a batch. An error accepts nothing.
type SubmitCall struct {
	// Queue of the items.
	Queue string
	// Items, 1 to 1,000, in order.
	Items []NewItem
	// WaitForRoom is how long to wait until there is room for the whole batch, up to 5 min.
	WaitForRoom time.Duration
	// Durability says what has happened when the items are accepted. Empty: as the queue has it.
	Durability Durability
}

// SubmitAnswer has one result per item, in order.
type SubmitAnswer struct {
	// Results, one per item.
	Results []SubmitResult
}

// AcquireCall asks for turns.
type AcquireCall struct {
	// Queues, 1 to 100; exactly one with a key.
	Queues []string
	// Key; empty: the next turns of any keys with items. Else: wait in the line of this key.
	Key string
	// Ticket is the identity of this request, up to 256 bytes.
	Ticket string
	// MaxTurns is the most turns to take, 1 to 1,000. Zero: 1.
	MaxTurns int
	// MaxItemsPerTurn is the most items in one turn, 1 to 1,000. Zero: 1.
	MaxItemsPerTurn int
	// Wait for the first turn, up to 5 min. Zero: none.
	Wait time.Duration
	// Lease is how long the turns shall live without being renewed. Zero: kept by the session, else each queue's.
	Lease time.Duration
	// ConsumerID says who asks, for people who look. Empty: the client's.
	ConsumerID string
}

// Delivery is one turn with its items.
type Delivery struct {
	// Turn of the key.
	Turn TurnInfo
	// Items are consecutive ones of the key, in order; none when the worker brought its own message.
	Items []Item
}

// AcquireAnswer is what could be taken; empty when the wait ended first.
type AcquireAnswer struct {
	// Deliveries, at most one turn per key.
	Deliveries []Delivery
}

// FollowUp is an item that an Ack submits.
type FollowUp struct {
	// Queue of the item.
	Queue string
	// Item to be submitted; it gets an id if it has none.
	Item NewItem
}

// AckCall ends a turn as done.
type AckCall struct {
	// TurnRef names the turn.
	TurnRef
	// Result of its items, up to 1 MiB, for Await and for their idempotency keys.
	Result []byte
	// FollowUps, up to 1,000, are submitted in the same step: the Ack and they are accepted, or neither.
	FollowUps []FollowUp
	// Next is what to take next; it runs only if the Ack is accepted.
	Next *AcquireCall
}

// AckAnswer tells what the Ack led to.
type AckAnswer struct {
	// FollowUps has one result per follow-up, in order.
	FollowUps []SubmitResult
	// Next is the answer to the call's; nil if it had none.
	Next *AcquireAnswer
}

// NackCall gives a turn back.
type NackCall struct {
	// TurnRef names the turn.
	TurnRef
	// Kind says what shall become of the items. Required.
	Kind NackKind
	// Delay of a retry, instead of the queue's back-off, up to 30 days. Zero: the queue's. [AtOnce]: none.
	Delay time.Duration
	// Error says what went wrong, up to 8 KiB.
	Error string
	// Done is how many items from the first are finished nevertheless.
	Done int
}

// NackAnswer tells what became of the items.
type NackAnswer struct {
	// RetryAt is when the key may be tried again; zero if nothing went back with a delay.
	RetryAt time.Time
	// DeadLettered is how many items became dead letters.
	DeadLettered int
}

// RenewCall renews turns.
type RenewCall struct {
	// Turns, 1 to 1,000.
	Turns []TurnRef
	// Lease is their life from now. Zero: each turn's own.
	Lease time.Duration
}

// RenewResult tells of one turn.
type RenewResult struct {
	// Alive: it is live.
	Alive bool
	// LeaseExpiresAt is when it ends unless it is renewed again; zero: its session keeps it alive.
	LeaseExpiresAt time.Time
	// Cause says why it is not live.
	Cause LossCause
}

// RenewAnswer has one result per turn, in order.
type RenewAnswer struct {
	// Results, one per turn.
	Results []RenewResult
}

// AwaitCall asks what became of an item.
type AwaitCall struct {
	// ItemRef names the item.
	ItemRef
	// Wait for its end, up to 5 min. Zero: none.
	Wait time.Duration
}

// AwaitAnswer is the state of the item when it ended, or when the wait did.
type AwaitAnswer struct {
	// State of the item.
	State ItemState
	// Result of its Ack, if it is done.
	Result []byte
	// Error is the last one, if it failed before.
	Error string
	// Attempt is how many there were so far.
	Attempt int
}
