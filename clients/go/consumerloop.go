package keyturn

import (
	"context"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// How a consumer takes turns.

// loop asks for all slots that are free, with one Acquire at a time. Who comes free while it waits is served by the next.
func (k *Consumer) loop() {
	var pauses backOff
	for {
		turns := k.takeSlots()
		if turns == 0 {
			break
		}
		deliveries, err := k.acquire(turns, &pauses)
		k.mu.Lock()
		k.asked -= turns
		k.mu.Unlock()
		if err != nil {
			break
		}
		for at := range deliveries {
			k.take(&deliveries[at])
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
func (k *Consumer) acquire(turns int, pauses *backOff) ([]delivery, error) {
	// One ticket for all tries: turns whose answer was lost are in the next one.
	ticket := k.client.ids.next()
	askedAt := now()
	for {
		tried := now()
		deliveries, err := k.acquireOnce(turns, ticket, askedAt)
		if err == nil {
			pauses.reset()
			k.acquired(nil)
			if len(deliveries) == 0 {
				pause(k.taking, leastBetween-now().minus(tried))
			}
			return deliveries, nil
		}
		if k.taking.Err() != nil {
			return nil, err
		}
		if what := failureOf(err); what == refused || what == cancelled {
			k.fail(err)
			return nil, err
		}
		k.acquired(err)
		k.trouble(Trouble{Stage: StageAcquire, Err: err})
		if !pause(k.taking, pauses.next(retryAfterOf(err))) {
			return nil, err
		}
	}
}

func (k *Consumer) acquireOnce(turns int, ticket string, askedAt moment) ([]delivery, error) {
	command := newAcquire(&pb.AcquireRequest{
		Queues: k.queues, Ticket: ticket, MaxTurns: uint32(turns), MaxItemsPerTurn: uint32(k.opts.MaxItemsPerTurn),
		Wait: wireDuration(k.opts.Wait), Lease: wireDuration(k.opts.Lease), ConsumerId: k.opts.ConsumerID,
	})
	command.leaves, command.timeout = true, k.opts.Wait+callGrace
	if err := ask(k.taking, k.client.over, command); err != nil {
		return nil, err
	}
	deliveries, err := command.deliveries()
	if err != nil {
		return nil, err
	}
	infos := make([]*TurnInfo, len(deliveries))
	for at := range deliveries {
		infos[at] = &deliveries[at].turn
		infos[at].since = askedAt
	}
	confirm(k.base, k.client.over, infos)
	return deliveries, nil
}

func (k *Consumer) take(delivery *delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.taking.Err() != nil || len(delivery.items) == 0 || k.ended {
		k.settling++
		go k.release(delivery.turn.TurnRef)
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

// releaseTurn gives a turn back that nobody works on, or nobody shall. If that fails, a session sends it again, or it ends with its lease or its session.
func (c *Client) releaseTurn(ref TurnRef) {
	command := newNack(releaseOf(ref, "the consumer stopped"))
	command.timeout, command.lastWord = givingUp, true
	_ = ask(context.Background(), c.over, command)
}
