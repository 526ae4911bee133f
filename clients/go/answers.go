package keyturn

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

var decisions = map[pb.Decision]Decision{
	pb.Decision_DECISION_ACCEPT: Accept, pb.Decision_DECISION_BLOCK: Block, pb.Decision_DECISION_DECLINE: Decline,
}

var reasons = map[pb.Reason]Reason{
	pb.Reason_REASON_WAITER_EXISTS: WaiterExists, pb.Reason_REASON_SUPERSEDED: Superseded,
	pb.Reason_REASON_ALREADY_DONE: AlreadyDone, pb.Reason_REASON_TOO_SOON: TooSoon,
}

var itemStates = map[pb.ItemState]ItemState{
	pb.ItemState_ITEM_STATE_WAITING: ItemWaiting, pb.ItemState_ITEM_STATE_IN_FLIGHT: ItemInFlight,
	pb.ItemState_ITEM_STATE_DONE: ItemDone, pb.ItemState_ITEM_STATE_DEAD: ItemDead,
	pb.ItemState_ITEM_STATE_SUPERSEDED: ItemSuperseded, pb.ItemState_ITEM_STATE_DISCARDED: ItemDiscarded,
	pb.ItemState_ITEM_STATE_UNKNOWN: ItemUnknown,
}

func lossOf(cause pb.LossCause) LossCause {
	switch cause {
	case pb.LossCause_LOSS_CAUSE_LEASE_EXPIRED:
		return LeaseExpired
	case pb.LossCause_LOSS_CAUSE_EVICTED:
		return Evicted
	case pb.LossCause_LOSS_CAUSE_TAKEN_OVER:
		return TakenOver
	case pb.LossCause_LOSS_CAUSE_SETTLED:
		return Settled
	}
	return Unknown
}

func instant(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// turnInfo fills in the queue and the key that a session leaves out because the command said them.
func (c *command) turnInfo(turn *pb.Turn, at int) TurnInfo {
	ref := TurnRef{Queue: turn.GetQueue(), Key: turn.GetKey(), Token: turn.GetToken()}
	if ref.Queue == "" {
		ref.Queue, ref.Key = c.asked()
	}
	info := TurnInfo{
		TurnRef: ref, Lease: turn.GetLease().AsDuration(), LeaseExpiresAt: instant(turn.GetLeaseExpiresAt()),
		Attempt: int(turn.GetAttempt()), since: c.askedAt,
	}
	if at < len(c.given) {
		info.held = c.given[at]
	}
	return info
}

// asked is the queue and the key that the command named.
func (c *command) asked() (queue, key string) {
	if acquire := c.acquires(); acquire != nil && len(acquire.Queues) > 0 {
		return acquire.Queues[0], acquire.Key
	}
	return c.ref.Queue, c.ref.Key
}

func (c *command) enQueueAnswer() (*EnQueueAnswer, error) {
	from, ok := c.answer.(*pb.EnQueueResponse)
	if !ok {
		return nil, badAnswer(errMismatch.Error())
	}
	decision, known := decisions[from.Decision]
	if !known || (decision == Accept && from.Turn == nil) {
		return nil, badAnswer(fmt.Sprintf("the sidecar decided %v, for which there is no word here", from.Decision))
	}
	answer := &EnQueueAnswer{
		Decision: decision, Ticket: from.Ticket, Ahead: int(from.Ahead), Reason: reasons[from.Reason],
		RetryAfter: from.RetryAfter.AsDuration(), Result: from.Result, SurvivorID: from.SurvivorId,
	}
	if decision == Accept {
		info := c.turnInfo(from.Turn, 0)
		answer.Turn = &info
	}
	return answer, nil
}

func (c *command) acquireAnswer(from *pb.AcquireResponse) *AcquireAnswer {
	answer := &AcquireAnswer{Deliveries: make([]Delivery, len(from.GetDeliveries()))}
	for at, delivery := range from.GetDeliveries() {
		answer.Deliveries[at] = Delivery{Turn: c.turnInfo(delivery.GetTurn(), at), Items: itemsOf(delivery.Items)}
	}
	return answer
}

func itemsOf(from []*pb.Item) []Item {
	items := make([]Item, len(from))
	for at, item := range from {
		items[at] = Item{
			ItemID: item.ItemId, Payload: item.Payload, Headers: item.Headers, IdempotencyKey: item.IdempotencyKey,
			SubmittedAt: instant(item.SubmittedAt), Attempt: int(item.Attempt),
		}
	}
	return items
}

func submitResults(from []*pb.SubmitResult) ([]SubmitResult, error) {
	results := make([]SubmitResult, len(from))
	for at, one := range from {
		decision, known := decisions[one.Decision]
		if !known {
			return nil, badAnswer(fmt.Sprintf("the sidecar decided %v, for which there is no word here", one.Decision))
		}
		results[at] = SubmitResult{
			ItemID: one.ItemId, Decision: decision, Reason: reasons[one.Reason], SurvivorID: one.SurvivorId,
			SupersededID: one.SupersededId, RetryAfter: one.RetryAfter.AsDuration(),
		}
	}
	return results, nil
}

func renewResults(from *pb.RenewResponse) []RenewResult {
	results := make([]RenewResult, len(from.GetResults()))
	for at, one := range from.GetResults() {
		results[at] = RenewResult{Alive: one.Alive, LeaseExpiresAt: instant(one.LeaseExpiresAt)}
		if !one.Alive {
			results[at].Cause = lossOf(one.Cause)
		}
	}
	return results
}
