package keyturn

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

var decisions = map[pb.Decision]Decision{
	pb.Decision_DECISION_ACCEPT: DecisionAccept, pb.Decision_DECISION_DECLINE: DecisionDecline,
}

var reasons = map[pb.Reason]Reason{
	pb.Reason_REASON_WAITER_EXISTS: ReasonWaiterExists, pb.Reason_REASON_SUPERSEDED: ReasonSuperseded,
	pb.Reason_REASON_ALREADY_DONE: ReasonAlreadyDone, pb.Reason_REASON_TOO_SOON: ReasonTooSoon,
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
		return LossLeaseExpired
	case pb.LossCause_LOSS_CAUSE_EVICTED:
		return LossEvicted
	case pb.LossCause_LOSS_CAUSE_TAKEN_OVER:
		return LossTakenOver
	case pb.LossCause_LOSS_CAUSE_SETTLED:
		return LossSettled
	}
	return LossUnknown
}

func instant(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

// turnInfo fills in the queue and the key that a session leaves out because the command said them.
func (c *command) turnInfo(turn *pb.Turn, at int) TurnInfo {
	ref := refOf(turn)
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

// enQueueAnswer is the answer, and its turn if there is one.
func (c *command) enQueueAnswer() (*pb.EnQueueResponse, *TurnInfo, error) {
	from, err := answered[*pb.EnQueueResponse](c)
	if err != nil {
		return nil, nil, err
	}
	if from.GetDecision() != pb.Decision_DECISION_ACCEPT {
		return from, nil, nil
	}
	if from.GetTurn() == nil {
		return nil, nil, badAnswer("the sidecar accepted without a turn")
	}
	info := c.turnInfo(from.GetTurn(), 0)
	return from, &info, nil
}

// delivery is one turn with its items.
type delivery struct {
	turn  TurnInfo
	items []Item
}

func (c *command) deliveries() ([]delivery, error) {
	from, err := answered[*pb.AcquireResponse](c)
	if err != nil {
		return nil, err
	}
	made := make([]delivery, len(from.GetDeliveries()))
	for at, one := range from.GetDeliveries() {
		made[at] = delivery{c.turnInfo(one.GetTurn(), at), itemsOf(one.GetItems())}
	}
	return made, nil
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
			SupersededID: one.SupersededId, RetryAfter: one.RetryAfter.AsDuration(), OnItsWay: one.OnItsWay,
		}
	}
	return results, nil
}

// refOf is the turn that a message names.
func refOf(named interface {
	GetQueue() string
	GetKey() string
	GetToken() uint64
}) TurnRef {
	return TurnRef{named.GetQueue(), named.GetKey(), named.GetToken()}
}
