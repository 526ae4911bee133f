package keyturn

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// lastMoment is how long a call without a ticket that waits and is called off is left to itself before it is cancelled: what the sidecar
// has answered by then is known, and a turn that it brings can be given back. Of a call that is cancelled nobody learns what
// it brought, unless its ticket is asked.
const lastMoment = 100 * time.Millisecond

func (c *command) lastMoment() time.Duration {
	if c.wait == 0 {
		// It is answered at once, and stands in no line.
		return givingUp
	}
	return lastMoment
}

// mayBringTurns is whether its answer may give turns, of which somebody has to learn.
func (c *command) mayBringTurns() bool {
	_, enQueues := c.request.(*pb.EnQueueRequest)
	return enQueues || c.acquires() != nil
}

// askForTurns waits for the answer no longer than its context says. Should nobody wait any more, the call is not dropped: a
// turn that it brings all the same would keep its key until the end of a lease.
func (u *unary) askForTurns(ctx context.Context, c *command, timeout time.Duration) error {
	call, cancel := withoutItsCancel(ctx, timeout)
	response := c.response()
	done := make(chan error, 1)
	u.running.Add(1)
	go func() {
		defer u.running.Done()
		done <- u.invoke(call, c, response)
	}()
	select {
	case err := <-done:
		cancel()
		if err != nil {
			return u.failed(ctx, c, err)
		}
		c.answer = response
		turns := turnsIn(response)
		for _, turn := range turns {
			u.metric.turnGranted(turn.GetQueue())
		}
		if c.scoped && !u.noteFresh(turns) {
			u.giveBack(turns)
			return closedError()
		}
		return nil
	case <-ctx.Done():
	case <-u.ctx.Done():
	}
	u.running.Add(1)
	leaves := c.leaving(ctx)
	go func() {
		defer u.running.Done()
		defer cancel()
		u.callOff(c, leaves, cancel, func() []*pb.Turn {
			if <-done != nil {
				return nil
			}
			return turnsIn(response)
		})
	}()
	return u.failed(ctx, c, ctx.Err())
}

// withoutItsCancel has the deadline of the context, which the sidecar is told and answers before.
func withoutItsCancel(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if end := time.Now().Add(timeout); timeout > 0 && (!bounded || end.Before(deadline)) {
		deadline, bounded = end, true
	}
	if bounded {
		return context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	return context.WithCancel(context.WithoutCancel(ctx))
}

// callOff: nobody waits for the call any more. Should what it does fail too, a place ends with its ticket_ttl, and a turn with
// its lease.
func (u *unary) callOff(c *command, leaves bool, cancel func(), brought func() []*pb.Turn) {
	queue, key := c.asked()
	if c.ticket() == "" {
		late := time.AfterFunc(c.lastMoment(), cancel)
		defer late.Stop()
		u.giveBack(brought())
		return
	}
	cancel()
	turns := brought()
	switch {
	case !leaves:
		// Its place and its turns are kept for whoever comes with the ticket.
	case key != "":
		u.end(newDeQueue(leaving(queue, key, c.ticket())))
	case len(turns) > 0:
		u.giveBack(turns)
	default:
		// The answer may have been on its way: the ticket is told its turns once more.
		u.giveBack(u.askAgain(c.acquires()))
	}
}

func (u *unary) askAgain(acquire *pb.AcquireRequest) []*pb.Turn {
	again, ok := proto.Clone(acquire).(*pb.AcquireRequest)
	if !ok {
		return nil
	}
	again.Wait = nil
	c := newAcquire(again)
	response := c.response()
	ctx, cancel := context.WithTimeout(context.Background(), givingUp)
	defer cancel()
	if u.invoke(ctx, c, response) != nil {
		return nil
	}
	return turnsIn(response)
}

// giveBack has one time for all of them: there may be a thousand, and a sidecar that does not answer.
func (u *unary) giveBack(turns []*pb.Turn) {
	ctx, cancel := context.WithTimeout(context.Background(), givingUp)
	defer cancel()
	for _, turn := range turns {
		u.endTurn(ctx, refOf(turn))
	}
}

// end gives something up, also when the client is closed already.
func (u *unary) end(c *command) {
	ctx, cancel := context.WithTimeout(context.Background(), givingUp)
	defer cancel()
	_ = u.invoke(ctx, c, c.response())
}

func nobodyWaits(ref TurnRef) *pb.NackRequest { return releaseOf(ref, "nobody waits for it any more") }

func (u *unary) endTurn(ctx context.Context, ref TurnRef) {
	c := newNack(nobodyWaits(ref))
	_ = u.invoke(ctx, c, c.response())
}

func turnsIn(response proto.Message) []*pb.Turn {
	var turns []*pb.Turn
	deliveries := func(from []*pb.Delivery) {
		for _, one := range from {
			turns = append(turns, one.GetTurn())
		}
	}
	switch answer := response.(type) {
	case *pb.EnQueueResponse:
		if turn := answer.GetTurn(); turn != nil && answer.GetDecision() == pb.Decision_DECISION_ACCEPT {
			turns = append(turns, turn)
		}
	case *pb.AcquireResponse:
		deliveries(answer.GetDeliveries())
	case *pb.AckResponse:
		deliveries(answer.GetNext().GetDeliveries())
	}
	return turns
}
