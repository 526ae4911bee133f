package keyturn

import "time"

// leastDead: a connection takes its time; one that is slower than a very short ttl is not dead for it.
const leastDead = time.Second

// askTime is how long a process that stood still waits for a proof before it gives its turns up.
const askTime = time.Second

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
	// Nothing is given up before this moment.
	asksUntil moment
	// The proof after which it was set.
	askedAfter moment
}

func newLiveness(ttl, margin time.Duration) liveness {
	return liveness{ttl: ttl, margin: margin, provedAt: longSince, busySince: never, asksUntil: longSince, askedAfter: never}
}

func (l *liveness) proved(sentAt moment) { l.provedAt = max(l.provedAt, sentAt) }

// woke: the process was woken so much later than it should have been: it was suspended, or had no processor. What comes later
// than the margin, and than the moment at which holders get the loss, comes too late to stop anybody in time, so the sidecar is asked
// first: it may have kept everything. Once for each silence: a process that is always late does not keep its turns for ever.
func (l *liveness) woke(at moment, late time.Duration) {
	margin := marginOf(l.ttl, l.margin)
	if late > margin && at >= l.provedAt.plus(l.ttl-margin) && l.askedAfter != l.provedAt {
		l.asksUntil, l.askedAfter = at.plus(askTime), l.provedAt
	}
}

func (l *liveness) busy(at moment) { l.busySince = min(l.busySince, at) }

func (l *liveness) idle() { l.busySince = never }

// stopAt is when the holders of turns are told to stop.
func (l *liveness) stopAt() moment {
	return max(l.provedAt.plus(l.ttl-marginOf(l.ttl, l.margin)), l.asksUntil)
}

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
	return max(max(l.heard(), since).plus(max(l.ttl*2/3, leastDead)), l.asksUntil)
}
