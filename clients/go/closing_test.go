package keyturn_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// granting is a Metrics that calls granted whenever a turn is given, before whoever asked for it learns of that.
type granting struct {
	*counting
	granted func()
}

func (m granting) TurnGranted(queue string) {
	m.counting.TurnGranted(queue)
	m.granted()
}

// TestCloseAsAScopedTurnIsGrantedLeavesItsKeyFree: the close crosses the grant, of calls that are answered at once and of
// those that waited, and of handlers that do nothing and of those that work until they are told to stop.
func TestCloseAsAScopedTurnIsGrantedLeavesItsKeyFree(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		ctx := within(t, 60*time.Second)
		other := dial(t, sharedSidecar(t).address)
		queue := queueOf(t)
		handlers := map[string]func(context.Context, *keyturn.Turn) error{
			"at once": func(context.Context, *keyturn.Turn) error { return nil },
			"works":   func(ctx context.Context, _ *keyturn.Turn) error { <-ctx.Done(); return ctx.Err() },
		}
		for name, handler := range handlers {
			for n := range 30 {
				key := fmt.Sprint(name, n)
				closing := make(chan struct{})
				metrics := granting{newCounting(), sync.OnceFunc(func() { close(closing) })}
				client := must(keyturn.Dial(sharedSidecar(t).address, keyturn.WithTransport(transport), keyturn.WithMetrics(metrics)))(t)
				var first *keyturn.Turn
				if n%2 == 0 {
					first = must(other.Turn(ctx, queue, key, keyturn.TurnOptions{}))(t)
				}
				closed := make(chan struct{})
				go func() {
					defer close(closed)
					<-closing
					_ = client.Close()
				}()
				failed := make(chan error)
				go func() {
					opts := keyturn.TurnOptions{Wait: 10 * time.Second}
					if n%3 == 0 {
						opts.Order = keyturn.OrderStrict
					}
					_, err := client.WithTurn(ctx, queue, key, opts, handler)
					failed <- err
				}()
				if first != nil {
					first.Release()
				}
				err := <-failed
				<-closed
				var lost *keyturn.TurnLostError
				if err != nil && !errors.Is(err, keyturn.ErrClosed) && !(errors.As(err, &lost) && lost.Cause == keyturn.LossClosed) {
					t.Fatalf("%s: %v", key, err)
				}
			}
		}
		nobodyHolds(t, other, queue)
	})
}
