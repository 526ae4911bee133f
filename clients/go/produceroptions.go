package keyturn

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrProducerFull means that the item was not taken: there is no room.
	ErrProducerFull = errors.New("the producer is full")
	// ErrProducerClosed means that the item was not taken, or not handed over: the producer was closed.
	ErrProducerClosed = errors.New("the producer is closed")
)

// ProducerTimeoutError means that an item was given up. It may have been accepted, if an answer was lost: submit it again
// with its id.
type ProducerTimeoutError struct {
	// ItemID of the item.
	ItemID string
	// Timeout that it had.
	Timeout time.Duration
	// Err is what the last try failed with; nil if there was none.
	Err error
}

// Error names the item and the time.
func (e *ProducerTimeoutError) Error() string {
	text := fmt.Sprintf("item %s was not handed over within %v", e.ItemID, e.Timeout)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns what the last try failed with.
func (e *ProducerTimeoutError) Unwrap() error { return e.Err }

// WhenFull says what happens to an item for which a producer has no room.
type WhenFull string

// What can happen.
const (
	// WhenFullWait lets Add wait for room, as long as the item's Timeout and the context say. The default.
	WhenFullWait WhenFull = "wait"
	// WhenFullFail lets Add fail at once, with ErrProducerFull.
	WhenFullFail WhenFull = "error"
)

// ProducerOptions are the options of [Client.Producer]. The zero value is fine.
type ProducerOptions struct {
	// Count of items with which a batch is sent, 1 to 1,000. Zero: 100.
	Count int
	// Interval after which it is sent all the same, up to 1 min. Zero: 5 ms. [AtOnce]: at once.
	Interval time.Duration
	// MaxItems that wait to be accepted, 1 to 1,000,000. Zero: 10,000.
	MaxItems int
	// MaxBytes that they take, 1 KiB to 1 GiB. Zero: 16 MiB. An item that is larger is taken alone.
	MaxBytes int
	// WhenFull says what happens to an item for which there is no room.
	WhenFull WhenFull
	// Timeout is how long an item is tried to be handed over, 1 ms to 24 h. Zero: 60 s.
	Timeout time.Duration
	// Durability says what has happened when an item is accepted. Empty: as the queue has it.
	Durability Durability
	// OnError is told of every item that was not handed over, besides its [Pending], which may then be left alone; the item
	// is nil for what concerns a spool as a whole. Required with a spool, whose items outlive their Pending. It is
	// called by goroutines of the producer, by one at a time, and must not wait for the producer.
	OnError func(err error, item *NewItem)
	// Spool writes items to disk while the sidecar cannot be reached. Nil: none.
	Spool *SpoolOptions
}

// SpoolOptions are the options of a producer's spool on disk.
type SpoolOptions struct {
	// Directory of this producer alone; made if it is not there. What it has from an earlier run is handed over first.
	Directory string
	// Interval after which what was written is synced, 1 ms to 1 min. Zero: 50 ms.
	Interval time.Duration
	// Count of items after which it is synced, 1 to 100,000. Zero: 1,000.
	Count int
	// MaxBytes that the spool may take on disk, 64 KiB to 1 TiB. Zero: 256 MiB. Then WhenFull applies.
	MaxBytes int64
	// Patience is how long a Submit may go unanswered before the sidecar is taken to be away, 1 ms to 1 min. Zero: 1 s.
	Patience time.Duration
}

func (o *ProducerOptions) check(queue string) error {
	if err := checkQueue("queue", queue); err != nil {
		return err
	}
	o.Count = orDefault(o.Count, 100)
	o.Interval = orDefault(o.Interval, 5*time.Millisecond)
	if o.Interval == AtOnce {
		o.Interval = 0
	}
	o.MaxItems = orDefault(o.MaxItems, 10_000)
	o.MaxBytes = orDefault(o.MaxBytes, 16<<20)
	o.WhenFull = orDefault(o.WhenFull, WhenFullWait)
	o.Timeout = orDefault(o.Timeout, time.Minute)
	if o.WhenFull != WhenFullWait && o.WhenFull != WhenFullFail {
		return wrongSetting("when_full", string(o.WhenFull), `"wait" or "error"`)
	}
	var check checks
	check.durability("durability", o.Durability)
	return firstOf(
		countWithin("count", o.Count, 1, mostItems),
		durationWithin("interval", o.Interval, 0, time.Minute),
		countWithin("max_items", o.MaxItems, 1, 1_000_000),
		countWithin("max_bytes", o.MaxBytes, 1<<10, 1<<30),
		durationWithin("timeout", o.Timeout, time.Millisecond, longestLife),
		check.err(),
		o.checkSpool(),
	)
}

// checkHears: what was spooled may be refused when its Pending is long gone.
func (o *ProducerOptions) checkHears() error {
	if o.OnError != nil {
		return nil
	}
	return wrongSetting("on_error", "nil", "a function, with a spool: an item of it that the sidecar refuses later, maybe after a restart, is told nowhere else")
}

func (o *ProducerOptions) checkSpool() error {
	if o.Spool == nil {
		return nil
	}
	s := *o.Spool
	s.Interval = orDefault(s.Interval, 50*time.Millisecond)
	s.Count = orDefault(s.Count, 1_000)
	s.MaxBytes = orDefault(s.MaxBytes, 256<<20)
	s.Patience = orDefault(s.Patience, time.Second)
	o.Spool = &s
	if s.Directory == "" {
		return wrongSetting("spool.directory", s.Directory, "a path")
	}
	if s.MaxBytes < 64<<10 || s.MaxBytes > 1<<40 {
		return wrongSetting("spool.max_bytes", s.MaxBytes, fmt.Sprintf("%d to %d", 64<<10, int64(1)<<40))
	}
	return firstOf(
		durationWithin("spool.interval", s.Interval, time.Millisecond, time.Minute),
		countWithin("spool.count", s.Count, 1, 100_000),
		durationWithin("spool.patience", s.Patience, time.Millisecond, time.Minute),
		o.checkHears(),
	)
}
