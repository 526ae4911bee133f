package keyturn_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// What a caller handed over is its own again when the call has returned, also when the call was called off: it may be changed,
// and is not read any more. The race detector sees a reader; the contents show it without one.

const ownedBytes = 900_000

// calledOff lets a call begin and ends its context at some moment while it is written, then changes what it was given.
func calledOff(t *testing.T, n int, call func(ctx context.Context, payload []byte)) {
	t.Helper()
	payload := bytes.Repeat([]byte{'a'}, ownedBytes)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n)*60*time.Microsecond)
	defer cancel()
	call(ctx, payload)
	copy(payload, changed)
}

var changed = bytes.Repeat([]byte{'x'}, ownedBytes)

func isWhole(payload []byte) bool { return bytes.Count(payload, []byte{'a'}) == len(payload) }

func TestWhatWasSubmittedIsNotReadAfterTheCallReturned(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 60*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t)
		for n := range 24 {
			calledOff(t, n, func(ctx context.Context, payload []byte) {
				_, _ = client.SubmitBatch(ctx, &keyturnv1.SubmitRequest{Queue: queue, Items: []*keyturnv1.NewItem{{Payload: payload}}})
			})
		}
		for {
			got := must(client.Acquire(ctx, &keyturnv1.AcquireRequest{Queues: []string{queue}, Wait: durationpb.New(300 * time.Millisecond)}))(t)
			if len(got.Deliveries) == 0 {
				return
			}
			if !isWhole(got.Deliveries[0].Items[0].Payload) {
				t.Fatal("an item has content that nobody submitted")
			}
			must(client.Ack(ctx, &keyturnv1.AckRequest{Queue: got.Deliveries[0].Turn.Queue, Key: got.Deliveries[0].Turn.Key, Token: got.Deliveries[0].Turn.Token}))(t)
		}
	})
}

func TestResultsAreNotReadAfterTheCallReturned(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 60*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t)
		var items []keyturn.SubmitResult
		for n := range 12 {
			items = append(items, must(client.Submit(ctx, queue, keyturn.NewItem{Key: fmt.Sprint(n)}))(t))
		}
		for n := range 12 {
			got := must(client.Acquire(ctx, &keyturnv1.AcquireRequest{Queues: []string{queue}, Wait: durationpb.New(5 * time.Second)}))(t)
			turn := got.Deliveries[0].Turn
			calledOff(t, n, func(ctx context.Context, result []byte) {
				call := &keyturnv1.AckRequest{Queue: turn.Queue, Key: turn.Key, Token: turn.Token, Result: result}
				if n%2 == 0 {
					call.FollowUps = []*keyturnv1.FollowUp{{Queue: queue + "-next", Item: &keyturnv1.NewItem{Payload: result}}}
				}
				_, _ = client.Ack(ctx, call)
			})
			held := must(client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: queue + "-turns", Key: fmt.Sprint(n)}))(t)
			calledOff(t, n, func(ctx context.Context, result []byte) {
				_, _ = client.DeQueue(ctx, &keyturnv1.DeQueueRequest{Queue: queue + "-turns", Key: fmt.Sprint(n), Holder: &keyturnv1.DeQueueRequest_Token{Token: held.Turn.Token}, Result: result})
			})
		}
		for _, item := range items {
			result, err := client.Result(ctx, queue, item.ItemID, keyturn.ResultOptions{Timeout: 50 * time.Millisecond})
			if err == nil && !isWhole(result) {
				t.Fatal("an item has a result that nobody gave")
			}
		}
	})
}

func TestAnAddedItemBelongsToTheCallerAgain(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client := dial(t, sharedSidecar(t).address)
	queue := queueOf(t)
	producer := must(client.Producer(queue, keyturn.ProducerOptions{Interval: 50 * time.Millisecond}))(t)
	payload := []byte("aaaa")
	headers := map[string]string{"name": "a"}
	pending := must(producer.Add(ctx, keyturn.NewItem{Key: "k", Payload: payload, Headers: headers}))(t)
	copy(payload, "xxxx")
	headers["name"] = "x"
	must(pending.Wait(ctx))(t)
	got := must(client.Acquire(ctx, &keyturnv1.AcquireRequest{Queues: []string{queue}, Wait: durationpb.New(5 * time.Second)}))(t)
	if item := got.Deliveries[0].Items[0]; string(item.Payload) != "aaaa" || item.Headers["name"] != "a" {
		t.Fatalf("%s %v", item.Payload, item.Headers)
	}
}

// TestAHandlersResultBelongsToTheHandlerAgain: handlers take their buffers from a pool, and the Ack is sent, and sent again,
// after they have returned.
func TestAHandlersResultBelongsToTheHandlerAgain(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client := dial(t, sharedSidecar(t).address)
	queue := queueOf(t)
	consumer := must(client.Consume(ctx, []string{queue}, func(_ context.Context, work *keyturn.Work) error {
		result := []byte("aaaa")
		work.SetResult(result)
		work.FollowUp(queue+"-next", keyturn.NewItem{Payload: result})
		copy(result, "xxxx")
		return nil
	}, keyturn.ConsumeOptions{}))(t)
	item := must(client.Submit(ctx, queue, keyturn.NewItem{Key: "k"}))(t)
	if result := must(client.Result(ctx, queue, item.ItemID))(t); string(result) != "aaaa" {
		t.Fatalf("%s", result)
	}
	got := must(client.Acquire(ctx, &keyturnv1.AcquireRequest{Queues: []string{queue + "-next"}, Wait: durationpb.New(5 * time.Second)}))(t)
	if payload := got.Deliveries[0].Items[0].Payload; string(payload) != "aaaa" {
		t.Fatalf("%s", payload)
	}
	if err := consumer.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}
