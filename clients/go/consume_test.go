package keyturn_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

func TestConsumerKeepsOrderAndConcurrency(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 60*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t)
		const keys, perKey, concurrency = 10, 30, 4
		var items []keyturn.NewItem
		for n := range keys * perKey {
			items = append(items, keyturn.NewItem{Key: fmt.Sprint(n % keys), Payload: []byte(fmt.Sprint(n / keys))})
		}
		must(client.SubmitMany(ctx, queue, items))(t)
		var running atomic.Int32
		var mu sync.Mutex
		next := map[string]int{}
		done := 0
		all := make(chan struct{})
		consumer := must(client.Consume(ctx, []string{queue}, func(_ context.Context, work *keyturn.Work) error {
			if running.Add(1) > concurrency {
				t.Error("more than the concurrency at once")
			}
			defer running.Add(-1)
			mu.Lock()
			defer mu.Unlock()
			for _, item := range work.Items {
				if string(item.Payload) != fmt.Sprint(next[work.Key]) {
					t.Errorf("key %s: %s came instead of %d", work.Key, item.Payload, next[work.Key])
				}
				next[work.Key]++
				done++
			}
			if done == keys*perKey {
				close(all)
			}
			return nil
		}, keyturn.ConsumeOptions{Concurrency: concurrency, MaxItemsPerTurn: 3}))(t)
		select {
		case <-all:
		case <-ctx.Done():
			t.Fatalf("%d of %d", done, keys*perKey)
		}
		if err := consumer.Stop(ctx); err != nil || consumer.Held() != 0 {
			t.Fatalf("%v, %d held", err, consumer.Held())
		}
	})
}

func TestHandlersThatPanicFailAndGiveBack(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	side := startSidecar(t, "default: { retry: { initial: 10ms, max: 20ms } }")
	client := dial(t, side.address)
	var mu sync.Mutex
	stages := map[keyturn.Stage]int{}
	released := false
	must(client.Consume(ctx, []string{"q"}, func(_ context.Context, work *keyturn.Work) error {
		switch {
		case work.Attempt == 1 && !released:
			released = true
			return fmt.Errorf("wrapped: %w", keyturn.Release())
		case work.Attempt == 1:
			panic("the first attempt")
		case work.Attempt == 2:
			return errors.New("the second attempt")
		default:
			return keyturn.DeadLetter("the third attempt")
		}
	}, keyturn.ConsumeOptions{OnTrouble: func(trouble keyturn.Trouble) {
		mu.Lock()
		defer mu.Unlock()
		stages[trouble.Stage]++
	}}))(t)
	item := must(client.Submit(ctx, "q", keyturn.NewItem{Key: "k"}))(t)
	_, err := client.Result(ctx, "q", item.ItemID)
	var failed *keyturn.ItemFailedError
	if !errors.As(err, &failed) || failed.State != keyturn.ItemDead || failed.Attempt != 3 || failed.LastError != "the third attempt" {
		t.Fatalf("%v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if stages[keyturn.StageHandler] != 4 {
		t.Fatalf("%v", stages)
	}
}

func TestConsumerEndsWhenItIsRefused(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client := dial(t, sharedSidecar(t).address)
	consumer := must(client.Consume(ctx, []string{"no name!"}, func(context.Context, *keyturn.Work) error { return nil }, keyturn.ConsumeOptions{}))(t)
	var told *keyturn.Error
	if err := consumer.Wait(); !errors.As(err, &told) || told.Violations[0].Field != "queues[0]" {
		t.Fatalf("%v", err)
	}
}

func TestStopGivesBackWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client := dial(t, sharedSidecar(t).address)
	queue := queueOf(t)
	item := must(client.Submit(ctx, queue, keyturn.NewItem{Key: "k"}))(t)
	started, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	first := must(client.Consume(ctx, []string{queue}, func(ctx context.Context, _ *keyturn.Work) error {
		close(started)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), keyturn.ErrStopped) {
			t.Errorf("%v", context.Cause(ctx))
		}
		<-never
		return nil
	}, keyturn.ConsumeOptions{}))(t)
	<-started
	stopping, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := first.Stop(stopping); !errors.Is(err, keyturn.ErrStopped) {
		t.Fatal(err)
	}
	if time.Since(began) > 8*time.Second {
		t.Fatalf("it took %v", time.Since(began))
	}
	must(client.Consume(ctx, []string{queue}, func(_ context.Context, work *keyturn.Work) error {
		work.SetResult([]byte(fmt.Sprint(work.Attempt)))
		return nil
	}, keyturn.ConsumeOptions{}))(t)
	if result := must(client.Result(ctx, queue, item.ItemID))(t); string(result) != "1" {
		t.Fatalf("the release counted an attempt: %s", result)
	}
}

func TestConsumerOutlivesItsSidecar(t *testing.T) {
	t.Parallel()
	ctx := within(t, 40*time.Second)
	directory := t.TempDir()
	side := startSidecar(t, "data_dir: "+directory+"\nqueues: { q: { durable: true } }")
	client := dial(t, side.address)
	var handled atomic.Int32
	must(client.Consume(ctx, []string{"q"}, func(context.Context, *keyturn.Work) error { handled.Add(1); return nil }, keyturn.ConsumeOptions{Concurrency: 2}))(t)
	before := must(client.Submit(ctx, "q", keyturn.NewItem{Key: "k"}))(t)
	must(client.Result(ctx, "q", before.ItemID))(t)
	side.kill()
	// Asked while nobody is there: it waits for the sidecar.
	after := make(chan error, 1)
	go func() {
		item, err := client.Submit(ctx, "q", keyturn.NewItem{Key: "k", ItemID: "after"}, keyturn.SubmitOptions{Timeout: 30 * time.Second})
		if err == nil {
			_, err = client.Result(ctx, "q", item.ItemID)
		}
		after <- err
	}()
	side.restart()
	if err := <-after; err != nil {
		t.Fatal(err)
	}
	if handled.Load() != 2 {
		t.Fatalf("%d were handled", handled.Load())
	}
}
