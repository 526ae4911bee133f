package keyturn_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// Callbacks of the application that panic end nothing: neither the process nor the work.

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

type badMetrics struct{}

func (badMetrics) CallDone(string, codes.Code, time.Duration) { panic("CallDone") }
func (badMetrics) TurnGranted(string)                         { panic("TurnGranted") }
func (badMetrics) TurnLost(queue string, _ keyturn.LossCause) { panic("TurnLost of " + queue) }
func (badMetrics) Reconnected()                               { panic("Reconnected") }

// badHandler of a logger panics for every line.
type badHandler struct{ slog.Handler }

func (badHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (badHandler) Handle(context.Context, slog.Record) error { panic("the logger is broken") }
func (h badHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }
func (h badHandler) WithGroup(string) slog.Handler           { return h }

type badTracer struct{}

func (badTracer) Headers(context.Context, map[string]string) map[string]string { panic("Headers") }
func (badTracer) Attempt(context.Context, *keyturn.Work) (context.Context, keyturn.TraceSpan) {
	panic("Attempt")
}
func (badTracer) Turn(ctx context.Context, _, _ string) (context.Context, keyturn.TraceSpan) {
	return ctx, badSpan{}
}

type badSpan struct{}

func (badSpan) Waiting()                     { panic("Waiting") }
func (badSpan) Granted(keyturn.TurnInfo)     { panic("Granted") }
func (badSpan) Lost(keyturn.LossCause)       { panic("Lost") }
func (badSpan) Failed(error)                 { panic("Failed") }
func (badSpan) Outcome(keyturn.TraceOutcome) { panic("Outcome") }
func (badSpan) End()                         { panic("End") }

func TestCallbacksThatPanicEndNothing(t *testing.T) {
	for name, option := range map[string]keyturn.Option{
		"logger":  keyturn.WithLogger(slog.New(badHandler{})),
		"metrics": keyturn.WithMetrics(badMetrics{}),
		"tracer":  keyturn.WithTracer(badTracer{}),
		"none":    keyturn.WithConsumerID("calm"),
	} {
		for _, transport := range bothTransports {
			t.Run(name+" "+string(transport), func(t *testing.T) {
				t.Parallel()
				ctx := within(t, 20*time.Second)
				client := dial(t, sharedSidecar(t).address, keyturn.WithLogger(quiet), option, keyturn.WithTransport(transport))
				queue := queueOf(t)
				var runs atomic.Int32
				consumer := must(client.Consume(ctx, []string{queue}, func(_ context.Context, work *keyturn.Work) error {
					switch runs.Add(1) {
					case 1:
						return errors.New("the first attempt fails")
					case 2:
						must(client.Admin().EvictHolder(ctx, &keyturnv1.EvictHolderRequest{Queue: queue, Key: work.Key}))(t)
						return nil
					}
					return later(work)
				}, keyturn.ConsumeOptions{OnTrouble: func(trouble keyturn.Trouble) { panic("OnTrouble of " + trouble.Stage) }}))(t)
				item := must(client.Submit(ctx, queue, keyturn.NewItem{Key: "k"}))(t)
				must(client.Result(ctx, queue, item.ItemID))(t)
				must(client.WithTurn(ctx, queue+"-turns", "k", keyturn.TurnOptions{}, func(context.Context, *keyturn.Turn) error { return nil }))(t)
				if err := consumer.Stop(ctx); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestAPanicOfACallbackIsLogged(t *testing.T) {
	// Not parallel: it changes the logger of the process.
	said := defaultLog(t)
	ctx := within(t, 20*time.Second)
	client := dial(t, sharedSidecar(t).address, keyturn.WithMetrics(badMetrics{}))
	queue := queueOf(t)
	producer := must(client.Producer(queue, keyturn.ProducerOptions{OnError: func(error, *keyturn.NewItem) { panic("the pager is away") }}))(t)
	pending := must(producer.Add(ctx, keyturn.NewItem{ItemID: strings.Repeat("i", 300)}))(t)
	if _, err := pending.Wait(ctx); err == nil {
		t.Fatal("the item is accepted")
	}
	if err := producer.Close(ctx); err != nil {
		t.Fatal(err)
	}
	saysAll(t, said(), "a callback of the application panicked", "callback=OnError", "the pager is away", "callback=Metrics")
}

func TestATokenFuncThatPanicsFailsItsCall(t *testing.T) {
	for _, transport := range bothTransports {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport), keyturn.WithTokenFunc(func(context.Context) (string, error) { panic("no vault") }))
			_, err := client.Submit(within(t, 20*time.Second), queueOf(t), keyturn.NewItem{})
			if !errors.Is(err, keyturn.ErrUnauthenticated) || !strings.Contains(err.Error(), "no vault") {
				t.Fatalf("%v", err)
			}
		})
	}
}
