package keyturn

import (
	"time"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

const (
	// unclaimedFor is how long a turn waits for a call with the ticket whose earlier call was given up: as the sidecar keeps
	// a place, if not told otherwise.
	unclaimedFor  = 10 * time.Second
	mostUnclaimed = 10_000
	// largestRenew is the most that one Renew may name.
	largestRenew = 1_000
)

type unclaimedTurn struct {
	ref   TurnRef
	until moment
}

// turnKeeping is what a session does for the turns it was given: it knows which the application holds, tells when one is
// lost, and gives back those of which nobody learnt. The session's lock guards it.
type turnKeeping struct {
	renewals *renewals
	// askOwn sends a command of the session itself.
	askOwn func(*command)
	metric metricsOf

	turns    map[turnID]*heldTurn
	byTicket map[string]*heldTurn
	// How many live as long as the session does.
	tied      int
	orphans   *orphans
	unclaimed []unclaimedTurn
	// Turns whose release the sidecar refused for now.
	unreleased []unreleasedTurn
	// Tied turns that a new stream did not tell of, until a Renew does.
	uncertain map[*heldTurn]struct{}
	// Turns that were told lost because nothing was heard. The sidecar may keep them for the session still: the next stream
	// tells.
	unreachable map[turnID]*heldTurn
	// Those of them that the session has, and whose holders have not come to their end.
	stopping map[*heldTurn]struct{}
	// How long before the end of its life the holder of a turn is told to stop.
	marginOfLife func() time.Duration
	// Turns on which somebody works who will say when that is over.
	begun map[*heldTurn]struct{}
	// Nobody asks for anything any more; left are the turns that somebody had then, and may be working on.
	isClosing bool
	left      map[turnID]struct{}
}

func newTurnKeeping(renewals *renewals, metric metricsOf, marginOfLife func() time.Duration, askOwn func(*command)) *turnKeeping {
	return &turnKeeping{
		renewals: renewals, askOwn: askOwn, metric: metric, marginOfLife: marginOfLife,
		turns: map[turnID]*heldTurn{}, byTicket: map[string]*heldTurn{}, uncertain: map[*heldTurn]struct{}{},
		begun: map[*heldTurn]struct{}{}, unreachable: map[turnID]*heldTurn{}, stopping: map[*heldTurn]struct{}{},
	}
}

// given takes note of a turn that a command was answered with.
func (k *turnKeeping) given(ref TurnRef, attempt int, lease time.Duration, c *command) *heldTurn {
	k.orphans.claimed(ref)
	if known := k.turns[ref.id()]; known != nil {
		k.certain(known)
		return known
	}
	held := &heldTurn{ref: ref, attempt: attempt, lease: lease, tied: c.tied(), ticket: c.ticket(), fresh: c.scoped, safeUntil: never}
	k.turns[ref.id()] = held
	if held.tied {
		k.tied++
	}
	if held.ticket != "" {
		k.byTicket[held.ticket] = held
	}
	return held
}

// undelivered: nobody will learn that this turn was given, unless somebody asks once more with the ticket.
func (k *turnKeeping) undelivered(ref TurnRef, c *command) {
	if k.turns[ref.id()] != nil {
		return
	}
	if k.isClosing || c.leave || c.ticket() == "" || len(k.unclaimed) >= mostUnclaimed {
		k.giveBack(ref)
		return
	}
	k.unclaimed = append(k.unclaimed, unclaimedTurn{ref, now().plus(unclaimedFor)})
}

func (k *turnKeeping) settled(ref TurnRef, ticket string) {
	held := k.turns[ref.id()]
	if ref.Token == 0 && ticket != "" {
		held = k.byTicket[ticket]
		if held != nil && (held.ref.Queue != ref.Queue || held.ref.Key != ref.Key) {
			held = nil
		}
	}
	if held != nil {
		k.renewals.drop(held)
		k.remove(held)
	}
}

// isEndedBy is whether the command settles a turn that lives as long as the session: should it not come through, nobody
// else would end it.
func (k *turnKeeping) isEndedBy(c *command) bool {
	if !c.settles() {
		return false
	}
	held := k.turns[c.ref.id()]
	return held != nil && held.tied
}

func (k *turnKeeping) lostBy(ref TurnRef, cause LossCause) {
	if held := k.turns[ref.id()]; held != nil {
		k.lose(held, cause)
	}
}

func (k *turnKeeping) lose(held *heldTurn, cause LossCause) {
	if k.renewals.isOver(held) || held.safeUntil <= now() {
		// It was lost by the clock before anything was told.
		cause = LossUnreachable
	}
	k.renewals.drop(held)
	k.remove(held)
	if cause != LossClosed {
		// Nothing is to be given back.
		delete(k.begun, held)
	}
	if cause == LossUnreachable && held.tied {
		held.endAt, held.wasInUse = now().plus(k.marginOfLife()), held.inUse
		k.unreachable[held.ref.id()] = held
	}
	if held.lose(cause) {
		k.metric.turnLost(held.ref.Queue, cause)
	}
}

func (k *turnKeeping) remove(held *heldTurn) {
	delete(k.uncertain, held)
	if k.turns[held.ref.id()] != held {
		return
	}
	delete(k.turns, held.ref.id())
	if held.tied {
		k.tied--
	}
	if held.ticket != "" && k.byTicket[held.ticket] == held {
		delete(k.byTicket, held.ticket)
	}
}

// notice: open are the calls that are not answered. What they settle is theirs to end, and they may be answered with a turn.
func (k *turnKeeping) notice(notice *pb.Notice, open func() []*command) {
	turn := notice.GetTurn()
	if turn == nil {
		return
	}
	ref := TurnRef{turn.Queue, turn.Key, turn.Token}
	switch notice.GetKind() {
	case pb.NoticeKind_NOTICE_KIND_TURN_KEPT:
		k.kept(ref, open())
	case pb.NoticeKind_NOTICE_KIND_TURN_LOST:
		k.orphans.claimed(ref)
		k.lostBy(ref, lossOf(notice.GetCause()))
	}
}

// done: a call of the application is open no more.
func (k *turnKeeping) done(c *command) {
	if k.orphans == nil {
		return
	}
	k.orphans.done(c)
	if k.orphans.isEmpty() {
		k.orphans = nil
	}
}

// nextAt is when tick is to be called.
func (k *turnKeeping) nextAt(stopAt moment) moment {
	next := never
	if k.tied > 0 {
		next = stopAt
	}
	for held := range k.uncertain {
		next = min(next, held.safeUntil)
	}
	for held := range k.stopping {
		next = min(next, held.endAt)
	}
	if len(k.unclaimed) > 0 {
		next = min(next, k.unclaimed[0].until)
	}
	if len(k.unreleased) > 0 {
		next = min(next, k.unreleased[0].until)
	}
	return next
}

// tick reports whether tied turns were given up, which the session may have still.
func (k *turnKeeping) tick(at, stopAt moment) bool {
	silent := k.tied > 0 && at >= stopAt
	if silent {
		for _, held := range k.turns {
			if held.tied {
				k.lose(held, LossUnreachable)
			}
		}
	}
	for held := range k.uncertain {
		if at >= held.safeUntil {
			k.lose(held, LossUnreachable)
		}
	}
	for held := range k.stopping {
		if at >= held.endAt {
			k.stopped(held)
		}
	}
	for len(k.unclaimed) > 0 && at >= k.unclaimed[0].until {
		ref := k.unclaimed[0].ref
		k.unclaimed = k.unclaimed[1:]
		if k.turns[ref.id()] == nil {
			k.giveBack(ref)
		}
	}
	k.endUnreleased(at)
	return silent
}

// closing: whoever holds a turn is told that it is lost. Those that nobody came for are given back, and those of scoped calls
// that have not begun with them: nobody works on these, and their keys would be held for the ttl.
func (k *turnKeeping) closing() {
	k.isClosing = true
	for _, one := range k.unclaimed {
		if k.turns[one.ref.id()] == nil {
			k.giveBack(one.ref)
		}
	}
	k.unclaimed = nil
	k.left = map[turnID]struct{}{}
	for held := range k.begun {
		k.left[held.ref.id()] = struct{}{}
	}
	for id, held := range k.turns {
		if held.fresh {
			k.giveBack(held.ref)
		} else {
			k.left[id] = struct{}{}
		}
	}
	k.loseAll(LossClosed)
	for held := range k.begun {
		k.lose(held, LossClosed)
	}
}

func (k *turnKeeping) loseAll(cause LossCause) {
	for _, held := range k.turns {
		k.lose(held, cause)
	}
}
