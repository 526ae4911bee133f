package keyturn

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstBackOff   = 50 * time.Millisecond
	longestBackOff = 5 * time.Second
	// longestReconnect is less: whoever holds a turn has no time to lose.
	longestReconnect = 2 * time.Second
)

// backOff says how long to wait before the next try: exponential with full jitter, so that many clients of a sidecar that
// comes back do not come together.
type backOff struct {
	// Zero: longestBackOff.
	longest time.Duration
	ceiling time.Duration
}

// next is what the sidecar asked for, and the jitter on top of it. Never 0: a failure that comes at once must not make a
// busy loop.
func (b *backOff) next(atLeast time.Duration) time.Duration {
	if b.ceiling == 0 {
		b.ceiling = firstBackOff
	}
	jitter := time.Duration(rand.Int64N(int64(b.ceiling)))
	longest := b.longest
	if longest == 0 {
		longest = longestBackOff
	}
	b.ceiling = min(2*b.ceiling, longest)
	return atLeast + max(time.Millisecond, jitter)
}

func (b *backOff) reset() { b.ceiling = 0 }

// pause waits, and reports false if the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
