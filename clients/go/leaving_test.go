package keyturn_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// nobodyHolds waits until the queue has no live turn and nobody waits in it, for much less than a lease or a ticket lives.
func nobodyHolds(t *testing.T, client *keyturn.Client, queue string) {
	t.Helper()
	ctx := within(t, 8*time.Second)
	for {
		all, err := client.Admin().ListQueues(ctx, &keyturnv1.ListQueuesRequest{})
		if err != nil {
			t.Fatalf("turns or callers are left behind: %v", err)
		}
		busy := false
		for _, one := range all.Queues {
			busy = busy || (one.Name == queue && (one.LiveTurns > 0 || one.Waiting > 0))
		}
		if !busy {
			return
		}
		runtime.Gosched()
	}
}

// TestTurnThatComesWhenItsContextEndsIsGivenBack ends the context at a hundred moments around the one in which the turn comes.
func TestTurnThatComesWhenItsContextEndsIsGivenBack(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t)
		nothing := func(context.Context, *keyturn.Turn) error { return nil }
		ways := map[string]func(ctx context.Context, key string){
			"at once": func(ctx context.Context, key string) {
				_, _ = client.WithTurn(ctx, queue, key, keyturn.TurnOptions{Wait: keyturn.NoWait}, nothing)
			},
			"waits": func(ctx context.Context, key string) {
				_, _ = client.WithTurn(ctx, queue, key, keyturn.TurnOptions{Wait: time.Second}, nothing)
			},
			"strict": func(ctx context.Context, key string) {
				_, _ = client.WithTurn(ctx, queue, key, keyturn.TurnOptions{Order: keyturn.OrderStrict, Wait: keyturn.NoWait}, nothing)
			},
			"raw": func(ctx context.Context, key string) {
				if answer, err := client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: queue, Key: key, Wait: durationpb.New(0)}); err == nil && answer.Turn != nil {
					client.Hold(context.Background(), answer.Turn).Release()
				}
			},
		}
		for name, way := range ways {
			for n := range 25 {
				ctx, cancel := context.WithTimeoutCause(context.Background(), time.Duration(n)*50*time.Microsecond, errors.New("enough"))
				over, end := context.WithCancel(context.Background())
				// Cancelled, not a deadline, of which the sidecar would know.
				context.AfterFunc(ctx, end)
				way(over, fmt.Sprintf("%s-%d", name, n))
				cancel()
				end()
			}
		}
		nobodyHolds(t, client, queue)
	})
}

func TestCloseLeavesNoPlaceBehind(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 20*time.Second)
		other := dial(t, sharedSidecar(t).address)
		client := must(keyturn.Dial(sharedSidecar(t).address, keyturn.WithTransport(transport)))(t)
		queue := queueOf(t)
		first := must(other.Turn(ctx, queue, "k", keyturn.TurnOptions{}))(t)
		failed := make(chan error)
		for range 2 {
			go func() {
				_, err := client.WithTurn(ctx, queue, "k", keyturn.TurnOptions{Order: keyturn.OrderStrict, Wait: keyturn.Forever}, func(context.Context, *keyturn.Turn) error { return nil })
				failed <- err
			}()
		}
		waitersOf(t, ctx, other, queue, 2)
		var closes sync.WaitGroup
		for range 3 {
			closes.Add(1)
			go func() {
				defer closes.Done()
				if err := client.Close(); err != nil {
					t.Error(err)
				}
			}()
		}
		closes.Wait()
		for range 2 {
			if err := <-failed; !errors.Is(err, keyturn.ErrClosed) {
				t.Fatal(err)
			}
		}
		if err := first.Done(ctx); err != nil {
			t.Fatal(err)
		}
		nobodyHolds(t, other, queue)
	})
}

// TestStopUnderLoadLeavesNoTurnBehind stops consumers that are given turns all the time, as every new version of a worker
// does.
func TestStopUnderLoadLeavesNoTurnBehind(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 60*time.Second)
		other := dial(t, sharedSidecar(t).address)
		queue := queueOf(t)
		const items = 2_000
		all := make([]keyturn.NewItem, items)
		for n := range all {
			all[n].Key = fmt.Sprint(n)
		}
		must(other.SubmitMany(ctx, queue, all))(t)
		for round := range 24 {
			client := must(keyturn.Dial(sharedSidecar(t).address, keyturn.WithTransport(transport)))(t)
			var handled atomic.Int32
			enough := make(chan struct{})
			consumer := must(client.Consume(ctx, []string{queue}, func(context.Context, *keyturn.Work) error {
				if handled.Add(1) == int32(1+round*3) {
					close(enough)
				}
				return nil
			}, keyturn.ConsumeOptions{Concurrency: 4}))(t)
			if round%2 == 0 {
				<-enough
			} else {
				// In the middle of its first call, which may be on its way, or answered already.
				<-time.After(time.Duration(round) * 400 * time.Microsecond)
			}
			if err := consumer.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			if err := client.Close(); err != nil {
				t.Fatal(err)
			}
		}
		noTurns(t, ctx, other, queue)
	})
}

// noTurns: the queue has items, and no live turn.
func noTurns(t *testing.T, ctx context.Context, client *keyturn.Client, queue string) {
	t.Helper()
	for _, one := range must(client.Admin().ListQueues(ctx, &keyturnv1.ListQueuesRequest{}))(t).Queues {
		if one.Name == queue && one.LiveTurns > 0 {
			t.Fatalf("%d turns are left behind", one.LiveTurns)
		}
	}
}

func TestTurnKnowsWhatItCameTo(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client := dial(t, sharedSidecar(t).address)
	queue := queueOf(t)
	twice := func(turn *keyturn.Turn, is func(error) bool) {
		t.Helper()
		var all sync.WaitGroup
		for range 4 {
			all.Add(1)
			go func() {
				defer all.Done()
				if err := turn.Done(ctx); !is(err) {
					t.Error(err)
				}
			}()
		}
		all.Wait()
		turn.Release()
		if err := turn.Done(ctx); !is(err) {
			t.Error(err)
		}
	}
	take := func() *keyturn.Turn {
		return must(client.Turn(ctx, queue, "k", keyturn.TurnOptions{Wait: keyturn.NoWait}))(t)
	}
	twice(take(), func(err error) bool { return err == nil })
	released := take()
	released.Release()
	twice(released, func(err error) bool { return errors.Is(err, keyturn.ErrReleased) })
	lost := take()
	must(client.Admin().EvictHolder(ctx, &keyturnv1.EvictHolderRequest{Queue: queue, Key: "k"}))(t)
	twice(lost, func(err error) bool {
		var loss *keyturn.TurnLostError
		return errors.As(err, &loss) && loss.Cause == keyturn.LossEvicted
	})
	_, err := client.WithTurn(ctx, queue, "k", keyturn.TurnOptions{}, func(_ context.Context, turn *keyturn.Turn) error {
		turn.Release()
		return nil
	})
	if !errors.Is(err, keyturn.ErrReleased) {
		t.Fatalf("work that was given back counts as done: %v", err)
	}
}

func TestTurnOfAnotherProcessIsHeld(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 20*time.Second)
		starter, metrics := dial(t, sharedSidecar(t).address), newCounting()
		gateway := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport), keyturn.WithMetrics(metrics))
		queue := queueOf(t)
		// Shorter than this process is old.
		const lease = time.Second
		answer := must(starter.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: queue, Key: "k", Lease: durationpb.New(lease)}))(t)
		told := &keyturnv1.Turn{Queue: queue, Key: "k", Token: answer.Turn.Token, Lease: durationpb.New(lease)}
		turn := gateway.Hold(ctx, told)
		metrics.until(t, ctx, func() bool { return metrics.calls["Renew OK"] >= 5 })
		if err := turn.Lost(); err != nil {
			t.Fatal(err)
		}
		if err := turn.Done(ctx); err != nil {
			t.Fatal(err)
		}
		over := gateway.Hold(ctx, told)
		<-over.Context().Done()
		var lost *keyturn.TurnLostError
		if !errors.As(context.Cause(over.Context()), &lost) || lost.Cause == keyturn.LossUnreachable {
			t.Fatalf("%v", context.Cause(over.Context()))
		}
	})
}

func TestManyClientsLeaveNothingBehind(t *testing.T) {
	// Not parallel: it counts the goroutines of the process.
	before := goroutines()
	ctx := within(t, 60*time.Second)
	side := startSidecar(t, "")
	var all sync.WaitGroup
	for n := range 30 {
		all.Add(1)
		go func() {
			defer all.Done()
			transport := keyturn.TransportSession
			if n%5 == 0 {
				transport = keyturn.TransportUnary
			}
			client, err := keyturn.Dial(side.address, keyturn.WithTransport(transport))
			if err != nil {
				t.Error(err)
				return
			}
			defer client.Close()
			if _, err := client.Consume(ctx, []string{"q"}, func(context.Context, *keyturn.Work) error { return nil }, keyturn.ConsumeOptions{Concurrency: 3}); err != nil {
				t.Error(err)
			}
			if _, err := client.WithTurn(ctx, "turns", fmt.Sprint(n%5), keyturn.TurnOptions{Order: keyturn.OrderStrict, Wait: keyturn.Forever}, func(context.Context, *keyturn.Turn) error { return nil }); err != nil {
				t.Error(err)
			}
			item, err := client.Submit(ctx, "q", keyturn.NewItem{Key: fmt.Sprint(n)})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := client.Result(ctx, "q", item.ItemID); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	nothingLeft(t, before)
}
