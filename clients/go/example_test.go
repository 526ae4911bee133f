package keyturn_test

// The examples of the readme. Each runs against a sidecar, and TestReadme checks that the readme has the same code.

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

func client() *keyturn.Client {
	client, err := keyturn.Dial("")
	if err != nil {
		log.Fatal(err)
	}
	return client
}

func ExampleClient_WithTurn() {
	ctx, client := context.Background(), client()
	defer client.Close()

	opts := keyturn.TurnOptions{Wait: 10 * time.Second}
	outcome, err := client.WithTurn(ctx, "thumbnails", "photo-17", opts, func(ctx context.Context, turn *keyturn.Turn) error {
		// The work. Hand ctx on, and give turn.Token to what you write to.
		return nil
	})
	var lost *keyturn.TurnLostError
	switch {
	case errors.As(err, &lost):
		fmt.Println("stop: the turn is somebody else's:", lost.Cause)
	case err != nil:
		fmt.Println("refused, away, or what the handler returned:", err)
	case outcome.Status == keyturn.StatusDeclined:
		fmt.Println("not needed:", outcome.Reason)
	case outcome.Status == keyturn.StatusBlocked:
		fmt.Println("not yet:", outcome.Ahead, "are before us")
	default:
		fmt.Println(outcome.Status)
	}
	// Output: done
}

func ExampleClient_Turn() {
	ctx, client := context.Background(), client()
	defer client.Close()

	resize := func() error {
		turn, err := client.Turn(ctx, "thumbnails", "photo-18", keyturn.TurnOptions{Wait: keyturn.NoWait})
		var none *keyturn.NoTurnError
		if errors.As(err, &none) {
			return nil // declined or blocked: none.Outcome says why
		}
		if err != nil {
			return err
		}
		defer turn.Release() // gives it back, unless it is done
		if err := work(turn.Context()); err != nil {
			return err
		}
		return turn.Done(ctx)
	}
	fmt.Println(resize())
	// Output: <nil>
}

func work(context.Context) error { return nil }

func ExampleClient_WithTurn_strict() {
	ctx, client := context.Background(), client()
	defer client.Close()

	var calls sync.WaitGroup
	for range 3 {
		calls.Add(1)
		go func() {
			defer calls.Done()
			outcome, err := client.WithTurn(ctx, "accounts", "ada", keyturn.TurnOptions{Order: keyturn.OrderStrict}, func(context.Context, *keyturn.Turn) error {
				return nil // one at a time, none declined
			})
			fmt.Println(outcome.Status, err)
		}()
	}
	calls.Wait()
	// Output:
	// done <nil>
	// done <nil>
	// done <nil>
}

func ExampleClient_Consume() {
	ctx, client := context.Background(), client()
	defer client.Close()

	consumer, err := client.Consume(ctx, []string{"orders", "refunds"}, func(ctx context.Context, work *keyturn.Work) error {
		switch order := string(work.Item().Payload); {
		case order == "":
			return keyturn.DeadLetter("an order without an id") // never try again
		case order == "early" && work.Attempt == 1:
			return keyturn.RetryLater(50 * time.Millisecond) // instead of the queue's back-off
		default:
			work.SetResult([]byte(fmt.Sprintf("attempt %d", work.Attempt)))
			work.FollowUp("mails", keyturn.NewItem{Key: work.Key}) // with the end of this turn, or neither
			return nil
		}
	}, keyturn.ConsumeOptions{Concurrency: 4, OnTrouble: func(trouble keyturn.Trouble) {
		fmt.Println(trouble.Stage, trouble.Err)
	}})
	if err != nil {
		log.Fatal(err)
	}
	order, err := client.Submit(ctx, "orders", keyturn.NewItem{Key: "ada", Payload: []byte("early")})
	if err != nil {
		log.Fatal(err)
	}
	result, err := client.Result(ctx, "orders", order.ItemID)
	fmt.Println(string(result), err)

	stopping, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	fmt.Println(consumer.Stop(stopping))
	// Output:
	// handler the handler asked for a retry
	// attempt 2 <nil>
	// <nil>
}

func ExampleClient_EnQueue() {
	ctx, client := context.Background(), client()
	defer client.Close()

	calling, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	answer, err := client.EnQueue(calling, &keyturnv1.EnQueueRequest{Queue: "thumbnails", Key: "photo-19", Ticket: "my-ticket", Wait: durationpb.New(5 * time.Second)})
	if err != nil {
		log.Fatal(err)
	}
	if answer.Decision == keyturnv1.Decision_DECISION_ACCEPT {
		turn := client.Hold(ctx, answer.Turn) // kept alive from here
		fmt.Println(turn.Lost())
		fmt.Println(turn.Done(ctx))
	}
	why, err := client.Admin().ExplainKey(ctx, &keyturnv1.ExplainKeyRequest{Queue: "thumbnails", Key: "photo-19"})
	fmt.Println(why.GetState(), keyturn.ErrorFrom(err))
	// Output:
	// <nil>
	// <nil>
	// LANE_STATE_INIT <nil>
}

// A callback gateway: one process starts the work, another hears that it is done. Whoever knows queue, key and token may
// settle the turn.
func ExampleClient_Hold_gateway() {
	ctx, starter, gateway := context.Background(), client(), client()
	defer starter.Close()
	defer gateway.Close()

	answer, err := starter.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: "payments", Key: "order-12", Lease: durationpb.New(time.Minute)})
	if err != nil {
		log.Fatal(err)
	}
	callback := answer.Turn // goes with the request to the payment provider, and comes back with its callback
	_, err = gateway.Ack(ctx, &keyturnv1.AckRequest{Queue: callback.Queue, Key: callback.Key, Token: callback.Token})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleError() {
	ctx, client := context.Background(), client()
	defer client.Close()

	_, err := client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: "no name!", Key: "photo-17"})
	var refused *keyturn.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Code, refused.Reason, refused.Violations[0].Field)
	}
	// Output: InvalidArgument BAD_REQUEST queue
}

func ExampleWithTLS() {
	config, err := keyturn.LoadTLS(keyturn.TLSFiles{CA: "ca.pem", Cert: "worker.pem", Key: "worker.key"})
	if err != nil {
		fmt.Println("ca.pem cannot be read")
		return
	}
	client, err := keyturn.Dial("keyturn.internal:7420", keyturn.WithTLS(config), keyturn.WithConsumerID("worker-1"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	// Output: ca.pem cannot be read
}
