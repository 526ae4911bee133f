package keyturn

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// Leadership is a worker that stands, and leads when its turn comes. Made by [Client.Lead].
type Leadership struct {
	client *Client
	link   *leadLink
	group  string
	career LeaderCareer
	opts   LeadOptions
	// Of all that the career runs; it has the values of the context of Lead, not its end.
	base     context.Context
	unfollow func() bool
	done     chan struct{}

	// The lock of the link is held for all of these.
	// Zero: it does not stand at the sidecar.
	number uint32
	term   *Term
	// What was said at the end of a term and is not confirmed yet.
	farewell      *pb.HandedOver
	farewellUntil moment
	againAlarm    leadAlarm
	backOff       backOff
	position      int
	stopping      bool
	deadline      moment
	stopAlarm     leadAlarm
	over          bool
	err           error
}

// sayAgain: a hand-over that is not confirmed is said again after this long.
const sayAgain = time.Second

func (l *Leadership) say(command *pb.LeadCommand) bool {
	command.Candidacy = l.number
	return l.number != 0 && l.link.say(command)
}

// opened: there is a new stream. It is told what it has to know.
func (l *Leadership) opened() {
	stand := &pb.Stand{
		Group: l.group, CandidateId: l.opts.CandidateID, Ttl: durationpb.New(l.opts.TTL),
		InaugurateTimeout: durationpb.New(l.opts.InaugurateTimeout), HandOverTimeout: durationpb.New(l.opts.HandOverTimeout),
		Metadata: l.opts.Metadata,
	}
	switch {
	case l.term != nil:
		stand.Term = l.term.Number
	case l.farewell != nil:
		stand.Term = l.farewell.Term
	}
	l.say(&pb.LeadCommand{Command: &pb.LeadCommand_Stand{Stand: stand}})
	if l.farewell != nil {
		l.say(farewellSaid(l.farewell))
	} else if l.term != nil {
		l.term.live()
	}
	if l.stopping {
		l.say(withdrawn())
	}
}

// broke: nothing that was said on the stream is answered any more.
func (l *Leadership) broke(err error) {
	l.position = 0
	if l.term != nil {
		l.term.broke()
	}
	l.client.set.logger.Info("keyturn: the stream of leaders broke", "group", l.group, "error", err)
}

func (l *Leadership) told(news *pb.LeadNews) {
	if l.over {
		return
	}
	l.position = 0
	switch told := news.News.(type) {
	case *pb.LeadNews_Standing:
		l.position = int(told.Standing.GetPosition())
	case *pb.LeadNews_Inaugurate:
		l.isChosen(told.Inaugurate.GetTerm(), predecessorOf(told.Inaugurate.GetPredecessor()))
	case *pb.LeadNews_Kept:
		l.kept(told.Kept.GetTerm(), told.Kept.GetTtl().AsDuration())
	case *pb.LeadNews_Execute:
		l.execute(told.Execute.GetTerm())
	case *pb.LeadNews_HandOver:
		l.handOver(told.HandOver.GetTerm(), reasonOfHandOver(told.HandOver.GetReason()), told.HandOver.GetWithin().AsDuration())
	case *pb.LeadNews_Lost:
		l.isLost(told.Lost.GetTerm(), termLossOf(told.Lost.GetCause()))
	case *pb.LeadNews_Released:
		l.released(told.Released.GetTerm())
	case *pb.LeadNews_Refused:
		l.refused(statusError(told.Refused, TurnRef{}))
	}
}

func (l *Leadership) isChosen(number uint64, before Predecessor) {
	if t := l.term; t != nil {
		// The sidecar was away when it was told, or knows it no more.
		if t.Number == number && (t.phase == inaugurated || t.phase == executing) {
			l.say(inauguratedSaid(number))
		}
		return
	}
	if l.farewell != nil && l.farewell.Term == number {
		return
	}
	l.term = newTerm(l, number, before)
	l.term.live()
}

func (l *Leadership) kept(number uint64, ttl time.Duration) {
	t := l.term
	if t == nil || t.Number != number {
		return
	}
	t.kept(ttl)
	// Only now it is known since when the term lives at least: `inaugurate` may have been under way for long.
	if t.phase == unconfirmed && t.isKnownToLive() {
		t.phase = inaugurating
		go l.inaugurates(t)
	}
}

func (l *Leadership) execute(number uint64) {
	t := l.term
	if t == nil || t.Number != number || t.phase != inaugurated {
		return
	}
	if !t.isKnownToLive() {
		l.loses(t, TermLossUnreachable)
		return
	}
	t.phase = executing
	go l.executes(t)
}

// yield: its own wish needs nobody's word. It hands over also while the sidecar is away.
func (l *Leadership) yield(failed bool) {
	t := l.term
	if t == nil {
		return
	}
	l.say(yielded(t.Number, failed))
	l.handOver(t.Number, HandOverYield, l.opts.HandOverTimeout)
}

func (l *Leadership) handOver(number uint64, reason HandOverReason, within time.Duration) {
	t := l.term
	if t == nil || t.Number != number || t.asked != "" || t.loss != "" {
		return
	}
	t.askedToHandOver(reason, within)
	switch t.phase {
	case ended, inaugurated:
		l.leaveOffice(t)
	case unconfirmed:
		l.finish(t, nil, false)
	}
}

func (l *Leadership) leaveOffice(t *Term) {
	t.phase = handingOver
	if l.career.HandOver == nil {
		l.finish(t, nil, false)
		return
	}
	go l.handsOver(t, t.asked, t.askedBy)
}

// loses: by the clock of this process, or as the sidecar says, the worker has to stop.
func (l *Leadership) loses(t *Term, loss TermLoss) {
	if t != l.term || !t.isLost(loss) {
		return
	}
	l.client.set.logger.Warn("keyturn: a term is lost", "group", l.group, "term", t.Number, "loss", string(loss))
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

// sayFarewell goes on as long as the term may live there: after that nobody waits for it.
func (l *Leadership) sayFarewell() {
	if l.farewell == nil || l.over {
		return
	}
	if now() >= l.farewellUntil {
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
		l.client.set.logger.Error("keyturn: a candidacy is over", "group", l.group, "error", err)
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
