package keyturn

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/keyturn/keyturn/clients/go/internal/spool"
)

// spoolRoute is the way of items over the disk, while the sidecar cannot be reached.
type spoolRoute struct {
	producer *Producer
	spool    *spool.Spool
	// Ends when the producer lets go of the spool.
	open   context.Context
	cancel context.CancelFunc
	// The replay.
	running sync.WaitGroup
	// Only the replay has it: the last trouble with noting what was handed over.
	notNoted string
	// Only the producer's goroutine has these: the last failure of the disk, and when to try again.
	diskFailure string
	diskPauses  backOff

	mu sync.Mutex
	// Items must not be sent past those on disk.
	replaying bool
	// The last Submit from disk came through.
	reachable bool
	// The producer takes nothing more: what comes is not held back any more until the disk is empty.
	finishing bool
	closed    bool
	// Closed, and made anew, when something changed.
	changed chan struct{}
}

func newSpoolRoute(p *Producer) (*spoolRoute, error) {
	o := p.opts.Spool
	disk, torn, err := spool.Open(spool.Settings{
		Directory: o.Directory, Queue: p.queue, Interval: o.Interval, Count: o.Count, MaxBytes: o.MaxBytes,
	})
	if err != nil {
		return nil, spoolError(err)
	}
	r := &spoolRoute{producer: p, spool: disk, changed: make(chan struct{})}
	r.open, r.cancel = context.WithCancel(context.Background())
	if torn != nil {
		p.tellError(spoolError(torn), nil)
	}
	if disk.Items() > 0 {
		r.begin()
	}
	return r, nil
}

func (r *spoolRoute) inUse() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.replaying
}

// begin: the sidecar cannot be reached. What comes goes to disk, until all of it was handed over.
func (r *spoolRoute) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reachable = false
	r.startReplay()
}

// take takes from the first items as many as there is room for; they are settled when they are safe. It waits until there
// is something to do, and returns what is left, in order: for another call, or to be sent straight if the spool is not in
// use any more.
func (r *spoolRoute) take(left []*Pending) []*Pending {
	r.mu.Lock()
	changed := r.changed
	// So near to the end nothing more is put behind: it would never come, with new items all the time.
	isEnding := r.reachable && r.spool.NearlyEmpty() && !r.finishing
	over := !r.replaying
	r.mu.Unlock()
	if over {
		return left
	}
	wait := left[0].deadline.until()
	if !isEnding {
		after, err := r.append(left)
		if err == nil && len(after) < len(left) {
			return after
		}
		left = after
		if again, failed := r.diskFailed(err); failed {
			wait = min(wait, again)
		}
	}
	if len(left) == 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-r.producer.givenUp.Done():
	}
	return left
}

// diskFailed says after how long to try again. A disk that is full is as a spool that is: items wait until there is room,
// or their time is over. It is told once.
func (r *spoolRoute) diskFailed(err error) (again time.Duration, failed bool) {
	if err == nil {
		return 0, false
	}
	if said := err.Error(); said != r.diskFailure {
		r.diskFailure = said
		r.producer.tellError(spoolError(err), nil)
	}
	return r.diskPauses.next(0), true
}

// append returns the items that it did not take.
func (r *spoolRoute) append(left []*Pending) ([]*Pending, error) {
	room, ever := r.spool.Room()
	var taken []*Pending
	var records [][]byte
	at := 0
	for ; at < len(left); at++ {
		one := left[at]
		record, err := spoolRecord(&one.item)
		if err == nil && int64(len(record)) > ever {
			what := fmt.Sprintf("item %s takes %d bytes; the spool may take %d", one.ItemID, len(record), r.producer.opts.Spool.MaxBytes)
			err = spoolError(&spool.Error{Problem: spool.TooLarge, File: r.producer.opts.Spool.Directory, What: what})
		}
		if err != nil {
			r.producer.settle(one, SubmitResult{}, err)
			continue
		}
		if int64(len(record)) > room {
			break
		}
		room -= int64(len(record))
		taken, records = append(taken, one), append(records, record)
	}
	if len(taken) == 0 {
		return left[at:], nil
	}
	// Not waited for: while it is synced, more is written.
	err := r.spool.Append(records, func(err error) {
		for _, one := range taken {
			result := SubmitResult{ItemID: one.ItemID, Decision: DecisionSpooled}
			if err != nil {
				result = SubmitResult{}
			}
			r.producer.settle(one, result, spoolError(err))
		}
	})
	if err != nil {
		return append(taken, left[at:]...), err
	}
	r.diskFailure = ""
	r.diskPauses.reset()
	r.goOn()
	return left[at:], nil
}

// goOn: the replay may have seen an empty spool, and ended, after the producer had seen that it runs. Nothing was sent past
// what is on disk since: that is for the same goroutine.
func (r *spoolRoute) goOn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.startReplay()
}

func (r *spoolRoute) startReplay() {
	if r.replaying || r.closed {
		return
	}
	r.replaying = true
	r.running.Add(1)
	go r.replay()
}

func spoolRecord(item *NewItem) ([]byte, error) {
	var check checks
	body, err := proto.Marshal(check.item("item", item))
	return spool.Encode(body), firstOf(check.err(), err)
}

// finish: the producer takes nothing more. What is left goes to disk if it cannot be sent at once.
func (r *spoolRoute) finish() {
	r.mu.Lock()
	r.finishing = true
	r.tellChanged()
	r.mu.Unlock()
}

// close: what is not handed over stays on disk.
func (r *spoolRoute) close() {
	r.mu.Lock()
	r.closed = true
	r.tellChanged()
	r.mu.Unlock()
	r.cancel()
	r.running.Wait()
	r.spool.Close()
}

// tellChanged is called with the lock held.
func (r *spoolRoute) tellChanged() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *spoolRoute) setReachable(reachable bool) {
	r.mu.Lock()
	r.reachable = reachable
	r.tellChanged()
	r.mu.Unlock()
}
