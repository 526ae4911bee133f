package keyturn

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Pending is an item that a producer was given, and what becomes of it.
type Pending struct {
	// ItemID of the item, yours or one that was made.
	ItemID string

	item NewItem
	size int
	// Not tried any more after this.
	deadline moment
	since    moment
	admitted chan struct{}
	done     chan struct{}
	result   SubmitResult
	err      error
}

// Done is closed when it is known what became of the item.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait returns what the sidecar decided, or Spooled when the item is safe on disk. The error is a [ProducerTimeoutError],
// ErrProducerClosed, a [SpoolError], the [Error] with which the sidecar refused the item, or that of ctx.
func (p *Pending) Wait(ctx context.Context) (SubmitResult, error) {
	select {
	case <-p.done:
		return p.result, p.err
	case <-ctx.Done():
		return SubmitResult{}, contextError(ctx)
	}
}

// Producer collects items and hands them over in batches, in the order in which they were added, one batch after another.
// Made by [Client.Producer].
type Producer struct {
	client *Client
	queue  string
	opts   ProducerOptions
	route  *spoolRoute
	// Ends when the time to close is over; its cause is what the items are rejected with.
	givenUp context.Context
	giveUp  context.CancelCauseFunc
	// There may be something to send.
	wake  chan struct{}
	ended chan struct{}

	mu sync.Mutex
	// Added and not on their way, in order, and what they take.
	waiting      []*Pending
	waitingBytes int
	// On their way.
	sent      int
	sentBytes int
	unsettled map[*Pending]struct{}
	// Waiting for room, in order.
	line []*Pending
	// How many wait for everything to be sent: batches are not filled up then.
	flushing int
	closed   bool
	// Closed with the producer.
	closing chan struct{}
}

// Producer makes a buffer that collects items and hands them over in batches. Close it with [Producer.Close].
func (c *Client) Producer(queue string, opts ProducerOptions) (*Producer, error) {
	if err := opts.check(queue); err != nil {
		return nil, err
	}
	p := &Producer{
		client: c, queue: queue, opts: opts, wake: make(chan struct{}, 1), ended: make(chan struct{}),
		unsettled: map[*Pending]struct{}{}, closing: make(chan struct{}),
	}
	p.givenUp, p.giveUp = context.WithCancelCause(context.Background())
	if opts.Spool != nil {
		route, err := newSpoolRoute(p)
		if err != nil {
			return nil, err
		}
		p.route = route
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		if p.route != nil {
			p.route.close()
		}
		return nil, closedError()
	}
	c.producers[p] = struct{}{}
	go p.send()
	return p, nil
}

// Pending is how many items were added and are not settled.
func (p *Producer) Pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.unsettled)
}

// Spooled is how many items are on disk, to be handed over.
func (p *Producer) Spooled() int {
	if p.route == nil {
		return 0
	}
	return p.route.spool.Items()
}

// Add takes an item; it gets an id if it has none. Its payload is not to be changed afterwards. When there is no room it
// waits, or fails with ErrProducerFull. The error means that the item was not taken.
func (p *Producer) Add(ctx context.Context, item NewItem) (*Pending, error) {
	item = p.client.withID(item)
	size, err := checkedSize(&item, 0)
	if err != nil {
		return nil, err
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
	if len(p.line) == 0 || p.opts.WhenFull == WaitForRoom {
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

// Flush returns when everything that was added before is accepted, refused, or on disk: at the latest after Timeout. The
// error is that of ctx, when it ends first.
func (p *Producer) Flush(ctx context.Context) error {
	p.mu.Lock()
	p.flushing++
	all := make([]*Pending, 0, len(p.unsettled))
	for one := range p.unsettled {
		all = append(all, one)
	}
	p.mu.Unlock()
	p.signal()
	defer func() {
		p.mu.Lock()
		p.flushing--
		p.mu.Unlock()
	}()
	for _, one := range all {
		select {
		case <-one.done:
		case <-ctx.Done():
			return contextError(ctx)
		}
	}
	return nil
}

// Close takes nothing more, flushes, and lets go of the spool; what is on disk is handed over after the next start. When
// ctx ends, what is not handed over is refused with ErrProducerClosed.
func (p *Producer) Close(ctx context.Context) error {
	p.closeFor(ctx)
	return context.Cause(ctx)
}

// closeFor waits for the end; items have their own.
func (p *Producer) closeFor(ctx context.Context) {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	if first {
		close(p.closing)
	}
	p.mu.Unlock()
	if first && p.route != nil {
		p.route.finish()
	}
	p.signal()
	stop := context.AfterFunc(ctx, func() { p.giveUp(ErrProducerClosed) })
	defer stop()
	<-p.ended
}

func (p *Producer) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// send hands over one batch after another: so the order holds, whatever is tried again. It ends when the producer is
// closed and empty.
func (p *Producer) send() {
	defer p.end()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		batch, wait, over := p.nextBatch()
		if over {
			return
		}
		if len(batch) > 0 {
			p.deliver(batch)
			continue
		}
		timer.Reset(wait)
		select {
		case <-p.wake:
		case <-timer.C:
		case <-p.givenUp.Done():
		}
	}
}

func (p *Producer) end() {
	if p.route != nil {
		p.route.close()
	}
	p.client.mu.Lock()
	delete(p.client.producers, p)
	p.client.mu.Unlock()
	p.giveUp(ErrProducerClosed)
	close(p.ended)
}

// nextBatch is what is due, else how long that takes. over: nothing is left, and nothing comes.
func (p *Producer) nextBatch() (batch []*Pending, wait time.Duration, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return nil, time.Hour, p.closed
	}
	wait = p.waiting[0].since.plus(p.opts.Interval).until()
	isFull := len(p.waiting) >= p.opts.Count || p.waitingBytes >= largestBatch
	if !isFull && !p.closed && p.flushing == 0 && wait > 0 && p.givenUp.Err() == nil {
		return nil, wait, false
	}
	end, bytes := 0, 0
	for end < len(p.waiting) && end < p.opts.Count && (end == 0 || bytes+p.waiting[end].size <= largestBatch) {
		bytes += p.waiting[end].size
		end++
	}
	batch = append(batch, p.waiting[:end]...)
	clear(p.waiting[:end])
	p.waiting = p.waiting[end:]
	p.waitingBytes -= bytes
	p.sent += end
	p.sentBytes += bytes
	return batch, 0, false
}

// settle tells what became of an item that was on its way.
func (p *Producer) settle(one *Pending, result SubmitResult, err error) {
	one.result, one.err = result, err
	p.mu.Lock()
	p.sent--
	p.sentBytes -= one.size
	delete(p.unsettled, one)
	p.admit()
	p.mu.Unlock()
	close(one.done)
	if err != nil {
		p.tellError(err, &one.item)
	}
}

func (p *Producer) tellError(err error, item *NewItem) {
	p.client.set.logger.Warn("keyturn: trouble of a producer", "queue", p.queue, "error", err)
	if p.opts.OnError != nil {
		p.opts.OnError(err, item)
	}
}
