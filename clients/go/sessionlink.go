package keyturn

import (
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// How a session comes to a stream, and what happens when that breaks. The lock is held.

func (s *session) connect(at moment) {
	workers := s.open.workersInOrder()
	piped := s.turns.tied == 0 && len(s.turns.unreachable) == 0
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
	s.returning = false
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
	// A token that ended in the middle may have been replaced: the next stream shows the one of that moment.
	renewable := s.state == ready && errors.Is(err, ErrUnauthenticated)
	returning := s.closing != nil && !isForGood(err) && (s.returning || len(s.turns.begun) > 0 || s.mayLeaveTurns())
	s.forgetStream()
	if reasonOf(err) == reasonSessionReplaced {
		s.log.Warn("keyturn: another client has the session", "session_id", s.set.sessionID)
		s.stop(err, LossReplaced)
		return
	}
	s.returning = returning
	if s.closing != nil && !returning {
		// Nothing can be brought to its end any more.
		s.endDrain()
		return
	}
	s.log.Warn("keyturn: the session's stream broke", "error", err)
	s.lastFailure, s.state = err, idle
	if (isForGood(err) && !renewable) || (isAboutTLS(err) && !s.greeted) {
		// Where a session stood before, certificates may be about to be replaced: its calls have their time.
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
