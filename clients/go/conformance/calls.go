package main

import (
	"context"
	"fmt"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// call is a raw call of the contract, or a helper on top of one.
func call(ctx context.Context, client *keyturn.Client, r *request) (fields, error) {
	if r.Timeout != nil && r.Op != "result" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout.or0())
		defer cancel()
	}
	switch r.Op {
	case "enqueue":
		answer, err := client.EnQueue(ctx, &keyturnv1.EnQueueRequest{
			Queue: r.Queue, Key: r.Key, Ticket: r.Ticket, Wait: r.Wait.wire(), Lease: r.Lease.wire(), IdempotencyKey: r.IdempotencyKey,
		})
		return shownIf(err, func() fields { return shownEnQueue(answer) })
	case "dequeue":
		request := &keyturnv1.DeQueueRequest{Queue: r.Queue, Key: r.Key, Abandoned: r.Abandoned, Result: r.Result}
		switch {
		case r.Ticket != "":
			request.Holder = &keyturnv1.DeQueueRequest_Ticket{Ticket: r.Ticket}
		case r.Token != 0:
			request.Holder = &keyturnv1.DeQueueRequest_Token{Token: r.Token}
		}
		answer, err := client.DeQueue(ctx, request)
		return shownIf(err, func() fields { return fields{"promoted": answer.Promoted, "waiting": answer.Waiting} })
	case "submit":
		answer, err := client.SubmitBatch(ctx, &keyturnv1.SubmitRequest{
			Queue: r.Queue, Items: wireItems(r.Items), WaitForRoom: r.WaitForRoom.wire(), Durability: wireDurability(r.Durability),
		})
		return shownIf(err, func() fields { return fields{"results": shownBatch(answer.Results)} })
	case "acquire":
		answer, err := client.Acquire(ctx, r.acquireFields.wire())
		return shownIf(err, func() fields { return shownAcquire(answer) })
	case "ack":
		return ack(ctx, client, r)
	case "nack":
		answer, err := client.Nack(ctx, &keyturnv1.NackRequest{
			Queue: r.Queue, Key: r.Key, Token: r.Token, Kind: wireNackKind(r.Kind), Delay: r.Delay.wire(), Error: r.Error, Done: uint32(r.Done),
		})
		return shownIf(err, func() fields {
			return fields{"retry": answer.RetryAt != nil, "dead_lettered": answer.DeadLettered}
		})
	case "renew":
		return renew(ctx, client, r)
	case "await":
		answer, err := client.Await(ctx, &keyturnv1.AwaitRequest{Queue: r.Queue, ItemId: r.ItemID, Wait: r.Wait.wire()})
		return shownIf(err, func() fields {
			shown := fields{"state": word("ITEM_STATE_", answer.State), "attempt": answer.Attempt}
			put(shown, "result", answer.Result)
			put(shown, "error", answer.Error)
			return shown
		})
	case "submit_many":
		results, err := client.SubmitMany(ctx, r.Queue, newItems(r.Items))
		return shownIf(err, func() fields { return fields{"results": shownResults(results)} })
	case "result":
		result, err := client.Result(ctx, r.Queue, r.ItemID, keyturn.ResultOptions{Timeout: r.Timeout.orNone()})
		return shownIf(err, func() fields {
			shown := fields{}
			put(shown, "result", result)
			return shown
		})
	}
	return nil, fmt.Errorf("%w: %s", errUnsupported, r.Op)
}

func shownIf(err error, show func() fields) (fields, error) {
	if err != nil {
		return nil, err
	}
	return show(), nil
}

func ack(ctx context.Context, client *keyturn.Client, r *request) (fields, error) {
	request := &keyturnv1.AckRequest{Queue: r.Queue, Key: r.Key, Token: r.Token, Result: r.Result}
	for at := range r.FollowUps {
		request.FollowUps = append(request.FollowUps, &keyturnv1.FollowUp{Queue: r.FollowUps[at].Queue, Item: r.FollowUps[at].Item.wire()})
	}
	if r.Next != nil {
		request.Next = r.Next.wire()
	}
	answer, err := client.Ack(ctx, request)
	return shownIf(err, func() fields {
		shown := fields{"follow_ups": shownBatch(answer.FollowUps)}
		if r.Next != nil {
			shown["next"] = shownAcquire(answer.Next)
		}
		return shown
	})
}

func renew(ctx context.Context, client *keyturn.Client, r *request) (fields, error) {
	request := &keyturnv1.RenewRequest{Lease: r.Lease.wire()}
	for _, turn := range r.Turns {
		request.Turns = append(request.Turns, &keyturnv1.TurnRef{Queue: turn.Queue, Key: turn.Key, Token: turn.Token})
	}
	answer, err := client.Renew(ctx, request)
	return shownIf(err, func() fields {
		results := make([]fields, len(answer.Results))
		for at, one := range answer.Results {
			results[at] = fields{"alive": one.Alive}
			if !one.Alive {
				results[at]["cause"] = word("LOSS_CAUSE_", one.Cause)
			}
		}
		return fields{"results": results}
	})
}
