package keyturn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// A callback that the client waits for when it is closed cannot close it: it would wait for itself.

// closedInside has the error of a close that was called inside something, which has to come long before that is cut off.
func closedInside(t *testing.T, ctx context.Context, closed <-chan error) {
	t.Helper()
	select {
	case err := <-closed:
		var told *keyturn.Error
		if !errors.As(err, &told) || told.Code != codes.FailedPrecondition || !strings.Contains(told.Message, "let another goroutine do that") {
			t.Fatalf("%v", err)
		}
	case <-ctx.Done():
		t.Fatal("it is not refused")
	}
}

func TestAClientIsNotClosedInsideWhatItWaitsFor(t *testing.T) {
	closes := map[string]func(client *keyturn.Client) error{
		"Close":    func(client *keyturn.Client) error { return client.Close() },
		"Shutdown": func(client *keyturn.Client) error { return client.Shutdown(context.Background()) },
	}
	for what, begin := range map[string]func(t *testing.T, ctx context.Context, client *keyturn.Client, close func()){
		"a handler": func(t *testing.T, ctx context.Context, client *keyturn.Client, close func()) {
			queue := queueOf(t)
			must(client.Consume(ctx, []string{queue}, func(context.Context, *keyturn.Work) error { close(); return nil }, keyturn.ConsumeOptions{}))(t)
			must(client.Submit(ctx, queue, keyturn.NewItem{Key: "k"}))(t)
		},
		"OnTrouble": func(t *testing.T, ctx context.Context, client *keyturn.Client, close func()) {
			queue := queueOf(t)
			failed := func(context.Context, *keyturn.Work) error { return keyturn.DeadLetter("no") }
			must(client.Consume(ctx, []string{queue}, failed, keyturn.ConsumeOptions{OnTrouble: func(keyturn.Trouble) { close() }}))(t)
			must(client.Submit(ctx, queue, keyturn.NewItem{Key: "k"}))(t)
		},
		"OnError of a producer": func(t *testing.T, ctx context.Context, client *keyturn.Client, close func()) {
			producer := must(client.Producer(queueOf(t), keyturn.ProducerOptions{OnError: func(error, *keyturn.NewItem) { close() }}))(t)
			must(producer.Add(ctx, keyturn.NewItem{ItemID: strings.Repeat("i", 300)}))(t)
		},
		"a leader": func(t *testing.T, ctx context.Context, client *keyturn.Client, close func()) {
			must(client.Lead(ctx, queueOf(t), keyturn.LeaderCareer{Execute: func(ctx context.Context, _ *keyturn.Term) error {
				close()
				<-ctx.Done()
				return nil
			}}, keyturn.LeadOptions{}))(t)
		},
	} {
		for how, end := range closes {
			t.Run(what+" "+how, func(t *testing.T) {
				t.Parallel()
				ctx := within(t, 10*time.Second)
				client := dial(t, sharedSidecar(t).address, keyturn.WithLogger(quiet))
				closed := make(chan error, 10)
				begin(t, ctx, client, func() { closed <- end(client) })
				closedInside(t, ctx, closed)
				// It was not closed, and can be by others.
				must(client.Submit(ctx, queueOf(t)+"-next", keyturn.NewItem{}))(t)
				if err := client.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestAHandlerMayCloseAnotherClient(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client, other := dial(t, sharedSidecar(t).address), dial(t, sharedSidecar(t).address)
	queue := queueOf(t)
	closed := make(chan error, 1)
	must(client.Consume(ctx, []string{queue}, func(context.Context, *keyturn.Work) error { closed <- other.Close(); return nil }, keyturn.ConsumeOptions{}))(t)
	must(client.Submit(ctx, queue, keyturn.NewItem{Key: "k"}))(t)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}
