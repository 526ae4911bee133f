package keyturn

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"
)

// Work is a turn with its items, as a handler gets it.
type Work struct {
	// TurnInfo of the turn: queue, key, token, attempt. The key is empty for a keyless item.
	TurnInfo
	// Items are consecutive ones of the key, in order; at least one.
	Items []Item

	mu        sync.Mutex
	result    []byte
	followUps []followUp
}

// followUp is an item that the end of a turn submits.
type followUp struct {
	queue string
	item  NewItem
}

// Item is the first of the items; with MaxItemsPerTurn 1 the only one.
func (w *Work) Item() *Item { return &w.Items[0] }

// SetResult says what the items' result is when the handler returns nil, up to 1 MiB: more makes dead letters.
func (w *Work) SetResult(result []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result = bytes.Clone(result)
}

// FollowUp submits an item in the same step as the end of this turn, when the handler returns nil: both or neither. Up to
// 1,000, and 4 MiB with the result: more makes dead letters. It gets an id if it has none.
func (w *Work) FollowUp(queue string, item NewItem) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followUps = append(w.followUps, followUp{queue, owned(item)})
}

// said is what the handler said with SetResult and FollowUp.
func (w *Work) said() (result []byte, followUps []followUp) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.result, w.followUps
}

// Handler processes a turn's items. Nil: they are done. [RetryLater], [DeadLetter], [Release]: what these say, also when
// they are wrapped. Any other error, a panic ([PanicError]), and runtime.Goexit: they are tried again, the attempt counts.
//
// The context ends when the turn is lost (its cause is a [TurnLostError]), after MaxHold ([ErrMaxHold]), and when a stop
// runs out of time ([ErrStopped]). Stop then: hand it on to what you call.
type Handler func(ctx context.Context, work *Work) error

// Stage says where something went wrong.
type Stage string

// The stages.
const (
	// StageAcquire: no turns could be taken; it is tried again.
	StageAcquire Stage = "acquire"
	// StageHandler: the handler returned an error; the items are given back.
	StageHandler Stage = "handler"
	// StageTurnLost: the turn was lost before it could be settled: the items are somebody else's.
	StageTurnLost Stage = "turn_lost"
	// StageSettle: the turn could not be settled: it ends with its lease or its session.
	StageSettle Stage = "settle"
	// StageDeadLetter: items became dead letters, which nobody tries again before a person redrives them.
	StageDeadLetter Stage = "dead_letter"
	// StageStop: the handler was cut off by a stop whose time was over; its items go back without counting
	// an attempt, unless its turn was lost.
	StageStop Stage = "stop"
)

// Trouble is what a consumer goes on after.
type Trouble struct {
	// Stage says where.
	Stage Stage
	// Work that it concerns; nil for StageAcquire.
	Work *Work
	// Err says what.
	Err error
}

// ConsumeOptions are the options of [Client.Consume]. The zero value is fine.
type ConsumeOptions struct {
	// Concurrency is the most turns at once, 1 to 10,000. Zero: 1.
	Concurrency int
	// MaxItemsPerTurn is the most items of one key in one turn, 1 to 1,000. Zero: 1.
	MaxItemsPerTurn int
	// Wait of one Acquire for work, 100 ms to 5 min. Zero: 30 s.
	Wait time.Duration
	// Lease is how long turns live without being renewed, 100 ms to 24 h. Zero: kept by the session, else the queue's.
	Lease time.Duration
	// MaxHold is how long a handler may take before it is told to stop. Zero: no limit.
	MaxHold time.Duration
	// SettleTimeout is how long Ack and Nack are tried again while the sidecar is away or full. Zero: 30 s.
	SettleTimeout time.Duration
	// ConsumerID says who asks, for people who look. Empty: the client's.
	ConsumerID string
	// OnTrouble is told of everything that went wrong and does not end the consumer, besides the client's logger. It is
	// called by several goroutines at the same time.
	OnTrouble func(Trouble)
}

func (o *ConsumeOptions) check(queues []string) error {
	o.Concurrency = orDefault(o.Concurrency, 1)
	o.MaxItemsPerTurn = orDefault(o.MaxItemsPerTurn, 1)
	o.Wait = orDefault(o.Wait, 30*time.Second)
	o.SettleTimeout = orDefault(o.SettleTimeout, 30*time.Second)
	if o.MaxHold < 0 {
		return wrongSetting("max_hold", o.MaxHold, "0s or more")
	}
	for at, queue := range queues {
		if queue == "" {
			return wrongSetting(fmt.Sprintf("queues[%d]", at), queue, "a name")
		}
	}
	return firstOf(
		countWithin("queues", len(queues), 1, 100),
		countWithin("concurrency", o.Concurrency, 1, 10_000),
		countWithin("max_items_per_turn", o.MaxItemsPerTurn, 1, mostItems),
		durationWithin("wait", o.Wait, shortestLife, longestWait),
		durationWithin("settle_timeout", o.SettleTimeout, time.Millisecond, longestLife),
		checkLease(o.Lease),
	)
}

func orDefault[T comparable](value, instead T) T {
	var zero T
	if value == zero {
		return instead
	}
	return value
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
