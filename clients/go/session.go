package keyturn

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

const (
	// largestMessage: one of more bytes ends the stream, with everything on it.
	largestMessage = 4<<20 - 64
	// coarse is the least time between two looks at all open calls: with deadlines all over the place, one may be this late.
	coarse = 50 * time.Millisecond
)

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
	s.turns = newTurnKeeping(s.renew, s.metric, s.askOwn)
	return s
}

func (s *session) renewTurns(ctx context.Context, call *RenewCall, timeout time.Duration) (*RenewAnswer, error) {
	return renewOver(ctx, s, call, timeout)
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
		c.deadline = at.plus(c.wait + callGrace)
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

// wait returns when the command is answered, or given up.
func (s *session) wait(ctx context.Context, c *command) error {
	select {
	case <-c.done:
	case <-ctx.Done():
		s.mu.Lock()
		s.abandon(c, contextError(ctx), c.leaving(ctx))
		s.mu.Unlock()
		<-c.done
	}
	s.metric.callDone(c, c.err)
	return c.err
}

func (s *session) refusal(ctx context.Context, c *command) error {
	if s.state == stopped {
		return s.stopErr
	}
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	if c.bytes > largestMessage {
		// The estimate is generous. What is truly too large would end the stream for everybody.
		if bytes := proto.Size(&c.wire); bytes > largestMessage {
			return &Error{Code: codes.InvalidArgument, Message: fmt.Sprintf("the call takes %d bytes; at most %d", bytes, largestMessage)}
		}
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
	if s.state == stopped {
		s.turns.lose(held, s.stopLoss)
	}
	s.mu.Unlock()
	// Not tied, or it has an end that may be that of a lease: then it is renewed as well, which harms no turn.
	if !held.tied || !info.LeaseExpiresAt.IsZero() {
		s.renew.keep(held, since)
	}
	return held
}

func (s *session) release(held *heldTurn) { s.renew.drop(held) }

// close returns when nothing is left of it.
func (s *session) close() {
	s.mu.Lock()
	if s.state != stopped {
		inPeace := s.link != nil && s.open.workers == 0
		if inPeace {
			s.link.farewell = s.out.batch(nil, now())
		}
		link := s.link
		s.stop(closedError(), Closed)
		if inPeace {
			link.finish()
		} else if link != nil {
			link.cancel()
		}
	}
	s.mu.Unlock()
	s.renew.close(Closed)
	s.running.Wait()
	s.renew.wait()
}

func (s *session) sendable() bool {
	return s.state == ready || (s.state == greeting && s.link.piped)
}

// wanted is whether there is something that a stream is needed for.
func (s *session) wanted() bool { return s.open.workers > 0 || s.turns.tied > 0 }

func (s *session) askOwn(c *command) {
	s.open.add(c)
	s.out.pushUrgent(c)
	if s.link != nil {
		s.link.signal()
	}
}

func (s *session) connect(at moment) {
	workers := s.open.workersInOrder()
	piped := s.turns.tied == 0
	for _, c := range workers {
		piped = piped && !c.wasSent
	}
	link := newLink(at, piped, s.live.stopAt())
	s.link, s.state = link, greeting
	s.out.clear()
	hello := &command{own: func(answer proto.Message) { s.welcome(link, answer) }, bytes: fixedBytes + len(s.set.consumerID) + len(s.set.sessionID)}
	hello.wire.Call = &pb.Command_Hello{Hello: &pb.Hello{
		ConsumerId: s.set.consumerID, SessionId: s.set.sessionID, Ttl: durationpb.New(s.set.sessionTTL),
	}}
	s.askOwn(hello)
	if piped {
		for _, c := range workers {
			s.out.push(c)
		}
	}
	s.running.Add(1)
	go s.run(link)
}

// welcome reads the answer to hello.
func (s *session) welcome(link *link, answer proto.Message) {
	hello, ok := answer.(*pb.HelloResponse)
	if !ok {
		s.broke(link, helloError(answer))
		return
	}
	if ttl := hello.GetTtl(); ttl != nil {
		s.live.ttl = ttl.AsDuration()
	}
	if s.greeted {
		s.log.Info("keyturn: the session is back", "session_id", hello.GetSessionId(), "turns", hello.GetTurnCount())
		s.metric.reconnected()
	}
	workers := s.open.workersInOrder()
	s.state, s.greeted, s.lastFailure = ready, true, nil
	// What it gives back goes before what is sent again, which may be about the same keys.
	s.turns.attached(hello.GetTurns(), workers, link.stopAt)
	if !link.piped {
		for _, c := range workers {
			s.out.push(c)
		}
	}
	link.signal()
}

// broke: the stream is of no use any more, for this reason. The lock is held.
func (s *session) broke(link *link, err error) {
	if s.link != link {
		return
	}
	link.cancel()
	at := now()
	if s.state == ready && at.minus(link.since) >= longestReconnect {
		s.backOff.reset()
	}
	s.forgetStream()
	if reasonOf(err) == reasonSessionReplaced {
		s.log.Warn("keyturn: another client has the session", "session_id", s.set.sessionID)
		s.stop(err, Replaced)
		return
	}
	s.log.Warn("keyturn: the session's stream broke", "error", err)
	s.lastFailure, s.state = err, idle
	if isForGood(err) {
		s.fail(err)
	}
	if s.wanted() {
		s.state, s.pauseUntil = pausing, at.plus(s.backOff.next(0))
	} else {
		s.live.idle()
	}
	s.arm()
}

// forgetStream drops what belonged to the stream alone, and calls that nobody waits for, unless a turn would be kept for
// ever without them.
func (s *session) forgetStream() {
	s.link, s.proving = nil, false
	s.out.clear()
	s.turns.detached()
	for _, c := range s.open.inOrder() {
		if c.own != nil || (c.abandoned && !s.turns.isEndedBy(c)) {
			s.open.remove(c)
			continue
		}
		c.wasSent, c.sent = c.wasSent || c.sent, false
	}
}

// fail: nothing that is asked now would come through. What is asked later may.
func (s *session) fail(err error) {
	s.turns.loseAll(Unreachable)
	s.refuseAll(err)
}

func (s *session) stop(err error, loss LossCause) {
	s.state, s.stopErr, s.stopLoss = stopped, err, loss
	s.link = nil
	if s.timer != nil {
		s.timer.Stop()
	}
	s.turns.loseAll(loss)
	s.refuseAll(err)
	s.out.clear()
}

func (s *session) refuseAll(err error) {
	for _, c := range s.open.inOrder() {
		s.open.remove(c)
		if c.own != nil {
			continue
		}
		s.turns.done(c)
		if !c.abandoned {
			c.abandoned = true
			c.finish(err)
		}
	}
}

// abandon: nobody waits for the command any more.
func (s *session) abandon(c *command, err error, leave bool) {
	if !s.open.has(c) || c.abandoned {
		return
	}
	c.abandoned, c.leave = true, leave
	c.finish(err)
	if c.sent {
		// It stays open until the sidecar has answered it, one way or the other: its id is taken, and it may bring a turn.
		cancel := &command{own: func(proto.Message) {}, bytes: fixedBytes}
		cancel.wire.Call = &pb.Command_Cancel{Cancel: &pb.Cancel{Id: c.wire.Id, Leave: leave}}
		s.askOwn(cancel)
		return
	}
	if !s.turns.isEndedBy(c) {
		s.open.remove(c)
		s.turns.done(c)
	}
}
