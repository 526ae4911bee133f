package keyturn_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// granting is a Metrics that calls granted whenever a turn is given, before whoever asked for it learns of that.
type granting struct {
	*counting
	granted func()
}

func (m granting) TurnGranted(queue string) {
	m.counting.TurnGranted(queue)
	m.granted()
}

// TestCloseAsAScopedTurnIsGrantedLeavesItsKeyFree: the close crosses the grant, of calls that are answered at once and of
// those that waited, and of handlers that do nothing and of those that work until they are told to stop.
func TestCloseAsAScopedTurnIsGrantedLeavesItsKeyFree(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 60*time.Second)
		other := dial(t, sharedSidecar(t).address)
		queue := queueOf(t)
		handlers := map[string]func(context.Context, *keyturn.Turn) error{
			"at once": func(context.Context, *keyturn.Turn) error { return nil },
			"works":   func(ctx context.Context, _ *keyturn.Turn) error { <-ctx.Done(); return ctx.Err() },
		}
		for name, handler := range handlers {
			for n := range 30 {
				key := fmt.Sprint(name, n)
				closing := make(chan struct{})
				metrics := granting{newCounting(), sync.OnceFunc(func() { close(closing) })}
				client := must(keyturn.Dial(sharedSidecar(t).address, keyturn.WithTransport(transport), keyturn.WithMetrics(metrics)))(t)
				var first *keyturn.Turn
				if n%2 == 0 {
					first = must(other.Turn(ctx, queue, key, keyturn.TurnOptions{}))(t)
				}
				closed := make(chan struct{})
				go func() {
					defer close(closed)
					<-closing
					_ = client.Close()
				}()
				failed := make(chan error)
				go func() {
					opts := keyturn.TurnOptions{Wait: 10 * time.Second}
					if n%3 == 0 {
						opts.Order = keyturn.OrderStrict
					}
					_, err := client.WithTurn(ctx, queue, key, opts, handler)
					failed <- err
				}()
				if first != nil {
					first.Release()
				}
				err := <-failed
				<-closed
				var lost *keyturn.TurnLostError
				if err != nil && !errors.Is(err, keyturn.ErrClosed) && !(errors.As(err, &lost) && lost.Cause == keyturn.LossClosed) {
					t.Fatalf("%s: %v", key, err)
				}
			}
		}
		nobodyHolds(t, other, queue)
	})
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	// Not parallel: it counts the goroutines of the process.
	for _, transport := range []keyturn.Transport{keyturn.TransportSession, keyturn.TransportUnary} {
		before := goroutines()
		ctx := within(t, 20*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t) + string(transport)
		turn := must(client.Turn(ctx, queue, "k", keyturn.TurnOptions{Lease: time.Second}))(t)
		must(client.Consume(ctx, []string{queue}, func(context.Context, *keyturn.Work) error { return nil }, keyturn.ConsumeOptions{Concurrency: 3}))(t)
		producer := must(client.Producer(queue, keyturn.ProducerOptions{Interval: time.Minute}))(t)
		pending := must(producer.Add(ctx, keyturn.NewItem{Key: "item"}))(t)
		failed := make(chan error, 1)
		go func() {
			_, err := client.Acquire(ctx, &keyturnv1.AcquireRequest{Queues: []string{queue}, Key: "k", Wait: durationpb.New(time.Minute)})
			failed <- err
		}()
		waitersOf(t, ctx, client, queue, 1)
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; !errors.Is(err, keyturn.ErrClosed) {
			t.Fatalf("%v", err)
		}
		if result, err := pending.Wait(ctx); err != nil || result.Decision != keyturn.DecisionAccept {
			t.Fatalf("an item that was added is gone: %v %v", result, err)
		}
		var lost *keyturn.TurnLostError
		if !errors.As(turn.Lost(), &lost) || lost.Cause != keyturn.LossClosed {
			t.Fatalf("%v", turn.Lost())
		}
		if _, err := client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: queue, Key: "k"}); !errors.Is(err, keyturn.ErrClosed) {
			t.Fatalf("%v", err)
		}
		if _, err := client.Consume(ctx, []string{queue}, func(context.Context, *keyturn.Work) error { return nil }, keyturn.ConsumeOptions{}); !errors.Is(err, keyturn.ErrClosed) {
			t.Fatalf("%v", err)
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		nothingLeft(t, before)
	}
}

// goroutines are those of this module and of gRPC.
func goroutines() int {
	stacks := make([]byte, 1<<22)
	stacks = stacks[:runtime.Stack(stacks, true)]
	count := 0
	for _, one := range strings.Split(string(stacks), "\n\n") {
		if strings.Contains(one, "clients/go.(*") || strings.Contains(one, "google.golang.org/grpc") {
			count++
		}
	}
	return count
}

// nothingLeft lets goroutines that were told to end come to it.
func nothingLeft(t *testing.T, before int) {
	t.Helper()
	until := time.Now().Add(10 * time.Second)
	for goroutines() > before {
		if time.Now().After(until) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, before there were %d:\n%s", goroutines(), before, stacks[:runtime.Stack(stacks, true)])
		}
		runtime.Gosched()
	}
}
