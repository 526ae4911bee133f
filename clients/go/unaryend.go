package keyturn

import (
	"context"
	"time"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// How a client of unary calls ends.

// close refuses the calls that are open and gives back the turns that nobody works on. Whoever works on one is told to stop,
// and has a moment to do so, so that its key comes free too.
func (u *unary) close() {
	u.mu.Lock()
	u.cancel(ErrClosed)
	for _, ref := range u.fresh {
		u.running.Add(1)
		go func() {
			defer u.running.Done()
			u.end(newNack(nobodyWaits(ref)))
		}()
	}
	clear(u.fresh)
	u.mu.Unlock()
	u.renew.close(LossClosed)
	u.waitForHolders()
	u.mu.Lock()
	u.final = true
	u.mu.Unlock()
	u.running.Wait()
	u.renew.wait()
}

func (u *unary) waitForHolders() {
	late := time.NewTimer(farewellTime)
	defer late.Stop()
	for {
		u.mu.Lock()
		left := len(u.begun)
		u.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-u.ending:
		case <-late.C:
			return
		}
	}
}

func (u *unary) inPassing(c *command) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.final {
		return
	}
	u.running.Add(1)
	go func() {
		defer u.running.Done()
		_ = u.wait(context.Background(), c)
	}()
}

// noteFresh is false when the client is closed: then nobody else gives them back.
func (u *unary) noteFresh(turns []*pb.Turn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx.Err() != nil {
		return false
	}
	for _, turn := range turns {
		ref := refOf(turn)
		u.fresh[ref.id()] = ref
	}
	return true
}

func (u *unary) forget(ref TurnRef) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.fresh, ref.id())
}

func (u *unary) begin(held *heldTurn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.fresh, held.ref.id())
	if u.ctx.Err() != nil {
		// What was fresh is given back already.
		held.lose(LossClosed)
	}
	if held.lost() != nil {
		return false
	}
	u.begun[held] = struct{}{}
	return true
}

func (u *unary) giveUp(held *heldTurn) {
	u.mu.Lock()
	_, begun := u.begun[held]
	begun = begun && u.ctx.Err() != nil && !u.final
	if begun {
		u.running.Add(1)
		defer u.running.Done()
	}
	u.over(held)
	u.mu.Unlock()
	if begun {
		u.end(newNack(nobodyWaits(held.ref)))
	}
}

// over: nobody works on the turn any more. The lock is held.
func (u *unary) over(held *heldTurn) {
	delete(u.begun, held)
	if u.ctx.Err() == nil {
		return
	}
	select {
	case u.ending <- struct{}{}:
	default:
	}
}
