package keyturn_test

import (
	"context"
	"log"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// counting is a Metrics that counts.
type counting struct {
	mu                   sync.Mutex
	calls                map[string]int
	granted, reconnected int
	lost                 []keyturn.LossCause
	tells                chan struct{}
}

func newCounting() *counting {
	return &counting{calls: map[string]int{}, tells: make(chan struct{}, 1)}
}

func (m *counting) CallDone(method string, code codes.Code, took time.Duration) {
	if took < 0 {
		log.Fatal("a call took less than no time")
	}
	m.note(func() { m.calls[method+" "+keyturn.CodeName(code)]++ })
}

func (m *counting) TurnGranted(string) { m.note(func() { m.granted++ }) }

func (m *counting) TurnLost(_ string, cause keyturn.LossCause) {
	m.note(func() { m.lost = append(m.lost, cause) })
}

func (m *counting) Reconnected() { m.note(func() { m.reconnected++ }) }

func (m *counting) note(what func()) {
	m.mu.Lock()
	what()
	m.mu.Unlock()
	select {
	case m.tells <- struct{}{}:
	default:
	}
}

// until waits for a state of the metrics.
func (m *counting) until(t *testing.T, ctx context.Context, is func() bool) {
	t.Helper()
	for {
		m.mu.Lock()
		ok := is()
		m.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-m.tells:
		case <-ctx.Done():
			t.Fatal("it did not come to that in time")
		}
	}
}
