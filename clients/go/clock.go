package keyturn

import (
	"math"
	"time"
)

// moment is a point of the monotonic clock, counted from the start of the process. Only durations are trusted, never the
// time of day.
type moment time.Duration

const (
	never     moment = math.MaxInt64
	longSince moment = math.MinInt64 / 2
)

var start = time.Now()

func now() moment { return moment(time.Since(start)) }

func (m moment) plus(d time.Duration) moment {
	if m == never || d > time.Duration(never-max(m, 0)) {
		return never
	}
	return m + moment(d)
}

func (m moment) minus(other moment) time.Duration { return time.Duration(m - other) }

// until is how long it is to m, zero if it has passed.
func (m moment) until() time.Duration {
	if m == never {
		return Forever
	}
	return max(0, m.minus(now()))
}
