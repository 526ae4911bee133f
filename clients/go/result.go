package keyturn

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
)

// defaultResultWait is how long a result is waited for if nobody says.
const defaultResultWait = 5 * time.Minute

// ResultOptions are the options of [Client.Result].
type ResultOptions struct {
	// Timeout is how long to wait for the item's end. Zero: 5 min. [Forever]: until the context ends.
	Timeout time.Duration
}

// Result waits for what an item came to, whoever submitted it and wherever it is worked on: a future across processes. It
// is known for the queue's result_ttl after its end. An item that nobody submitted yet is unknown, which is told at once.
//
// It returns the result of its Ack, nil when that had none. The error is an [ItemFailedError] when no result can come, an
// [Error] with codes.DeadlineExceeded when the time is over first, and that of the context when it ends.
func (c *Client) Result(ctx context.Context, queue, itemID string, opts ...ResultOptions) ([]byte, error) {
	timeout := defaultResultWait
	if len(opts) > 0 && opts[len(opts)-1].Timeout != 0 {
		timeout = opts[len(opts)-1].Timeout
	}
	if timeout < 0 && timeout != NoWait {
		return nil, wrongSetting("timeout", timeout, "0s or more, NoWait or Forever")
	}
	ref := ItemRef{Queue: queue, ItemID: itemID}
	until := now().plus(max(0, timeout))
	for {
		asked := now()
		answer, err := c.awaitPatiently(ctx, ref, until)
		if err != nil {
			return nil, err
		}
		switch answer.State {
		case ItemDone:
			return answer.Result, nil
		case ItemWaiting, ItemInFlight:
		default:
			return nil, &ItemFailedError{ItemRef: ref, State: answer.State, LastError: answer.Error, Attempt: answer.Attempt}
		}
		if now() >= until {
			message := fmt.Sprintf("item %s of queue %s is still %s after %v", itemID, queue, answer.State, max(0, timeout))
			return nil, &Error{Code: codes.DeadlineExceeded, Message: message}
		}
		// The sidecar may answer early; it is not asked in a busy loop.
		if !pause(ctx, leastBetween-now().minus(asked)) {
			return nil, contextError(ctx)
		}
	}
}

// resultGrace is the way there and back of an answer that comes when the time is over.
const resultGrace = 500 * time.Millisecond

// awaitPatiently is one part of the wait. A sidecar that is away is asked again until the time is over.
func (c *Client) awaitPatiently(ctx context.Context, ref ItemRef, until moment) (*AwaitAnswer, error) {
	var answer *AwaitAnswer
	end := until
	if until.until() == 0 {
		// It is only asked, as any other call is.
		end = now().plus(callGrace)
	}
	err := patiently(ctx, end, []failure{away}, func(time.Duration) error {
		wait := wholeMillis(min(until.until(), longestWait))
		call, done := context.WithTimeoutCause(ctx, min(wait+callGrace, end.plus(resultGrace).until()), errNoAnswer)
		defer done()
		var err error
		answer, err = c.Await(call, AwaitCall{ItemRef: ref, Wait: wait})
		return err
	})
	return answer, err
}

var errNoAnswer = &Error{Code: codes.DeadlineExceeded, Message: "no answer before the call's time-out"}
