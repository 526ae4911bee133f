package keyturn

import (
	"context"
	"errors"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// Tracer is told what a client does with items and turns, for whoever makes spans of it. The one for OpenTelemetry is that of
// the module github.com/keyturn/keyturn/clients/go/keyturnotel, so that who does not trace has no dependency on it. Its methods
// are called by many goroutines: they must not block. A panic of one is logged, and ends nothing.
type Tracer interface {
	// Headers are those that an item is submitted with: what it has, and the context of ctx. What it is given it must not change.
	Headers(ctx context.Context, headers map[string]string) map[string]string
	// Attempt begins the span of an attempt, and returns the context of its handler. A span that is nil: nobody listens.
	Attempt(ctx context.Context, work *Work) (context.Context, TraceSpan)
	// Turn begins the span of a turn that is asked for, and returns the context of its holder. A span that is nil: nobody listens.
	Turn(ctx context.Context, queue, key string) (context.Context, TraceSpan)
}

// TraceSpan is a span that was begun. Its methods may be called by several goroutines.
type TraceSpan interface {
	// Waiting for the turn begins.
	Waiting()
	// Granted: the turn came.
	Granted(turn TurnInfo)
	// Lost: the turn was lost.
	Lost(cause LossCause)
	// Failed with this error. The same error twice is recorded once.
	Failed(err error)
	// Outcome is what became of it. The last one counts.
	Outcome(outcome TraceOutcome)
	// End of the span. A second one does nothing.
	End()
}

// TraceOutcome is what became of an attempt or a turn, keyturn.outcome of its span.
type TraceOutcome string

// The outcomes of attempts, and those of turns.
const (
	// TraceAck means that the items are done.
	TraceAck TraceOutcome = "ack"
	// TraceRetry means that they are tried again.
	TraceRetry TraceOutcome = "retry"
	// TraceRelease means that they went back, and no attempt counts.
	TraceRelease TraceOutcome = "release"
	// TraceDeadLetter means that they became dead letters.
	TraceDeadLetter TraceOutcome = "dead_letter"
	// TraceUnsettled means that the call that ends the turn did not come through.
	TraceUnsettled TraceOutcome = "unsettled"
	// TraceLost means that the turn was lost: of attempts and turns.
	TraceLost TraceOutcome = "lost"
	// TraceDone means that the turn was given back as done.
	TraceDone TraceOutcome = "done"
	// TraceDeclined means that the message is not needed.
	TraceDeclined TraceOutcome = "declined"
	// TraceBlocked means that the wait ended first.
	TraceBlocked TraceOutcome = "blocked"
	// TraceFailed means that the turn was given back as not done, or did not come.
	TraceFailed TraceOutcome = "failed"
)

// WithTracer is told of items, attempts and turns. Default: nobody; nil is refused.
func WithTracer(tracer Tracer) Option {
	return func(s *settings) { s.tracer, s.noTracer = tracer, tracer == nil }
}

// traceSpan does nothing when nobody listens.
type traceSpan struct{ to TraceSpan }

// stamped: the context is that of whoever hands the item over.
func (c *Client) stamped(ctx context.Context, item NewItem) NewItem {
	if c.set.tracer != nil {
		item.Headers = c.set.tracer.Headers(ctx, item.Headers)
	}
	return item
}

func (c *Client) traceAttempt(ctx context.Context, work *Work) (context.Context, traceSpan) {
	if c.set.tracer == nil {
		return ctx, traceSpan{}
	}
	inside, span := c.set.tracer.Attempt(ctx, work)
	return inside, traceSpan{span}
}

func (c *Client) traceTurn(ctx context.Context, queue, key string) (context.Context, traceSpan) {
	if c.set.tracer == nil {
		return ctx, traceSpan{}
	}
	inside, span := c.set.tracer.Turn(ctx, queue, key)
	if span != nil {
		span.Waiting()
	}
	return inside, traceSpan{span}
}

func (s traceSpan) granted(turn *TurnInfo) {
	if s.to != nil {
		s.to.Granted(*turn)
	}
}

func (s traceSpan) outcome(outcome TraceOutcome) {
	if s.to != nil {
		s.to.Outcome(outcome)
	}
}

func (s traceSpan) failed(err error) {
	if s.to != nil && err != nil {
		s.to.Failed(err)
	}
}

func (s traceSpan) end() {
	if s.to != nil {
		s.to.End()
	}
}

// trouble of an attempt. To release is none; and why it is a dead letter was told when it failed.
func (s traceSpan) trouble(stage Stage, err error) {
	switch stage {
	case StageTurnLost:
		s.outcome(TraceLost)
	case StageSettle:
		s.outcome(TraceUnsettled)
	}
	var given *GiveBack
	if stage == StageDeadLetter || (errors.As(err, &given) && given.Kind == NackRelease) {
		return
	}
	s.failed(err)
}

// outcomeOf is what a Nack says.
func outcomeOf(c *command) TraceOutcome {
	request, _ := c.request.(*pb.NackRequest)
	switch request.GetKind() {
	case pb.NackKind_NACK_KIND_RELEASE:
		return TraceRelease
	case pb.NackKind_NACK_KIND_DEAD_LETTER:
		return TraceDeadLetter
	default:
		return TraceRetry
	}
}

// absent: the turn did not come.
func (s traceSpan) absent(outcome Outcome, err error) {
	if s.to == nil {
		return
	}
	switch {
	case err != nil:
		s.failed(err)
		s.outcome(TraceFailed)
	case outcome.Status == StatusDeclined:
		s.outcome(TraceDeclined)
	default:
		s.outcome(TraceBlocked)
	}
	s.end()
}

// over: what the end of a turn came to.
func (s traceSpan) over(err error, loss *TurnLostError) {
	if s.to == nil {
		return
	}
	if loss == nil {
		errors.As(err, &loss)
	}
	switch {
	case err == nil:
		s.outcome(TraceDone)
	case failureOf(err) == lost || loss != nil:
		if loss == nil {
			loss = &TurnLostError{Cause: LossUnknown}
		} else {
			err = loss
		}
		s.to.Lost(loss.Cause)
		s.failed(err)
		s.outcome(TraceLost)
	default:
		// Released: why, the handler has said, if somebody did.
		s.outcome(TraceFailed)
	}
}
