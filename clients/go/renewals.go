package keyturn

import (
	"context"
	"sync"
	"time"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// renewals keep turns alive that live by their lease: each is renewed when a third of it has passed, many with one Renew,
// and one that could not be renewed is given up before its lease may have ended.
//
// The end of a lease is reckoned from the moment in which the last good renewal was sent, by the local monotonic clock: so
// a turn is given up rather too early than too late.
type renewals struct {
	margin time.Duration
	renew  renewFunc
	onLoss func(*heldTurn, LossCause)

	mu       sync.Mutex
	lives    map[*heldTurn]*leaseLife
	timer    *time.Timer
	armedFor moment
	closed   bool
	asking   sync.WaitGroup
	ctx      context.Context
	cancel   context.CancelFunc
}

// renewFunc asks the sidecar; the results are in the order of the turns.
type renewFunc func(ctx context.Context, turns []TurnRef, lease, timeout time.Duration) ([]*pb.RenewResult, error)

type leaseLife struct {
	lease, margin time.Duration
	// A renewal is on its way.
	asking          bool
	renewAt, loseAt moment
}

func newRenewals(margin time.Duration, renew renewFunc, onLoss func(*heldTurn, LossCause)) *renewals {
	r := &renewals{margin: margin, renew: renew, onLoss: onLoss, lives: map[*heldTurn]*leaseLife{}, armedFor: never}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

func (l *leaseLife) confirmed(sentAt moment) {
	l.loseAt = sentAt.plus(l.lease - l.margin)
	l.renewAt = sentAt.plus(l.lease / 3)
}

func (l *leaseLife) nextAt() moment {
	if l.asking {
		return l.loseAt
	}
	return min(l.renewAt, l.loseAt)
}

// keep begins to renew a turn that was given, or confirmed, at since at the latest: what may have ended since is lost.
func (r *renewals) keep(held *heldTurn, since moment) {
	if held.lost() != nil {
		return
	}
	r.mu.Lock()
	if r.lives[held] != nil {
		r.mu.Unlock()
		return
	}
	life := &leaseLife{lease: held.lease, margin: marginOf(held.lease, r.margin)}
	life.confirmed(since)
	if since == 0 {
		// No call of this client gave it, so that nobody here knows how old it is: the first renewal tells, at once.
		life.confirmed(now())
		life.renewAt = now()
	}
	cause := LossUnreachable
	if r.closed {
		cause = LossClosed
	}
	over := r.closed || life.loseAt <= now()
	if !over {
		r.lives[held] = life
		r.arm(life.nextAt())
	}
	r.mu.Unlock()
	if over {
		r.onLoss(held, cause)
	}
}

// isOver is whether its end by this clock is past: it was lost then, though a process that was held up tells its holder only
// now. So it does not depend on what such a process reads first, its clock or what the sidecar says.
func (r *renewals) isOver(held *heldTurn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	life := r.lives[held]
	return life != nil && life.loseAt <= now()
}

func (r *renewals) drop(held *heldTurn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lives, held)
}

// close renews nothing any more; every turn is lost. Its goroutines have ended when it returns.
func (r *renewals) close(cause LossCause) {
	r.mu.Lock()
	r.closed = true
	all := r.lives
	r.lives = map[*heldTurn]*leaseLife{}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Unlock()
	r.cancel()
	for held := range all {
		r.onLoss(held, cause)
	}
}

// wait returns when nothing runs. Not to be called from within a callback.
func (r *renewals) wait() { r.asking.Wait() }

func (r *renewals) arm(at moment) {
	if at >= r.armedFor || r.closed {
		return
	}
	r.armedFor = at
	if r.timer == nil {
		r.timer = time.AfterFunc(at.until(), r.tick)
	} else {
		r.timer.Reset(at.until())
	}
}

func (r *renewals) tick() {
	at := now()
	var due, lost []*heldTurn
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.armedFor = never
	next := never
	for held, life := range r.lives {
		if life.loseAt <= at {
			delete(r.lives, held)
			lost = append(lost, held)
			continue
		}
		// What is due soon goes with what is due now.
		if !life.asking && moment(life.renewAt)-moment(life.lease/12) <= at {
			life.asking = true
			due = append(due, held)
		}
		next = min(next, life.nextAt())
	}
	if next != never {
		r.arm(next)
	}
	for _, batch := range alike(due) {
		r.asking.Add(1)
		go r.ask(batch, at)
	}
	r.mu.Unlock()
	for _, held := range lost {
		r.onLoss(held, LossUnreachable)
	}
}

// alike cuts into batches of one lease: all of one Renew get the same.
func alike(turns []*heldTurn) [][]*heldTurn {
	byLease := map[time.Duration][]*heldTurn{}
	for _, held := range turns {
		byLease[held.lease] = append(byLease[held.lease], held)
	}
	var batches [][]*heldTurn
	for _, all := range byLease {
		for len(all) > 0 {
			count := min(largestRenew, len(all))
			batches = append(batches, all[:count])
			all = all[count:]
		}
	}
	return batches
}

// ask says the lease too: a sidecar that has just started and adopts the turns would else tie them to the session for good.
func (r *renewals) ask(batch []*heldTurn, sentAt moment) {
	defer r.asking.Done()
	lease := batch[0].lease
	refs := make([]TurnRef, len(batch))
	for at, held := range batch {
		refs[at] = held.ref
	}
	results, err := r.renew(r.ctx, refs, lease, max(time.Millisecond, lease/3))
	var lost []*heldTurn
	var causes []LossCause
	r.mu.Lock()
	for at, held := range batch {
		life := r.lives[held]
		if life == nil {
			continue
		}
		life.asking = false
		switch {
		case err != nil || at >= len(results):
			// Whatever went wrong, a turn is ours until its lease ends, and then it is not.
			life.renewAt = now().plus(life.lease / 10)
		case !results[at].GetAlive():
			cause := lossOf(results[at].GetCause())
			if life.loseAt <= now() {
				cause = LossUnreachable
			}
			delete(r.lives, held)
			lost, causes = append(lost, held), append(causes, cause)
			continue
		default:
			life.confirmed(sentAt)
		}
		r.arm(life.nextAt())
	}
	r.mu.Unlock()
	for at, held := range lost {
		r.onLoss(held, causes[at])
	}
}
