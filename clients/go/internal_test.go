package keyturn

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// What cannot be forced from outside: two things that cross, in the order that is wanted.

func TestOnlyTurnsThatLiveTakeRoomAmongTheAges(t *testing.T) {
	var a ages
	note := func(token int) *TurnInfo {
		info := &TurnInfo{TurnRef: TurnRef{Queue: "q", Key: "k", Token: uint64(token)}, since: moment(token)}
		a.note(info)
		return info
	}
	// One that lives, and very many that come and go.
	note(1)
	for token := 2; token <= 2*mostAges; token++ {
		a.over(note(token).id())
	}
	if info, known := a.known(turnID{"q", 1}); !known || info.since != 1 || len(a.of) != 1 || a.oldest.Len() != 1 {
		t.Fatalf("known: %v, of %d", known, len(a.of))
	}
	for token := 2; token <= mostAges+1; token++ {
		note(token)
		note(token)
	}
	_, oldest := a.known(turnID{"q", 1})
	_, second := a.known(turnID{"q", 2})
	if oldest || !second || len(a.of) != mostAges || a.oldest.Len() != mostAges {
		t.Fatalf("the oldest is known: %v, the second: %v, of %d", oldest, second, len(a.of))
	}
}

// unserved is a client of a sidecar that is not there.
func unserved(t *testing.T) *Client {
	client, err := Dial("unix:"+filepath.Join(t.TempDir(), "nobody"), WithTransport(TransportUnary))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestWhatIsAppendedAsTheReplayEndsIsReplayed(t *testing.T) {
	producer := &Producer{
		client: unserved(t), queue: "q", unsettled: map[*Pending]struct{}{},
		opts: ProducerOptions{OnError: func(error, *NewItem) {}, Spool: &SpoolOptions{
			Directory: t.TempDir(), Interval: time.Millisecond, Count: 1, MaxBytes: 1 << 20, Patience: time.Millisecond,
		}},
	}
	producer.givenUp, producer.giveUp = context.WithCancelCause(context.Background())
	route, err := newSpoolRoute(producer)
	if err != nil {
		t.Fatal(err)
	}
	defer route.close()
	// The producer saw that there is a replay, and then the replay saw that nothing is on disk.
	left, err := route.append([]*Pending{{ItemID: "a", item: NewItem{ItemID: "a"}, done: make(chan struct{})}})
	if err != nil || len(left) != 0 {
		t.Fatal(left, err)
	}
	if !route.inUse() {
		t.Fatal("an item is on disk, and nobody hands it over")
	}
}

func TestAProducersTroublesAreToldOneAtATime(t *testing.T) {
	var inside, most atomic.Int32
	producer := &Producer{client: unserved(t), queue: "q", opts: ProducerOptions{OnError: func(error, *NewItem) {
		most.Store(max(most.Load(), inside.Add(1)))
		time.Sleep(time.Millisecond)
		inside.Add(-1)
	}}}
	done := make(chan struct{})
	for range 8 {
		go func() {
			producer.tellError(ErrProducerFull, nil)
			done <- struct{}{}
		}()
	}
	for range 8 {
		<-done
	}
	if most.Load() != 1 {
		t.Fatalf("%d were told at once", most.Load())
	}
}

func TestOnlyAConnectionThatWasShutWithoutAWordIsToldAsTLS(t *testing.T) {
	shut := errors.New("reset")
	for _, one := range []struct {
		name    string
		said    string
		happens func(c *watchedConn)
		isTLS   bool
	}{
		{"shut without a word", "connection error: EOF", func(c *watchedConn) { c.ended() }, true},
		{"still in its handshake", "the stream of the last connection broke", func(*watchedConn) {}, false},
		{"nobody there since", `connection error: desc = "transport: Error while dialing: connection refused"`, func(c *watchedConn) { c.ended() }, false},
		{"shut after a word", "connection error: EOF", func(c *watchedConn) { c.wasHeard(); c.ended() }, false},
	} {
		watch := &tlsWatch{asked: true}
		one.happens(&watchedConn{watch: watch})
		err := watch.explain(&Error{Code: codes.Unavailable, Message: one.said, cause: shut})
		if isAboutTLS(err) != one.isTLS || !strings.Contains(err.Error(), one.said) {
			t.Errorf("%s: %v", one.name, err)
		}
	}
}

// keeping is what a session keeps of turns; asked has the tokens that it gives back.
func keeping() (k *turnKeeping, asked func() []uint64, answer func(at int)) {
	var all []*command
	renewals := newRenewals(unset, nil, func(*heldTurn, LossCause) {})
	k = newTurnKeeping(renewals, metricsOf{}, func() time.Duration { return time.Minute }, func(c *command) { all = append(all, c) })
	asked = func() (tokens []uint64) {
		for _, c := range all {
			if nack := c.wire.GetNack(); nack != nil {
				tokens = append(tokens, nack.Token)
			}
		}
		return tokens
	}
	return k, asked, func(at int) { all[at].own(&pb.NackResponse{}) }
}

func tiedTurn(k *turnKeeping, token uint64) *heldTurn {
	return k.given(TurnRef{"q", "k", token}, 0, time.Second, newEnQueue(&pb.EnQueueRequest{Queue: "q", Key: "k"}))
}

func told(token uint64) []*pb.TurnRef { return []*pb.TurnRef{{Queue: "q", Key: "k", Token: token}} }

// openAcquire may be answered with any turn of the queue.
func openAcquire() []*command {
	return []*command{newAcquire(&pb.AcquireRequest{Queues: []string{"q"}, Ticket: "t"})}
}

func TestATurnLostBySilenceIsGivenBackThoughTheFirstGivingBackIsLost(t *testing.T) {
	k, asked, answer := keeping()
	k.lose(tiedTurn(k, 1), LossUnreachable)
	for streams := 1; streams <= 2; streams++ {
		k.attached(told(1), openAcquire(), never)
		if len(asked()) != streams {
			t.Fatalf("stream %d: given back %v", streams, asked())
		}
		k.detached()
	}
	answer(1)
	if k.attached(nil, nil, never); len(k.unreachable) != 0 {
		t.Fatal("a turn that was given back is still remembered")
	}
	k.lose(tiedTurn(k, 2), LossUnreachable)
	if k.attached(nil, nil, never); len(k.unreachable) != 0 {
		t.Fatal("a turn that the session has not is still remembered")
	}
}

func TestAStreamThatComesAsItsClientClosesTakesNoTurnFromWhoStillWorks(t *testing.T) {
	k, asked, _ := keeping()
	k.begun[tiedTurn(k, 1)] = struct{}{}
	// Its lease keeps it: it was forgotten with a stream.
	k.begun[tiedTurn(k, 4)] = struct{}{}
	k.remove(k.turns[turnID{"q", 4}])
	tiedTurn(k, 2)
	k.closing()
	k.attached(slices.Concat(told(1), told(2), told(3), told(4)), nil, never)
	if got := asked(); len(got) != 1 || got[0] != 3 {
		t.Fatalf("given back are the turns %v; only 3 has nobody", got)
	}
}

func TestManyTurnsAreGivenBackToASilentSidecarInOneTime(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	client, err := Dial(silent.Addr().String(), WithTransport(TransportUnary))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	asked := now()
	client.over.(*unary).giveBack(make([]*pb.Turn, 3))
	if took := now().minus(asked); took > 2*givingUp {
		t.Fatalf("three turns took %v", took)
	}
}

func TestATurnLostBySilenceIsNotGivenBackUnderWhoIsComingToTheEnd(t *testing.T) {
	for name, ends := range map[string]func(k *turnKeeping, held *heldTurn){
		"they end":           func(k *turnKeeping, held *heldTurn) { k.stopped(held) },
		"their time is over": func(k *turnKeeping, held *heldTurn) { k.tick(k.nextAt(never), never) },
		"another stream, too": func(k *turnKeeping, held *heldTurn) {
			k.detached()
			k.attached(told(1), openAcquire(), never)
			k.stopped(held)
		},
	} {
		k, asked, _ := keeping()
		held := tiedTurn(k, 1)
		held.inUse = true
		k.lose(held, LossUnreachable)
		k.attached(told(1), openAcquire(), never)
		if len(asked()) != 0 {
			t.Fatalf("%s: given back while somebody works on it", name)
		}
		ends(k, held)
		k.stopped(held)
		if len(asked()) != 1 || len(k.stopping) != 0 {
			t.Fatalf("%s: given back %d times", name, len(asked()))
		}
	}
}

func TestATurnThatWasLostBeforeARenewSaidThatItLivesIsNotGivenBackUnderWhoIsComingToTheEnd(t *testing.T) {
	k, asked, answer := keeping()
	held := tiedTurn(k, 1)
	held.inUse = true
	// The stream did not tell of it, so it is asked for.
	k.attached(nil, nil, now())
	k.tick(never-1, never)
	if held.lost() == nil {
		t.Fatal("it is not lost")
	}
	k.told([]*heldTurn{held}, &pb.RenewResponse{Results: []*pb.RenewResult{{Alive: true}}})
	if len(asked()) != 0 {
		t.Fatal("given back while somebody works on it")
	}
	k.stopped(held)
	if len(asked()) != 1 {
		t.Fatalf("given back: %v", asked())
	}
	answer(1)
	if len(k.unreachable) != 0 {
		t.Fatal("it is still remembered")
	}
}
