package keyturn

import (
	"context"

	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// The calls of the contract, with the messages of the proto. The request is copied, and is the caller's again when the call
// returns. Each may be sent again by the client itself, with the ticket or the id that the caller gave: after a stream broke a
// session sends what is open once more. A call whose context has no deadline ends at the latest ten seconds after its wait,
// with codes.DeadlineExceeded. All errors are an [Error] or a [TurnLostError].

// raw sends a copy of what the caller handed over.
func raw[Q, A proto.Message](ctx context.Context, c *Client, request Q, make func(Q) *command) (A, *command, error) {
	var none A
	if !request.ProtoReflect().IsValid() {
		return none, nil, wrongSetting("request", "nil", "a message")
	}
	own, ok := proto.Clone(request).(Q)
	if !ok {
		return none, nil, badAnswer(errMismatch.Error())
	}
	command := make(own)
	if command.settles() {
		c.ages.over(command.ref.id())
	}
	if err := ask(ctx, c.over, command); err != nil {
		return none, nil, err
	}
	answer, err := answered[A](command)
	return answer, command, err
}

// EnQueue asks for the turn of a key. Cancelling the context ends the wait: a caller without a ticket leaves its line, one
// with a ticket keeps its place, unless the cause is [ErrLeave]. Keep the turn alive with [Client.Hold], and end it with
// [Client.DeQueue].
func (c *Client) EnQueue(ctx context.Context, request *pb.EnQueueRequest) (*pb.EnQueueResponse, error) {
	answer, command, err := raw[*pb.EnQueueRequest, *pb.EnQueueResponse](ctx, c, request, newEnQueue)
	if err != nil || answer.GetTurn() == nil {
		return answer, err
	}
	c.given(ctx, command, []*pb.Turn{answer.Turn})
	return answer, nil
}

// DeQueue ends a caller's turn by its token, or gives up a place or a turn by its ticket.
func (c *Client) DeQueue(ctx context.Context, request *pb.DeQueueRequest) (*pb.DeQueueResponse, error) {
	answer, _, err := raw[*pb.DeQueueRequest, *pb.DeQueueResponse](ctx, c, request, newDeQueue)
	return answer, err
}

// SubmitBatch hands over a batch with one message, accepted as a whole or not at all. Items without an id get one. Unlike
// [Client.Submit] it does not try again what the sidecar refused for now.
func (c *Client) SubmitBatch(ctx context.Context, request *pb.SubmitRequest) (*pb.SubmitResponse, error) {
	answer, _, err := raw[*pb.SubmitRequest, *pb.SubmitResponse](ctx, c, request, func(own *pb.SubmitRequest) *command {
		for _, item := range own.GetItems() {
			c.name(item)
		}
		return newSubmit(own)
	})
	return answer, err
}

// Acquire takes the next turns of any keys that have items, or, with a key, waits in the line of that key. End each with
// [Client.Ack] or [Client.Nack]; keep it alive with [Client.Hold].
func (c *Client) Acquire(ctx context.Context, request *pb.AcquireRequest) (*pb.AcquireResponse, error) {
	answer, command, err := raw[*pb.AcquireRequest, *pb.AcquireResponse](ctx, c, request, newAcquire)
	if err == nil {
		c.given(ctx, command, turnsIn(answer))
	}
	return answer, err
}

// Ack ends a turn: its items are done. In the same step it may submit follow-ups, which get an id if they have none, and
// take the next turns.
func (c *Client) Ack(ctx context.Context, request *pb.AckRequest) (*pb.AckResponse, error) {
	answer, command, err := raw[*pb.AckRequest, *pb.AckResponse](ctx, c, request, func(own *pb.AckRequest) *command {
		for _, one := range own.GetFollowUps() {
			c.name(one.GetItem())
		}
		return newAck(own)
	})
	if err == nil {
		c.given(ctx, command, turnsIn(answer))
	}
	return answer, err
}

// Nack gives a turn back: its items are retried, released, or refused for good.
func (c *Client) Nack(ctx context.Context, request *pb.NackRequest) (*pb.NackResponse, error) {
	answer, _, err := raw[*pb.NackRequest, *pb.NackResponse](ctx, c, request, newNack)
	return answer, err
}

// Renew lets the leases of live turns start again.
func (c *Client) Renew(ctx context.Context, request *pb.RenewRequest) (*pb.RenewResponse, error) {
	answer, _, err := raw[*pb.RenewRequest, *pb.RenewResponse](ctx, c, request, newRenew)
	return answer, err
}

// Await waits for an item to finish and tells what became of it. [Client.Result] is more comfortable.
func (c *Client) Await(ctx context.Context, request *pb.AwaitRequest) (*pb.AwaitResponse, error) {
	answer, _, err := raw[*pb.AwaitRequest, *pb.AwaitResponse](ctx, c, request, newAwait)
	return answer, err
}

func (c *Client) name(item *pb.NewItem) {
	if item != nil && item.ItemId == "" {
		item.ItemId = c.ids.next()
	}
}

// given completes the turns of an answer: a session leaves out what the command said. How old they are is remembered for
// [Client.Hold]; what lives by its lease and may be old is renewed before it is handed on.
func (c *Client) given(ctx context.Context, command *command, turns []*pb.Turn) {
	infos := make([]*TurnInfo, 0, len(turns))
	for at, turn := range turns {
		if turn == nil {
			continue
		}
		info := command.turnInfo(turn, at)
		turn.Queue, turn.Key = info.Queue, info.Key
		if known, again := c.ages.known(info.id()); again {
			// A ticket that is told its turn once more makes it no younger.
			info.since = min(info.since, known.since)
		}
		infos = append(infos, &info)
	}
	confirm(ctx, c.over, infos)
	for _, info := range infos {
		c.ages.note(info)
	}
}
