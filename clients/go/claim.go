package keyturn

import (
	"context"
	"errors"
	"fmt"
	"time"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// claim waits in the line of a key, in one place however many calls it takes, until there is a decision or the wait ends.
// Whoever does not get the turn leaves no place behind.
type claim struct {
	client *Client
	queue  string
	key    string
	opts   TurnOptions
	// Empty: the call does not stay, so it has no place to keep.
	ticket string
	// Never: without an end of its own. known is false when the queue's wait is not known: the sidecar ends it.
	until moment
	known bool
	// Without an end of its own a wait ends when the sidecar was away until then.
	patientUntil moment
	// Why the last call came to nothing.
	last   error
	pauses backOff
	// When the first call was sent that may have got the turn, if answers were lost since.
	askedAt moment
}

func (c *Client) newClaim(queue, key string, opts TurnOptions) *claim {
	k := &claim{client: c, queue: queue, key: key, opts: opts, until: never, patientUntil: never, askedAt: never}
	if opts.Wait != NoWait {
		k.ticket = c.ids.next()
	}
	if opts.Wait != 0 {
		k.known = true
		k.until = now().plus(max(0, opts.Wait))
	}
	return k
}

// wait returns the turn, or an outcome without one.
func (k *claim) wait(ctx context.Context) (*TurnInfo, Outcome, error) {
	for {
		asked := now()
		k.askedAt = min(k.askedAt, asked)
		answer, turn, err := k.once(ctx)
		if ctx.Err() != nil {
			k.giveUp(turn)
			return nil, Outcome{}, k.calledOff(ctx, err)
		}
		switch {
		case err != nil:
			return nil, Outcome{}, err
		case turn != nil:
			turn.since = max(turn.since, k.askedAt)
			return turn, Outcome{}, nil
		case answer == nil:
			continue
		case answer.GetDecision() == pb.Decision_DECISION_DECLINE:
			return nil, Outcome{
				Status: StatusDeclined, Reason: reasons[answer.GetReason()], SurvivorID: answer.GetSurvivorId(),
				RetryAfter: answer.GetRetryAfter().AsDuration(), Result: answer.GetResult(),
			}, nil
		case answer.GetDecision() != pb.Decision_DECISION_BLOCK:
			return nil, Outcome{}, badAnswer(fmt.Sprintf("the sidecar decided %v, for which there is no word here", answer.GetDecision()))
		case !k.known || now() >= k.until:
			k.giveUp(nil)
			return nil, Outcome{Status: StatusBlocked, Ahead: int(answer.GetAhead()), RetryAfter: answer.GetRetryAfter().AsDuration()}, nil
		}
		k.askedAt = never
		pause(ctx, leastBetween-now().minus(asked))
	}
}

// once is one call. Nothing without an error: there was no answer, and another try is worth it.
func (k *claim) once(ctx context.Context) (*pb.EnQueueResponse, *TurnInfo, error) {
	answer, turn, err := k.ask(ctx)
	if err == nil {
		k.pauses.reset()
		k.patientUntil, k.last = never, nil
		return answer, turn, nil
	}
	if ctx.Err() != nil {
		return nil, nil, err
	}
	if k.patientUntil == never {
		k.patientUntil = now().plus(callGrace)
	}
	left := k.patientUntil.until()
	if k.known {
		left = k.until.until()
	}
	if k.ticket == "" || failureOf(err) != away || isAboutTLS(err) || left <= 0 {
		k.giveUp(nil)
		return nil, nil, err
	}
	k.last = err
	pause(ctx, min(k.pauses.next(retryAfterOf(err)), left))
	return nil, nil, nil
}

// calledOff: a call that its context ended says so, and why it had come to nothing until then.
func (k *claim) calledOff(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	if err == nil {
		err = k.last
	}
	return contextError(ctx).because(err)
}

func (k *claim) ask(ctx context.Context) (*pb.EnQueueResponse, *TurnInfo, error) {
	wait, timeout := time.Duration(0), time.Duration(0)
	if k.known {
		wait = wholeMillis(min(k.until.until(), longestWait))
		timeout = wait + callGrace
		if wait == 0 {
			wait = NoWait
		}
	} else {
		timeout = longestWait + callGrace
	}
	if k.opts.Order == OrderStrict {
		return k.askStrict(ctx, wait, timeout)
	}
	command, err := k.answer(ctx, timeout, newEnQueue(&pb.EnQueueRequest{
		Queue: k.queue, Key: k.key, Ticket: k.ticket, Wait: wireDuration(wait), Lease: wireDuration(k.opts.Lease),
		ConsumerId: k.opts.ConsumerID, IdempotencyKey: k.opts.IdempotencyKey,
	}))
	if err != nil {
		return nil, nil, err
	}
	answer, turn, err := command.enQueueAnswer()
	if turn != nil {
		k.confirm(ctx, turn)
	}
	return answer, turn, err
}

// askStrict has no other answer without a turn than block: nobody counts who stands before.
func (k *claim) askStrict(ctx context.Context, wait, timeout time.Duration) (*pb.EnQueueResponse, *TurnInfo, error) {
	command, err := k.answer(ctx, timeout, newAcquire(&pb.AcquireRequest{
		Queues: []string{k.queue}, Key: k.key, Ticket: k.ticket, Wait: wireDuration(wait), Lease: wireDuration(k.opts.Lease),
		ConsumerId: k.opts.ConsumerID,
	}))
	if err != nil {
		return nil, nil, err
	}
	deliveries, err := command.deliveries()
	if err != nil {
		return nil, nil, err
	}
	if len(deliveries) == 0 {
		return &pb.EnQueueResponse{Decision: pb.Decision_DECISION_BLOCK}, nil, nil
	}
	turn := &deliveries[0].turn
	k.confirm(ctx, turn)
	return nil, turn, nil
}

func (k *claim) answer(ctx context.Context, timeout time.Duration, asked *command) (*command, error) {
	asked.leaves, asked.scoped, asked.timeout = true, true, timeout
	return asked, ask(ctx, k.client.over, asked)
}

// confirm counts its age from the first call that may have got it.
func (k *claim) confirm(ctx context.Context, turn *TurnInfo) {
	turn.since = min(turn.since, k.askedAt)
	confirm(ctx, k.client.over, []*TurnInfo{turn})
}

// giveUp also gives back a turn that came at the last moment. Nobody waits for it: the caller's time is over. If it fails
// the place ends with its ticket_ttl.
func (k *claim) giveUp(turn *TurnInfo) {
	request := leaving(k.queue, k.key, k.ticket)
	if turn != nil {
		request = ending(turn.TurnRef)
		request.Abandoned = true
	} else if k.ticket == "" {
		return
	}
	command := newDeQueue(request)
	if command.invalid != nil {
		return
	}
	command.timeout, command.lastWord = givingUp, turn != nil
	k.client.over.inPassing(command)
}
