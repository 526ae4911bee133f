package keyturn

import (
	"context"
	"slices"
	"time"
)

// givingUp is how long the giving up of a place or a turn may take before it is left to its own end.
const givingUp = 2 * time.Second

// leastBetween: a sidecar that answers at once though it was asked to wait is not asked in a busy loop.
const leastBetween = 50 * time.Millisecond

// patiently asks again what may be sent again (a ticket, an item id or a token goes with it), so that it outlives a sidecar
// that restarts. It gives up at until, at the end of the context, and at failures that it does not bear. ask gets what is
// left of the time.
func patiently(ctx context.Context, until moment, bears []failure, ask func(left time.Duration) error) error {
	var pauses backOff
	for {
		err := ask(max(time.Millisecond, until.until()))
		if err == nil || ctx.Err() != nil || !slices.Contains(bears, failureOf(err)) || isAboutTLS(err) {
			return err
		}
		wait := pauses.next(retryAfterOf(err))
		if until.until() <= wait || !pause(ctx, wait) {
			return err
		}
	}
}
