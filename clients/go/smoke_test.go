package keyturn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

func eachTransport(t *testing.T, test func(t *testing.T, transport keyturn.Transport)) {
	for _, transport := range []keyturn.Transport{keyturn.TransportSession, keyturn.TransportUnary} {
		t.Run(string(transport), func(t *testing.T) { t.Parallel(); test(t, transport) })
	}
}

func TestRawCalls(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 10*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t)
		answer := must(client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: queue, Key: "k"}))(t)
		if answer.Decision != keyturnv1.Decision_DECISION_ACCEPT || answer.Turn.Queue != queue || answer.Turn.Key != "k" || answer.Turn.Token == 0 {
			t.Fatalf("%+v %+v", answer, answer.Turn)
		}
		must(client.DeQueue(ctx, &keyturnv1.DeQueueRequest{Queue: queue, Key: "k", Holder: &keyturnv1.DeQueueRequest_Token{Token: answer.Turn.Token}}))(t)
		_, err := client.DeQueue(ctx, &keyturnv1.DeQueueRequest{Queue: queue, Key: "k", Holder: &keyturnv1.DeQueueRequest_Token{Token: 999_999}})
		var lost *keyturn.TurnLostError
		if !errors.As(err, &lost) || lost.Cause != keyturn.LossUnknown {
			t.Fatalf("%v", err)
		}
		_, err = client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: "no such name!", Key: "k"})
		var told *keyturn.Error
		if !errors.As(err, &told) || len(told.Violations) != 1 || told.Violations[0].Field != "queue" {
			t.Fatalf("%v", err)
		}
	})
}

func TestConsumeSubmitResult(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 20*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t)
		consumer := must(client.Consume(ctx, []string{queue}, func(_ context.Context, work *keyturn.Work) error {
			if work.Attempt == 1 {
				return keyturn.RetryLater(10 * time.Millisecond)
			}
			work.SetResult(append([]byte("done "), work.Item().Payload...))
			return nil
		}, keyturn.ConsumeOptions{Concurrency: 4}))(t)
		for _, key := range []string{"a", "b", "c"} {
			sent := must(client.Submit(ctx, queue, keyturn.NewItem{Key: key, Payload: []byte(key)}))(t)
			if got := must(client.Result(ctx, queue, sent.ItemID))(t); string(got) != "done "+key {
				t.Fatalf("%q", got)
			}
		}
		if err := consumer.Stop(ctx); err != nil {
			t.Fatal(err)
		}
	})
}
