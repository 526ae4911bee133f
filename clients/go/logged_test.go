package keyturn_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// What a consumer logs by default: an application may look at nothing else. No test here is parallel: they change the logger of
// the process.

type outOfStock struct{ text string }

func (e *outOfStock) Error() string { return e.text }

func waitForLog(t *testing.T, ctx context.Context, said func() string, words string) {
	t.Helper()
	for !strings.Contains(said(), words) {
		if ctx.Err() != nil {
			t.Fatalf("%q is not in: %s", words, said())
		}
		runtime.Gosched()
	}
}

func TestAFailedAttemptIsLoggedWithTypeAndError(t *testing.T) {
	said := defaultLog(t)
	_, _, err := handled(t, func(_ context.Context, work *keyturn.Work) error {
		if work.Attempt == 1 {
			return fmt.Errorf("order 7: %w", &outOfStock{strings.Repeat("x", 20_000)})
		}
		return later(work)
	})
	if err != nil {
		t.Fatal(err)
	}
	saysAll(t, said(), "level=WARN", "keyturn: an attempt failed", "type=*keyturn_test.outOfStock", "order 7: xxx", "key=k", "attempt=1")
	if text := said(); len(text) > 10_000 || strings.Count(text, "level=") != 1 {
		t.Fatalf("%d bytes, %d lines", len(text), strings.Count(text, "level="))
	}
}

func TestWhatTheHandlerAskedForIsNoFailure(t *testing.T) {
	said := defaultLog(t)
	released := false
	_, _, err := handled(t, func(_ context.Context, work *keyturn.Work) error {
		if !released {
			released = true
			return keyturn.Release()
		}
		return later(work)
	})
	if err != nil || strings.Contains(said(), "an attempt failed") {
		t.Fatalf("%v %s", err, said())
	}
}

func TestThatNoTurnsCanBeTakenIsLoggedWithinSecondsAndThatTheyCanAgain(t *testing.T) {
	for _, transport := range bothTransports {
		t.Run(string(transport), func(t *testing.T) {
			said := defaultLog(t)
			ctx := within(t, 60*time.Second)
			side := startSidecar(t, "")
			side.kill()
			client := dial(t, side.address, keyturn.WithTransport(transport))
			must(client.Consume(ctx, []string{"q"}, func(context.Context, *keyturn.Work) error { return nil }, keyturn.ConsumeOptions{}))(t)
			waitForLog(t, within(t, 2*time.Second), said, "keyturn: no turns can be taken; it is tried again")
			saysAll(t, said(), "level=WARN", "queues=[q]", "cannot reach "+side.address+": ", "connection refused")
			side.restart()
			waitForLog(t, ctx, said, "keyturn: turns can be taken again")
			if count := strings.Count(said(), "no turns can be taken"); count != 1 {
				t.Fatalf("logged %d times: %s", count, said())
			}
		})
	}
}

func TestTheEndOfAConsumerIsLogged(t *testing.T) {
	said := defaultLog(t)
	client := dial(t, sharedSidecar(t).address)
	consumer := must(client.Consume(context.Background(), []string{"no name!"}, func(context.Context, *keyturn.Work) error { return nil }, keyturn.ConsumeOptions{}))(t)
	if err := consumer.Wait(); err == nil {
		t.Fatal("it goes on")
	}
	saysAll(t, said(), "level=ERROR", "keyturn: a consumer ends", "no name!", "queues[0]")
}

func TestALoggerThatWasGivenGetsAllOfItAndTheDefaultOneNothing(t *testing.T) {
	said := defaultLog(t)
	var lines strings.Builder
	logger := slog.New(slog.NewTextHandler(&lines, nil))
	_, _, err := handled(t, func(_ context.Context, work *keyturn.Work) error {
		if work.Attempt == 1 {
			return errors.New("no such order")
		}
		return later(work)
	}, keyturn.WithLogger(logger))
	if err != nil || said() != "" {
		t.Fatalf("%v %s", err, said())
	}
	if !regexp.MustCompile(`an attempt failed.* type=\*errors.errorString`).MatchString(lines.String()) {
		t.Fatal(lines.String())
	}
}
