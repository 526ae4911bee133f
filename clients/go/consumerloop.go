package keyturn

import (
	"context"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// How a consumer takes turns.

// loop asks for all slots that are free, with one Acquire at a time. Who comes free while it waits is served by the next.
func (k *Consumer) loop() {
	pauses := backOff{longest: longestBackOff}
	for {
		turns := k.takeSlots()
		if turns == 0 {
			break
		}
		answer, err := k.acquire(turns, &pauses)
		k.mu.Lock()
		k.asked -= turns
		k.mu.Unlock()
		if err != nil {
			break
		}
		for at := range answer.Deliveries {
			k.take(&answer.Deliveries[at])
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loopEnded = true
	k.endIfIdle()
}

// takeSlots waits for free slots and takes them. Zero: it stops.
func (k *Consumer) takeSlots() int {
	for {
		k.mu.Lock()
		// Settling calls have left their slots; there are never more of them than slots.
		free := min(k.opts.Concurrency-k.running, 2*k.opts.Concurrency-k.running-k.settling, largestRenew)
		if free > 0 && k.taking.Err() == nil {
			k.asked += free
			k.mu.Unlock()
			return free
		}
		k.mu.Unlock()
		select {
		case <-k.freed:
		case <-k.taking.Done():
			return 0
		}
	}
}

// acquire tries until there is an answer. The error means that it stops.
func (k *Consumer) acquire(turns int, pauses *backOff) (*AcquireAnswer, error) {
	// One ticket for all tries: turns whose answer was lost are in the next one.
	call := &AcquireCall{
		Queues: k.queues, Ticket: k.client.ids.next(), MaxTurns: turns, MaxItemsPerTurn: k.opts.MaxItemsPerTurn,
		Wait: k.opts.Wait, Lease: k.opts.Lease, ConsumerID: k.opts.ConsumerID,
	}
	askedAt := now()
	for {
		tried := now()
		answer, err := k.acquireOnce(call, askedAt)
		if err == nil {
			pauses.reset()
			if len(answer.Deliveries) == 0 {
				pause(k.taking, leastBetween-now().minus(tried))
			}
			return answer, nil
		}
		if k.taking.Err() != nil {
			return nil, err
		}
		if what := failureOf(err); what == refused || what == cancelled {
			k.fail(err)
			return nil, err
		}
		k.trouble(Trouble{Stage: StageAcquire, Err: err})
		if !pause(k.taking, pauses.next(retryAfterOf(err))) {
			return nil, err
		}
	}
}

func (k *Consumer) acquireOnce(call *AcquireCall, askedAt moment) (*AcquireAnswer, error) {
	command, err := newAcquire(call)
	command.leaves, command.timeout = true, call.Wait+callGrace
	if err := ask(k.taking, k.client.over, command, err); err != nil {
		return nil, err
	}
	from, err := answered[*pb.AcquireResponse](command)
	if err != nil {
		return nil, err
	}
	answer := command.acquireAnswer(from)
	for _, turn := range turnsOf(answer) {
		turn.since = askedAt
	}
	confirm(k.base, k.client.over, turnsOf(answer))
	return answer, nil
}

func (k *Consumer) take(delivery *Delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.taking.Err() != nil || len(delivery.Items) == 0 || k.ended {
		k.settling++
		go k.release(delivery.Turn.TurnRef)
		return
	}
	k.running++
	w := newWorker(k, delivery)
	k.workers[w] = struct{}{}
	go w.run()
}

func (k *Consumer) release(ref TurnRef) {
	k.client.releaseTurn(ref)
	k.settled()
}

// releaseTurn gives a turn back that nobody works on, or nobody shall. If that fails, it ends with its lease or its session.
func (c *Client) releaseTurn(ref TurnRef) {
	command, err := newNack(&NackCall{TurnRef: ref, Kind: NackRelease, Error: "the consumer stopped"})
	command.timeout = givingUp
	_ = ask(context.Background(), c.over, command, err)
}
