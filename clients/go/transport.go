package keyturn

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// transport is what the calls of a client go through: a session stream, the normal one, or unary calls.
type transport interface {
	// start sends a command; what stands against it is told by wait, which is to be called for every one.
	start(ctx context.Context, c *command)
	wait(ctx context.Context, c *command) error
	// inPassing sends what only ends something, in nobody's time: only close waits for it.
	inPassing(c *command)
	// ordered is whether the sidecar gets commands in the order of their starts.
	ordered() bool
	// hold keeps a turn alive that was given at since at the latest, until it is released.
	hold(info *TurnInfo, since moment) *heldTurn
	release(held *heldTurn)
	// begin: somebody works on it from here on. False: it is lost, and nobody shall.
	begin(held *heldTurn) bool
	// giveUp gives back a turn that was lost because the client is being closed, now that nobody works on it any more.
	giveUp(held *heldTurn)
	// why is why the sidecar cannot be reached; nil as long as it can, or nobody tries.
	why() error
	// close refuses the calls that are open, and returns when nothing is left.
	close()
}

func ask(ctx context.Context, over transport, c *command) error {
	over.start(ctx, c)
	return over.wait(ctx, c)
}

func renewOver(ctx context.Context, over transport, turns []TurnRef, lease, timeout time.Duration) ([]*pb.RenewResult, error) {
	c := newRenew(renewOf(turns, lease))
	c.timeout = timeout
	if err := ask(ctx, over, c); err != nil {
		return nil, err
	}
	response, err := answered[*pb.RenewResponse](c)
	return response.GetResults(), err
}

// answered is the answer of the command, if it is one to this call.
func answered[M proto.Message](c *command) (M, error) {
	message, ok := c.answer.(M)
	if !ok {
		return message, badAnswer(errMismatch.Error())
	}
	return message, nil
}

// confirm is for turns that live by their lease. They were given some time between the call and its answer, and only the
// local clock is trusted: after a wait, or when a ticket was told its turn once more, a lease may be nearly over. So they
// are renewed before the answer is handed on, and count as young as that renewal.
func confirm(ctx context.Context, over transport, infos []*TurnInfo) {
	var old []*TurnInfo
	for _, info := range infos {
		livesBySession := info.held != nil && info.held.tied
		if !livesBySession && now().minus(info.since) > info.Lease/3 {
			old = append(old, info)
		}
	}
	for len(old) > 0 {
		batch := old[:min(len(old), largestRenew)]
		old = old[len(batch):]
		confirmBatch(ctx, over, batch)
	}
}

func confirmBatch(ctx context.Context, over transport, batch []*TurnInfo) {
	var refs []TurnRef
	shortest, same := batch[0].Lease, true
	for _, info := range batch {
		refs = append(refs, info.TurnRef)
		same = same && info.Lease == batch[0].Lease
		shortest = min(shortest, info.Lease)
	}
	lease := time.Duration(0)
	if same {
		// Where one was asked for all have it, and it is said again: a sidecar that started anew would tie turns to the
		// session that it adopts without one. Where each has its queue's nothing is tied.
		lease = shortest
	}
	sentAt := now()
	// Without an answer the turns are as old as they may be: whoever holds one is told that it is lost.
	results, err := renewOver(ctx, over, refs, lease, max(time.Millisecond, shortest))
	if err != nil {
		return
	}
	for at, result := range results {
		if at < len(batch) && result.GetAlive() {
			batch[at].since = sentAt
		}
	}
}
