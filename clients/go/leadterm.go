package keyturn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
)

// TermLoss says why a term is lost.
type TermLoss string

// The losses. Those that the sidecar does not tell are told by this process's own clock, or by itself.
const (
	// TermLossTTL: the sidecar heard nothing for its TTL.
	TermLossTTL TermLoss = "ttl"
	// TermLossInaugurateTimeout: the inauguration took too long.
	TermLossInaugurateTimeout TermLoss = "inaugurate_timeout"
	// TermLossHandOverTimeout: the hand-over took too long.
	TermLossHandOverTimeout TermLoss = "hand_over_timeout"
	// TermLossUnknown: the sidecar does not know the term, or another one lives.
	TermLossUnknown TermLoss = "unknown"
	// TermLossUnreachable: nothing was confirmed for the TTL less the margin.
	TermLossUnreachable TermLoss = "unreachable"
	// TermLossClosed: the client was closed, or the time of a stop was over.
	TermLossClosed TermLoss = "closed"
)

var termLossWords = map[TermLoss]string{
	TermLossTTL:               "the sidecar heard nothing for its ttl",
	TermLossInaugurateTimeout: "the inauguration took too long",
	TermLossHandOverTimeout:   "the hand-over took too long",
	TermLossUnknown:           "the sidecar does not know it, or another one lives",
	TermLossUnreachable:       "the sidecar confirmed nothing for its ttl less the margin",
	TermLossClosed:            "the client was closed, or the time to stop was over",
}

// TermLostError means that the term is, or must be taken for, somebody else's: stop at once.
type TermLostError struct {
	// Group that it led.
	Group string
	// Term is its number.
	Term uint64
	// Loss says why.
	Loss TermLoss
}

// Error names the term, the group, and why it is lost.
func (e *TermLostError) Error() string {
	return fmt.Sprintf("term %d of group %q is lost: %s", e.Term, e.Group, termLossWords[e.Loss])
}

// Unwrap returns the [Error] with code Aborted and reason TERM_LOST.
func (e *TermLostError) Unwrap() error {
	return &Error{Code: codes.Aborted, Reason: "TERM_LOST", Message: e.Error()}
}

// HandOverAskedError means that the leader is asked to hand over: finish what is in hand.
type HandOverAskedError struct {
	// Group that it leads.
	Group string
	// Term is its number.
	Term uint64
	// Reason says who asked.
	Reason HandOverReason
}

// Error names the group, and who asked.
func (e *HandOverAskedError) Error() string {
	return fmt.Sprintf("the leader of group %q is asked to hand over (%s)", e.Group, e.Reason)
}

type termPhase int

const (
	// unconfirmed: nobody knows yet since when it lives.
	unconfirmed termPhase = iota
	inaugurating
	inaugurated
	executing
	// ended: Execute has returned.
	ended
	handingOver
)

// Term is one term of a leader. By the clock of this process it lives until the last sign of life that was confirmed was
// sent, and its TTL.
type Term struct {
	// Number is the fencing token: larger than that of every earlier term of the group. Give it to what you write to, and let
	// that refuse a smaller one than it has seen.
	Number uint64
	// Predecessor led before.
	Predecessor Predecessor

	leadership *Leadership
	phase      termPhase
	ttl        time.Duration
	// When each sign of life was sent that is not confirmed yet.
	sent  []moment
	until moment
	// Of inauguration and work; of what goes on until the loss.
	ctx, lostCtx context.Context
	cancel, lose context.CancelCauseFunc
	aliveAlarm   leadAlarm
	lossAlarm    leadAlarm
	progressed   bool
	over         bool
	loss         TermLoss
	// Empty: nobody has asked for a hand-over.
	asked   HandOverReason
	askedBy moment
}

// mostUnconfirmed: on a stream that answers nothing more signs of life help nobody.
const mostUnconfirmed = 16

func newTerm(l *Leadership, number uint64, before Predecessor) *Term {
	t := &Term{Number: number, Predecessor: before, leadership: l, ttl: l.opts.TTL, until: longSince, progressed: true}
	t.ctx, t.cancel = context.WithCancelCause(l.base)
	t.lostCtx, t.lose = context.WithCancelCause(l.base)
	return t
}

// CandidateID of the one who leads.
func (t *Term) CandidateID() string { return t.leadership.opts.CandidateID }

// Context of the work: it ends when the worker has to stop, [context.Cause] says why.
func (t *Term) Context() context.Context { return t.ctx }

// Progress shows that the work goes on: with [ProgressManual] to be called at every step, else the term is lost after the
// TTL.
func (t *Term) Progress() {
	t.leadership.link.mu.Lock()
	defer t.leadership.link.mu.Unlock()
	t.progressed = true
}

// Lost is closed when the term is lost, also after the worker was asked to hand over.
func (t *Term) Lost() <-chan struct{} { return t.lostCtx.Done() }

// Loss says why the term is lost; empty: it is not. The context of a hand-over does not always tell: its deadline may come
// before the loss is heard of.
func (t *Term) Loss() TermLoss {
	t.leadership.link.mu.Lock()
	defer t.leadership.link.mu.Unlock()
	return t.loss
}

// live says that it lives, and goes on doing so. The lock is held, as in all that follows.
func (t *Term) live() {
	if t.over || t.loss != "" {
		return
	}
	l := t.leadership
	mustShow := l.opts.Progress == ProgressManual && t.phase == executing
	if (!mustShow || t.progressed) && len(t.sent) < mostUnconfirmed {
		t.progressed = false
		at := now()
		if l.say(aliveSaid(t.Number)) {
			t.sent = append(t.sent, at)
		}
	}
	t.aliveAlarm.set(l.link, (t.ttl-t.margin())/3, t.live)
}

func (t *Term) margin() time.Duration {
	if wanted := t.leadership.opts.Margin; wanted != 0 {
		return min(wanted, t.ttl*8/10)
	}
	return min(t.ttl/10, largestMargin)
}

// kept: the first that was sent is confirmed.
func (t *Term) kept(ttl time.Duration) {
	if len(t.sent) == 0 || t.over {
		return
	}
	at := t.sent[0]
	t.sent = t.sent[1:]
	if t.loss != "" {
		return
	}
	t.ttl = ttl
	t.until = max(t.until, at.plus(ttl-t.margin()))
	t.lossAlarm.set(t.leadership.link, t.until.until(), func() { t.leadership.loses(t, TermLossUnreachable) })
}

// broke: what was sent is not confirmed any more.
func (t *Term) broke() { t.sent = nil }

// isKnownToLive at this moment: timers of a process that stood still come late.
func (t *Term) isKnownToLive() bool { return !t.over && t.loss == "" && now() < t.until }

func (t *Term) askedToHandOver(reason HandOverReason, within time.Duration) {
	t.asked, t.askedBy = reason, now().plus(within)
	t.cancel(&HandOverAskedError{t.leadership.group, t.Number, reason})
}

// isLost reports false if it was lost before.
func (t *Term) isLost(loss TermLoss) bool {
	if t.over || t.loss != "" {
		return false
	}
	t.loss = loss
	t.stopAlarms()
	err := &TermLostError{t.leadership.group, t.Number, loss}
	t.lose(err)
	t.cancel(err)
	return true
}

// idle: nothing of the worker runs.
func (t *Term) idle() bool {
	return t.phase == unconfirmed || t.phase == inaugurated || t.phase == ended
}

func (t *Term) end() {
	t.over = true
	t.stopAlarms()
	// Nobody works with them any more; what they hold on to is let go.
	t.cancel(errTermOver)
	t.lose(errTermOver)
}

var errTermOver = errors.New("the term is over")

func (t *Term) stopAlarms() {
	t.aliveAlarm.off()
	t.lossAlarm.off()
}
