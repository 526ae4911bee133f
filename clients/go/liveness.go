package keyturn

import "time"

// leastDead: a connection takes its time; one that is slower than a very short ttl is not dead for it.
const leastDead = time.Second

const largestMargin = 2 * time.Second

// marginOf is how long before the end of a life its holder is told to stop. A margin above half a life would leave no
// time to work.
func marginOf(life, wanted time.Duration) time.Duration {
	if wanted == unset {
		return min(life/10, largestMargin)
	}
	return min(wanted, life/2)
}

// liveness says until when the sidecar is known to keep the session.
//
// What was sent at some moment and is answered was taken after that moment, on a stream that stood then; the session
// outlives the stream by ttl. So it lives at least until the send time of the last answered command, plus ttl. Nothing
// else is known: a stream that looks whole may have been broken on the other side for long.
type liveness struct {
	ttl    time.Duration
	margin time.Duration
	// When the last answered command was sent.
	provedAt moment
	// Since when there is anything that needs proof: before, silence meant nothing.
	busySince moment
}

func newLiveness(ttl, margin time.Duration) liveness {
	return liveness{ttl: ttl, margin: margin, provedAt: longSince, busySince: never}
}

func (l *liveness) proved(sentAt moment) { l.provedAt = max(l.provedAt, sentAt) }

func (l *liveness) busy(at moment) { l.busySince = min(l.busySince, at) }

func (l *liveness) idle() { l.busySince = never }

// stopAt is when the holders of turns are told to stop.
func (l *liveness) stopAt() moment { return l.provedAt.plus(l.ttl - marginOf(l.ttl, l.margin)) }

// heard is the last sign of life, or since when one is waited for.
func (l *liveness) heard() moment {
	if l.busySince == never {
		return never
	}
	return max(l.provedAt, l.busySince)
}

// proveAt is when a proof is asked for.
func (l *liveness) proveAt() moment { return l.heard().plus(l.ttl / 3) }

// deadAt is when a stream that began then is taken for dead: an older silence is not its fault.
func (l *liveness) deadAt(since moment) moment {
	return max(l.heard(), since).plus(max(l.ttl*2/3, leastDead))
}
