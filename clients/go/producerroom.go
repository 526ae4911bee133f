package keyturn

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// How items come into a producer.

// Add takes a copy of an item; it gets an id if it has none. When there is no room it waits, or fails with ErrProducerFull.
// The error means that the item was not taken.
func (p *Producer) Add(ctx context.Context, item NewItem) (*Pending, error) {
	item = owned(p.client.stamped(ctx, p.client.withID(item)))
	size, err := checkedSize(&item, 0)
	if err != nil {
		return nil, err
	}
	if p.route != nil {
		// A spool says that an item is kept, so it takes only what a sidecar may accept.
		var check checks
		check.limits("items[0]", &item)
		if err := check.err(); err != nil {
			return nil, err
		}
	}
	at := now()
	one := &Pending{ItemID: item.ItemID, item: item, size: size, since: at, deadline: at.plus(p.opts.Timeout), done: make(chan struct{}), admitted: make(chan struct{})}
	if err := p.enter(one); err != nil {
		return nil, err
	}
	if err := p.waitForRoom(ctx, one); err != nil {
		return nil, err
	}
	p.signal()
	return one, nil
}

// enter admits the item, or lets it wait for room, after those that wait already.
func (p *Producer) enter(one *Pending) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrProducerClosed
	}
	p.line = append(p.line, one)
	p.admit()
	if len(p.line) == 0 || p.opts.WhenFull == WhenFullWait {
		return nil
	}
	p.line = p.line[:len(p.line)-1]
	count, bytes := len(p.waiting)+p.sent, p.waitingBytes+p.sentBytes
	return fmt.Errorf("%w: %d items of %d bytes wait to be handed over; allowed are %d of %d", ErrProducerFull, count, bytes, p.opts.MaxItems, p.opts.MaxBytes)
}

// admit takes from the line for room as many as there is room for. The lock is held.
func (p *Producer) admit() {
	for len(p.line) > 0 {
		one := p.line[0]
		count, bytes := len(p.waiting)+p.sent, p.waitingBytes+p.sentBytes
		// One that is larger than the bound is taken alone: it would never fit otherwise.
		if count > 0 && (count >= p.opts.MaxItems || bytes+one.size > p.opts.MaxBytes) {
			return
		}
		p.line = p.line[1:]
		p.waiting = append(p.waiting, one)
		p.waitingBytes += one.size
		p.unsettled[one] = struct{}{}
		close(one.admitted)
	}
}

func (p *Producer) waitForRoom(ctx context.Context, one *Pending) error {
	select {
	case <-one.admitted:
		return nil
	default:
	}
	timer := time.NewTimer(one.deadline.until())
	defer timer.Stop()
	var err error
	select {
	case <-one.admitted:
		return nil
	case <-timer.C:
		err = &ProducerTimeoutError{ItemID: one.ItemID, Timeout: p.opts.Timeout, Err: ErrProducerFull}
	case <-ctx.Done():
		err = contextError(ctx)
	case <-p.closing:
		err = ErrProducerClosed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(p.line, one)
	if at < 0 {
		// Admitted in the same moment.
		return nil
	}
	p.line = slices.Delete(p.line, at, at+1)
	p.admit()
	return err
}
