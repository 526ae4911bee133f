package keyturn

import (
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// How a session ends, and how the calls do that get no answer.

// close returns when nothing is left of it.
func (s *session) close() {
	s.drain()
	s.mu.Lock()
	if s.state != stopped {
		inPeace := s.link != nil && s.open.workers == 0
		if inPeace {
			s.link.farewell = s.out.batch(nil, now())
		}
		link := s.link
		s.stop(closedError(), LossClosed)
		if inPeace {
			link.finish()
		} else if link != nil {
			link.cancel()
		}
	}
	s.mu.Unlock()
	s.renew.close(LossClosed)
	s.running.Wait()
	s.renew.wait()
}

// drain refuses the calls that are open, and waits for what the sidecar says to that: a turn that it has just given is given
// back, and no place is left behind, which others would wait for until the session's end. Whoever works on a turn is told to
// stop, and has a moment to do so, so that its key comes free too.
func (s *session) drain() {
	s.mu.Lock()
	if s.state == stopped {
		s.mu.Unlock()
		return
	}
	s.closing = make(chan struct{})
	s.returning = s.link == nil && s.mayLeaveTurns()
	for _, c := range s.open.workersInOrder() {
		// What only ends or keeps what we have may come to its end.
		if !c.onlyEnds() {
			s.abandon(c, closedError(), c.leaves)
		}
	}
	s.turns.closing()
	if (s.link == nil && !s.returning) || s.isDrained() {
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	late := time.NewTimer(farewellTime)
	defer late.Stop()
	select {
	case <-s.closing:
	case <-late.C:
	}
}

func (s *session) isDrained() bool {
	return !s.returning && s.open.isEmpty() && len(s.turns.begun) == 0
}

// mayLeaveTurns is whether something was sent that may have been answered with a turn, or was to end one, and nobody knows.
func (s *session) mayLeaveTurns() bool {
	for _, c := range s.open.inOrder() {
		switch {
		case c.own != nil:
			if c.wire.GetNack() != nil {
				return true
			}
		case (c.sent || c.wasSent) && (c.mayBringTurns() || c.onlyEnds()):
			return true
		}
	}
	return false
}

func (s *session) endDrain() {
	if !s.drained {
		s.drained = true
		close(s.closing)
	}
}

// fail: nothing that is asked now would come through. What is asked later may.
func (s *session) fail(err error) {
	s.turns.loseAll(LossUnreachable)
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
