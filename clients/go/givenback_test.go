package keyturn

import (
	"slices"
	"testing"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// How a session ends turns by itself.

// ending is a session's keeping of turns and the commands that it sends.
type endings struct {
	*turnKeeping
	sent []*command
}

func newEndings() *endings {
	e := &endings{}
	renewals := newRenewals(unset, nil, func(*heldTurn, LossCause) {})
	e.turnKeeping = newTurnKeeping(renewals, metricsOf{}, func() time.Duration { return time.Minute }, func(c *command) { e.sent = append(e.sent, c) })
	return e
}

// answer is that to the last command.
func (e *endings) answer(answer proto.Message) { e.sent[len(e.sent)-1].own(answer) }

func (e *endings) kinds() (kinds []pb.NackKind) {
	for _, c := range e.sent {
		kinds = append(kinds, c.wire.GetNack().GetKind())
	}
	return kinds
}

// due: a second has passed.
func (e *endings) due() { e.tick(now().plus(time.Second), never) }

func refusedWith(code codes.Code) proto.Message { return &rpcstatus.Status{Code: int32(code)} }

const (
	released = pb.NackKind_NACK_KIND_RELEASE
	failed   = pb.NackKind_NACK_KIND_RETRY
)

func TestAReleaseThatIsRefusedForNowIsSentAgainUntilItIsSettled(t *testing.T) {
	e := newEndings()
	e.giveBack(TurnRef{"q", "k", 7})
	for tries := 2; tries <= 4; tries++ {
		e.answer(refusedWith(codes.Unavailable))
		if at := e.nextAt(never); at <= now() || at > now().plus(time.Second) {
			t.Fatalf("it is sent again in %v", at.until())
		}
		e.due()
		if len(e.sent) != tries || e.sent[tries-1].wire.GetNack().GetToken() != 7 {
			t.Fatalf("sent %d times", len(e.sent))
		}
	}
	e.answer(&pb.NackResponse{})
	if e.due(); len(e.sent) != 4 || e.nextAt(never) != never {
		t.Fatal("it is sent again though it is settled")
	}
}

func TestAReleaseThatIsRefusedForGoodOrLostWithItsStreamIsNotSentAgain(t *testing.T) {
	for name, after := range map[string]func(e *endings){
		"refused for good":  func(e *endings) { e.answer(refusedWith(codes.Aborted)) },
		"the stream breaks": func(e *endings) { e.answer(refusedWith(codes.Unavailable)); e.detached() },
	} {
		e := newEndings()
		e.giveBack(TurnRef{"q", "k", 7})
		after(e)
		if e.due(); len(e.sent) != 1 {
			t.Errorf("%s: sent %d times", name, len(e.sent))
		}
	}
}

func TestAReleaseOfTheApplicationThatIsRefusedForNowIsSentAgain(t *testing.T) {
	s := &session{turns: newEndings().turnKeeping}
	e := &endings{turnKeeping: s.turns}
	s.turns.askOwn = func(c *command) { e.sent = append(e.sent, c) }
	held := tiedTurn(s.turns, 7)
	c := newNack(releaseOf(held.ref, "the consumer stopped"))
	c.lastWord, c.answer = true, refusedWith(codes.Unavailable)
	s.book(c)
	if e.due(); !slices.Equal(e.kinds(), []pb.NackKind{released}) || s.turns.tied != 0 {
		t.Fatalf("sent %v, kept %d", e.kinds(), s.turns.tied)
	}
}
