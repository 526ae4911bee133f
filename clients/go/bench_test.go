package keyturn_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	keyturn "github.com/keyturn/keyturn/clients/go"
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
			answer, err := client.EnQueue(ctx, keyturn.EnQueueCall{Queue: "bench", Key: key})
			if err != nil || answer.Decision != keyturn.Accept {
				b.Error(answer, err)
				return
			}
			if _, err := client.DeQueue(ctx, keyturn.DeQueueCall{Queue: "bench", Key: key, Token: answer.Turn.Token}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
