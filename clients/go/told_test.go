package keyturn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// defaultLog is what the logger of the process is told while the test runs, which must not be parallel.
func defaultLog(t *testing.T) func() string {
	var mu sync.Mutex
	var said bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return said.Write(line)
	}), nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return said.String()
	}
}

func saysAll(t *testing.T, said string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("%q is not in: %s", word, said)
		}
	}
}

func TestADeadLetterIsToldByDefault(t *testing.T) {
	// Not parallel: it changes the logger of the process.
	side := startSidecar(t, "queues: { q: { retry: { max_attempts: 1 } } }")
	for name, failure := range map[string]error{"failed for the last time": errors.New("no such order"), "refused": keyturn.DeadLetter("no such order")} {
		t.Run(name, func(t *testing.T) {
			said := defaultLog(t)
			ctx := within(t, 20*time.Second)
			client := dial(t, side.address)
			told := make(chan keyturn.Trouble, 10)
			consumer := must(client.Consume(ctx, []string{"q"}, func(context.Context, *keyturn.Work) error { return failure }, keyturn.ConsumeOptions{
				OnTrouble: func(trouble keyturn.Trouble) {
					if trouble.Stage == keyturn.StageDeadLetter {
						told <- trouble
					}
				},
			}))(t)
			must(client.Submit(ctx, "q", keyturn.NewItem{Key: "ada"}))(t)
			var trouble keyturn.Trouble
			select {
			case trouble = <-told:
			case <-ctx.Done():
				t.Fatal("nobody was told")
			}
			if trouble.Work.Key != "ada" || !errors.Is(trouble.Err, failure) {
				t.Fatalf("%+v", trouble)
			}
			if err := consumer.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			saysAll(t, said(), "level=WARN", "dead letter", "queue=q", "key=ada", "attempt=1", "no such order", "token="+fmt.Sprint(trouble.Work.Token))
		})
	}
}

func TestAPanicNamesItsTurn(t *testing.T) {
	// Not parallel: it changes the logger of the process.
	said := defaultLog(t)
	var token uint64
	_, _, err := handled(t, func(_ context.Context, work *keyturn.Work) error {
		if work.Attempt == 1 {
			token = work.Token
			panic("at the disco")
		}
		return later(work)
	})
	if err != nil {
		t.Fatal(err)
	}
	saysAll(t, said(), "at the disco", "queue=TestAPanicNamesItsTurn", "key=k", fmt.Sprint("token=", token))
}

func TestAStopThatCutHandlersOffSaysSo(t *testing.T) {
	// Not parallel: it changes the logger of the process.
	for name, obeys := range map[string]bool{"told to stop": true, "ignores it": false} {
		t.Run(name, func(t *testing.T) {
			said := defaultLog(t)
			ctx := within(t, 20*time.Second)
			client := dial(t, sharedSidecar(t).address)
			queue := queueOf(t)
			started, end := make(chan struct{}, 3), make(chan struct{})
			defer close(end)
			told := make(chan keyturn.Trouble, 10)
			consumer := must(client.Consume(ctx, []string{queue}, func(handling context.Context, work *keyturn.Work) error {
				started <- struct{}{}
				if work.Key == "done" || obeys {
					<-handling.Done()
				}
				switch {
				case work.Key == "done":
					return nil
				case !obeys:
					<-end
				}
				return handling.Err()
			}, keyturn.ConsumeOptions{Concurrency: 3, OnTrouble: func(trouble keyturn.Trouble) { told <- trouble }}))(t)
			for _, key := range []string{"ada", "bob", "done"} {
				must(client.Submit(ctx, queue, keyturn.NewItem{Key: key}))(t)
				<-started
			}
			stopping, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			err := consumer.Stop(stopping)
			if !errors.Is(err, keyturn.ErrStopped) || !strings.Contains(err.Error(), "2 of them") {
				t.Fatalf("%v", err)
			}
			if again := consumer.Wait(); !errors.Is(again, keyturn.ErrStopped) {
				t.Fatalf("%v", again)
			}
			for range 2 {
				trouble := <-told
				if trouble.Stage != keyturn.StageStop || trouble.Work.Key == "done" || !errors.Is(trouble.Err, keyturn.ErrStopped) {
					t.Fatalf("%+v", trouble)
				}
			}
			saysAll(t, said(), "level=WARN", "key=ada", "key=bob", "cut off")
		})
	}
}

func TestAHandlerThatAStopCutOffIsToldOnce(t *testing.T) {
	t.Parallel()
	side := startSidecar(t, "")
	ctx := within(t, 30*time.Second)
	client := dial(t, side.address)
	started := make(chan struct{})
	var stops atomic.Int32
	consumer := must(client.Consume(ctx, []string{"q"}, func(handling context.Context, _ *keyturn.Work) error {
		close(started)
		<-handling.Done()
		return handling.Err()
	}, keyturn.ConsumeOptions{OnTrouble: func(trouble keyturn.Trouble) {
		if trouble.Stage == keyturn.StageStop {
			stops.Add(1)
		}
	}}))(t)
	must(client.Submit(ctx, "q", keyturn.NewItem{Key: "k"}))(t)
	<-started
	// What gives its item back is not answered, so that the stop gives up the turn besides.
	side.kill()
	stopping, cancel := context.WithCancel(ctx)
	cancel()
	if err := consumer.Stop(stopping); !errors.Is(err, keyturn.ErrStopped) || !strings.Contains(err.Error(), "1 of them") || stops.Load() != 1 {
		t.Fatalf("%v; told %d times", err, stops.Load())
	}
}
