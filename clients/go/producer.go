package keyturn

import (
	"context"
	"sync"
)

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
	// Held while OnError is told, and nothing else is taken with it by the producer.
	telling sync.Mutex

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
	if !c.begins(p) {
		// Without the lock: a replay may be telling the application of something.
		if p.route != nil {
			p.route.close()
		}
		return nil, closedError()
	}
	return p, nil
}

func (c *Client) begins(p *Producer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.producers[p] = struct{}{}
	go p.send()
	return true
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
