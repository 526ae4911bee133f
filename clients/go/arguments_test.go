package keyturn_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	client := dial(t, sharedSidecar(t).address)
	ctx := within(t, 10*time.Second)
	handler := func(context.Context, *keyturn.Work) error { return nil }
	option := func(options ...keyturn.Option) error { _, err := keyturn.Dial("", options...); return err }
	address := func(address string) error { _, err := keyturn.Dial(address); return err }
	consume := func(opts keyturn.ConsumeOptions, queues ...string) error {
		_, err := client.Consume(ctx, queues, handler, opts)
		return err
	}
	produce := func(opts keyturn.ProducerOptions) error { _, err := client.Producer("q", opts); return err }
	turn := func(opts keyturn.TurnOptions) error { _, err := client.Turn(ctx, "q", "k", opts); return err }
	enQueue := func(call *keyturnv1.EnQueueRequest) error { _, err := client.EnQueue(ctx, call); return err }
	submit := func(item keyturn.NewItem, opts ...keyturn.SubmitOptions) error {
		_, err := client.Submit(ctx, "q", item, opts...)
		return err
	}
	for field, err := range map[string]error{
		"transport":          option(keyturn.WithTransport("pigeon")),
		"session_ttl":        option(keyturn.WithSessionTTL(time.Millisecond)),
		"margin":             option(keyturn.WithMargin(-2)),
		"max_open_calls":     option(keyturn.WithMaxOpenCalls(0)),
		"max_open_bytes":     option(keyturn.WithMaxOpenBytes(1)),
		"consumer_id":        option(keyturn.WithConsumerID(strings.Repeat("x", 257))),
		"session_id":         option(keyturn.WithSessionID("\xff")),
		"address":            address("nowhere"),
		"concurrency":        consume(keyturn.ConsumeOptions{Concurrency: -1}, "q"),
		"max_items_per_turn": consume(keyturn.ConsumeOptions{MaxItemsPerTurn: 1_001}, "q"),
		"settle_timeout":     consume(keyturn.ConsumeOptions{SettleTimeout: -1}, "q"),
		"queues":             consume(keyturn.ConsumeOptions{}),
		"queues[1]":          consume(keyturn.ConsumeOptions{}, "q", ""),
		"count":              produce(keyturn.ProducerOptions{Count: 1_001}),
		"interval":           produce(keyturn.ProducerOptions{Interval: time.Hour}),
		"max_items":          produce(keyturn.ProducerOptions{MaxItems: -1}),
		"max_bytes":          produce(keyturn.ProducerOptions{MaxBytes: 1}),
		"when_full":          produce(keyturn.ProducerOptions{WhenFull: "explode"}),
		"spool.directory":    produce(keyturn.ProducerOptions{Spool: &keyturn.SpoolOptions{}}),
		"order":              turn(keyturn.TurnOptions{Order: "sideways"}),
		"idempotency_key":    turn(keyturn.TurnOptions{Order: keyturn.OrderStrict, IdempotencyKey: "x"}),
		"max_hold":           turn(keyturn.TurnOptions{MaxHold: -1}),
		"lease":              turn(keyturn.TurnOptions{Lease: time.Millisecond}),
		"wait":               enQueue(&keyturnv1.EnQueueRequest{Queue: "q", Key: "k", Wait: durationpb.New(-time.Second)}),
		"request":            enQueue(nil),
		"key":                enQueue(&keyturnv1.EnQueueRequest{Queue: "q", Key: "\xff"}),
		"items[0].key":       submit(keyturn.NewItem{Key: "\xff"}),
		"items[0]":           submit(keyturn.NewItem{Payload: make([]byte, 4<<20)}),
		"durability":         submit(keyturn.NewItem{}, keyturn.SubmitOptions{Durability: "eternal"}),
		"wait_for_room":      submit(keyturn.NewItem{}, keyturn.SubmitOptions{WaitForRoom: time.Hour}),
	} {
		isRefused(t, field, err)
	}
}

// isRefused: the error names this field, and says what is allowed.
func isRefused(t *testing.T, field string, err error) {
	t.Helper()
	var told *keyturn.Error
	if !errors.As(err, &told) || told.Code != codes.InvalidArgument || len(told.Violations) != 1 || told.Violations[0].Field != field {
		t.Errorf("%s: %v", field, err)
		return
	}
	if !strings.Contains(told.Violations[0].Description, "allowed") {
		t.Errorf("%s: what is allowed is not said: %v", field, err)
	}
}

func TestWrongOptions(t *testing.T) {
	t.Parallel()
	option := func(options ...keyturn.Option) error { _, err := keyturn.Dial("", options...); return err }
	isRefused(t, "options[1]", option(keyturn.WithMargin(0), nil))
	// Whoever asks for encryption and has no config must not talk in plain text.
	isRefused(t, "tls", option(keyturn.WithTLS(nil)))
	isRefused(t, "margin", option(keyturn.WithMargin(-1)))
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"nowhere", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1:7420\n", " 127.0.0.1:7420", "my host:7420",
		"http://127.0.0.1:7420", "unix:", "unix://run/s",
	} {
		_, err := keyturn.Dial(address)
		isRefused(t, "address", err)
	}
	for _, address := range []string{"127.0.0.1:7420", "[::1]:7420", ":7420", "keyturn.internal:7420", "unix:s", "unix:/run/s", "unix:///run/s"} {
		client := dial(t, address)
		if client.Address() != address {
			t.Errorf("%s instead of %s", client.Address(), address)
		}
	}
}

// TestWaitsOfCallsHaveAnEnd: the raw calls take no longer wait than the contract has, and say so.
func TestWaitsOfCallsHaveAnEnd(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := context.Background()
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		_, err := client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: "q", Key: "k", Wait: durationpb.New(keyturn.Forever)})
		isRefused(t, "wait", err)
		_, err = client.Acquire(ctx, &keyturnv1.AcquireRequest{Queues: []string{"q"}, Wait: durationpb.New(keyturn.Forever)})
		isRefused(t, "wait", err)
		_, err = client.Await(ctx, &keyturnv1.AwaitRequest{Queue: "q", ItemId: "i", Wait: durationpb.New(keyturn.Forever)})
		isRefused(t, "wait", err)
		_, err = client.SubmitBatch(ctx, &keyturnv1.SubmitRequest{Queue: "q", Items: []*keyturnv1.NewItem{{}}, WaitForRoom: durationpb.New(keyturn.Forever)})
		isRefused(t, "wait_for_room", err)
	})
}

// TestStrictOrderNeedsAKey: it asks with an Acquire, and one without a key takes somebody's item.
func TestStrictOrderNeedsAKey(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 10*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		queue := queueOf(t)
		must(client.Submit(ctx, queue, keyturn.NewItem{Key: "k"}))(t)
		for _, order := range []keyturn.Order{keyturn.OrderCoalesce, keyturn.OrderStrict} {
			_, err := client.WithTurn(ctx, queue, "", keyturn.TurnOptions{Order: order}, func(_ context.Context, turn *keyturn.Turn) error {
				t.Errorf("%s has the turn of key %q", order, turn.Key)
				return nil
			})
			isRefused(t, "key", err)
		}
	})
}

func TestCallsThatAreTooLargeAreRefused(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 10*time.Second)
		client := dial(t, sharedSidecar(t).address, keyturn.WithTransport(transport))
		_, err := client.DeQueue(ctx, &keyturnv1.DeQueueRequest{Queue: "q", Key: "k", Holder: &keyturnv1.DeQueueRequest_Token{Token: 1}, Result: make([]byte, 5<<20)})
		var told *keyturn.Error
		if !errors.As(err, &told) || told.Code != codes.InvalidArgument {
			t.Fatalf("%v", err)
		}
	})
}

func TestErrorsOfAdminCallsAreFound(t *testing.T) {
	t.Parallel()
	client := dial(t, sharedSidecar(t).address)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := client.Admin().ListQueues(over, &keyturnv1.ListQueuesRequest{})
	if err = keyturn.ErrorFrom(err); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	late, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	_, err = client.Admin().ListQueues(late, &keyturnv1.ListQueuesRequest{})
	if err = keyturn.ErrorFrom(err); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if keyturn.ErrorFrom(nil) != nil {
		t.Error("nil is an error")
	}
}

func TestResultThatIsNotThereIsToldInWords(t *testing.T) {
	t.Parallel()
	ctx := within(t, 10*time.Second)
	client := dial(t, sharedSidecar(t).address)
	queue := queueOf(t)
	item := must(client.Submit(ctx, queue, keyturn.NewItem{}))(t)
	_, err := client.Result(ctx, queue, item.ItemID, keyturn.ResultOptions{Timeout: keyturn.NoWait})
	var told *keyturn.Error
	if !errors.As(err, &told) || told.Code != codes.DeadlineExceeded || !strings.HasSuffix(err.Error(), "still waiting after 0s") {
		t.Fatalf("%v", err)
	}
}

func TestSpoolThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	client := dial(t, sharedSidecar(t).address)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, directory := range []string{file, filepath.Join(file, "spool")} {
		_, err := client.Producer("q", keyturn.ProducerOptions{Spool: &keyturn.SpoolOptions{Directory: directory}, OnError: func(error, *keyturn.NewItem) {}})
		isSpoolError(t, err, keyturn.SpoolIO)
		if !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), directory) {
			t.Errorf("%v", err)
		}
	}
}
