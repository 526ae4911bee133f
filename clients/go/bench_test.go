package keyturn_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// BenchmarkPairs is EnQueue and DeQueue on one session, 256 in flight: ns/op is the time of a pair. It is the sidecar that
// sets the pace.
func BenchmarkPairs(b *testing.B) {
	client := dial(b, sharedSidecar(b).address)
	ctx := context.Background()
	var next atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(128)
	b.RunParallel(func(pb *testing.PB) {
		key := fmt.Sprintf("key-%d", next.Add(1))
		for pb.Next() {
			answer, err := client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: "bench", Key: key})
			if err != nil || answer.Decision != keyturnv1.Decision_DECISION_ACCEPT {
				b.Error(answer, err)
				return
			}
			if _, err := client.DeQueue(ctx, &keyturnv1.DeQueueRequest{Queue: "bench", Key: key, Holder: &keyturnv1.DeQueueRequest_Token{Token: answer.Turn.Token}}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
