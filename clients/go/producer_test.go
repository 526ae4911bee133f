package keyturn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

func TestProducerKeepsOrderAndRefusesItemsAlone(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 30*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t)
		told := make(chan string, 10)
		producer := must(client.Producer(queue, keyturn.ProducerOptions{Count: 7, OnError: func(_ error, item *keyturn.NewItem) { told <- item.ItemID }}))(t)
		var all []*keyturn.Pending
		for n := range 50 {
			item := keyturn.NewItem{Key: "k", Payload: []byte(fmt.Sprint(n)), ItemID: fmt.Sprintf("item-%d", n)}
			if n == 20 {
				item.Delay = 31 * 24 * time.Hour
			}
			all = append(all, must(producer.Add(ctx, item))(t))
		}
		if err := producer.Close(ctx); err != nil {
			t.Fatal(err)
		}
		for n, pending := range all {
			result, err := pending.Wait(ctx)
			var refused *keyturn.Error
			switch {
			case n == 20 && (!errors.As(err, &refused) || refused.Code != codes.InvalidArgument || len(refused.Violations) != 1):
				t.Errorf("%v", err)
			case n != 20 && (err != nil || result.Decision != keyturn.DecisionAccept):
				t.Errorf("%d: %v %v", n, result, err)
			}
		}
		if who := <-told; who != "item-20" {
			t.Errorf("OnError is told of %s", who)
		}
		if _, err := producer.Add(ctx, keyturn.NewItem{}); !errors.Is(err, keyturn.ErrProducerClosed) {
			t.Errorf("%v", err)
		}
		for n := range 49 {
			if n >= 20 {
				n++
			}
			got := must(client.Acquire(ctx, &keyturnv1.AcquireRequest{Queues: []string{queue}, Wait: durationpb.New(time.Second)}))(t)
			if len(got.Deliveries) != 1 || string(got.Deliveries[0].Items[0].Payload) != fmt.Sprint(n) {
				t.Fatalf("%d: %+v", n, got)
			}
			must(client.Ack(ctx, &keyturnv1.AckRequest{Queue: got.Deliveries[0].Turn.Queue, Key: got.Deliveries[0].Turn.Key, Token: got.Deliveries[0].Turn.Token}))(t)
		}
	})
}

func TestWhatIsKnownOfAnItemIsTold(t *testing.T) {
	t.Parallel()
	client := dial(t, sharedSidecar(t).address)
	producer := must(client.Producer(queueOf(t), keyturn.ProducerOptions{}))(t)
	pending := must(producer.Add(within(t, 10*time.Second), keyturn.NewItem{}))(t)
	<-pending.Done()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 {
		if result, err := pending.Wait(over); err != nil || result.Decision != keyturn.DecisionAccept {
			t.Fatalf("%v %v", result, err)
		}
	}
}

func TestProducerIsBounded(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client := dial(t, "127.0.0.1:1")
	failing := must(client.Producer("q", keyturn.ProducerOptions{MaxItems: 2, WhenFull: keyturn.WhenFullFail, Timeout: 300 * time.Millisecond}))(t)
	first := must(failing.Add(ctx, keyturn.NewItem{}))(t)
	must(failing.Add(ctx, keyturn.NewItem{}))(t)
	if _, err := failing.Add(ctx, keyturn.NewItem{}); !errors.Is(err, keyturn.ErrProducerFull) {
		t.Fatalf("%v", err)
	}
	_, err := first.Wait(ctx)
	var late *keyturn.ProducerTimeoutError
	if !errors.As(err, &late) || late.ItemID != first.ItemID || late.Err == nil {
		t.Fatalf("%v", err)
	}
	waiting := must(client.Producer("q", keyturn.ProducerOptions{MaxItems: 1, Timeout: 200 * time.Millisecond}))(t)
	must(waiting.Add(ctx, keyturn.NewItem{}))(t)
	// There is room when the first one is given up.
	if _, err := waiting.Add(ctx, keyturn.NewItem{}); err != nil && !errors.As(err, &late) {
		t.Fatalf("%v", err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	for range 2 {
		_, err = waiting.Add(short, keyturn.NewItem{})
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	now, cancel := context.WithCancel(ctx)
	cancel()
	_ = waiting.Close(now)
	_ = failing.Close(now)
	if waiting.Pending()+failing.Pending() != 0 {
		t.Fatal("something is pending after the close")
	}
}
