package keyturn_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

func TestSpoolKeepsWhatCannotBeHandedOver(t *testing.T) {
	t.Parallel()
	ctx := within(t, 40*time.Second)
	side := startSidecar(t, "")
	directory := filepath.Join(t.TempDir(), "spool")
	opts := keyturn.ProducerOptions{
		Count: 10, Spool: &keyturn.SpoolOptions{Directory: directory, Count: 5, Interval: 10 * time.Millisecond, Patience: 200 * time.Millisecond},
		OnError: func(err error, _ *keyturn.NewItem) { t.Error(err) },
	}
	side.kill()
	client := dial(t, side.address)
	producer := must(client.Producer("q", opts))(t)
	for n := range 100 {
		pending := must(producer.Add(ctx, keyturn.NewItem{Key: "k", Payload: []byte(fmt.Sprint(n))}))(t)
		if n%25 == 0 {
			if result, err := pending.Wait(ctx); err != nil || result.Decision != keyturn.DecisionSpooled || result.ItemID != pending.ItemID {
				t.Fatalf("%v %v", result, err)
			}
		}
	}
	// A second one for the same directory, and one for another queue later.
	_, err := client.Producer("q", opts)
	isSpoolError(t, err, keyturn.SpoolInUse)
	if err := producer.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if producer.Spooled() != 100 {
		t.Fatalf("%d are on disk", producer.Spooled())
	}
	_, err = client.Producer("other", opts)
	isSpoolError(t, err, keyturn.SpoolOtherQueue)

	side.restart()
	again := must(client.Producer("q", opts))(t)
	last := must(again.Add(ctx, keyturn.NewItem{Key: "k", Payload: []byte("100")}))(t)
	must(last.Wait(ctx))(t)
	for n := range 101 {
		got := must(client.Acquire(ctx, &keyturnv1.AcquireRequest{Queues: []string{"q"}, Wait: durationpb.New(10 * time.Second)}))(t)
		if len(got.Deliveries) != 1 || string(got.Deliveries[0].Items[0].Payload) != fmt.Sprint(n) {
			t.Fatalf("%d: %+v", n, got)
		}
		must(client.Ack(ctx, &keyturnv1.AckRequest{Queue: got.Deliveries[0].Turn.Queue, Key: got.Deliveries[0].Turn.Key, Token: got.Deliveries[0].Turn.Token}))(t)
	}
	if err := again.Close(ctx); err != nil || again.Spooled() != 0 {
		t.Fatalf("%v, %d on disk", err, again.Spooled())
	}
}

func isSpoolError(t *testing.T, err error, problem keyturn.SpoolProblem) {
	t.Helper()
	var told *keyturn.SpoolError
	if !errors.As(err, &told) || told.Problem != problem || told.File == "" {
		t.Fatalf("%v is not %s", err, problem)
	}
}

func TestSpoolThatIsTornOrDamaged(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client := dial(t, "127.0.0.1:1")
	fill := func() (string, string) {
		directory := t.TempDir()
		producer := must(client.Producer("q", keyturn.ProducerOptions{Spool: &keyturn.SpoolOptions{Directory: directory, Patience: 50 * time.Millisecond}, OnError: func(error, *keyturn.NewItem) {}}))(t)
		for range 3 {
			must(must(producer.Add(ctx, keyturn.NewItem{Key: "k", Payload: []byte("some payload")}))(t).Wait(ctx))(t)
		}
		if err := producer.Close(ctx); err != nil {
			t.Fatal(err)
		}
		files := must(filepath.Glob(filepath.Join(directory, "*.spool")))(t)
		return directory, files[len(files)-1]
	}

	directory, file := fill()
	data := must(os.ReadFile(file))(t)
	if err := os.WriteFile(file, data[:len(data)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	opts := keyturn.ProducerOptions{Spool: &keyturn.SpoolOptions{Directory: directory}, OnError: func(err error, _ *keyturn.NewItem) { told <- err }}
	producer := must(client.Producer("q", opts))(t)
	isSpoolError(t, <-told, keyturn.SpoolTorn)
	if producer.Spooled() >= 3 {
		t.Fatalf("%d are on disk", producer.Spooled())
	}

	directory, file = fill()
	data = must(os.ReadFile(file))(t)
	data[len(data)/2] ^= 0xff
	if err := os.WriteFile(file, append(data, data...), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := client.Producer("q", keyturn.ProducerOptions{Spool: &keyturn.SpoolOptions{Directory: directory}, OnError: func(error, *keyturn.NewItem) {}})
	isSpoolError(t, err, keyturn.SpoolDamaged)
	if after := must(os.ReadFile(file))(t); len(after) != 2*len(data) {
		t.Fatal("a damaged file was changed")
	}
}

// spooling is a producer with a spool whose sidecar is away.
func spooling(t *testing.T, client *keyturn.Client) *keyturn.Producer {
	t.Helper()
	return must(client.Producer("q", keyturn.ProducerOptions{
		Spool:   &keyturn.SpoolOptions{Directory: t.TempDir(), Patience: 20 * time.Millisecond},
		OnError: func(error, *keyturn.NewItem) {},
	}))(t)
}

func TestSpoolConfirmsNothingThatNoSidecarMayAccept(t *testing.T) {
	t.Parallel()
	ctx := within(t, 20*time.Second)
	client := dial(t, "127.0.0.1:1")
	producer := spooling(t, client)
	many := map[string]string{}
	for n := range 65 {
		many[fmt.Sprint(n)] = ""
	}
	refs := make([]keyturn.ItemRef, 101)
	for n := range refs {
		refs[n] = keyturn.ItemRef{Queue: "q", ItemID: fmt.Sprint(n)}
	}
	for field, item := range map[string]keyturn.NewItem{
		"payload":          {Payload: make([]byte, 1<<20+1)},
		"key":              {Key: strings.Repeat("k", 1025)},
		"item_id":          {ItemID: strings.Repeat("i", 257)},
		"idempotency_key":  {IdempotencyKey: strings.Repeat("i", 257)},
		"headers":          {Headers: map[string]string{"h": strings.Repeat("v", 8<<10)}},
		"headers ":         {Headers: many},
		"delay":            {Delay: 31 * 24 * time.Hour},
		"after":            {After: refs},
		"after[0].queue":   {After: []keyturn.ItemRef{{Queue: "a b", ItemID: "i"}}},
		"after[0].item_id": {After: []keyturn.ItemRef{{Queue: "q"}}},
		"after[1]":         {After: []keyturn.ItemRef{refs[0], refs[0]}},
	} {
		_, err := producer.Add(ctx, item)
		var told *keyturn.Error
		if !errors.As(err, &told) || told.Code != codes.InvalidArgument || told.Violations[0].Field != "items[0]."+strings.TrimSpace(field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	// What just fits is kept.
	most := keyturn.NewItem{Key: strings.Repeat("k", 1024), Payload: make([]byte, 1<<20), ItemID: strings.Repeat("i", 256), After: refs[:100], Delay: 30 * 24 * time.Hour}
	if result := must(must(producer.Add(ctx, most))(t).Wait(ctx))(t); result.Decision != keyturn.DecisionSpooled {
		t.Fatalf("%+v", result)
	}
}

func TestSpoolOfAQueueThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	client := dial(t, "127.0.0.1:1")
	for _, queue := range []string{"", "a b", strings.Repeat("q", 129), "ü"} {
		_, err := client.Producer(queue, keyturn.ProducerOptions{
			Spool: &keyturn.SpoolOptions{Directory: t.TempDir()}, OnError: func(error, *keyturn.NewItem) {},
		})
		var told *keyturn.Error
		if !errors.As(err, &told) || told.Violations[0].Field != "queue" {
			t.Errorf("%q: %v", queue, err)
		}
	}
}

func TestSpoolWithoutAWayToHearOfDropsIsRefused(t *testing.T) {
	t.Parallel()
	client := dial(t, "127.0.0.1:1")
	_, err := client.Producer("q", keyturn.ProducerOptions{Spool: &keyturn.SpoolOptions{Directory: t.TempDir()}})
	var told *keyturn.Error
	if !errors.As(err, &told) || told.Violations[0].Field != "on_error" {
		t.Fatal(err)
	}
}

// TestSpoolGoesOnWhenTheDiskHasRoomAgain: nothing can be written at first, neither items nor how far it came.
func TestSpoolGoesOnWhenTheDiskHasRoomAgain(t *testing.T) {
	t.Parallel()
	ctx := within(t, 40*time.Second)
	side := startSidecar(t, "")
	side.kill()
	client := dial(t, side.address)
	directory := t.TempDir()
	told := make(chan error, 1_000)
	producer := must(client.Producer("q", keyturn.ProducerOptions{
		Spool:   &keyturn.SpoolOptions{Directory: directory, Interval: 5 * time.Millisecond, Patience: 50 * time.Millisecond},
		OnError: func(err error, _ *keyturn.NewItem) { told <- err },
	}))(t)
	blocked := []string{filepath.Join(directory, "0000000001.spool"), filepath.Join(directory, "cursor", "x")}
	for _, path := range blocked {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	add := func(n int) *keyturn.Pending {
		return must(producer.Add(ctx, keyturn.NewItem{Key: "k", Payload: []byte(fmt.Sprint(n, " ", strings.Repeat(".", 20_000)))}))(t)
	}
	first := add(0)
	isSpoolError(t, <-told, keyturn.SpoolIO)
	if err := os.Remove(blocked[0]); err != nil {
		t.Fatal(err)
	}
	if result := must(first.Wait(ctx))(t); result.Decision != keyturn.DecisionSpooled {
		t.Fatalf("%+v", result)
	}
	const items = 200
	for n := 1; n < items; n++ {
		must(add(n).Wait(ctx))(t)
	}
	side.restart()
	for n := range items {
		got := must(client.Acquire(ctx, &keyturnv1.AcquireRequest{Queues: []string{"q"}, Wait: durationpb.New(10 * time.Second)}))(t)
		if len(got.Deliveries) != 1 || !strings.HasPrefix(string(got.Deliveries[0].Items[0].Payload), fmt.Sprint(n, " ")) {
			t.Fatalf("%d: %+v", n, got)
		}
		must(client.Ack(ctx, &keyturnv1.AckRequest{Queue: got.Deliveries[0].Turn.Queue, Key: got.Deliveries[0].Turn.Key, Token: got.Deliveries[0].Turn.Token}))(t)
	}
	// That it could not be noted was told, and told once.
	isSpoolError(t, <-told, keyturn.SpoolIO)
	select {
	case err := <-told:
		t.Fatal("told again: ", err)
	default:
	}
}

func TestSpoolTakesWhatAFullQueueRefuses(t *testing.T) {
	t.Parallel()
	ctx := within(t, 60*time.Second)
	client := dial(t, startSidecar(t, "queues: { q: { max_waiting: 2 } }").address)
	for range 2 {
		must(client.Submit(ctx, "q", keyturn.NewItem{Key: "k"}))(t)
	}
	producer := must(client.Producer("q", keyturn.ProducerOptions{
		Timeout: 5 * time.Second,
		Spool:   &keyturn.SpoolOptions{Directory: t.TempDir(), Interval: time.Millisecond},
		OnError: func(err error, _ *keyturn.NewItem) { t.Errorf("told: %v", err) },
	}))(t)
	for _, payload := range []string{"third", "fourth"} {
		item := keyturn.NewItem{Key: "k", Payload: []byte(payload)}
		if result := must(must(producer.Add(ctx, item))(t).Wait(ctx))(t); result.Decision != keyturn.DecisionSpooled {
			t.Fatalf("%+v", result)
		}
	}
	var got []string
	for len(got) < 4 {
		request := &keyturnv1.AcquireRequest{Queues: []string{"q"}, Wait: durationpb.New(10 * time.Second)}
		for _, delivery := range must(client.Acquire(ctx, request))(t).Deliveries {
			for _, item := range delivery.Items {
				got = append(got, string(item.Payload))
			}
			turn := delivery.Turn
			must(client.Ack(ctx, &keyturnv1.AckRequest{Queue: turn.Queue, Key: turn.Key, Token: turn.Token}))(t)
		}
	}
	if want := []string{"", "", "third", "fourth"}; !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
}
