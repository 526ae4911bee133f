package keyturn

import (
	"context"
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
	pauses       backOff
	// When the first call was sent that may have got the turn, if answers were lost since.
	askedAt moment
}

func (c *Client) newClaim(queue, key string, opts TurnOptions) *claim {
	k := &claim{client: c, queue: queue, key: key, opts: opts, until: never, patientUntil: never, pauses: backOff{longest: longestBackOff}, askedAt: never}
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
		answer, err := k.once(ctx)
		if ctx.Err() != nil {
			k.giveUp(answer)
			return nil, Outcome{}, contextError(ctx)
		}
		switch {
		case err != nil:
			return nil, Outcome{}, err
		case answer == nil:
			continue
		case answer.Decision == Accept:
			answer.Turn.since = max(answer.Turn.since, k.askedAt)
			return answer.Turn, Outcome{}, nil
		case answer.Decision == Decline:
			return nil, Outcome{
				Status: Declined, Reason: answer.Reason, SurvivorID: answer.SurvivorID, RetryAfter: answer.RetryAfter, Result: answer.Result,
			}, nil
		case !k.known || now() >= k.until:
			k.giveUp(nil)
			return nil, Outcome{Status: Blocked, Ahead: answer.Ahead, RetryAfter: answer.RetryAfter}, nil
		}
		k.askedAt = never
		pause(ctx, leastBetween-now().minus(asked))
	}
}

// once is one call. Nil without an error: there was no answer, and another try is worth it.
func (k *claim) once(ctx context.Context) (*EnQueueAnswer, error) {
	answer, err := k.ask(ctx)
	if err == nil {
		k.pauses.reset()
		k.patientUntil = never
		return answer, nil
	}
	if ctx.Err() != nil {
		return nil, err
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
		return nil, err
	}
	pause(ctx, min(k.pauses.next(retryAfterOf(err)), left))
	return nil, nil
}

func (k *claim) ask(ctx context.Context) (*EnQueueAnswer, error) {
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
	if k.opts.Order == Strict {
		return k.askStrict(ctx, wait, timeout)
	}
	command, err := newEnQueue(&EnQueueCall{
		Queue: k.queue, Key: k.key, Ticket: k.ticket, Wait: wait, Lease: k.opts.Lease, ConsumerID: k.opts.ConsumerID,
		IdempotencyKey: k.opts.IdempotencyKey,
	})
	command.leaves, command.scoped, command.timeout = true, true, timeout
	if err := ask(ctx, k.client.over, command, err); err != nil {
		return nil, err
	}
	answer, err := command.enQueueAnswer()
	if err == nil && answer.Turn != nil {
		k.confirm(ctx, answer.Turn)
	}
	return answer, err
}

// askStrict has no other answer without a turn than block: nobody counts who stands before.
func (k *claim) askStrict(ctx context.Context, wait, timeout time.Duration) (*EnQueueAnswer, error) {
	command, err := newAcquire(&AcquireCall{
		Queues: []string{k.queue}, Key: k.key, Ticket: k.ticket, Wait: wait, Lease: k.opts.Lease, ConsumerID: k.opts.ConsumerID,
	})
	command.leaves, command.scoped, command.timeout = true, true, timeout
	if err := ask(ctx, k.client.over, command, err); err != nil {
		return nil, err
	}
	from, err := answered[*pb.AcquireResponse](command)
	if err != nil {
		return nil, err
	}
	answer := command.acquireAnswer(from)
	if len(answer.Deliveries) == 0 {
		return &EnQueueAnswer{Decision: Block}, nil
	}
	turn := &answer.Deliveries[0].Turn
	k.confirm(ctx, turn)
	return &EnQueueAnswer{Decision: Accept, Turn: turn}, nil
}

// confirm counts its age from the first call that may have got it.
func (k *claim) confirm(ctx context.Context, turn *TurnInfo) {
	turn.since = min(turn.since, k.askedAt)
	confirm(ctx, k.client.over, []*TurnInfo{turn})
}

// giveUp also gives back a turn that came at the last moment. Nobody waits for it: the caller's time is over. If it fails
// the place ends with its ticket_ttl.
func (k *claim) giveUp(answer *EnQueueAnswer) {
	call := &DeQueueCall{Queue: k.queue, Key: k.key, Ticket: k.ticket, Abandoned: true}
	if answer != nil && answer.Turn != nil {
		call.Ticket, call.Token = "", answer.Turn.Token
	}
	if call.Ticket == "" && call.Token == 0 {
		return
	}
	command, err := newDeQueue(call)
	if err != nil {
		return
	}
	command.timeout = givingUp
	k.client.over.inPassing(command)
}
