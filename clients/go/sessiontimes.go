package keyturn

import (
	"errors"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// What a session does when time has passed. The lock is held, unless it is said.

// arm sees to it that wake is called when there is something to be done.
func (s *session) arm() {
	if s.state == stopped {
		return
	}
	next := min(s.firstDeadline, s.turns.nextAt(s.live.stopAt()))
	switch s.state {
	case pausing:
		next = min(next, s.pauseUntil)
	case greeting, ready:
		if s.wanted() {
			next = min(next, s.linkAt())
		}
	}
	if next >= s.armedFor {
		return
	}
	s.armedFor = next
	if s.timer == nil {
		s.timer = time.AfterFunc(next.until(), s.wake)
	} else {
		s.timer.Reset(next.until())
	}
}

func (s *session) linkAt() moment {
	dead := s.live.deadAt(s.link.since)
	if s.state == ready && !s.proving {
		return min(dead, s.live.proveAt())
	}
	return dead
}

// wake is called by the timer, without the lock.
func (s *session) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAt(now())
}

func (s *session) wakeAt(at moment) {
	if s.state == stopped {
		return
	}
	s.live.woke(at, at.minus(s.armedFor))
	s.armedFor = never
	s.expire(at)
	gaveUp := s.turns.tick(at, s.live.stopAt())
	switch {
	case gaveUp && s.state == ready:
		// Should the stream be alive after all, the session would keep what was given up here: the next hello tells of it.
		s.broke(s.link, silent())
	case s.state == pausing && at >= s.pauseUntil:
		// What the pause was for may be over too.
		s.state = idle
		if s.wanted() {
			s.connect(at)
		}
	case s.link != nil && s.wanted():
		s.prove(at)
	}
	s.arm()
}

// expire gives up the calls whose time is over. They come and go by the hundred thousand, so that none has a timer.
func (s *session) expire(at moment) {
	if at < s.firstDeadline {
		return
	}
	next := never
	var expired []*command
	for _, c := range s.open.places {
		if c == nil || c.own != nil || c.abandoned {
			continue
		}
		if c.deadline <= at {
			expired = append(expired, c)
		} else {
			next = min(next, c.deadline)
		}
	}
	s.firstDeadline = next
	if next != never {
		s.firstDeadline = max(next, at.plus(coarse))
	}
	for _, c := range expired {
		s.abandon(c, s.tooLate(), false)
	}
}

func (s *session) tooLate() error {
	why := s.whyNot()
	return (&Error{Code: codes.DeadlineExceeded, Message: "no answer before the call's time-out", cause: why}).because(why)
}

// prove asks for a sign of life when there was none for long, and gives the stream up when there was none for too long.
func (s *session) prove(at moment) {
	if at >= s.live.deadAt(s.link.since) {
		s.broke(s.link, silent())
		return
	}
	if s.state != ready || s.proving || at < s.live.proveAt() {
		return
	}
	s.proving = true
	ping := &command{own: func(proto.Message) { s.proving = false }, bytes: fixedBytes}
	ping.wire.Call = &pb.Command_Cancel{Cancel: &pb.Cancel{}}
	s.askOwn(ping)
}

func silent() error {
	return &Error{Code: codes.Unavailable, Message: "the sidecar does not answer"}
}

func helloError(answer proto.Message) error {
	if status, ok := answer.(*rpcstatus.Status); ok {
		return statusError(status, TurnRef{})
	}
	return &Error{Code: codes.Unimplemented, Message: "the sidecar does not answer hello"}
}

// isForGood: who is refused for one of these would be refused for ever.
func isForGood(err error) bool {
	var told *Error
	if !errors.As(err, &told) {
		return false
	}
	switch told.Code {
	case codes.Unimplemented, codes.Unauthenticated, codes.PermissionDenied, codes.InvalidArgument, codes.FailedPrecondition:
		return true
	}
	return false
}
