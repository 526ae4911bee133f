package keyturn_test

// The examples of the readme. Each runs against a sidecar, and TestReadme checks that the readme has the same code.

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

func ExampleClient_Submit() {
	ctx, client := context.Background(), client()
	defer client.Close()

	report, err := client.Submit(ctx, "reports", keyturn.NewItem{Key: "ada", Payload: []byte("2026")})
	fmt.Println(report.Decision, err)
	results, err := client.SubmitMany(ctx, "mails", []keyturn.NewItem{{Key: "ada"}, {Key: "ada"}, {Key: "bob"}})
	fmt.Println(len(results), err)

	// Here, or in another process on another machine:
	_, err = client.Consume(ctx, []string{"reports"}, func(_ context.Context, work *keyturn.Work) error {
		work.SetResult([]byte("the report of " + string(work.Item().Payload)))
		return nil
	}, keyturn.ConsumeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	bytes, err := client.Result(ctx, "reports", report.ItemID, keyturn.ResultOptions{Timeout: 30 * time.Second})
	fmt.Println(string(bytes), err)
	// Output:
	// accept <nil>
	// 3 <nil>
	// the report of 2026 <nil>
}

func ExampleNewItem_after() {
	ctx, client := context.Background(), client()
	defer client.Close()

	first, err := client.Submit(ctx, "extract", keyturn.NewItem{Key: "ada", Payload: []byte("2026")})
	if err != nil {
		log.Fatal(err)
	}
	second, err := client.Submit(ctx, "publish", keyturn.NewItem{Key: "ada", After: []keyturn.ItemRef{{Queue: "extract", ItemID: first.ItemID}}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Consume(ctx, []string{"extract", "publish"}, func(_ context.Context, work *keyturn.Work) error {
		fmt.Println(work.Queue)
		return nil
	}, keyturn.ConsumeOptions{Concurrency: 2})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Result(ctx, "publish", second.ItemID)
	fmt.Println(err)
	// Output:
	// extract
	// publish
	// <nil>
}

func ExampleClient_Producer() {
	ctx, client := context.Background(), client()
	defer client.Close()

	producer, err := client.Producer("events", keyturn.ProducerOptions{Count: 100, Interval: 5 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	var last *keyturn.Pending
	for n := range 1_000 {
		item := keyturn.NewItem{Key: fmt.Sprintf("user-%d", n%10), Payload: []byte(fmt.Sprintf("event %d", n))}
		if last, err = producer.Add(ctx, item); err != nil { // waits when there is no room
			log.Fatal(err)
		}
	}
	result, err := last.Wait(ctx) // what became of one; OnError is told of all that were not handed over
	fmt.Println(result.Decision, err)
	fmt.Println(producer.Flush(ctx), producer.Pending())
	fmt.Println(producer.Close(ctx))
	// Output:
	// accept <nil>
	// <nil> 0
	// <nil>
}

func ExampleSpoolOptions() {
	ctx, client := context.Background(), client()
	defer client.Close()
	directory := filepath.Join(os.TempDir(), fmt.Sprintf("keyturn-example-%d", os.Getpid()))
	defer os.RemoveAll(directory)

	producer, err := client.Producer("events", keyturn.ProducerOptions{
		Spool:   &keyturn.SpoolOptions{Directory: directory, Interval: 50 * time.Millisecond, Count: 1_000, MaxBytes: 256 << 20},
		OnError: func(err error, item *keyturn.NewItem) { log.Println(err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	pending, err := producer.Add(ctx, keyturn.NewItem{Key: "user-1", Payload: []byte("signed up")})
	if err != nil {
		log.Fatal(err)
	}
	result, err := pending.Wait(ctx)
	fmt.Println(result.Decision, err) // keyturn.DecisionSpooled while the sidecar cannot be reached
	fmt.Println(producer.Close(ctx))
	// Output:
	// accept <nil>
	// <nil>
}
