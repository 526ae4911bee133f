package main

import (
	"context"
	"fmt"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// call is a raw call of the contract, or a helper on top of one.
func call(ctx context.Context, client *keyturn.Client, r *request) (fields, error) {
	if r.Timeout != nil && r.Op != "result" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout.or0())
		defer cancel()
	}
	ref := keyturn.TurnRef{Queue: r.Queue, Key: r.Key, Token: r.Token}
	switch r.Op {
	case "enqueue":
		answer, err := client.EnQueue(ctx, keyturn.EnQueueCall{
			Queue: r.Queue, Key: r.Key, Ticket: r.Ticket, Wait: r.Wait.orNone(), Lease: r.Lease.or0(), IdempotencyKey: r.IdempotencyKey,
		})
		return shownIf(err, func() fields { return shownEnQueue(answer) })
	case "dequeue":
		answer, err := client.DeQueue(ctx, keyturn.DeQueueCall{
			Queue: r.Queue, Key: r.Key, Token: r.Token, Ticket: r.Ticket, Abandoned: r.Abandoned, Result: r.Result,
		})
		return shownIf(err, func() fields { return fields{"promoted": answer.Promoted, "waiting": answer.Waiting} })
	case "submit":
		answer, err := client.SubmitBatch(ctx, keyturn.SubmitCall{
			Queue: r.Queue, Items: newItems(r.Items), WaitForRoom: r.WaitForRoom.orNone(), Durability: keyturn.Durability(r.Durability),
		})
		return shownIf(err, func() fields { return fields{"results": shownResults(answer.Results)} })
	case "acquire":
		answer, err := client.Acquire(ctx, r.acquireFields.call())
		return shownIf(err, func() fields { return shownAcquire(answer) })
	case "ack":
		return ack(ctx, client, ref, r)
	case "nack":
		answer, err := client.Nack(ctx, keyturn.NackCall{
			TurnRef: ref, Kind: keyturn.NackKind(r.Kind), Delay: r.Delay.orNone(), Error: r.Error, Done: r.Done,
		})
		return shownIf(err, func() fields {
			return fields{"retry": !answer.RetryAt.IsZero(), "dead_lettered": answer.DeadLettered}
		})
	case "renew":
		return renew(ctx, client, r)
	case "await":
		answer, err := client.Await(ctx, keyturn.AwaitCall{ItemRef: keyturn.ItemRef{Queue: r.Queue, ItemID: r.ItemID}, Wait: r.Wait.orNone()})
		return shownIf(err, func() fields {
			shown := fields{"state": answer.State, "attempt": answer.Attempt}
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

func ack(ctx context.Context, client *keyturn.Client, ref keyturn.TurnRef, r *request) (fields, error) {
	call := keyturn.AckCall{TurnRef: ref, Result: r.Result, FollowUps: newFollowUps(r.FollowUps)}
	if r.Next != nil {
		next := r.Next.call()
		call.Next = &next
	}
	answer, err := client.Ack(ctx, call)
	return shownIf(err, func() fields {
		shown := fields{"follow_ups": shownResults(answer.FollowUps)}
		if answer.Next != nil {
			shown["next"] = shownAcquire(answer.Next)
		}
		return shown
	})
}

func renew(ctx context.Context, client *keyturn.Client, r *request) (fields, error) {
	call := keyturn.RenewCall{Lease: r.Lease.or0()}
	for _, turn := range r.Turns {
		call.Turns = append(call.Turns, keyturn.TurnRef{Queue: turn.Queue, Key: turn.Key, Token: turn.Token})
	}
	answer, err := client.Renew(ctx, call)
	return shownIf(err, func() fields {
		results := make([]fields, len(answer.Results))
		for at, one := range answer.Results {
			results[at] = fields{"alive": one.Alive}
			if !one.Alive {
				results[at]["cause"] = one.Cause
			}
		}
		return fields{"results": results}
	})
}
