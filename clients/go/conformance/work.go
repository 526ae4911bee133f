package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// performer is how one handle works.
type performer struct {
	handle string
	work   work
	tell   func(any)

	mu      sync.Mutex
	waiting map[chan *outcome]uint64
}

func newPerformer(handle string, work work, tell func(any)) *performer {
	return &performer{handle: handle, work: work, tell: tell, waiting: map[chan *outcome]uint64{}}
}

func (p *performer) event(name string, ref keyturn.TurnRef, more fields) {
	event := fields{"event": name, "handle": p.handle, "key": ref.Key, "token": ref.Token}
	for name, value := range more {
		event[name] = value
	}
	p.tell(event)
}

// perform returns how it ends; the error is that of the context, unless the loss is to be ignored.
func (p *performer) perform(ctx context.Context, turn *keyturn.TurnInfo, items []keyturn.Item) (*outcome, error) {
	// Known as waiting before it is told, so that finish finds it.
	finish := p.wait(turn.Token)
	defer p.leave(finish)
	if err := p.note("start", turn.TurnRef, items); err != nil {
		return nil, err
	}
	shown := make([]fields, len(items))
	for at, item := range items {
		shown[at] = fields{"item_id": item.ItemID, "payload": shownBytes(item.Payload), "attempt": item.Attempt}
	}
	p.event("started", turn.TurnRef, fields{"queue": turn.Queue, "attempt": turn.Attempt, "items": shown})
	defer p.event("ended", turn.TurnRef, nil)
	ended := make(chan struct{})
	stopped := make(chan struct{})
	wasLost := false
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
			wasLost = p.toldToStop(context.Cause(ctx), turn.TurnRef, items)
		case <-ended:
		}
	}()
	outcome, err := p.outcome(ctx, finish, items)
	close(ended)
	<-stopped
	if !wasLost {
		err = errors.Join(err, p.note("end", turn.TurnRef, items))
	}
	return outcome, err
}

func (p *performer) toldToStop(cause error, ref keyturn.TurnRef, items []keyturn.Item) (wasLost bool) {
	var turnLost *keyturn.TurnLostError
	if !errors.As(cause, &turnLost) {
		p.event("told_to_stop", ref, nil)
		return false
	}
	_ = p.note("lost", ref, items)
	p.event("lost", ref, fields{"cause": turnLost.Cause})
	return true
}

func (p *performer) outcome(ctx context.Context, finish chan *outcome, items []keyturn.Item) (*outcome, error) {
	if p.work.Held {
		return p.held(ctx, finish)
	}
	if p.work.Takes != nil {
		if p.work.IgnoresLoss {
			ctx = context.WithoutCancel(ctx)
		}
		select {
		case <-time.After(p.work.Takes.or0()):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if len(items) > 0 {
		if chosen, ok := p.work.ByPayload[string(items[0].Payload)]; ok {
			return &chosen, nil
		}
	}
	if p.work.Does == nil {
		return nil, errors.New("the work says neither held nor does")
	}
	return p.work.Does, nil
}

// held waits for finish, or for the loss of the turn: nothing else ends it.
func (p *performer) held(ctx context.Context, finish chan *outcome) (*outcome, error) {
	over := ctx.Done()
	if p.work.IgnoresLoss {
		over = nil
	}
	for {
		select {
		case outcome := <-finish:
			return outcome, nil
		case <-over:
			var turnLost *keyturn.TurnLostError
			if errors.As(context.Cause(ctx), &turnLost) {
				return nil, turnLost
			}
			over = nil
		}
	}
}

func (p *performer) wait(token uint64) chan *outcome {
	finish := make(chan *outcome, 1)
	if p.work.Held {
		p.mu.Lock()
		p.waiting[finish] = token
		p.mu.Unlock()
	}
	return finish
}

func (p *performer) leave(finish chan *outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, finish)
}

// finish lets what is held end, all of it if the token is 0.
func (p *performer) finish(token uint64, with *outcome) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := false
	for waiting, its := range p.waiting {
		if token == 0 || token == its {
			found = true
			delete(p.waiting, waiting)
			waiting <- with
		}
	}
	if !found {
		return fmt.Errorf("nothing of %s is held with token %d", p.handle, token)
	}
	return nil
}

// note writes a line of the ledger in one write, so that lines of several players do not mix.
func (p *performer) note(what string, ref keyturn.TurnRef, items []keyturn.Item) error {
	if p.work.Ledger == "" {
		return nil
	}
	ids := make([]string, len(items))
	for at, item := range items {
		ids[at] = item.ItemID
	}
	file, err := os.OpenFile(p.work.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s\t%s\t%s\t%d\tgo-%d\t%s\n", what, ref.Queue, ref.Key, ref.Token, os.Getpid(), strings.Join(ids, ","))
	_, err = file.WriteString(line)
	return errors.Join(err, file.Close())
}

// handled is what a handler of a consumer returns for an outcome.
func (o *outcome) handled(work *keyturn.Work) error {
	switch {
	case o.Throw != nil:
		return errors.New(*o.Throw)
	case o.Retry:
		return keyturn.RetryLater(o.Delay.orNone()).WithDone(o.Done).WithMessage("asked to retry")
	case o.DeadLetter != nil:
		return keyturn.DeadLetter(*o.DeadLetter).WithDone(o.Done)
	case o.Release:
		return keyturn.Release().WithDone(o.Done)
	case o.Ack:
		work.SetResult(o.Result)
		for at := range o.FollowUps {
			work.FollowUp(o.FollowUps[at].Queue, o.FollowUps[at].Item.newItem())
		}
		return nil
	}
	return errors.New("the outcome is none of a consumer")
}
