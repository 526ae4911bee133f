package keyturn

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// What a new stream says of the turns of its session, and what a broken one leaves open.

// attached: a new stream has the session. Turns of which nobody here knows are given back, those that were told lost at
// once; those that are known here and not there are asked for, and until the answer are no safer than they were (stopAt).
func (k *turnKeeping) attached(told []*pb.TurnRef, open []*command, stopAt moment) {
	settling := map[turnID]bool{}
	for _, c := range open {
		if c.settles() {
			settling[c.ref.id()] = true
		}
	}
	here := map[*heldTurn]bool{}
	gone := k.unreachable
	k.unreachable = map[turnID]*heldTurn{}
	var unknown []TurnRef
	for _, turn := range told {
		ref := TurnRef{turn.Queue, turn.Key, turn.Token}
		lost := gone[ref.id()]
		_, works := k.left[ref.id()]
		switch held := k.turns[ref.id()]; {
		case held != nil:
			here[held] = true
		case settling[ref.id()]:
		case lost != nil:
			k.backAgain(lost)
		case works:
			// The client is being closed: whoever works on it has a moment to end, and then gives it back.
		default:
			unknown = append(unknown, ref)
		}
	}
	k.orphans = newOrphans(unknown, open, k.giveBack)
	var missing []*heldTurn
	for _, held := range k.turns {
		if here[held] {
			k.certain(held)
		} else if held.tied {
			missing = append(missing, held)
		}
	}
	k.askFor(missing, stopAt)
}

// kept is what the answer to the hello could not say: the session has this turn still. One that nobody knows goes back.
func (k *turnKeeping) kept(ref TurnRef, open []*command) {
	if held := k.turns[ref.id()]; held != nil {
		k.certain(held)
		return
	}
	for _, c := range open {
		if c.settles() && c.ref.id() == ref.id() {
			return
		}
	}
	if lost := k.unreachable[ref.id()]; lost != nil {
		k.backAgain(lost)
		return
	}
	if _, works := k.left[ref.id()]; works {
		return
	}
	if k.isClosing {
		// No answer brings a turn to anybody any more.
		open = nil
	}
	if k.orphans == nil {
		k.orphans = noOrphans(k.giveBack)
	}
	k.orphans.add(ref, open)
	if k.orphans.isEmpty() {
		k.orphans = nil
	}
}

// backAgain: the session has a turn that was told lost. It was delivered, so that no open call waits for it, and is given back:
// but whoever works on it was told a margin before its end, and nobody else shall begin before they have had that time. It is
// remembered until the giving back is answered.
func (k *turnKeeping) backAgain(lost *heldTurn) {
	k.unreachable[lost.ref.id()] = lost
	if lost.inUse && now() < lost.endAt {
		k.stopping[lost] = struct{}{}
		return
	}
	k.giveBackLost(lost)
}

// stopped: its holder has come to the end, or has had the time to.
func (k *turnKeeping) stopped(lost *heldTurn) {
	if _, waited := k.stopping[lost]; waited {
		delete(k.stopping, lost)
		k.giveBackLost(lost)
	}
}

// detached: the stream is gone, and with it what was to be told on it.
func (k *turnKeeping) detached() {
	k.orphans = nil
	clear(k.stopping)
	// A new stream tells of those that live.
	k.unclaimed, k.unreleased = nil, nil
	// Nobody would tell of the end of a lease. Who holds such a turn has it renewed; of the others nothing is kept.
	for _, held := range k.turns {
		if !held.tied {
			k.remove(held)
		}
	}
}

func (k *turnKeeping) askFor(missing []*heldTurn, stopAt moment) {
	for _, held := range missing {
		held.safeUntil = min(held.safeUntil, stopAt)
		k.uncertain[held] = struct{}{}
	}
	for len(missing) > 0 {
		batch := missing[:min(largestRenew, len(missing))]
		missing = missing[len(batch):]
		request := &pb.RenewRequest{}
		for _, held := range batch {
			request.Turns = append(request.Turns, &pb.TurnRef{Queue: held.ref.Queue, Key: held.ref.Key, Token: held.ref.Token})
		}
		c := &command{own: func(answer proto.Message) { k.told(batch, answer) }, bytes: proto.Size(request) + fixedBytes}
		c.wire.Call = &pb.Command_Renew{Renew: request}
		k.askOwn(c)
	}
}

func (k *turnKeeping) told(batch []*heldTurn, answer proto.Message) {
	// No answer leaves them as uncertain as they are.
	results, ok := answer.(*pb.RenewResponse)
	if !ok {
		return
	}
	for at, result := range results.GetResults() {
		if at >= len(batch) {
			return
		}
		held := batch[at]
		switch {
		case !result.Alive:
			k.lose(held, lossOf(result.Cause))
		case held.lost() != nil:
			// Its holder was told to stop before this answer came. A sidecar that adopted it would keep it for ever.
			k.backAgain(held)
		default:
			k.certain(held)
		}
	}
}

func (k *turnKeeping) certain(held *heldTurn) {
	held.safeUntil = never
	delete(k.uncertain, held)
}
