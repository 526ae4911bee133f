package keyturn

import (
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// releaseAgain is the time until a release that was refused is sent again.
const releaseAgain = time.Second

// silentError is what the sidecar says of a turn whose worker it does not hear of: an attempt is counted, no matter which side notices first.
const silentError = "the worker was silent for longer than its session lives"

// endedTurn is a turn that the session ends itself.
type endedTurn struct {
	ref TurnRef
	// silent: somebody worked on its items until it was given up in silence. The attempt failed. Else it is released, as if
	// it had not been given.
	silent bool
}

type unreleasedTurn struct {
	endedTurn
	until moment
}

// giveBack is as if the turn had not been given, whatever it carries.
func (k *turnKeeping) giveBack(ref TurnRef) { k.endTurn(endedTurn{ref: ref}) }

// giveBackLost ends a turn that was told lost, though the session has it.
func (k *turnKeeping) giveBackLost(lost *heldTurn) {
	k.endTurn(endedTurn{lost.ref, lost.wasInUse && lost.attempt > 0})
}

// endTurn ends the turn. Should this be lost too, the next stream tells of the turn again. What is refused for now is sent
// again: the session would keep the turn. A queue that gives its items once takes no attempt back: they are released.
func (k *turnKeeping) endTurn(turn endedTurn) {
	ref := turn.ref
	request := &pb.NackRequest{Queue: ref.Queue, Key: ref.Key, Token: ref.Token, Kind: pb.NackKind_NACK_KIND_RELEASE}
	if turn.silent {
		request.Kind, request.Error = pb.NackKind_NACK_KIND_RETRY, silentError
	}
	over := func(answer proto.Message) {
		switch code := answeredWith(answer); {
		case code == codes.FailedPrecondition && turn.silent:
			k.giveBack(ref)
		case code == codes.Unavailable:
			k.endTurnLater(turn)
		default:
			delete(k.unreachable, ref.id())
		}
	}
	c := &command{own: over, bytes: fixedBytes + len(ref.Queue) + len(ref.Key)}
	c.wire.Call = &pb.Command_Nack{Nack: request}
	k.askOwn(c)
}

func (k *turnKeeping) endTurnLater(turn endedTurn) {
	if len(k.unreleased) < mostUnclaimed {
		k.unreleased = append(k.unreleased, unreleasedTurn{turn, now().plus(releaseAgain)})
	}
}

// refused: the sidecar did not settle the turn. A caller that only gives it back does not ask again.
func (k *turnKeeping) refused(c *command) {
	if !c.lastWord || answeredWith(c.answer) != codes.Unavailable {
		return
	}
	if held := k.turns[c.ref.id()]; held != nil {
		k.renewals.drop(held)
		k.remove(held)
	}
	k.endTurnLater(endedTurn{ref: c.ref})
}

// endUnreleased sends what was refused long enough ago.
func (k *turnKeeping) endUnreleased(at moment) {
	for len(k.unreleased) > 0 && at >= k.unreleased[0].until {
		turn := k.unreleased[0].endedTurn
		k.unreleased = k.unreleased[1:]
		k.endTurn(turn)
	}
}

// answeredWith is the code of an answer.
func answeredWith(answer proto.Message) codes.Code {
	if status, refused := answer.(*rpcstatus.Status); refused {
		return codes.Code(status.GetCode())
	}
	return codes.OK
}
