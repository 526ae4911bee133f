package keyturn

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
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
		state, known := itemStates[answer.GetState()]
		switch {
		case !known:
			return nil, badAnswer("the sidecar tells of a state for which there is no word here: " + answer.GetState().String())
		case state == ItemDone:
			return answer.GetResult(), nil
		case state != ItemWaiting && state != ItemInFlight:
			return nil, &ItemFailedError{ItemRef: ref, State: state, LastError: answer.GetError(), Attempt: int(answer.GetAttempt())}
		}
		if now() >= until {
			message := fmt.Sprintf("item %s of queue %s is still %s after %v", itemID, queue, state, max(0, timeout))
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
func (c *Client) awaitPatiently(ctx context.Context, ref ItemRef, until moment) (*pb.AwaitResponse, error) {
	var answer *pb.AwaitResponse
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
		command := newAwait(&pb.AwaitRequest{Queue: ref.Queue, ItemId: ref.ItemID, Wait: durationpb.New(wait)})
		if err = ask(call, c.over, command); err == nil {
			answer, err = answered[*pb.AwaitResponse](command)
		}
		return err
	})
	return answer, err
}

var errNoAnswer = &Error{Code: codes.DeadlineExceeded, Message: "no answer before the call's time-out"}
