package keyturn

import (
	"bytes"
	"context"
	"sync"
	"time"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// Turn is a turn that is kept alive until it is done or released. Its methods may be called by any goroutine.
type Turn struct {
	TurnInfo
	client *Client
	held   *heldTurn
	ctx    context.Context
	cancel context.CancelCauseFunc
	// Ends the turn's time with MaxHold; nil without.
	timer *time.Timer
	span  traceSpan

	mu     sync.Mutex
	result []byte

	// Full while somebody ends it: whoever else does learns afterwards what it came to.
	ending chan struct{}
	// Of whoever ends it.
	over    bool
	outcome error
}

// newTurn begins to hold it.
func (c *Client) newTurn(parent context.Context, info *TurnInfo, maxHold time.Duration) *Turn {
	t := &Turn{TurnInfo: *info, client: c, held: c.over.hold(info, info.since), ending: make(chan struct{}, 1)}
	t.ctx, t.cancel = context.WithCancelCause(parent)
	t.held.watch(func(loss *TurnLostError) { t.cancel(loss) })
	if maxHold > 0 {
		t.timer = time.AfterFunc(maxHold, func() { t.cancel(ErrMaxHold) })
	}
	return t
}

// Hold keeps a turn alive that a raw call gave, until [Turn.Done] or [Turn.Release], which end it. [Turn.LetGo] only ends
// the keeping alive, for who ends the turn by other means. Its life is counted from the call that gave it: a ticket
// that is told its turn once more by a later call makes it no younger. A turn that another process was given, of which queue,
// key, token and lease are needed, is renewed at once, and lost if that says so.
func (c *Client) Hold(ctx context.Context, turn *pb.Turn) *Turn {
	info := TurnInfo{
		TurnRef: refOf(turn), Lease: turn.GetLease().AsDuration(),
		LeaseExpiresAt: instant(turn.GetLeaseExpiresAt()), Attempt: int(turn.GetAttempt()),
	}
	if known, ours := c.ages.known(info.id()); ours {
		info.since, info.held = known.since, known.held
	}
	made := c.newTurn(ctx, &info, 0)
	made.begin()
	return made
}

// Context ends when the turn is lost (its cause is a [TurnLostError]), or in time before that, with the context that it was
// asked with, after MaxHold, and when the turn is over. Hand it on to what you call.
func (t *Turn) Context() context.Context { return t.ctx }

// Lost is a [TurnLostError] when the turn is lost, else nil.
func (t *Turn) Lost() error {
	if loss := t.held.lost(); loss != nil {
		return loss
	}
	return nil
}

// SetResult says what is remembered with the idempotency key when the turn is done, up to 1 MiB.
func (t *Turn) SetResult(result []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result = bytes.Clone(result)
}

// Done ends the turn: the work is done. A sidecar that is away is asked again for ten seconds, or until ctx ends. The error
// is a [TurnLostError] when the turn is not ours any more, and [ErrReleased] when it was released: then the work does not
// count as done. After any other error it is unknown whether it does; the turn is ours until [Turn.Release]. Once it is over,
// Done returns what it came to.
func (t *Turn) Done(ctx context.Context) error {
	select {
	case t.ending <- struct{}{}:
		defer func() { <-t.ending }()
	case <-ctx.Done():
		return contextError(ctx)
	}
	if t.over {
		return t.outcome
	}
	if loss := t.held.lost(); loss != nil {
		return t.end(loss)
	}
	t.mu.Lock()
	result := t.result
	t.mu.Unlock()
	err := patiently(ctx, now().plus(callGrace), []failure{away, full}, func(left time.Duration) error {
		return t.deQueue(ctx, func(request *pb.DeQueueRequest) { request.Result = result }, left)
	})
	if err == nil || failureOf(err) == lost {
		return t.end(err)
	}
	// Its session would keep it: it is still to be released.
	return err
}

// Release gives the turn back as abandoned, unless it is done, released or lost already: made for defer. It takes up to two
// seconds when the sidecar is away. A session sends it again later where it was refused for now; else the turn ends with its lease or its session.
func (t *Turn) Release() {
	t.ending <- struct{}{}
	defer func() { <-t.ending }()
	if t.over {
		return
	}
	if loss := t.held.lost(); loss != nil {
		_ = t.end(loss)
		return
	}
	_ = t.deQueue(context.WithoutCancel(t.ctx), func(request *pb.DeQueueRequest) { request.Abandoned = true }, givingUp)
	_ = t.end(ErrReleased)
}

// begin is nil when somebody may work on it from here on.
func (t *Turn) begin() *TurnLostError {
	if t.client.over.begin(t.held) {
		return nil
	}
	return t.held.lost()
}

// end notes what it came to.
func (t *Turn) end(outcome error) error {
	t.over, t.outcome = true, outcome
	t.span.over(outcome, t.held.lost())
	if loss := t.held.lost(); outcome != nil && loss != nil && loss.Cause == LossClosed {
		t.client.over.giveUp(t.held)
	}
	t.LetGo()
	return outcome
}

// LetGo ends the keeping alive, and the context, without a call.
func (t *Turn) LetGo() {
	if t.timer != nil {
		t.timer.Stop()
	}
	t.client.over.release(t.held)
	t.cancel(ErrReleased)
	t.span.end()
}

func (t *Turn) deQueue(ctx context.Context, say func(*pb.DeQueueRequest), timeout time.Duration) error {
	request := ending(t.TurnRef)
	say(request)
	command := newDeQueue(request)
	command.timeout, command.lastWord = timeout, request.Abandoned
	t.client.ages.over(t.id())
	return ask(ctx, t.client.over, command)
}
