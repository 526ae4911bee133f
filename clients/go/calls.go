package keyturn

import (
	"bytes"
	"context"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// The calls of the contract. Each may be sent again by the client itself, with the ticket or the id that the caller gave:
// after a stream broke a session sends what is open once more. A call whose context has no deadline ends at the latest ten
// seconds after its wait, with codes.DeadlineExceeded. All errors are an [Error] or a [TurnLostError].

// EnQueue asks for the turn of a key. Cancelling the context ends the wait: a caller without a ticket leaves its line, one
// with a ticket keeps its place, unless the cause is [ErrLeave]. Keep the turn alive with [Client.Hold], and end it with
// [Client.DeQueue].
func (c *Client) EnQueue(ctx context.Context, call EnQueueCall) (*EnQueueAnswer, error) {
	return c.enQueue(ctx, &call)
}

func (c *Client) enQueue(ctx context.Context, call *EnQueueCall) (*EnQueueAnswer, error) {
	command, err := newEnQueue(call)
	if err := ask(ctx, c.over, command, err); err != nil {
		return nil, err
	}
	answer, err := command.enQueueAnswer()
	if err == nil && answer.Turn != nil {
		if held := answer.Turn.held; held == nil || !held.tied {
			confirm(ctx, c.over, []*TurnInfo{answer.Turn})
		}
	}
	return answer, err
}

// DeQueue ends a caller's turn by its token, or gives up a place or a turn by its ticket.
func (c *Client) DeQueue(ctx context.Context, call DeQueueCall) (*DeQueueAnswer, error) {
	call.Result = bytes.Clone(call.Result)
	command, err := newDeQueue(&call)
	if err := ask(ctx, c.over, command, err); err != nil {
		return nil, err
	}
	return deQueueAnswer(command)
}

func deQueueAnswer(command *command) (*DeQueueAnswer, error) {
	answer, err := answered[*pb.DeQueueResponse](command)
	if err != nil {
		return nil, err
	}
	return &DeQueueAnswer{Promoted: answer.Promoted, Waiting: int(answer.Waiting)}, nil
}

// SubmitBatch hands over a batch with one message, accepted as a whole or not at all. Items without an id get one. Unlike
// [Client.Submit] it does not try again what the sidecar refused for now.
func (c *Client) SubmitBatch(ctx context.Context, call SubmitCall) (*SubmitAnswer, error) {
	call.Items = ownedItems(c.named(call.Items))
	return c.submitBatch(ctx, &call, 0)
}

// Acquire takes the next turns of any keys that have items, or, with a key, waits in the line of that key. End each with
// [Client.Ack] or [Client.Nack]; keep it alive with [Client.Hold].
func (c *Client) Acquire(ctx context.Context, call AcquireCall) (*AcquireAnswer, error) {
	return c.acquire(ctx, &call)
}

func (c *Client) acquire(ctx context.Context, call *AcquireCall) (*AcquireAnswer, error) {
	command, err := newAcquire(call)
	if err := ask(ctx, c.over, command, err); err != nil {
		return nil, err
	}
	return c.deliveries(ctx, command)
}

func (c *Client) deliveries(ctx context.Context, command *command) (*AcquireAnswer, error) {
	from, err := answered[*pb.AcquireResponse](command)
	if err != nil {
		return nil, err
	}
	answer := command.acquireAnswer(from)
	confirm(ctx, c.over, turnsOf(answer))
	return answer, nil
}

func turnsOf(answer *AcquireAnswer) []*TurnInfo {
	turns := make([]*TurnInfo, len(answer.Deliveries))
	for at := range answer.Deliveries {
		turns[at] = &answer.Deliveries[at].Turn
	}
	return turns
}

// Ack ends a turn: its items are done. In the same step it may submit follow-ups, which get an id if they have none, and
// take the next turns.
func (c *Client) Ack(ctx context.Context, call AckCall) (*AckAnswer, error) {
	call.Result = bytes.Clone(call.Result)
	call.FollowUps = c.namedFollowUps(call.FollowUps)
	for at := range call.FollowUps {
		call.FollowUps[at].Item = owned(call.FollowUps[at].Item)
	}
	command, err := newAck(&call)
	if err := ask(ctx, c.over, command, err); err != nil {
		return nil, err
	}
	from, err := answered[*pb.AckResponse](command)
	if err != nil {
		return nil, err
	}
	answer := &AckAnswer{}
	if answer.FollowUps, err = submitResults(from.FollowUps); err != nil {
		return nil, err
	}
	if call.Next != nil {
		answer.Next = command.acquireAnswer(from.Next)
		confirm(ctx, c.over, turnsOf(answer.Next))
	}
	return answer, nil
}

// Nack gives a turn back: its items are retried, released, or refused for good.
func (c *Client) Nack(ctx context.Context, call NackCall) (*NackAnswer, error) {
	command, err := newNack(&call)
	if err := ask(ctx, c.over, command, err); err != nil {
		return nil, err
	}
	answer, err := answered[*pb.NackResponse](command)
	if err != nil {
		return nil, err
	}
	return &NackAnswer{RetryAt: instant(answer.RetryAt), DeadLettered: int(answer.DeadLettered)}, nil
}

// Renew lets the leases of live turns start again.
func (c *Client) Renew(ctx context.Context, call RenewCall) (*RenewAnswer, error) {
	return renewOver(ctx, c.over, &call, 0)
}

// Await waits for an item to finish and tells what became of it. [Client.Result] is more comfortable.
func (c *Client) Await(ctx context.Context, call AwaitCall) (*AwaitAnswer, error) {
	command, err := newAwait(&call)
	if err := ask(ctx, c.over, command, err); err != nil {
		return nil, err
	}
	answer, err := answered[*pb.AwaitResponse](command)
	if err != nil {
		return nil, err
	}
	state, known := itemStates[answer.State]
	if !known {
		return nil, badAnswer("the sidecar tells of a state for which there is no word here: " + answer.State.String())
	}
	return &AwaitAnswer{State: state, Result: answer.Result, Error: answer.Error, Attempt: int(answer.Attempt)}, nil
}
