package keyturn

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// afterAbort is how long a handler that was told to stop is waited for before its turn is released all the same.
const afterAbort = 800 * time.Millisecond

// Consumer takes turns with items and hands each to its handler. Made by [Client.Consume].
type Consumer struct {
	client  *Client
	queues  []string
	opts    ConsumeOptions
	handler Handler
	// Of handlers; it has the values of the context of Consume, not its end.
	base context.Context
	// Ends when no more turns are to be taken.
	taking   context.Context
	stopping context.CancelCauseFunc
	// There may be a free slot.
	freed chan struct{}
	done  chan struct{}
	// Stops following the context of Consume.
	unfollow func() bool

	mu      sync.Mutex
	workers map[*worker]struct{}
	// Slots in use: turns that are asked for, and those whose handler or first settling call is not through.
	asked, running int
	// Turns whose settling call is sent and not answered, and deliveries on their way back.
	settling  int
	loopEnded bool
	deadline  moment
	timer     *time.Timer
	fatal     error
	takes     taking
	// Handlers that a stop cut off.
	cut   int
	ended bool
}

// Consume takes turns with items of these queues, never more than Concurrency at once, and hands each to the handler, until
// it is stopped: by [Consumer.Stop], by [Client.Close], or by the end of ctx, which gives handlers 20 s. A connection that
// breaks does not end it; what would be refused again (a bad name, no permission) does, see [Consumer.Wait].
func (c *Client) Consume(ctx context.Context, queues []string, handler Handler, opts ConsumeOptions) (*Consumer, error) {
	if handler == nil {
		return nil, wrongSetting("handler", "nil", "a function")
	}
	if err := opts.check(queues); err != nil {
		return nil, err
	}
	names := slices.Clone(queues)
	slices.Sort(names)
	k := &Consumer{
		client: c, queues: slices.Compact(names), opts: opts, handler: handler,
		freed: make(chan struct{}, 1), done: make(chan struct{}), workers: map[*worker]struct{}{}, deadline: never,
	}
	k.base = context.WithValue(context.WithoutCancel(ctx), handledBy{k}, true)
	k.taking, k.stopping = context.WithCancelCause(k.base)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, closedError()
	}
	k.unfollow = context.AfterFunc(ctx, func() { k.begin(defaultStop) })
	c.consumers[k] = struct{}{}
	go k.loop()
	go k.watchTaking()
	return k, nil
}

// Held is how many turns are held now.
func (k *Consumer) Held() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.workers)
}

// Done is closed when it has stopped.
func (k *Consumer) Done() <-chan struct{} { return k.done }

// Wait returns when it has stopped: nil, why it could not go on, or an error that is [ErrStopped] when a stop cut handlers
// off.
func (k *Consumer) Wait() error {
	<-k.done
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fatal
}

// Stop takes no more turns, lets handlers finish, and gives back what was delivered and not started. When ctx ends, or
// after 20 s if it has no deadline, handlers are told to stop ([ErrStopped]) and their turns are released. It returns when
// nothing runs, at the latest three seconds after that, with what [Consumer.Wait] returns. A handler that calls it with its
// own context is not waited for, by itself: it returns nil at once.
func (k *Consumer) Stop(ctx context.Context) error {
	if ctx.Value(handledBy{k}) != nil {
		k.begin(timeToStop(ctx))
		return nil
	}
	k.stopFor(ctx)
	return k.Wait()
}

// handledBy is a value of the contexts of a consumer's handlers.
type handledBy struct{ consumer *Consumer }

func timeToStop(ctx context.Context) time.Duration {
	if deadline, bounded := ctx.Deadline(); bounded {
		return max(0, time.Until(deadline))
	}
	return defaultStop
}

// stopFor waits for the end.
func (k *Consumer) stopFor(ctx context.Context) {
	k.begin(timeToStop(ctx))
	select {
	case <-k.done:
	case <-ctx.Done():
		k.begin(0)
		<-k.done
	}
}

// begin stops taking; handlers have this long. The shorter of two times counts.
func (k *Consumer) begin(timeout time.Duration) {
	k.mu.Lock()
	deadline := now().plus(timeout)
	if k.ended || deadline >= k.deadline {
		k.mu.Unlock()
		return
	}
	k.deadline = deadline
	if k.timer != nil {
		k.timer.Stop()
	}
	k.timer = time.AfterFunc(timeout, k.runOut)
	k.mu.Unlock()
	k.stopping(ErrStopped)
}

// runOut: the time of the handlers is over.
func (k *Consumer) runOut() {
	k.mu.Lock()
	for w := range k.workers {
		w.abort(ErrStopped)
	}
	k.mu.Unlock()
	select {
	case <-k.done:
		return
	case <-time.After(afterAbort):
	}
	k.mu.Lock()
	var left []*worker
	for w := range k.workers {
		left = append(left, w)
	}
	clear(k.workers)
	k.mu.Unlock()
	var releasing sync.WaitGroup
	for _, w := range left {
		releasing.Add(1)
		go func() {
			defer releasing.Done()
			w.giveUp()
		}()
	}
	releasing.Wait()
	k.mu.Lock()
	k.end()
	k.mu.Unlock()
}

func (k *Consumer) trouble(trouble Trouble) {
	// The other stages have lines of their own.
	if work := trouble.Work; trouble.Stage == StageTurnLost || trouble.Stage == StageSettle {
		k.client.set.logger.Warn("keyturn: trouble of a consumer",
			"stage", string(trouble.Stage), "error", trouble.Err, "queue", work.Queue, "key", work.Key, "token", work.Token)
	}
	if k.opts.OnTrouble != nil {
		k.client.set.aloneInside("OnTrouble", func() { k.opts.OnTrouble(trouble) })
	}
}

// cutOff: the handler had no time to come to its end. It may be given back twice: by itself, and when that is not answered.
func (k *Consumer) cutOff(w *worker) {
	if w.cut.Swap(true) {
		return
	}
	k.mu.Lock()
	k.cut++
	k.mu.Unlock()
	what := "keyturn: a stop cut off a handler; its items go back without counting an attempt"
	// Of a turn that was lost the sidecar says whether an attempt counts: for a worker that was silent it does.
	if w.held.lost() != nil {
		what = "keyturn: a stop cut off a handler whose turn was lost"
	}
	k.client.set.loudLogger().Warn(what, w.named()...)
	w.trouble(StageStop, ErrStopped)
}

// fail: it cannot go on. What runs may finish, then Wait says why.
func (k *Consumer) fail(err error) {
	k.mu.Lock()
	if k.fatal == nil {
		k.fatal = err
	}
	k.mu.Unlock()
	k.client.set.loudLogger().Error("keyturn: a consumer ends", "queues", k.queues, "error", shortened(err.Error()))
	k.begin(defaultStop)
}

// end is called with the lock held.
func (k *Consumer) end() {
	if k.ended {
		return
	}
	k.ended = true
	if k.cut > 0 && k.fatal == nil {
		k.fatal = fmt.Errorf("%w: %d of them were cut off, and their items went back", ErrStopped, k.cut)
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	k.unfollow()
	close(k.done)
	// The client never takes a consumer's lock with its own held.
	k.client.forgetConsumer(k)
}

func (c *Client) forgetConsumer(k *Consumer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.consumers, k)
}
