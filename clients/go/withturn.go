package keyturn

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Order is how calls for one key stand to each other.
type Order string

// The orders.
const (
	// OrderCoalesce: one works, one waits, the rest is declined, or as the queue's policy says. The default.
	OrderCoalesce Order = "coalesce"
	// OrderStrict: every call gets its turn in the order of arrival, none is declined.
	OrderStrict Order = "strict"
)

// Status is what a turn came to.
type Status string

// The statuses.
const (
	// StatusDone: the handler ran, and its turn lived until it was given back.
	StatusDone Status = "done"
	// StatusDeclined: the message is not needed. Drop it.
	StatusDeclined Status = "declined"
	// StatusBlocked: the wait ended first. No place is kept.
	StatusBlocked Status = "blocked"
)

// Outcome is what a [Client.WithTurn] came to.
type Outcome struct {
	// Status is StatusDone, StatusDeclined or StatusBlocked.
	Status Status
	// Token of the turn that was had: with StatusDone.
	Token uint64
	// Reason of StatusDeclined.
	Reason Reason
	// SurvivorID says with ReasonWaiterExists and ReasonSuperseded who stands in.
	SurvivorID string
	// RetryAfter says with ReasonTooSoon, and with StatusBlocked behind a gate, when it is worth asking again.
	RetryAfter time.Duration
	// Result comes with ReasonAlreadyDone: the remembered one.
	Result []byte
	// Ahead says with StatusBlocked how many stood before us, the holder included; 0 behind a gate and with OrderStrict.
	Ahead int
}

// TurnOptions are the options of [Client.WithTurn] and [Client.Turn]. The zero value is fine.
type TurnOptions struct {
	// Wait for the turn. Zero: the queue's, with OrderStrict 3 s. [NoWait]: now or not at all. [Forever]: until the context ends.
	Wait time.Duration
	// Order is OrderCoalesce or OrderStrict.
	Order Order
	// Lease is how long the turn lives without being renewed, 100 ms to 24 h. Zero: kept by the session, else the queue's.
	Lease time.Duration
	// MaxHold is how long a handler may take before it is told to stop ([ErrMaxHold]). Say here what the queue's max_hold is,
	// or less. Zero: no limit.
	MaxHold time.Duration
	// IdempotencyKey is your business id: once done it is declined (ReasonAlreadyDone) while the queue remembers it. Not with OrderStrict.
	IdempotencyKey string
	// ConsumerID says who asks, for people who look. Empty: the client's.
	ConsumerID string
}

// strictWait is the built-in wait of a queue, for the call that knows no such default.
const strictWait = 3 * time.Second

func (o *TurnOptions) check() error {
	if o.Order == "" {
		o.Order = OrderCoalesce
	}
	if o.Order != OrderCoalesce && o.Order != OrderStrict {
		return wrongSetting("order", string(o.Order), `"coalesce" or "strict"`)
	}
	if o.Order == OrderStrict && o.IdempotencyKey != "" {
		return wrongSetting("idempotency_key", o.IdempotencyKey, `none with order "strict"`)
	}
	if o.Order == OrderStrict && o.Wait == 0 {
		o.Wait = strictWait
	}
	if o.Wait < 0 && o.Wait != NoWait {
		return wrongSetting("wait", o.Wait, "0s or more, NoWait or Forever")
	}
	if o.MaxHold < 0 {
		return wrongSetting("max_hold", o.MaxHold, "0s or more")
	}
	return checkLease(o.Lease)
}

func checkLease(lease time.Duration) error {
	if lease == 0 {
		return nil
	}
	return durationWithin("lease", lease, shortestLife, longestLife)
}

// WithTurn asks for the turn of a key, runs the handler while it is kept alive, and gives it back.
//
// The handler's context ends when ctx does, when the turn is lost (its cause is a [TurnLostError]), a margin before it can
// no longer be known to live, and after MaxHold. Stop then: hand the context on to what you call.
//
// The error is a [TurnLostError] when the turn was lost, after the handler has ended; what the handler returned, after the
// turn was given back as abandoned; that of ctx when it ends before the turn came; else an [Error]. An error of the
// connection after the handler ended leaves open whether its end was noted.
func (c *Client) WithTurn(ctx context.Context, queue, key string, opts TurnOptions, handler func(context.Context, *Turn) error) (Outcome, error) {
	if handler == nil {
		return Outcome{}, wrongSetting("handler", "nil", "a function")
	}
	turn, outcome, err := c.claimTurn(ctx, queue, key, opts)
	if turn == nil {
		return outcome, err
	}
	// Also when the handler panics: then it is given back.
	defer turn.Release()
	if loss := turn.begin(); loss != nil {
		// Lost before it began (a long wait, a slow process): nothing is started just to be stopped.
		return Outcome{}, notBegun(loss)
	}
	err = handler(turn.ctx, turn)
	if loss := turn.held.lost(); loss != nil {
		return Outcome{}, lossWith(loss, err)
	}
	if err == nil {
		err = turn.Done(context.WithoutCancel(ctx))
	}
	if err != nil {
		turn.span.failed(err)
		return Outcome{}, err
	}
	return Outcome{Status: StatusDone, Token: turn.Token}, nil
}

// notBegun: of a client that was closed nothing had been handed on yet.
func notBegun(loss *TurnLostError) error {
	if loss.Cause == LossClosed {
		return closedError()
	}
	return loss
}

// lossWith tells what the handler returned too, unless it only handed the loss on.
func lossWith(loss *TurnLostError, err error) error {
	if err == nil || errors.Is(err, loss) || errors.Is(err, context.Canceled) {
		return loss
	}
	return fmt.Errorf("%w; the handler ended with: %w", loss, err)
}

// NoTurnError is what [Client.Turn] returns when there is no turn: the message is not needed, or the wait ended first.
type NoTurnError struct {
	// Outcome has the status, StatusDeclined or StatusBlocked, and why.
	Outcome Outcome
}

// Error tells why there is no turn.
func (e *NoTurnError) Error() string {
	if e.Outcome.Status == StatusDeclined {
		return fmt.Sprintf("declined, the message is not needed: %s", e.Outcome.Reason)
	}
	return fmt.Sprintf("blocked, it is not our turn yet: %d before us", e.Outcome.Ahead)
}

// Turn asks for the turn of a key and keeps it alive until [Turn.Done] or [Turn.Release]:
//
//	turn, err := client.Turn(ctx, "thumbnails", "photo-17", keyturn.TurnOptions{})
//	if err != nil { … }
//	defer turn.Release() // gives it back, unless it is done
//	… work with turn.Context() …
//	err = turn.Done(ctx)
//
// Without a turn the error is a [NoTurnError], else as with [Client.WithTurn].
func (c *Client) Turn(ctx context.Context, queue, key string, opts TurnOptions) (*Turn, error) {
	turn, outcome, err := c.claimTurn(ctx, queue, key, opts)
	if err != nil {
		return nil, err
	}
	if turn == nil {
		return nil, &NoTurnError{Outcome: outcome}
	}
	if loss := turn.begin(); loss != nil {
		turn.Release()
		return nil, notBegun(loss)
	}
	return turn, nil
}

func (c *Client) claimTurn(ctx context.Context, queue, key string, opts TurnOptions) (*Turn, Outcome, error) {
	if err := opts.check(); err != nil {
		return nil, Outcome{}, err
	}
	if key == "" {
		// Strict order asks with an Acquire, and without a key that would take somebody's item.
		return nil, Outcome{}, wrongSetting("key", key, "1 to 1024 bytes of UTF-8")
	}
	inside, span := c.traceTurn(ctx, queue, key)
	info, outcome, err := c.newClaim(queue, key, opts).wait(ctx)
	if err != nil || info == nil {
		span.absent(outcome, err)
		return nil, outcome, err
	}
	span.granted(info)
	turn := c.newTurn(inside, info, opts.MaxHold)
	turn.span = span
	return turn, Outcome{}, nil
}
