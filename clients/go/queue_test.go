package keyturn_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// TestAQueueIsFoundAmongManyOfLikeNames: more queues have its name in theirs than a page has.
func TestAQueueIsFoundAmongManyOfLikeNames(t *testing.T) {
	t.Parallel()
	ctx := within(t, 30*time.Second)
	client := dial(t, sharedSidecar(t).address)
	queue := queueOf(t)
	for n := range 101 {
		must(client.SubmitMany(ctx, fmt.Sprint("0", n, queue), []keyturn.NewItem{{}}))(t)
	}
	must(client.SubmitMany(ctx, queue, []keyturn.NewItem{{Key: "a"}, {Key: "a"}, {Key: "b"}}))(t)
	info := must(client.QueueInfo(ctx, queue))(t)
	if info.Name != queue || info.Waiting != 3 || info.LiveTurns != 0 {
		t.Fatalf("%v", info)
	}
	_, err := client.QueueInfo(ctx, queue+"-that-nobody-made")
	var told *keyturn.Error
	if !errors.As(err, &told) || told.Code != codes.NotFound || told.Resource != queue+"-that-nobody-made" {
		t.Fatal(err)
	}
}
