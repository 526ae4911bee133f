package keyturn

import (
	"context"
	"slices"
	"testing"
	"time"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// A home of a cluster tells, after the answer to the hello, which turns the session has there.

func tellKept(k *turnKeeping, token uint64, open ...*command) {
	notice := &pb.Notice{Kind: pb.NoticeKind_NOTICE_KIND_TURN_KEPT, Turn: &pb.Turn{Queue: "q", Key: "k", Token: token}}
	k.notice(notice, func() []*command { return open })
}

func TestAKeptTurnThatIsKnownIsAsSafeAsTheNewStream(t *testing.T) {
	for _, isTold := range []bool{true, false} {
		k, asked, _ := keeping()
		held := tiedTurn(k, 7)
		k.detached()
		// The hello did not name it, and no Renew is answered: it lives until then at the most.
		k.attached(nil, nil, now().plus(time.Minute))
		if isTold {
			tellKept(k, 7)
		}
		k.tick(now().plus(2*time.Minute), never)
		if lost := held.lost() != nil; lost == isTold || len(asked()) != 0 {
			t.Fatalf("told %v: lost %v, given back %v", isTold, lost, asked())
		}
	}
}

func TestAKeptTurnThatNobodyKnowsGoesBackButNotFromWhoMayGetOrEndIt(t *testing.T) {
	ticket := newEnQueue(&pb.EnQueueRequest{Queue: "q", Key: "k", Ticket: "t"})
	plain := newEnQueue(&pb.EnQueueRequest{Queue: "q", Key: "k"})
	settles := newNack(&pb.NackRequest{Queue: "q", Key: "k", Token: 9})
	for name, one := range map[string]struct {
		open *command
		// What the open call is answered with, if it is a turn.
		got  uint64
		want []uint64
	}{
		"nobody asks":              {want: []uint64{9, 10}},
		"a call with a ticket":     {open: ticket, got: 9, want: []uint64{10}},
		"a call without one":       {open: plain, want: []uint64{9, 10}},
		"a call that settles it":   {open: settles, want: []uint64{10}},
		"a call that gets no turn": {open: ticket, want: []uint64{9, 10}},
	} {
		k, asked, _ := keeping()
		var open []*command
		if one.open != nil {
			open = append(open, one.open)
		}
		for _, token := range []uint64{9, 10} {
			tellKept(k, token, open...)
		}
		if one.open == ticket {
			tellKept(k, 10, open...)
			if len(asked()) != 0 {
				t.Errorf("%s: given back are %v before the call was answered", name, asked())
			}
			if one.got != 0 {
				tiedTurn(k, one.got)
			}
			k.done(ticket)
		}
		got := asked()
		slices.Sort(got)
		if !slices.Equal(got, one.want) || k.orphans != nil {
			t.Errorf("%s: given back are %v, not %v", name, got, one.want)
		}
	}
}

func TestAKeptTurnThatASilenceTookGoesBackWhenItsHolderHasEnded(t *testing.T) {
	k, asked, _ := keeping()
	held := tiedTurn(k, 7)
	held.inUse = true
	k.lose(held, LossUnreachable)
	tellKept(k, 7)
	if len(asked()) != 0 {
		t.Fatal("given back while somebody works on it")
	}
	k.stopped(held)
	if got := asked(); !slices.Equal(got, []uint64{7}) {
		t.Fatalf("given back are %v", got)
	}
}

func TestAKeptTurnOfAClientThatClosesIsLeftToWhoStillWorks(t *testing.T) {
	k, asked, _ := keeping()
	k.begun[tiedTurn(k, 7)] = struct{}{}
	k.closing()
	tellKept(k, 7, openAcquire()...)
	tellKept(k, 9, openAcquire()...)
	if got := asked(); !slices.Equal(got, []uint64{9}) {
		t.Fatalf("given back are %v", got)
	}
}

// Of a process that stood still: it reads what the sidecar said before it looks at its clock.

func TestWhyALeaseEndedDoesNotDependOnWhatIsReadFirst(t *testing.T) {
	for _, one := range []struct {
		left time.Duration
		want LossCause
	}{{time.Minute, LossLeaseExpired}, {0, LossUnreachable}} {
		k, _, _ := keeping()
		held := tiedTurn(k, 7)
		k.renewals.lives[held] = &leaseLife{lease: time.Minute, loseAt: now().plus(one.left)}
		lost := &pb.Notice{Kind: pb.NoticeKind_NOTICE_KIND_TURN_LOST, Cause: pb.LossCause_LOSS_CAUSE_LEASE_EXPIRED, Turn: &pb.Turn{Queue: "q", Key: "k", Token: 7}}
		k.notice(lost, func() []*command { return nil })
		if got := held.lost(); got == nil || got.Cause != one.want {
			t.Errorf("with %v left: %v", one.left, got)
		}
	}
}

func TestWhyALeaseEndedDoesNotDependOnTheAnswerToItsRenewalThatIsReadLate(t *testing.T) {
	for _, one := range []struct {
		left time.Duration
		want LossCause
	}{{time.Minute, LossLeaseExpired}, {0, LossUnreachable}} {
		var told LossCause
		result := &pb.RenewResult{Cause: pb.LossCause_LOSS_CAUSE_LEASE_EXPIRED}
		renew := func(context.Context, []TurnRef, time.Duration, time.Duration) ([]*pb.RenewResult, error) {
			return []*pb.RenewResult{result}, nil
		}
		r := newRenewals(unset, renew, func(_ *heldTurn, cause LossCause) { told = cause })
		held := &heldTurn{ref: TurnRef{"q", "k", 7}, lease: time.Minute, safeUntil: never}
		r.lives[held] = &leaseLife{lease: time.Minute, asking: true, loseAt: now().plus(one.left)}
		r.asking.Add(1)
		r.ask([]*heldTurn{held}, now())
		if told != one.want {
			t.Errorf("with %v left: %v", one.left, told)
		}
	}
}
