package keyturnotel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnotel"
	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

func written(context trace.SpanContext) string {
	return fmt.Sprintf("00-%s-%s-%s", context.TraceID(), context.SpanID(), context.TraceFlags())
}

// consumed runs a consumer until these items have an end.
func (s *stage) consumed(t *testing.T, queue string, handler keyturn.Handler, opts keyturn.ConsumeOptions, ids ...string) {
	t.Helper()
	// Attempts do not stand below the span in which it began to consume: that one ends long before most of them.
	ctx, _ := s.under("start")
	consumer := must(s.client.Consume(ctx, []string{queue}, handler, opts))(t)
	for _, id := range ids {
		var failed *keyturn.ItemFailedError
		if _, err := s.client.Result(s.ctx, queue, id, keyturn.ResultOptions{}); err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
	}
	if err := consumer.Stop(s.ctx); err != nil {
		t.Fatal(err)
	}
}

func checkLink(t *testing.T, link trace.SpanContext, id any, to trace.SpanContext, itemID string) {
	t.Helper()
	if written(link) != written(to) || id != itemID {
		t.Errorf("a link to %s of %v; expected is %s of %s", written(link), id, written(to), itemID)
	}
}

// S450: every way to submit writes the context, and an attempt links to that of each of its items.
func TestEveryWayToSubmitWritesIt(t *testing.T) {
	s := newStage(t, keyturnotel.Options{})
	ctx, order := s.under("order")
	one := must(s.client.Submit(ctx, "q", keyturn.NewItem{Key: "a"}))(t)
	more := must(s.client.SubmitMany(ctx, "q", []keyturn.NewItem{{Key: "a"}, {Key: "a"}}))(t)
	producer := must(s.client.Producer("q", keyturn.ProducerOptions{}))(t)
	last := must(producer.Add(ctx, keyturn.NewItem{Key: "a"}))(t)
	if err := producer.Close(s.ctx); err != nil {
		t.Fatal(err)
	}
	none := must(s.client.Submit(s.ctx, "q", keyturn.NewItem{Key: "a"}))(t)
	ids := []string{one.ItemID, more[0].ItemID, more[1].ItemID, last.ItemID}
	var without map[string]string
	s.consumed(t, "q", func(_ context.Context, work *keyturn.Work) error {
		without = work.Items[len(work.Items)-1].Headers
		return nil
	}, keyturn.ConsumeOptions{MaxItemsPerTurn: 10}, none.ItemID)
	if len(without) != 0 {
		t.Fatalf("without a span there is %v", without)
	}
	attempt := s.only(t, "process q")
	links := attempt.Links()
	if len(links) != len(ids) {
		t.Fatalf("%d links", len(links))
	}
	for at, link := range links {
		checkLink(t, link.SpanContext, link.Attributes[0].Value.AsString(), order, ids[at])
	}
	attributes := attributesOf(attempt)
	if attempt.Parent().IsValid() || attributes["messaging.batch.message_count"] != int64(5) || attributes["messaging.message.id"] != nil {
		t.Fatalf("%v, below %v", attributes, attempt.Parent())
	}
}

// S450: each attempt is a span of a consumer, by the conventions for messaging, and the context of its handler.
func TestAnAttempt(t *testing.T) {
	s := newStage(t, keyturnotel.Options{})
	ctx, order := s.under("order")
	item := must(s.client.Submit(ctx, "fast", keyturn.NewItem{Key: "ada"}))(t)
	var active []trace.SpanContext
	var token uint64
	s.consumed(t, "fast", func(ctx context.Context, work *keyturn.Work) error {
		active = append(active, trace.SpanContextFromContext(ctx))
		if work.Attempt == 1 {
			token = work.Token
			return errors.New("no stock")
		}
		work.FollowUp("mails", keyturn.NewItem{Key: "ada"})
		return nil
	}, keyturn.ConsumeOptions{}, item.ItemID)
	attempts := s.named("process fast")
	if len(attempts) != 2 {
		t.Fatalf("%d attempts", len(attempts))
	}
	for at, attempt := range attempts {
		if !attempt.SpanContext().Equal(active[at]) || attempt.SpanKind() != trace.SpanKindConsumer || len(attempt.Links()) != 1 {
			t.Fatalf("attempt %d: %v", at+1, attempt)
		}
		checkLink(t, attempt.Links()[0].SpanContext, attempt.Links()[0].Attributes[0].Value.AsString(), order, item.ItemID)
	}
	expected := map[string]any{
		"messaging.system": "keyturn", "messaging.operation.type": "process", "messaging.operation.name": "process",
		"messaging.destination.name": "fast", "messaging.message.id": item.ItemID, "keyturn.attempt": int64(1),
		"keyturn.token": int64(token), "keyturn.outcome": "retry", "error.type": "*errors.errorString",
	}
	first, second := attempts[0], attributesOf(attempts[1])
	if got := attributesOf(first); !maps.Equal(got, expected) {
		t.Errorf("%v was expected, there is %v", expected, got)
	}
	if first.Status().Code != codes.Error || first.Status().Description != "no stock" || eventsOf(first) != "exception" {
		t.Errorf("%v, %s", first.Status(), eventsOf(first))
	}
	if second["keyturn.outcome"] != "ack" || second["keyturn.attempt"] != int64(2) || attempts[1].Status().Code != codes.Unset {
		t.Errorf("%v, %v", second, attempts[1].Status())
	}
	mails := must(s.client.Acquire(s.ctx, &pb.AcquireRequest{Queues: []string{"mails"}}))(t)
	if headers := mails.GetDeliveries()[0].GetItems()[0].GetHeaders(); headers["traceparent"] != written(active[1]) {
		t.Errorf("what follows has %v", headers)
	}
}

// S450: with Parent it is a child of the span that submitted, and with Key it says the key.
func TestParentAndKey(t *testing.T) {
	s := newStage(t, keyturnotel.Options{Parent: true, Key: true})
	ctx, order := s.under("order")
	item := must(s.client.Submit(ctx, "q", keyturn.NewItem{Key: "ada"}))(t)
	s.consumed(t, "q", func(context.Context, *keyturn.Work) error { return nil }, keyturn.ConsumeOptions{}, item.ItemID)
	attempt := s.only(t, "process q")
	if written(attempt.Parent()) != written(order) || len(attempt.Links()) != 0 || attributesOf(attempt)["keyturn.key"] != "ada" {
		t.Fatalf("below %v, %v, %v", attempt.Parent(), attempt.Links(), attributesOf(attempt))
	}
}

// S450: an attempt says how it ended.
func TestHowAnAttemptEnds(t *testing.T) {
	broken := errors.New("once too often")
	for _, one := range []struct {
		queue   string
		err     error
		outcome string
		message any
	}{
		{"fast", keyturn.RetryLater(keyturn.AtOnce).WithMessage("later"), "retry", "later"},
		{"fast", keyturn.DeadLetter("never"), "dead_letter", "never"},
		{"single", broken, "dead_letter", "once too often"},
		{"fast", keyturn.Release(), "release", nil},
	} {
		t.Run(fmt.Sprintf("%s: %v", one.queue, one.err), func(t *testing.T) {
			s := newStage(t, keyturnotel.Options{})
			item := must(s.client.Submit(s.ctx, one.queue, keyturn.NewItem{}))(t)
			calls := 0
			s.consumed(t, one.queue, func(context.Context, *keyturn.Work) error {
				if calls++; calls == 1 {
					return one.err
				}
				return nil
			}, keyturn.ConsumeOptions{}, item.ItemID)
			first := s.named("process " + one.queue)[0]
			var messages []any
			for _, event := range first.Events() {
				for _, attribute := range event.Attributes {
					if attribute.Key == "exception.message" {
						messages = append(messages, attribute.Value.AsString())
					}
				}
			}
			var expected []any
			if one.message != nil {
				expected = []any{one.message}
			}
			if got := attributesOf(first); got["keyturn.outcome"] != one.outcome || !reflect.DeepEqual(messages, expected) {
				t.Fatalf("%v, %v", got, messages)
			}
			if isError := first.Status().Code == codes.Error; isError != (one.message != nil) {
				t.Fatalf("%v", first.Status())
			}
		})
	}
}

// S450: an attempt says that its turn was lost, and that a stop cut it off.
func TestAnAttemptThatIsTakenAway(t *testing.T) {
	s := newStage(t, keyturnotel.Options{})
	must(s.client.Submit(s.ctx, "q", keyturn.NewItem{Key: "ada"}))(t)
	ended := make(chan struct{})
	handler := func(ctx context.Context, work *keyturn.Work) error {
		if work.Attempt > 1 {
			return nil
		}
		must(s.client.Admin().EvictHolder(s.ctx, &pb.EvictHolderRequest{Queue: "q", Key: "ada"}))(t)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	}
	consumer := must(s.client.Consume(s.ctx, []string{"q"}, handler, keyturn.ConsumeOptions{}))(t)
	<-ended
	if err := consumer.Stop(s.ctx); err != nil {
		t.Fatal(err)
	}
	if got := attributesOf(s.named("process q")[0]); got["keyturn.outcome"] != "lost" || got["error.type"] != "*keyturn.TurnLostError" {
		t.Fatalf("%v", got)
	}

	must(s.client.Submit(s.ctx, "r", keyturn.NewItem{}))(t)
	begun, over := make(chan struct{}), make(chan struct{})
	deaf := must(s.client.Consume(s.ctx, []string{"r"}, func(context.Context, *keyturn.Work) error {
		close(begun)
		<-over
		return nil
	}, keyturn.ConsumeOptions{}))(t)
	<-begun
	now, cancel := context.WithTimeout(s.ctx, 0)
	defer cancel()
	if err := deaf.Stop(now); !errors.Is(err, keyturn.ErrStopped) {
		t.Fatal(err)
	}
	close(over)
	for len(s.named("process r")) == 0 {
		if s.ctx.Err() != nil {
			t.Fatal("its span does not end")
		}
		time.Sleep(time.Millisecond)
	}
	if got := attributesOf(s.named("process r")[0]); got["keyturn.outcome"] != "release" || got["error.type"] == nil {
		t.Fatalf("%v", got)
	}
}

// S450: without an SDK there are no spans; the context of the caller goes on all the same.
func TestWithoutAnSDK(t *testing.T) {
	s := newStage(t, keyturnotel.Options{})
	ctx, order := s.under("order")
	for name, options := range map[string]keyturnotel.Options{"none": {Provider: noop.NewTracerProvider()}, "not yet": {}} {
		client := must(keyturn.Dial(s.address, keyturn.WithTracer(keyturnotel.New(options))))(t)
		outcome, err := client.WithTurn(ctx, "q", "ada", keyturn.TurnOptions{}, func(ctx context.Context, _ *keyturn.Turn) error {
			if !trace.SpanContextFromContext(ctx).Equal(order) {
				t.Errorf("%s: another span is active", name)
			}
			return nil
		})
		if err != nil || outcome.Status != keyturn.StatusDone {
			t.Errorf("%s: %v, %v", name, outcome, err)
		}
		client.Close()
	}
	if got := s.named("turn q"); len(got) != 0 {
		t.Fatalf("%v", got)
	}
	if _, err := keyturn.Dial(s.address, keyturn.WithTracer(nil)); err == nil {
		t.Fatal("no tracer is none")
	}
}
