package keyturn

// The slots of a consumer: there are never more turns than these.

// leftSlot: the settling call of a turn is sent, or none is needed.
func (k *Consumer) leftSlot(isSettling bool) {
	k.mu.Lock()
	k.running--
	if isSettling {
		k.settling++
	}
	k.endIfIdle()
	k.mu.Unlock()
	k.wake()
}

// backInSlot: the settling call did not come through, so the turn is still there.
func (k *Consumer) backInSlot() {
	k.mu.Lock()
	k.running++
	k.settling--
	k.mu.Unlock()
}

// settled: a turn that had left its slot is over.
func (k *Consumer) settled() {
	k.mu.Lock()
	k.settling--
	k.endIfIdle()
	k.mu.Unlock()
	k.wake()
}

func (k *Consumer) forget(w *worker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.workers, w)
	k.endIfIdle()
}

func (k *Consumer) wake() {
	select {
	case k.freed <- struct{}{}:
	default:
	}
}

func (k *Consumer) endIfIdle() {
	if k.loopEnded && k.running == 0 && k.settling == 0 && len(k.workers) == 0 {
		k.end()
	}
}

// enterSlot: the turn is there still, and takes a slot again.
func (k *Consumer) enterSlot() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running++
}
