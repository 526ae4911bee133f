//go:build unix

package keyturn_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// A worker that ends in peace when the system asks it to.
func ExampleConsumer_Wait_signals() {
	client := client()
	defer client.Close()
	if _, err := client.Submit(context.Background(), "signals", keyturn.NewItem{Key: "ada"}); err != nil {
		log.Fatal(err)
	}
	handler := func(context.Context, *keyturn.Work) error {
		fmt.Println("the signal comes in the middle of the work")
		return syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	consumer, err := client.Consume(ctx, []string{"signals"}, handler, keyturn.ConsumeOptions{Concurrency: 8})
	if err != nil {
		log.Fatal(err)
	}
	err = consumer.Wait() // after a signal: handlers have 20 s to finish
	fmt.Println(err)
	// Output:
	// the signal comes in the middle of the work
	// <nil>
}
