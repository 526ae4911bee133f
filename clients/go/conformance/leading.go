package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// leadFields are the arguments of lead.
type leadFields struct {
	Group             string            `json:"group"`
	CandidateID       string            `json:"candidate_id"`
	TTL               *millis           `json:"ttl_ms"`
	InaugurateTimeout *millis           `json:"inaugurate_timeout_ms"`
	HandOverTimeout   *millis           `json:"hand_over_timeout_ms"`
	Metadata          map[string]string `json:"metadata"`
	Progress          string            `json:"progress"`
	Once              bool              `json:"once"`
	Career            struct {
		Inaugurate phase  `json:"inaugurate"`
		Execute    phase  `json:"execute"`
		HandOver   phase  `json:"hand_over"`
		Ledger     string `json:"ledger"`
	} `json:"career"`
}

type phase struct {
	Held        bool     `json:"held"`
	Does        *outcome `json:"does"`
	Blocks      *millis  `json:"blocks_ms"`
	IgnoresLoss bool     `json:"ignores_loss"`
}

// leading does in each phase what the request says.
type leading struct {
	handle     string
	request    leadFields
	tell       func(any)
	leadership *keyturn.Leadership

	mu   sync.Mutex
	held chan *outcome
}

func (p *player) lead(r *request) error {
	client, err := found(p, p.clients, r.Client)
	if err != nil {
		return err
	}
	one := &leading{handle: r.Handle, request: r.leadFields, tell: p.write}
	options := keyturn.LeadOptions{
		CandidateID: r.CandidateID, TTL: r.TTL.or0(), Margin: r.Margin.or0(), InaugurateTimeout: r.InaugurateTimeout.or0(),
		HandOverTimeout: r.HandOverTimeout.or0(), Metadata: r.Metadata, Progress: keyturn.Progress(r.Progress), Once: r.Once,
	}
	career := keyturn.LeaderCareer{Inaugurate: one.inaugurate, Execute: one.execute, HandOver: one.handOver}
	one.leadership, err = client.Lead(context.Background(), r.Group, career, options)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.leading[r.Handle] = one
	p.mu.Unlock()
	go func() {
		if err := one.leadership.Wait(); err != nil {
			one.event("failed", fields{"error": shownError(err)})
		} else {
			one.event("withdrawn", nil)
		}
	}()
	return nil
}

func (l *leading) inaugurate(ctx context.Context, term *keyturn.Term) error {
	before := term.Predecessor
	_, err := l.phase(ctx, "inaugurate", &l.request.Career.Inaugurate, term, fields{"predecessor": fields{
		"candidate_id": before.CandidateID, "term": before.Term, "how": before.How, "state": shownBytes(before.State),
	}})
	return err
}

func (l *leading) execute(ctx context.Context, term *keyturn.Term) error {
	_, err := l.phase(ctx, "execute", &l.request.Career.Execute, term, nil)
	return err
}

func (l *leading) handOver(ctx context.Context, term *keyturn.Term, reason keyturn.HandOverReason) ([]byte, error) {
	done, err := l.phase(ctx, "hand_over", &l.request.Career.HandOver, term, fields{"reason": reason})
	if err != nil {
		return nil, err
	}
	return []byte(done.State), nil
}

func (l *leading) phase(ctx context.Context, name string, plan *phase, term *keyturn.Term, more fields) (*outcome, error) {
	// Known as held before it is told.
	finish := make(chan *outcome, 1)
	if plan.Held || (name == "execute" && plan.Does == nil) {
		l.hold(finish)
		defer l.hold(nil)
	}
	if err := l.note("start", name, term); err != nil {
		return nil, err
	}
	event := fields{"phase": name, "term": term.Number}
	for name, value := range more {
		event[name] = value
	}
	l.event("phase", event)
	ended := make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		select {
		case <-term.Lost():
			l.tellLoss(term)
		case <-ended:
		}
	}()
	if plan.Blocks != nil {
		time.Sleep(plan.Blocks.or0())
	}
	done, err := l.outcome(ctx, plan, name, finish)
	close(ended)
	<-told
	err = errors.Join(err, l.note("end", name, term))
	l.event("phase_ended", fields{"phase": name, "term": term.Number})
	return done, err
}

// tellLoss: a term that is over, and not lost, ends that channel, too.
func (l *leading) tellLoss(term *keyturn.Term) {
	if loss := term.Loss(); loss != "" {
		l.event("lost", fields{"term": term.Number, "cause": loss})
	}
}

func (l *leading) outcome(ctx context.Context, plan *phase, name string, finish chan *outcome) (*outcome, error) {
	done := plan.Does
	if plan.Held || (name == "execute" && done == nil) {
		over := ctx.Done()
		if plan.IgnoresLoss {
			over = nil
		}
		select {
		case done = <-finish:
		case <-over:
		}
	}
	if done == nil {
		done = &outcome{}
	}
	if done.Throw != nil {
		return nil, errors.New(*done.Throw)
	}
	return done, nil
}

func (l *leading) hold(finish chan *outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = finish
}

func (l *leading) finish(with *outcome) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		return fmt.Errorf("no phase of %s is held", l.handle)
	}
	l.held <- with
	l.held = nil
	return nil
}

func (l *leading) event(name string, more fields) {
	event := fields{"event": name, "handle": l.handle}
	for name, value := range more {
		event[name] = value
	}
	l.tell(event)
}

// note writes a line in one write, so that lines of several players do not mix.
func (l *leading) note(what, phase string, term *keyturn.Term) error {
	if l.request.Career.Ledger == "" {
		return nil
	}
	file, err := os.OpenFile(l.request.Career.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s\t%s\t%s\t%d\t%s\n", what, phase, l.request.Group, term.Number, term.CandidateID())
	return errors.Join(err, file.Close())
}
