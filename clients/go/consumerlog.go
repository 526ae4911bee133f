package keyturn

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// What a consumer logs though nobody gave the client a logger.

// lookEvery is how often a consumer looks whether the sidecar can be reached. The second look in vain is logged: a stream that
// comes back at once is no trouble.
const lookEvery = 750 * time.Millisecond

// taking says how the taking of turns goes, for the log: the first failure, and the recovery.
type taking struct {
	mu sync.Mutex
	// An Acquire failed, or there was no connection to send one.
	failing, unreachable bool
	// Looks in vain.
	vain int
}

// watchTaking ends when no more turns are to be taken.
func (k *Consumer) watchTaking() {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			k.look(k.client.over.why())
		case <-k.taking.Done():
			return
		}
	}
}

func (k *Consumer) look(why error) {
	t := &k.takes
	t.mu.Lock()
	defer t.mu.Unlock()
	if why == nil {
		t.vain = 0
		if t.unreachable {
			k.canTake()
		}
		return
	}
	t.vain++
	if t.vain > 1 && !t.failing {
		t.unreachable = true
		k.cannotTake(why)
	}
}

// acquired: an Acquire came to this.
func (k *Consumer) acquired(err error) {
	t := &k.takes
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil && t.failing:
		k.canTake()
	case err != nil && !t.failing:
		k.cannotTake(err)
	}
	if err != nil {
		// An Acquire that is answered ends it, not a connection that stands.
		t.unreachable = false
	}
}

// cannotTake and canTake have the lock.
func (k *Consumer) cannotTake(err error) {
	k.takes.failing = true
	k.client.set.loudLogger().Warn("keyturn: no turns can be taken; it is tried again", "queues", k.queues, "error", shortened(err.Error()))
}

func (k *Consumer) canTake() {
	k.takes.failing, k.takes.unreachable = false, false
	k.client.set.loudLogger().Warn("keyturn: turns can be taken again", "queues", k.queues)
}

// attemptFailed logs what no handler asked for. A panic was logged with its stack.
func (w *worker) attemptFailed(err error, text string) {
	var panicked *PanicError
	if errors.As(err, &panicked) {
		return
	}
	attrs := append(w.named(), "error", text)
	var asked *GiveBack
	if !errors.As(err, &asked) {
		attrs = append(attrs, "type", fmt.Sprintf("%T", rootOf(err)))
	}
	w.consumer.client.set.loudLogger().Warn("keyturn: an attempt failed", attrs...)
}

// rootOf is the error that all the others only wrap.
func rootOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
