package keyturn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// handled lets a handler have one item, as often as it asks for, and returns what the item came to and what was told.
func handled(t *testing.T, handler keyturn.Handler, options ...keyturn.Option) (result []byte, troubles []error, err error) {
	t.Helper()
	ctx := within(t, 20*time.Second)
	client := dial(t, sharedSidecar(t).address, options...)
	queue := queueOf(t)
	var mu sync.Mutex
	consumer := must(client.Consume(ctx, []string{queue}, handler, keyturn.ConsumeOptions{OnTrouble: func(trouble keyturn.Trouble) {
		mu.Lock()
		defer mu.Unlock()
		troubles = append(troubles, trouble.Err)
	}}))(t)
	item := must(client.Submit(ctx, queue, keyturn.NewItem{Key: "k"}))(t)
	result, err = client.Result(ctx, queue, item.ItemID)
	if err := consumer.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	return result, troubles, err
}

// later is the attempt that is done.
func later(work *keyturn.Work) error {
	work.SetResult([]byte(fmt.Sprintf("attempt %d", work.Attempt)))
	return nil
}

func TestHandlerThatEndsItsGoroutineGivesBack(t *testing.T) {
	t.Parallel()
	result, troubles, err := handled(t, func(_ context.Context, work *keyturn.Work) error {
		if work.Attempt == 1 {
			runtime.Goexit() // as t.FailNow does
		}
		return later(work)
	})
	if err != nil || string(result) != "attempt 2" || len(troubles) != 1 || !strings.Contains(troubles[0].Error(), "Goexit") {
		t.Fatalf("%s %v %v", result, troubles, err)
	}
}

func TestTurnOfAFunctionThatEndsItsGoroutineIsGivenBack(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client := dial(t, sharedSidecar(t).address)
	queue := queueOf(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = client.WithTurn(ctx, queue, "k", keyturn.TurnOptions{}, func(context.Context, *keyturn.Turn) error {
			runtime.Goexit()
			return nil
		})
	}()
	<-ended
	must(client.Turn(ctx, queue, "k", keyturn.TurnOptions{Wait: keyturn.NoWait}))(t).Release()
}

func TestNilPointerAsErrorIsAPanicOfTheHandler(t *testing.T) {
	t.Parallel()
	result, troubles, err := handled(t, func(_ context.Context, work *keyturn.Work) error {
		if work.Attempt == 1 {
			var none *keyturn.GiveBack
			return none // not nil, as Go has it
		}
		return later(work)
	}, keyturn.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	var panicked *keyturn.PanicError
	if err != nil || string(result) != "attempt 2" || len(troubles) != 1 || !errors.As(troubles[0], &panicked) {
		t.Fatalf("%s %v %v", result, troubles, err)
	}
	var inner runtime.Error
	if !errors.As(troubles[0], &inner) || len(panicked.Stack) == 0 {
		t.Fatalf("%v\n%s", panicked.Value, panicked.Stack)
	}
}

func TestNoPanicIsSilent(t *testing.T) {
	// Not parallel: it changes the logger of the process.
	var mu sync.Mutex
	var said bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return said.Write(line)
	}), nil)))
	defer slog.SetDefault(before)
	_, _, err := handled(t, func(_ context.Context, work *keyturn.Work) error {
		if work.Attempt == 1 {
			panic("at the disco")
		}
		return later(work)
	})
	mu.Lock()
	defer mu.Unlock()
	if err != nil || !strings.Contains(said.String(), "at the disco") || !strings.Contains(said.String(), "handler_test.go") {
		t.Fatalf("%v: %s", err, said.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(line []byte) (int, error) { return f(line) }

func TestGiveBackMayBeShared(t *testing.T) {
	t.Parallel()
	shared := keyturn.DeadLetter("no such customer")
	made := shared.WithDone(2).WithMessage("another")
	if shared.Done != 0 || shared.Message != "no such customer" || made.Done != 2 || made.Message != "another" || made.Kind != keyturn.NackDeadLetter {
		t.Fatalf("%+v %+v", shared, made)
	}
}

func TestHandlerMaySpeakFromManyGoroutines(t *testing.T) {
	t.Parallel()
	queue := queueOf(t)
	result, _, err := handled(t, func(_ context.Context, work *keyturn.Work) error {
		var all sync.WaitGroup
		for range 20 {
			all.Add(1)
			go func() {
				defer all.Done()
				work.FollowUp(queue+"-next", keyturn.NewItem{})
				work.SetResult([]byte("done"))
			}()
		}
		all.Wait()
		return nil
	})
	if err != nil || string(result) != "done" {
		t.Fatalf("%s %v", result, err)
	}
}

func TestHandlerMayStopItsConsumer(t *testing.T) {
	t.Parallel()
	ctx := within(t, 15*time.Second)
	client := dial(t, sharedSidecar(t).address)
	queue := queueOf(t)
	made := make(chan *keyturn.Consumer, 1)
	consumer := must(client.Consume(ctx, []string{queue}, func(ctx context.Context, work *keyturn.Work) error {
		if err := (<-made).Stop(ctx); err != nil {
			return err
		}
		return later(work)
	}, keyturn.ConsumeOptions{}))(t)
	made <- consumer
	item := must(client.Submit(ctx, queue, keyturn.NewItem{Key: "k"}))(t)
	if err := consumer.Wait(); err != nil {
		t.Fatal(err)
	}
	if result := must(client.Result(ctx, queue, item.ItemID))(t); string(result) != "attempt 1" {
		t.Fatalf("%s", result)
	}
}

func TestShutdownShortensACloseThatWaits(t *testing.T) {
	t.Parallel()
	ctx := within(t, 18*time.Second)
	client := must(keyturn.Dial(sharedSidecar(t).address))(t)
	queue := queueOf(t)
	started := make(chan struct{})
	must(client.Consume(ctx, []string{queue}, func(ctx context.Context, _ *keyturn.Work) error {
		close(started)
		<-ctx.Done()
		return context.Cause(ctx)
	}, keyturn.ConsumeOptions{}))(t)
	must(client.Submit(ctx, queue, keyturn.NewItem{Key: "k"}))(t)
	<-started
	closed := make(chan error)
	go func() { closed <- client.Close() }()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	// Handlers are told at the very end of the time: either may be first.
	if err := client.Shutdown(short); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	select {
	case err := <-closed:
		if err != nil {
			t.Fatal(err)
		}
	case <-ctx.Done():
		t.Fatal("the close goes on for its own time")
	}
}
