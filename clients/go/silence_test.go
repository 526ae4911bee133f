package keyturn

import (
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// A process that stood still, and turns that were given up in silence.

const (
	ownTTL    = 10 * time.Second
	ownMargin = time.Second
	stoodFor  = 2 * ownTTL
)

// awake is a session with a tied turn whose process stood still, and was woken at a moment. Its stream is whole.
func awake(t *testing.T) (s *session, held *heldTurn, at moment) {
	s = newSession(&settings{sessionTTL: ownTTL, margin: unset, logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, nil)
	// Its own timer waits until the test is over.
	s.mu.Lock()
	t.Cleanup(func() { s.state = stopped; s.mu.Unlock() })
	s.state, s.link = ready, newLink(0, true, never)
	held = s.turns.given(TurnRef{"q", "k", 7}, 1, ownTTL, newEnQueue(&pb.EnQueueRequest{Queue: "q", Key: "k"}))
	held.inUse = true
	at = now()
	s.live.proved(at - moment(stoodFor))
	s.live.busy(at - moment(stoodFor))
	// The alarm was set for the next look at the stream.
	s.armedFor = at - moment(stoodFor) + moment(ownTTL/3)
	s.wakeAt(at)
	return s, held, at
}

func pings(s *session) (pings []*command) {
	for _, c := range s.open.inOrder() {
		if c.wire.GetCancel() != nil {
			pings = append(pings, c)
		}
	}
	return pings
}

func TestAProcessThatStoodStillAsksBeforeItGivesItsTurnsUp(t *testing.T) {
	s, held, at := awake(t)
	s.wakeAt(at.plus(999 * time.Millisecond))
	if held.lost() != nil || len(pings(s)) != 1 || s.state != ready {
		t.Fatalf("lost %v, asked %d times, state %v", held.lost(), len(pings(s)), s.state)
	}
	s.live.proved(at)
	s.wakeAt(at.plus(ownTTL - ownMargin - 1))
	if held.lost() != nil {
		t.Fatal("it is lost though the sidecar answered")
	}
}

func TestAProcessThatStoodStillGivesItsTurnsUpWhenNothingIsHeardForASecond(t *testing.T) {
	s, held, at := awake(t)
	s.wakeAt(at.plus(time.Second))
	if loss := held.lost(); loss == nil || loss.Cause != LossUnreachable {
		t.Fatalf("%v", loss)
	}
}

func TestAProcessThatIsAlwaysLateAsksOnceForEachSilence(t *testing.T) {
	s, held, at := awake(t)
	for range 3 {
		at = at.plus(2 * ownMargin)
		s.armedFor = at.plus(-2 * ownMargin)
		s.wakeAt(at)
	}
	if held.lost() == nil {
		t.Fatal("it is not lost, though nothing was heard for seconds")
	}
}

// silent has a turn that was given up while somebody worked on it, or not, and that the next stream tells of.
func silentTurn(inUse bool, attempt int) *endings {
	e := newEndings()
	held := e.given(TurnRef{"q", "k", 7}, attempt, time.Second, newEnQueue(&pb.EnQueueRequest{Queue: "q", Key: "k"}))
	held.inUse = inUse
	e.lose(held, LossUnreachable)
	e.attached(told(7), nil, never)
	held.inUse = false
	e.stopped(held)
	return e
}

func TestATurnThatWasGivenUpWhileSomebodyWorkedOnItsItemsCountsAnAttempt(t *testing.T) {
	for name, one := range map[string]struct {
		inUse   bool
		attempt int
		answers []proto.Message
		want    []pb.NackKind
	}{
		"a handler":            {true, 1, nil, []pb.NackKind{failed}},
		"refused for now":      {true, 1, []proto.Message{refusedWith(codes.Unavailable)}, []pb.NackKind{failed, failed}},
		"gives its items once": {true, 1, []proto.Message{refusedWith(codes.FailedPrecondition)}, []pb.NackKind{failed, released}},
		"twice refused": {true, 1, []proto.Message{refusedWith(codes.FailedPrecondition), refusedWith(codes.Unavailable)},
			[]pb.NackKind{failed, released, released}},
		"nobody had begun": {false, 1, nil, []pb.NackKind{released}},
		"without items":    {true, 0, nil, []pb.NackKind{released}},
	} {
		e := silentTurn(one.inUse, one.attempt)
		for _, answer := range one.answers {
			e.answer(answer)
			e.due()
		}
		if !slices.Equal(e.kinds(), one.want) {
			t.Errorf("%s: ended with %v, not %v", name, e.kinds(), one.want)
		}
	}
	if why := silentTurn(true, 1).sent[0].wire.GetNack().GetError(); why != "the worker was silent for longer than its session lives" {
		t.Errorf("%q", why)
	}
}
