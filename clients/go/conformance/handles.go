package main

import (
	"context"
	"errors"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

func turnOptions(r *request) keyturn.TurnOptions {
	return keyturn.TurnOptions{
		Wait: r.Wait.orNone(), Order: keyturn.Order(r.Order), Lease: r.Lease.or0(), MaxHold: r.MaxHold.or0(), IdempotencyKey: r.IdempotencyKey,
	}
}

func (p *player) withTurn(ctx context.Context, client *keyturn.Client, r *request) (fields, error) {
	performer, err := found(p, p.performers, r.Handle)
	if err != nil {
		return nil, err
	}
	var value *string
	outcome, err := client.WithTurn(ctx, r.Queue, r.Key, turnOptions(r), func(ctx context.Context, turn *keyturn.Turn) error {
		value, err = worked(ctx, performer, turn)
		return err
	})
	if err != nil {
		return nil, err
	}
	return shownOutcome(outcome, r.Order, value), nil
}

func worked(ctx context.Context, performer *performer, turn *keyturn.Turn) (*string, error) {
	outcome, err := performer.perform(ctx, &turn.TurnInfo, nil)
	if err != nil {
		return nil, err
	}
	if outcome.Throw != nil {
		return nil, errors.New(*outcome.Throw)
	}
	if outcome.Value != nil {
		turn.SetResult([]byte(*outcome.Value))
	}
	return outcome.Value, nil
}

// turn is the same with defer.
func (p *player) turn(ctx context.Context, client *keyturn.Client, r *request) (fields, error) {
	performer, err := found(p, p.performers, r.Handle)
	if err != nil {
		return nil, err
	}
	turn, err := client.Turn(ctx, r.Queue, r.Key, turnOptions(r))
	var none *keyturn.NoTurnError
	if errors.As(err, &none) {
		return shownOutcome(none.Outcome, r.Order, nil), nil
	}
	if err != nil {
		return nil, err
	}
	defer turn.Release()
	value, err := worked(turn.Context(), performer, turn)
	if err != nil {
		return nil, err
	}
	if err := turn.Done(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	return shownOutcome(keyturn.Outcome{Status: keyturn.StatusDone, Token: turn.Token}, r.Order, value), nil
}

func (p *player) consume(r *request) error {
	client, err := found(p, p.clients, r.Client)
	if err != nil {
		return err
	}
	performer := p.performer(r)
	handle := r.Handle
	handler := func(ctx context.Context, work *keyturn.Work) error {
		outcome, err := performer.perform(ctx, &work.TurnInfo, work.Items)
		if err != nil {
			return err
		}
		return outcome.handled(work)
	}
	consumer, err := client.Consume(context.Background(), r.Queues, handler, keyturn.ConsumeOptions{
		Concurrency: said(r.Concurrency), MaxItemsPerTurn: said(r.MaxItemsPerTurn), Lease: r.Lease.or0(),
		OnTrouble: func(trouble keyturn.Trouble) {
			p.write(fields{"event": "trouble", "handle": handle, "stage": trouble.Stage, "error": shownError(trouble.Err)})
		},
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.consumers[handle] = consumer
	p.mu.Unlock()
	go func() {
		if err := consumer.Wait(); err != nil && !errors.Is(err, keyturn.ErrStopped) {
			p.write(fields{"event": "failed", "handle": handle, "error": shownError(err)})
		}
	}()
	return nil
}

// producer is asked in the order of the lines, by one goroutine.
type producer struct {
	producer *keyturn.Producer
	asked    chan func()
}

func (p *player) produce(r *request) error {
	client, err := found(p, p.clients, r.Client)
	if err != nil {
		return err
	}
	handle := r.Handle
	options := keyturn.ProducerOptions{
		Count: said(r.Count), Interval: r.Interval.orNone(), MaxItems: said(r.MaxItems), MaxBytes: said(r.MaxBytes),
		WhenFull: keyturn.WhenFull(r.WhenFull), Timeout: r.Timeout.or0(), Durability: keyturn.Durability(r.Durability),
		OnError: func(err error, _ *keyturn.NewItem) {
			p.write(fields{"event": "trouble", "handle": handle, "stage": "producer", "error": shownError(err)})
		},
	}
	if r.Spool != nil {
		options.Spool = &keyturn.SpoolOptions{Directory: r.Spool.Directory, Interval: r.Spool.Interval.or0(), Count: said(r.Spool.Count)}
		if r.Spool.MaxBytes != nil {
			options.Spool.MaxBytes = *r.Spool.MaxBytes
		}
	}
	made, err := client.Producer(r.Queue, options)
	if err != nil {
		return err
	}
	one := &producer{producer: made, asked: make(chan func(), 100_000)}
	go func() {
		for ask := range one.asked {
			ask()
		}
	}()
	p.mu.Lock()
	p.producers[handle] = one
	p.mu.Unlock()
	return nil
}

// ask begins in the order of the lines what is asked of a producer.
func (p *player) ask(ctx context.Context, r *request, done func(fields, error)) error {
	one, err := found(p, p.producers, r.Handle)
	if err != nil {
		return err
	}
	one.asked <- func() {
		switch r.Op {
		case "add":
			one.add(ctx, r, done)
		case "flush":
			go func() { done(nil, one.producer.Flush(ctx)) }()
		default:
			go func() { done(nil, one.producer.Close(ctx)) }()
		}
	}
	return nil
}

// add lets the next one begin when the item was taken, or when it waits for room.
func (p *producer) add(ctx context.Context, r *request, done func(fields, error)) {
	taken := make(chan struct{})
	go func() {
		pending, err := p.producer.Add(ctx, r.Item.newItem())
		close(taken)
		if err != nil {
			done(nil, err)
			return
		}
		result, err := pending.Wait(ctx)
		if err != nil {
			done(nil, err)
			return
		}
		done(shownResult(result), nil)
	}()
	select {
	case <-taken:
	case <-time.After(waitsForRoom):
	}
}

// waitsForRoom: an item that was not taken by then waits for room.
const waitsForRoom = 50 * time.Millisecond
