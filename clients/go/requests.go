package keyturn

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// fixedBytes is more than what the numbers and tags of a small call take on the wire.
const fixedBytes = 96

// commandOf is the command for a request, which belongs to it from here on.
func commandOf(name string, request proto.Message) *command {
	return &command{name: name, request: request, bytes: proto.Size(request) + fixedBytes, invalid: textOf(request)}
}

func newEnQueue(request *pb.EnQueueRequest) *command {
	c := commandOf("EnQueue", request)
	c.ref = TurnRef{Queue: request.GetQueue(), Key: request.GetKey()}
	c.wait = longestWait
	if request.GetWait() != nil {
		c.wait = waitOf(request.GetWait())
	}
	c.wire.Call = &pb.Command_Enqueue{Enqueue: request}
	return c
}

func newDeQueue(request *pb.DeQueueRequest) *command {
	c := commandOf("DeQueue", request)
	c.keepsOrEnds, c.ref = true, refOf(request)
	c.wire.Call = &pb.Command_Dequeue{Dequeue: request}
	return c
}

func newSubmit(request *pb.SubmitRequest) *command {
	return submitting(commandOf("Submit", request), request)
}

// newCheckedSubmit is for items that were looked at one by one, of which there may be very many.
func newCheckedSubmit(request *pb.SubmitRequest) *command {
	c := &command{name: "Submit", request: request, bytes: proto.Size(request) + fixedBytes}
	var check checks
	check.text("queue", request.GetQueue())
	c.invalid = check.err()
	return submitting(c, request)
}

func submitting(c *command, request *pb.SubmitRequest) *command {
	c.wait = waitOf(request.GetWaitForRoom())
	c.wire.Call = &pb.Command_Submit{Submit: request}
	return c
}

func newAcquire(request *pb.AcquireRequest) *command {
	c := commandOf("Acquire", request)
	c.wait = waitOf(request.GetWait())
	c.wire.Call = &pb.Command_Acquire{Acquire: request}
	return c
}

func newAck(request *pb.AckRequest) *command {
	c := commandOf("Ack", request)
	c.keepsOrEnds, c.ref = true, refOf(request)
	c.wait = waitOf(request.GetNext().GetWait())
	c.wire.Call = &pb.Command_Ack{Ack: request}
	return c
}

func newNack(request *pb.NackRequest) *command {
	c := commandOf("Nack", request)
	c.keepsOrEnds, c.ref = true, refOf(request)
	c.wire.Call = &pb.Command_Nack{Nack: request}
	return c
}

func newRenew(request *pb.RenewRequest) *command {
	c := commandOf("Renew", request)
	c.keepsOrEnds = true
	c.wire.Call = &pb.Command_Renew{Renew: request}
	return c
}

func newAwait(request *pb.AwaitRequest) *command {
	c := commandOf("Await", request)
	c.wait = waitOf(request.GetWait())
	c.wire.Call = &pb.Command_AwaitItem{AwaitItem: request}
	return c
}

func waitOf(wait *durationpb.Duration) time.Duration { return max(0, wait.AsDuration()) }

// wireDuration is nil for one that was not said.
func wireDuration(d time.Duration) *durationpb.Duration {
	switch d {
	case 0:
		return nil
	case NoWait:
		return &durationpb.Duration{}
	}
	return durationpb.New(d)
}

// wholeMillis rounds up: a wait that was cut to zero would be none.
func wholeMillis(d time.Duration) time.Duration {
	return (max(0, d) + time.Millisecond - 1).Truncate(time.Millisecond)
}

// releaseOf gives a turn back as if it had not been given, whatever it carries.
func releaseOf(ref TurnRef, why string) *pb.NackRequest {
	return &pb.NackRequest{Queue: ref.Queue, Key: ref.Key, Token: ref.Token, Kind: pb.NackKind_NACK_KIND_RELEASE, Error: why}
}

// leaving gives up the place of a ticket, or the turn that it was given.
func leaving(queue, key, ticket string) *pb.DeQueueRequest {
	return &pb.DeQueueRequest{Queue: queue, Key: key, Holder: &pb.DeQueueRequest_Ticket{Ticket: ticket}, Abandoned: true}
}

// ending ends a caller's turn.
func ending(ref TurnRef) *pb.DeQueueRequest {
	return &pb.DeQueueRequest{Queue: ref.Queue, Key: ref.Key, Holder: &pb.DeQueueRequest_Token{Token: ref.Token}}
}

func renewOf(turns []TurnRef, lease time.Duration) *pb.RenewRequest {
	request := &pb.RenewRequest{Lease: wireDuration(lease), Turns: make([]*pb.TurnRef, len(turns))}
	for at, ref := range turns {
		request.Turns[at] = &pb.TurnRef{Queue: ref.Queue, Key: ref.Key, Token: ref.Token}
	}
	return request
}

func submitOf(queue string, items []NewItem, room time.Duration, durability Durability) *pb.SubmitRequest {
	var check checks
	request := &pb.SubmitRequest{
		Queue: queue, Items: make([]*pb.NewItem, len(items)), WaitForRoom: wireDuration(room), Durability: check.durability("", durability),
	}
	for at := range items {
		request.Items[at] = check.item("", &items[at])
	}
	return request
}
