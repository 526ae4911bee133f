package keyturn

// How a term ends, and a candidacy.

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// loses: by the clock of this process, or as the sidecar says, the worker has to stop.
func (l *Leadership) loses(t *Term, loss TermLoss) {
	if t != l.term || !t.isLost(loss) {
		return
	}
	l.client.set.loudLogger().Warn("keyturn: a term is lost", "group", l.group, "term", t.Number, "loss", string(loss))
	// In the other phases the worker ends it when it has stopped.
	if t.idle() {
		l.finish(t, nil, true)
	}
}

// finish: the worker has stopped. That is said until it is confirmed.
func (l *Leadership) finish(t *Term, state []byte, lost bool) {
	if l.term != t {
		return
	}
	t.end()
	l.term = nil
	l.farewell = &pb.HandedOver{Term: t.Number, State: state, Lost: lost}
	l.farewellUntil = now().plus(t.ttl)
	l.stopping = l.stopping || l.opts.Once
	l.sayFarewell()
	if l.stopping && !l.over {
		l.say(withdrawn())
	}
}

// sayFarewell: who ends does not wait for a sidecar that is away for longer. It is not known whether the term lives there still.
func (l *Leadership) sayFarewell() {
	if l.farewell == nil || l.over {
		return
	}
	if l.stopping && now() >= l.farewellUntil {
		l.released(l.farewell.Term)
		return
	}
	l.say(farewellSaid(l.farewell))
	if l.number != 0 {
		l.againAlarm.set(l.link, sayAgain, l.sayFarewell)
	}
}

func (l *Leadership) isLost(number uint64, loss TermLoss) {
	switch {
	case l.term != nil && l.term.Number == number:
		l.loses(l.term, loss)
	case l.farewell != nil && l.farewell.Term == number:
		// What had stopped before is confirmed by that, too.
		l.released(number)
	default:
		l.say(farewellSaid(&pb.HandedOver{Term: number, Lost: true}))
	}
}

func (l *Leadership) released(number uint64) {
	if l.farewell == nil || l.farewell.Term != number {
		return
	}
	l.farewell = nil
	l.againAlarm.off()
	if l.stopping {
		l.leave()
	}
}

func (l *Leadership) leave() {
	l.say(withdrawn())
	l.isOver(nil)
}

func (l *Leadership) refused(err error) {
	l.link.remove(l.number)
	l.number = 0
	code := codeOf(err)
	if code != codes.Unavailable && code != codes.ResourceExhausted {
		if l.term != nil {
			l.term.isLost(TermLossUnknown)
		}
		l.isOver(err)
		return
	}
	if l.term != nil {
		l.term.broke()
	}
	l.againAlarm.set(l.link, l.backOff.next(retryAfterOf(err)), func() {
		if l.stopping && l.term == nil && l.farewell == nil {
			l.isOver(nil)
			return
		}
		l.link.stand(l)
		l.sayFarewell()
	})
}

// begin hands over and stands no more; there is this long for it. The shorter of two times counts.
func (l *Leadership) begin(timeout time.Duration) {
	l.link.mu.Lock()
	defer l.link.mu.Unlock()
	deadline := now().plus(timeout)
	if l.over || deadline >= l.deadline {
		return
	}
	l.deadline = deadline
	l.stopAlarm.set(l.link, timeout, l.cutOff)
	if l.stopping {
		return
	}
	l.stopping = true
	if l.term == nil && l.farewell == nil {
		l.leave()
		return
	}
	l.say(withdrawn())
	if l.term != nil {
		l.handOver(l.term.Number, HandOverYield, l.opts.HandOverTimeout)
	}
}

// cutOff: the time is over. Who stops at once still says so.
func (l *Leadership) cutOff() {
	if l.over {
		return
	}
	if l.term != nil {
		l.loses(l.term, TermLossClosed)
	}
	if !l.over {
		l.stopAlarm.set(l.link, afterAbort, func() { l.isOver(nil) })
	}
}

// stopFor waits for the end.
func (l *Leadership) stopFor(ctx context.Context) error {
	l.begin(timeToStop(ctx))
	select {
	case <-l.done:
	case <-ctx.Done():
		l.begin(0)
	}
	return l.Wait()
}

func (l *Leadership) isOver(err error) {
	if l.over {
		return
	}
	l.over, l.err = true, err
	l.againAlarm.off()
	l.stopAlarm.off()
	if l.term != nil {
		l.term.isLost(TermLossClosed)
		l.term.end()
	}
	if l.number != 0 {
		l.link.remove(l.number)
		l.number = 0
	}
	if err != nil {
		l.client.set.loudLogger().Error("keyturn: a candidacy is over", "group", l.group, "error", err)
	}
	l.link.running.Add(1)
	close(l.done)
	// Elsewhere: the client's lock is taken before that of the link.
	go func() {
		defer l.link.running.Done()
		l.client.mu.Lock()
		defer l.client.mu.Unlock()
		l.unfollow()
		delete(l.client.leaderships, l)
	}()
}
