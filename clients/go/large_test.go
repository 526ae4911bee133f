package keyturn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// What can never be sent at the end of a turn: another attempt would say the same, and its work is done.

func TestWhatIsTooLargeForAnAckMakesDeadLettersAtOnce(t *testing.T) {
	for name, one := range map[string]struct {
		say  func(work *keyturn.Work, queue string)
		want string
	}{
		"a result": {func(work *keyturn.Work, _ string) { work.SetResult(make([]byte, 1<<20+1)) }, "the result takes 1048577 bytes; at most 1048576"},
		"many follow-ups": {func(work *keyturn.Work, queue string) {
			for n := range 1_001 {
				work.FollowUp(queue+"-next", keyturn.NewItem{Key: fmt.Sprint(n)})
			}
		}, "there are 1001 follow-ups; at most 1000"},
		"large follow-ups": {func(work *keyturn.Work, queue string) {
			for range 5 {
				work.FollowUp(queue+"-next", keyturn.NewItem{Payload: make([]byte, 1_000_000)})
			}
		}, "bytes; at most 4194240 fit into one Ack"},
		"a text that is none": {func(work *keyturn.Work, queue string) {
			work.FollowUp(queue+"-next", keyturn.NewItem{Key: "\xff"})
		}, "follow_ups[0].item.key"},
	} {
		for _, transport := range bothTransports {
			t.Run(name+" "+string(transport), func(t *testing.T) {
				t.Parallel()
				var runs atomic.Int32
				_, troubles, err := handled(t, func(_ context.Context, work *keyturn.Work) error {
					runs.Add(1)
					one.say(work, "large")
					return nil
				}, keyturn.WithLogger(quiet), keyturn.WithTransport(transport))
				var failed *keyturn.ItemFailedError
				if !errors.As(err, &failed) || failed.State != keyturn.ItemDead || !strings.Contains(failed.LastError, one.want) || runs.Load() != 1 {
					t.Fatalf("%v, after %d runs", err, runs.Load())
				}
				if len(troubles) != 2 || !strings.Contains(troubles[0].Error(), one.want) {
					t.Fatalf("%v", troubles)
				}
			})
		}
	}
}

func TestWhatFitsIntoAnAckIsSent(t *testing.T) {
	t.Parallel()
	queue := queueOf(t)
	result, troubles, err := handled(t, func(_ context.Context, work *keyturn.Work) error {
		work.SetResult(make([]byte, 1<<20))
		for n := range 1_000 {
			work.FollowUp(queue+"-next", keyturn.NewItem{Key: fmt.Sprint(n), Payload: make([]byte, 1_000)})
		}
		return nil
	}, keyturn.WithLogger(quiet))
	if err != nil || len(result) != 1<<20 || len(troubles) != 0 {
		t.Fatalf("%d bytes, %v, %v", len(result), troubles, err)
	}
}
