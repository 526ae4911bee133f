package keyturn_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

func TestTurnOutlivesBrokenConnection(t *testing.T) {
	t.Parallel()
	ctx := within(t, 90*time.Second)
	side := startSidecar(t, "data_dir: "+t.TempDir()+"\nqueues: { q: { durable: true } }")
	metrics := newCounting()
	// A machine that does other things takes its time for a restart.
	client := dial(t, side.address, keyturn.WithMetrics(metrics), keyturn.WithSessionTTL(time.Minute))
	outcome, err := client.WithTurn(ctx, "q", "k", keyturn.TurnOptions{Wait: keyturn.Forever}, func(ctx context.Context, turn *keyturn.Turn) error {
		side.kill()
		side.restart()
		metrics.until(t, ctx, func() bool { return metrics.reconnected == 1 })
		return ctx.Err()
	})
	if err != nil || outcome.Status != keyturn.StatusDone {
		t.Fatalf("%+v %v", outcome, err)
	}
	metrics.mu.Lock()
	defer metrics.mu.Unlock()
	if metrics.calls["EnQueue OK"] != 1 || metrics.calls["DeQueue OK"] != 1 || metrics.granted != 1 || len(metrics.lost) != 0 {
		t.Fatalf("%+v", metrics.calls)
	}
}

func TestHandlerIsToldInTimeThatTheSidecarIsGone(t *testing.T) {
	t.Parallel()
	for _, transport := range []keyturn.Transport{keyturn.TransportSession, keyturn.TransportUnary} {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			side := startSidecar(t, "default: { lease: 4s }")
			client := dial(t, side.address, keyturn.WithTransport(transport), keyturn.WithSessionTTL(4*time.Second), keyturn.WithMargin(2*time.Second))
			var took time.Duration
			_, err := client.WithTurn(within(t, 20*time.Second), "q", "k", keyturn.TurnOptions{}, func(ctx context.Context, turn *keyturn.Turn) error {
				side.kill()
				killed := time.Now()
				<-ctx.Done()
				took = time.Since(killed)
				var lost *keyturn.TurnLostError
				if !errors.As(context.Cause(ctx), &lost) || lost.Cause != keyturn.LossUnreachable || lost.Token != turn.Token {
					t.Errorf("%v", context.Cause(ctx))
				}
				return ctx.Err()
			})
			var lost *keyturn.TurnLostError
			if !errors.As(err, &lost) || lost.Cause != keyturn.LossUnreachable {
				t.Fatalf("%v", err)
			}
			// The sidecar keeps it for 4 s from its last sign of life, which was before the kill; we are told 2 s before.
			if took > 3500*time.Millisecond {
				t.Fatalf("told after %v", took)
			}
		})
	}
}

func TestEvictedHolderIsTold(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 20*time.Second)
		metrics := newCounting()
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport), keyturn.WithMetrics(metrics))
		queue := queueOf(t)
		_, err := client.WithTurn(ctx, queue, "k", keyturn.TurnOptions{Lease: 600 * time.Millisecond}, func(handling context.Context, turn *keyturn.Turn) error {
			must(client.Admin().EvictHolder(ctx, &keyturnv1.EvictHolderRequest{Queue: queue, Key: "k"}))(t)
			<-handling.Done()
			return errors.New("the work broke off")
		})
		var lost *keyturn.TurnLostError
		if !errors.As(err, &lost) || lost.Cause != keyturn.LossEvicted || !strings.Contains(err.Error(), "broke off") {
			t.Fatalf("%v", err)
		}
		metrics.until(t, ctx, func() bool { return len(metrics.lost) == 1 && metrics.lost[0] == keyturn.LossEvicted })
	})
}

func TestDeadlines(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		// Nobody listens there.
		client := dial(t, "127.0.0.1:1", keyturn.WithTransport(transport))
		began := time.Now()
		_, err := client.EnQueue(within(t, 300*time.Millisecond), &keyturnv1.EnQueueRequest{Queue: "q", Key: "k", Wait: durationpb.New(0)})
		var told *keyturn.Error
		if !errors.As(err, &told) || (told.Code != codes.DeadlineExceeded && told.Code != codes.Unavailable) {
			t.Fatalf("%v", err)
		}
		if told.Code == codes.DeadlineExceeded && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("errors.Is does not find the context's error in %v", err)
		}
		if time.Since(began) > 8*time.Second {
			t.Fatalf("after %v", time.Since(began))
		}
	})
}

func TestCancelledWaitLeavesNoPlace(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 20*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t)
		first := must(client.Turn(ctx, queue, "k", keyturn.TurnOptions{}))(t)
		waiting, cancel := context.WithCancelCause(ctx)
		failed := make(chan error)
		go func() {
			_, err := client.WithTurn(waiting, queue, "k", keyturn.TurnOptions{Wait: keyturn.Forever}, func(context.Context, *keyturn.Turn) error { return nil })
			failed <- err
		}()
		waitersOf(t, ctx, client, queue, 1)
		enough := errors.New("enough")
		cancel(enough)
		if err := <-failed; !errors.Is(err, context.Canceled) || !errors.Is(err, enough) {
			t.Fatalf("%v", err)
		}
		waitersOf(t, ctx, client, queue, 0)
		if err := first.Done(ctx); err != nil {
			t.Fatal(err)
		}
		if first.Context().Err() == nil || !errors.Is(context.Cause(first.Context()), keyturn.ErrReleased) {
			t.Fatal("the context of a turn that is done goes on")
		}
	})
}

// waitersOf waits until so many callers wait for the key k.
func waitersOf(t *testing.T, ctx context.Context, client *keyturn.Client, queue string, count uint32) {
	t.Helper()
	for {
		why := must(client.Admin().ExplainKey(ctx, &keyturnv1.ExplainKeyRequest{Queue: queue, Key: "k"}))(t)
		if why.WaitingCallers == count {
			return
		}
		runtime.Gosched()
	}
}

func TestTurnThatIsNotDoneIsGivenBack(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client := dial(t, sharedSidecar(t).address)
	queue := queueOf(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of the handler is gone")
			}
		}()
		_, _ = client.WithTurn(ctx, queue, "k", keyturn.TurnOptions{}, func(context.Context, *keyturn.Turn) error { panic("oh") })
	}()
	turn := must(client.Turn(ctx, queue, "k", keyturn.TurnOptions{Wait: keyturn.NoWait}))(t)
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := turn.Done(over); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	turn.Release()
	wrong := errors.New("wrong")
	if _, err := client.WithTurn(ctx, queue, "k", keyturn.TurnOptions{Wait: keyturn.NoWait}, func(context.Context, *keyturn.Turn) error { return wrong }); !errors.Is(err, wrong) {
		t.Fatalf("%v", err)
	}
	if outcome, err := client.WithTurn(ctx, queue, "k", keyturn.TurnOptions{Wait: keyturn.NoWait, MaxHold: 20 * time.Millisecond}, func(ctx context.Context, _ *keyturn.Turn) error {
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), keyturn.ErrMaxHold) {
			t.Errorf("%v", context.Cause(ctx))
		}
		return nil
	}); err != nil || outcome.Status != keyturn.StatusDone {
		t.Fatalf("%+v %v", outcome, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 60*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t)
		const workers, keys, rounds = 32, 8, 20
		var atOnce [keys]atomic.Int32
		var done sync.WaitGroup
		for worker := range workers {
			done.Add(1)
			go func() {
				defer done.Done()
				for round := range rounds {
					key := (worker + round) % keys
					outcome, err := client.WithTurn(ctx, queue, fmt.Sprintf("key-%d", key), keyturn.TurnOptions{Order: keyturn.OrderStrict, Wait: keyturn.Forever}, func(context.Context, *keyturn.Turn) error {
						if atOnce[key].Add(1) != 1 {
							t.Error("two at once")
						}
						atOnce[key].Add(-1)
						return nil
					})
					if err != nil || outcome.Status != keyturn.StatusDone {
						t.Errorf("%+v %v", outcome, err)
						return
					}
				}
			}()
		}
		done.Wait()
	})
}

func TestOpenCallsAreBounded(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 20*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport), keyturn.WithMaxOpenCalls(2))
		queue := queueOf(t)
		held := must(client.Turn(ctx, queue, "k", keyturn.TurnOptions{}))(t)
		waiting, cancel := context.WithCancel(ctx)
		var ended sync.WaitGroup
		for range 2 {
			ended.Add(1)
			go func() {
				defer ended.Done()
				_, _ = client.Acquire(waiting, &keyturnv1.AcquireRequest{Queues: []string{queue}, Key: "k", Wait: durationpb.New(time.Minute)})
			}()
		}
		waitersOf(t, ctx, client, queue, 2)
		_, err := client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: queue, Key: "other"})
		var told *keyturn.Error
		if !errors.As(err, &told) || told.Code != codes.ResourceExhausted || !strings.Contains(err.Error(), "MaxOpenCalls") {
			t.Fatalf("%v", err)
		}
		// What ends a turn finds room all the same.
		if err := held.Done(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		ended.Wait()
	})
}
