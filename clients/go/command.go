package keyturn

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// callGrace is how long a call may take beyond its wait, for the way there and back.
const callGrace = 10 * time.Second

// longestWait is the most that one call may wait, and that a queue's policy can ask for.
const longestWait = 5 * time.Minute

// command is a call on its way: what is sent, who waits for it, and what its answer means for turns. One goroutine asks,
// the session's goroutines answer; what both touch is written before done is closed.
type command struct {
	// What travels. A command is never copied.
	wire pb.Command
	name string
	// The request in wire, for a unary call.
	request proto.Message
	// The turn that it settles (token above 0), or the key that it asks for.
	ref   TurnRef
	wait  time.Duration
	bytes int
	// invalid: it cannot be written, and is refused.
	invalid error
	// timeout bounds the call besides its context; zero: its wait and callGrace, if the context has no end.
	timeout time.Duration
	// It ends or keeps what the application has: room for it is found when there is none for new work.
	keepsOrEnds bool
	// scoped: whoever asks hands its turn on to somebody else, and says so with begin.
	scoped bool
	// leaves: should its context end, the place of its ticket is given up, whatever the cause.
	leaves bool
	// lastWord: it releases a turn, and its caller does not ask again.
	lastWord bool
	// Its answer is read by the session itself, with the lock held. Nil for a call of the application.
	own func(answer proto.Message)

	// place is its rank among all commands of the session.
	place    uint64
	deadline moment
	sentAt   moment
	// sent: on the stream that there is; wasSent: on one that is gone.
	sent, wasSent bool
	// abandoned: nobody waits for it, but the sidecar may still answer. leave: its ticket's place is given up then.
	abandoned, leave bool

	done    chan struct{}
	answer  proto.Message
	err     error
	given   []*heldTurn
	askedAt moment
}

var errMismatch = errors.New("the sidecar answered another call")

// finish hands the outcome to whoever waits.
func (c *command) finish(err error) {
	c.err = err
	close(c.done)
}

// leaving is whether the place of its ticket is given up when its context ends.
func (c *command) leaving(ctx context.Context) bool {
	return c.leaves || errors.Is(context.Cause(ctx), ErrLeave)
}

// settles is whether it names the turn that it settles by its token.
func (c *command) settles() bool {
	if c.ref.Token == 0 {
		return false
	}
	switch c.wire.Call.(type) {
	case *pb.Command_Dequeue, *pb.Command_Ack, *pb.Command_Nack:
		return true
	}
	return false
}

// onlyEnds is whether it ends or keeps what the application has, and asks for nothing new.
func (c *command) onlyEnds() bool { return c.keepsOrEnds && c.acquires() == nil }

// acquires is the Acquire in it, if there is one.
func (c *command) acquires() *pb.AcquireRequest {
	switch call := c.wire.Call.(type) {
	case *pb.Command_Acquire:
		return call.Acquire
	case *pb.Command_Ack:
		return call.Ack.GetNext()
	}
	return nil
}

// ticket by which the turn that it is answered with may be asked for again.
func (c *command) ticket() string {
	if call, ok := c.wire.Call.(*pb.Command_Enqueue); ok {
		return call.Enqueue.GetTicket()
	}
	return c.acquires().GetTicket()
}

// tied is whether the turns that it asks for live as long as the session does.
func (c *command) tied() bool {
	if call, ok := c.wire.Call.(*pb.Command_Enqueue); ok {
		return call.Enqueue.GetLease() == nil
	}
	return c.acquires().GetLease() == nil
}

// claims is which places it may still claim with its ticket: of one key, or (no key) of any key of these queues.
func (c *command) claims() (queues []string, key string) {
	if c.ticket() == "" {
		return nil, ""
	}
	if _, ok := c.wire.Call.(*pb.Command_Enqueue); ok {
		return []string{c.ref.Queue}, c.ref.Key
	}
	return c.acquires().GetQueues(), c.acquires().GetKey()
}

// answerOf is what a reply carries.
func answerOf(reply *pb.Reply) proto.Message {
	switch outcome := reply.GetOutcome().(type) {
	case *pb.Reply_Enqueue:
		return outcome.Enqueue
	case *pb.Reply_Dequeue:
		return outcome.Dequeue
	case *pb.Reply_Submit:
		return outcome.Submit
	case *pb.Reply_Acquire:
		return outcome.Acquire
	case *pb.Reply_Ack:
		return outcome.Ack
	case *pb.Reply_Nack:
		return outcome.Nack
	case *pb.Reply_Renew:
		return outcome.Renew
	case *pb.Reply_AwaitItem:
		return outcome.AwaitItem
	case *pb.Reply_Hello:
		return outcome.Hello
	case *pb.Reply_Cancel:
		return outcome.Cancel
	case *pb.Reply_Error:
		return outcome.Error
	}
	return nil
}
