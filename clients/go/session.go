package keyturn

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// coarse is the least time between two looks at all open calls: with deadlines all over the place, one may be this late.
const coarse = 50 * time.Millisecond

type linkState int

const (
	idle linkState = iota
	pausing
	greeting
	ready
	stopped
)

// session is one worker's session with a sidecar, over as many streams as it takes, one at a time.
//
// Calls are open from the moment they are asked until they are answered, whatever becomes of the streams: a new one says
// hello with the same session id, settles which turns there are, and then every open call is sent again, in order. All of
// them may be: tickets, item ids and tokens make the same call twice one call.
type session struct {
	set    *settings
	conn   *grpc.ClientConn
	stub   pb.CoordinatorServiceClient
	log    *slog.Logger
	metric metricsOf
	renew  *renewals
	// The streams' goroutines.
	running sync.WaitGroup

	mu      sync.Mutex
	open    *openCommands
	out     outbox
	turns   *turnKeeping
	live    liveness
	backOff backOff
	state   linkState
	// The stream that there is, in greeting and ready.
	link       *link
	pauseUntil moment
	timer      *time.Timer
	armedFor   moment
	// No open call is to be given up before.
	firstDeadline moment
	proving       bool
	greeted       bool
	lastFailure   error
	stopErr       error
	stopLoss      LossCause
	// Nil until the session is closed; closed itself when nothing is open any more.
	closing chan struct{}
	drained bool
	// The stream broke, the client is being closed, and no other stream has told yet which turns there are.
	returning bool
}

func newSession(set *settings, conn *grpc.ClientConn) *session {
	s := &session{
		set: set, conn: conn, stub: pb.NewCoordinatorServiceClient(conn), log: set.logger, metric: metricsOf{set.metrics},
		open: newOpenCommands(openLimits{set.maxOpenCalls, set.maxOpenBytes}), live: newLiveness(set.sessionTTL, set.margin),
		backOff: backOff{longest: longestReconnect}, armedFor: never, firstDeadline: never,
	}
	s.out.open = s.open
	s.renew = newRenewals(set.margin, s.renewTurns, func(held *heldTurn, cause LossCause) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.turns.lose(held, cause)
	})
	s.turns = newTurnKeeping(s.renew, s.metric, func() time.Duration { return marginOf(s.live.ttl, s.live.margin) }, s.askOwn)
	return s
}

func (s *session) renewTurns(ctx context.Context, turns []TurnRef, lease, timeout time.Duration) ([]*pb.RenewResult, error) {
	return renewOver(ctx, s, turns, lease, timeout)
}

func (s *session) ordered() bool { return true }

// start sends the command, in the order of all starts. What stands against it is told by wait.
func (s *session) start(ctx context.Context, c *command) {
	at := now()
	c.done = make(chan struct{})
	c.askedAt, c.deadline = at, never
	if c.timeout > 0 {
		c.deadline = at.plus(c.timeout)
	} else if _, bounded := ctx.Deadline(); !bounded {
		// In two steps: a wait without an end, which the sidecar refuses, has no ten seconds more.
		c.deadline = at.plus(c.wait).plus(callGrace)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refusal(ctx, c); err != nil {
		c.finish(err)
		return
	}
	s.open.add(c)
	s.live.busy(at)
	if s.state == idle {
		s.connect(at)
	} else if s.sendable() {
		s.out.push(c)
		s.link.signal()
	}
	s.firstDeadline = min(s.firstDeadline, c.deadline)
	s.arm()
}

func (s *session) inPassing(c *command) { s.start(context.Background(), c) }

// wait returns when the command is answered, or given up.
func (s *session) wait(ctx context.Context, c *command) error {
	select {
	case <-c.done:
	case <-ctx.Done():
		s.mu.Lock()
		s.abandon(c, contextError(ctx).because(s.whyNot()), c.leaving(ctx))
		s.mu.Unlock()
		<-c.done
	}
	s.metric.callDone(c, c.err)
	return c.err
}

func (s *session) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whyNot()
}

// whyNot is why there is no stream that is wanted. The lock is held.
func (s *session) whyNot() error {
	switch {
	case s.state != pausing && s.state != greeting:
		return nil
	case s.lastFailure != nil:
		return s.lastFailure
	}
	return s.set.reach.noAnswerYet()
}

func (s *session) refusal(ctx context.Context, c *command) error {
	if s.state == stopped {
		return s.stopErr
	}
	if s.closing != nil {
		return closedError()
	}
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	return s.open.refusal(c)
}

// hold keeps a turn alive from here on.
func (s *session) hold(info *TurnInfo, since moment) *heldTurn {
	s.mu.Lock()
	held := info.held
	if held == nil {
		held = s.turns.turns[info.id()]
	}
	if held == nil {
		held = &heldTurn{ref: info.TurnRef, lease: info.Lease, safeUntil: never}
	}
	held.inUse = true
	if s.state == stopped {
		s.turns.lose(held, s.stopLoss)
	} else if s.closing != nil {
		s.turns.lose(held, LossClosed)
	}
	s.mu.Unlock()
	// Not tied, or it has an end that may be that of a lease: then it is renewed as well, which harms no turn.
	if !held.tied || !info.LeaseExpiresAt.IsZero() {
		s.renew.keep(held, since)
	}
	return held
}

func (s *session) release(held *heldTurn) {
	s.renew.drop(held)
	s.mu.Lock()
	defer s.mu.Unlock()
	held.inUse = false
	if s.state != stopped {
		s.turns.stopped(held)
	}
	s.over(held)
}

func (s *session) begin(held *heldTurn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	held.fresh = false
	if held.lost() != nil {
		return false
	}
	s.turns.begun[held] = struct{}{}
	return true
}

func (s *session) giveUp(held *heldTurn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, begun := s.turns.begun[held]; begun && s.closing != nil && s.state != stopped {
		delete(s.turns.left, held.ref.id())
		s.turns.giveBack(held.ref)
	}
	s.over(held)
}

// over: nobody works on the turn any more. The lock is held.
func (s *session) over(held *heldTurn) {
	delete(s.turns.begun, held)
	if s.closing != nil && s.isDrained() {
		s.endDrain()
	}
}

func (s *session) sendable() bool {
	return s.state == ready || (s.state == greeting && s.link.piped)
}

// wanted is whether there is something that a stream is needed for.
func (s *session) wanted() bool { return s.open.workers > 0 || s.turns.tied > 0 || s.returning }

// askOwn: without a stream there is nobody to ask. What a turn would be given back with, the next hello leads to again.
func (s *session) askOwn(c *command) {
	if s.link == nil {
		return
	}
	s.open.add(c)
	s.out.pushUrgent(c)
	s.link.signal()
}
