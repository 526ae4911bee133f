package keyturn

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// fixedBytes is more than what the numbers and tags of a small call take on the wire.
const fixedBytes = 96

func newEnQueue(call *EnQueueCall) (*command, error) {
	var check checks
	request := &pb.EnQueueRequest{
		Queue: check.text("queue", call.Queue), Key: check.text("key", call.Key), Ticket: check.text("ticket", call.Ticket),
		ConsumerId: check.text("consumer_id", call.ConsumerID), IdempotencyKey: check.text("idempotency_key", call.IdempotencyKey),
		Wait: check.duration("wait", call.Wait), Lease: check.duration("lease", call.Lease),
	}
	bytes := fixedBytes + len(call.Queue) + len(call.Key) + len(call.Ticket) + len(call.ConsumerID) + len(call.IdempotencyKey)
	wait := call.Wait
	if wait == 0 {
		wait = longestWait
	}
	c := &command{name: "EnQueue", request: request, ref: TurnRef{Queue: call.Queue, Key: call.Key}, wait: max(0, wait), bytes: bytes}
	c.wire.Call = &pb.Command_Enqueue{Enqueue: request}
	return c, check.err()
}

func newDeQueue(call *DeQueueCall) (*command, error) {
	var check checks
	request := &pb.DeQueueRequest{
		Queue: check.text("queue", call.Queue), Key: check.text("key", call.Key), Abandoned: call.Abandoned, Result: call.Result,
	}
	switch {
	case call.Token != 0 && call.Ticket != "":
		check.add("token", fmt.Sprintf("%d with a ticket is not allowed; allowed is one of the two", call.Token))
	case call.Ticket != "":
		request.Holder = &pb.DeQueueRequest_Ticket{Ticket: check.text("ticket", call.Ticket)}
	case call.Token != 0:
		request.Holder = &pb.DeQueueRequest_Token{Token: call.Token}
	}
	c := &command{name: "DeQueue", request: request, keepsOrEnds: true, ref: TurnRef{call.Queue, call.Key, call.Token}}
	c.bytes = fixedBytes + len(call.Queue) + len(call.Key) + len(call.Ticket) + len(call.Result)
	c.wire.Call = &pb.Command_Dequeue{Dequeue: request}
	return c, check.err()
}

func newSubmit(call *SubmitCall) (*command, error) {
	var check checks
	request := &pb.SubmitRequest{
		Queue: check.text("queue", call.Queue), WaitForRoom: check.duration("wait_for_room", call.WaitForRoom),
		Durability: check.durability("durability", call.Durability), Items: make([]*pb.NewItem, len(call.Items)),
	}
	for at := range call.Items {
		request.Items[at] = check.item(fmt.Sprintf("items[%d]", at), &call.Items[at])
	}
	c := &command{name: "Submit", request: request, wait: max(0, call.WaitForRoom)}
	c.wire.Call = &pb.Command_Submit{Submit: request}
	return c.measured(check.err())
}

func newAcquire(call *AcquireCall) (*command, error) {
	var check checks
	request := check.acquire("", call)
	c := &command{name: "Acquire", request: request, wait: max(0, call.Wait)}
	c.wire.Call = &pb.Command_Acquire{Acquire: request}
	return c.measured(check.err())
}

func newAck(call *AckCall) (*command, error) {
	var check checks
	request := &pb.AckRequest{
		Queue: check.text("queue", call.Queue), Key: check.text("key", call.Key), Token: call.Token, Result: call.Result,
	}
	for at := range call.FollowUps {
		field := fmt.Sprintf("follow_ups[%d].", at)
		one := &call.FollowUps[at]
		request.FollowUps = append(request.FollowUps, &pb.FollowUp{
			Queue: check.text(field+"queue", one.Queue), Item: check.item(field+"item", &one.Item),
		})
	}
	c := &command{name: "Ack", request: request, keepsOrEnds: true, ref: call.TurnRef}
	if call.Next != nil {
		request.Next = check.acquire("next.", call.Next)
		c.wait = max(0, call.Next.Wait)
	}
	c.wire.Call = &pb.Command_Ack{Ack: request}
	return c.measured(check.err())
}

func newNack(call *NackCall) (*command, error) {
	var check checks
	request := &pb.NackRequest{
		Queue: check.text("queue", call.Queue), Key: check.text("key", call.Key), Token: call.Token,
		Kind: check.nackKind("kind", call.Kind), Delay: check.duration("delay", call.Delay),
		Error: check.text("error", call.Error), Done: check.count("done", call.Done),
	}
	c := &command{name: "Nack", request: request, keepsOrEnds: true, ref: call.TurnRef}
	c.wire.Call = &pb.Command_Nack{Nack: request}
	return c.measured(check.err())
}

func newRenew(call *RenewCall) (*command, error) {
	var check checks
	request := &pb.RenewRequest{Lease: check.duration("lease", call.Lease)}
	for at, ref := range call.Turns {
		field := fmt.Sprintf("turns[%d].", at)
		request.Turns = append(request.Turns, &pb.TurnRef{
			Queue: check.text(field+"queue", ref.Queue), Key: check.text(field+"key", ref.Key), Token: ref.Token,
		})
	}
	c := &command{name: "Renew", request: request, keepsOrEnds: true}
	c.wire.Call = &pb.Command_Renew{Renew: request}
	return c.measured(check.err())
}

func newAwait(call *AwaitCall) (*command, error) {
	var check checks
	request := &pb.AwaitRequest{
		Queue: check.text("queue", call.Queue), ItemId: check.text("item_id", call.ItemID), Wait: check.duration("wait", call.Wait),
	}
	c := &command{name: "Await", request: request, wait: max(0, call.Wait)}
	c.wire.Call = &pb.Command_AwaitItem{AwaitItem: request}
	return c.measured(check.err())
}

// measured adds how many bytes it takes on the wire.
func (c *command) measured(err error) (*command, error) {
	if err == nil {
		c.bytes = proto.Size(&c.wire) + fixedBytes
	}
	return c, err
}

func (c *checks) acquire(prefix string, call *AcquireCall) *pb.AcquireRequest {
	queues := make([]string, len(call.Queues))
	for at, queue := range call.Queues {
		queues[at] = c.text(fmt.Sprintf("%squeues[%d]", prefix, at), queue)
	}
	return &pb.AcquireRequest{
		Queues: queues, Key: c.text(prefix+"key", call.Key), ConsumerId: c.text(prefix+"consumer_id", call.ConsumerID),
		Ticket: c.text(prefix+"ticket", call.Ticket), MaxTurns: c.count(prefix+"max_turns", call.MaxTurns),
		MaxItemsPerTurn: c.count(prefix+"max_items_per_turn", call.MaxItemsPerTurn),
		Wait:            c.duration(prefix+"wait", call.Wait), Lease: c.duration(prefix+"lease", call.Lease),
	}
}

// item copies the headers. The payload is a copy already, of whoever took it from the application.
func (c *checks) item(field string, item *NewItem) *pb.NewItem {
	made := &pb.NewItem{
		Key: c.text(field+".key", item.Key), Payload: item.Payload, ItemId: c.text(field+".item_id", item.ItemID),
		IdempotencyKey: c.text(field+".idempotency_key", item.IdempotencyKey), Delay: c.duration(field+".delay", item.Delay),
		AfterUnknown: c.afterUnknown(field+".after_unknown", item.AfterUnknown),
	}
	if len(item.Headers) > 0 {
		made.Headers = make(map[string]string, len(item.Headers))
		for name, value := range item.Headers {
			made.Headers[c.text(field+".headers", name)] = c.text(field+".headers", value)
		}
	}
	for at, ref := range item.After {
		name := fmt.Sprintf("%s.after[%d]", field, at)
		made.After = append(made.After, &pb.ItemRef{Queue: c.text(name+".queue", ref.Queue), ItemId: c.text(name+".item_id", ref.ItemID)})
	}
	return made
}

func (c *checks) nackKind(field string, kind NackKind) pb.NackKind {
	switch kind {
	case NackRetry:
		return pb.NackKind_NACK_KIND_RETRY
	case NackRelease:
		return pb.NackKind_NACK_KIND_RELEASE
	case NackDeadLetter:
		return pb.NackKind_NACK_KIND_DEAD_LETTER
	}
	c.add(field, fmt.Sprintf("%q is not allowed; allowed are retry, release and dead_letter", string(kind)))
	return pb.NackKind_NACK_KIND_UNSPECIFIED
}

func (c *checks) durability(field string, durability Durability) pb.Durability {
	switch durability {
	case "":
		return pb.Durability_DURABILITY_UNSPECIFIED
	case OnFlush:
		return pb.Durability_DURABILITY_ON_FLUSH
	case Interval:
		return pb.Durability_DURABILITY_INTERVAL
	case Count:
		return pb.Durability_DURABILITY_COUNT
	case Memory:
		return pb.Durability_DURABILITY_MEMORY
	}
	c.add(field, fmt.Sprintf("%q is not allowed; allowed are on_flush, interval, count and memory", string(durability)))
	return pb.Durability_DURABILITY_UNSPECIFIED
}

func (c *checks) afterUnknown(field string, what AfterUnknown) pb.AfterUnknown {
	switch what {
	case "", RefuseUnknown:
		return pb.AfterUnknown_AFTER_UNKNOWN_REFUSE
	case WaitUnknown:
		return pb.AfterUnknown_AFTER_UNKNOWN_WAIT
	}
	c.add(field, fmt.Sprintf("%q is not allowed; allowed are refuse and wait", string(what)))
	return pb.AfterUnknown_AFTER_UNKNOWN_UNSPECIFIED
}

// wholeMillis rounds up: a wait that was cut to zero would be none.
func wholeMillis(d time.Duration) time.Duration {
	return (max(0, d) + time.Millisecond - 1).Truncate(time.Millisecond)
}
