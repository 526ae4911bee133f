package keyturnotel_test

import (
	"context"
	"errors"
	"testing"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnotel"
	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// S450: a turn is a span below the caller's, with its events.
func TestATurn(t *testing.T) {
	boom := errors.New("boom")
	for name, one := range map[string]struct {
		handler func(s *stage, ctx context.Context, turn *keyturn.Turn) error
		events  string
		outcome string
		code    codes.Code
	}{
		"done":    {func(*stage, context.Context, *keyturn.Turn) error { return nil }, "waiting granted", "done", codes.Unset},
		"failed":  {func(*stage, context.Context, *keyturn.Turn) error { return boom }, "waiting granted exception", "failed", codes.Error},
		"evicted": {evicted, "waiting granted lost exception", "lost", codes.Error},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, keyturnotel.Options{})
			ctx, around := s.under("around")
			var active trace.SpanContext
			var token uint64
			_, _ = s.client.WithTurn(ctx, "q", "ada", keyturn.TurnOptions{}, func(ctx context.Context, turn *keyturn.Turn) error {
				active, token = trace.SpanContextFromContext(ctx), turn.Token
				return one.handler(s, ctx, turn)
			})
			span := s.only(t, "turn q")
			if !span.SpanContext().Equal(active) || !span.Parent().Equal(around) || span.SpanKind() != trace.SpanKindInternal {
				t.Errorf("%v below %v", span.SpanContext(), span.Parent())
			}
			attributes := attributesOf(span)
			if attributes["keyturn.queue"] != "q" || attributes["keyturn.token"] != int64(token) || attributes["keyturn.outcome"] != one.outcome || attributes["keyturn.key"] != nil {
				t.Errorf("%v", attributes)
			}
			if eventsOf(span) != one.events || span.Status().Code != one.code {
				t.Errorf("%s, %v", eventsOf(span), span.Status())
			}
			if one.outcome == "lost" && span.Events()[2].Attributes[0].Value.AsString() != "evicted" {
				t.Errorf("%v", span.Events()[2])
			}
		})
	}
}

func evicted(s *stage, ctx context.Context, turn *keyturn.Turn) error {
	_, err := s.client.Admin().EvictHolder(ctx, &pb.EvictHolderRequest{Queue: turn.Queue, Key: turn.Key})
	<-ctx.Done()
	return err
}

// S450: the span of a turn that is held by hand ends with the turn, however that is; one that does not come says so.
func TestATurnByHand(t *testing.T) {
	s := newStage(t, keyturnotel.Options{})
	ends := map[string]struct {
		end     func(*keyturn.Turn)
		outcome any
	}{
		"a": {func(turn *keyturn.Turn) { _ = turn.Done(s.ctx); turn.Release() }, "done"},
		"b": {func(turn *keyturn.Turn) { turn.Release() }, "failed"},
		"c": {func(turn *keyturn.Turn) { turn.LetGo() }, nil},
	}
	for key, one := range ends {
		turn := must(s.client.Turn(s.ctx, key, key, keyturn.TurnOptions{}))(t)
		if !trace.SpanContextFromContext(turn.Context()).IsValid() || len(s.named("turn "+key)) != 0 {
			t.Fatal("its span is not the active one")
		}
		one.end(turn)
		if got := attributesOf(s.only(t, "turn "+key))["keyturn.outcome"]; got != one.outcome {
			t.Errorf("%s: %v was expected, there is %v", key, one.outcome, got)
		}
	}
	held := must(s.client.Turn(s.ctx, "held", "ada", keyturn.TurnOptions{}))(t)
	defer held.Release()
	never := func(context.Context, *keyturn.Turn) error { t.Error("there is no turn"); return nil }
	must(s.client.WithTurn(s.ctx, "held", "ada", keyturn.TurnOptions{Wait: keyturn.NoWait}, never))(t)
	if got := s.only(t, "turn held"); attributesOf(got)["keyturn.outcome"] != "blocked" || got.Status().Code != codes.Unset || eventsOf(got) != "waiting" {
		t.Errorf("%v, %v", attributesOf(got), got.Status())
	}
	done := keyturn.TurnOptions{IdempotencyKey: "one"}
	must(s.client.WithTurn(s.ctx, "once", "ada", done, func(context.Context, *keyturn.Turn) error { return nil }))(t)
	must(s.client.WithTurn(s.ctx, "once", "ada", done, never))(t)
	if got := s.named("turn once"); len(got) != 2 || attributesOf(got[1])["keyturn.outcome"] != "declined" {
		t.Errorf("%v", got)
	}
	if _, err := s.client.WithTurn(s.ctx, "held", string([]byte{0xff}), keyturn.TurnOptions{}, never); err == nil {
		t.Fatal("a key that is no text")
	}
	if got := s.named("turn held"); attributesOf(got[len(got)-1])["keyturn.outcome"] != "failed" || got[len(got)-1].Status().Code != codes.Error {
		t.Errorf("%v", attributesOf(got[len(got)-1]))
	}
}
