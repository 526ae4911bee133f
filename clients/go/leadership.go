package keyturn

import (
	"context"
	"time"

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
