package keyturnotel

import (
	"errors"
	"fmt"
	"sync"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// span of an attempt or a turn.
type span struct {
	to trace.Span

	mu       sync.Mutex
	recorded error
}

func (s *span) Waiting() { s.to.AddEvent("waiting") }

func (s *span) Granted(turn keyturn.TurnInfo) {
	token := attribute.Int64("keyturn.token", int64(turn.Token))
	s.to.AddEvent("granted", trace.WithAttributes(token))
	s.to.SetAttributes(token)
}

func (s *span) Lost(cause keyturn.LossCause) {
	s.to.AddEvent("lost", trace.WithAttributes(attribute.String("keyturn.loss", string(cause))))
}

func (s *span) Failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recorded != nil && errors.Is(err, s.recorded) {
		return
	}
	s.recorded = err
	s.to.RecordError(err)
	s.to.SetStatus(codes.Error, err.Error())
	s.to.SetAttributes(attribute.String("error.type", fmt.Sprintf("%T", err)))
}

func (s *span) Outcome(outcome keyturn.TraceOutcome) {
	s.to.SetAttributes(attribute.String("keyturn.outcome", string(outcome)))
}

func (s *span) End() { s.to.End() }
