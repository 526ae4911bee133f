package keyturn

import (
	"context"
	"maps"
	"time"
)

// LeaderCareer is what a worker does in each phase in which it leads. Only Execute is needed. A phase may panic, which is
// an error of it.
type LeaderCareer struct {
	// Inaugurate prepares: load the state that the predecessor left, take over offsets. Nobody else leads, and this one does
	// not work yet. An error ends the term, and the worker is asked again after a back-off only.
	Inaugurate func(ctx context.Context, term *Term) error
	// Execute works, until its context ends: with a [HandOverAskedError] as its cause finish what is in hand, with a
	// [TermLostError] stop at once. To return is to hand over; with an error that is not the context's the worker is asked
	// again after a back-off only.
	Execute func(ctx context.Context, term *Term) error
	// HandOver comes after Execute has returned, if the term is not lost. What it returns, up to 64 KiB, is given to the
	// successor. Its context ends when the term is lost, and at the deadline of the hand-over.
	HandOver func(ctx context.Context, term *Term, reason HandOverReason) ([]byte, error)
}

// HandOverReason is why a leader is asked to hand over.
type HandOverReason string

// The reasons.
const (
	// HandOverYield: its Execute returned, or it was asked by [Leadership.Yield] or [Leadership.Stop].
	HandOverYield HandOverReason = "yield"
	// HandOverOperator: a person asked for it.
	HandOverOperator HandOverReason = "operator"
	// HandOverDrain: the sidecar ends, and knows nothing of the term afterwards.
	HandOverDrain HandOverReason = "drain"
)

// Succession is how a term ended.
type Succession string

// The successions.
const (
	// SuccessionNone: nobody is known to have led before.
	SuccessionNone Succession = "none"
	// SuccessionHandedOver: the leader handed over.
	SuccessionHandedOver Succession = "handed_over"
	// SuccessionLost: the leader was lost, and may have stopped in the middle of its work.
	SuccessionLost Succession = "lost"
)

// Predecessor is the last one that was inaugurated.
type Predecessor struct {
	// CandidateID says who.
	CandidateID string
	// Term is its number.
	Term uint64
	// How its term ended.
	How Succession
	// State is what the last hand-over left, by whomever.
	State []byte
}

// Progress says what shows that a leader works.
type Progress string

// The kinds.
const (
	// ProgressTimer: that the process lives. The default.
	ProgressTimer Progress = "timer"
	// ProgressManual: Execute calls [Term.Progress], at every step of the work.
	ProgressManual Progress = "manual"
)

// LeadOptions are the options of [Client.Lead]. The zero value is fine.
type LeadOptions struct {
	// CandidateID is one id for one life of one worker, up to 256 bytes. Empty: host, process and something random.
	CandidateID string
	// TTL is how long a term lives without a sign of life, 500 ms to 1 h. Zero: 5 s.
	TTL time.Duration
	// Margin is how long before that the worker is told that the term is lost. Zero: a tenth, at most 2 s; never above eight
	// tenths.
	Margin time.Duration
	// InaugurateTimeout is how long an inauguration may take, 100 ms to 24 h. Zero: 30 s.
	InaugurateTimeout time.Duration
	// HandOverTimeout is how long a hand-over may take, 100 ms to 24 h. Zero: 10 s.
	HandOverTimeout time.Duration
	// Metadata is shown to people who ask who leads, up to 64 entries and 8 KiB.
	Metadata map[string]string
	// Progress is ProgressTimer or ProgressManual.
	Progress Progress
	// Once: do not stand again after the first term.
	Once bool
}

const (
	shortestTTL       = 500 * time.Millisecond
	longestTTL        = time.Hour
	longestPhase      = 24 * time.Hour
	mostState         = 64 << 10
	mostMetadata      = 64
	mostMetadataBytes = 8 << 10
)

func (o *LeadOptions) check(group string) error {
	o.TTL = orDefault(o.TTL, 5*time.Second)
	o.InaugurateTimeout = orDefault(o.InaugurateTimeout, 30*time.Second)
	o.HandOverTimeout = orDefault(o.HandOverTimeout, 10*time.Second)
	o.Progress = orDefault(o.Progress, ProgressTimer)
	o.Metadata = maps.Clone(o.Metadata)
	if o.Progress != ProgressTimer && o.Progress != ProgressManual {
		return wrongSetting("progress", string(o.Progress), `"timer" or "manual"`)
	}
	bytes := 0
	for name, value := range o.Metadata {
		bytes += len(name) + len(value)
	}
	if bytes > mostMetadataBytes {
		return wrongSetting("metadata", bytes, "up to 8192 bytes of names and values")
	}
	var names checks
	names.queue("group", group)
	names.length("candidate_id", o.CandidateID, 1, mostIDBytes)
	// What cannot be written would take down the stream of all.
	names.text("candidate_id", o.CandidateID)
	for name, value := range o.Metadata {
		names.text("metadata", name)
		names.text("metadata", value)
	}
	return firstOf(
		names.err(),
		countWithin("metadata", len(o.Metadata), 0, mostMetadata),
		durationWithin("ttl", o.TTL, shortestTTL, longestTTL),
		durationWithin("margin", o.Margin, 0, longestTTL),
		durationWithin("inaugurate_timeout", o.InaugurateTimeout, shortestLife, longestPhase),
		durationWithin("hand_over_timeout", o.HandOverTimeout, shortestLife, longestPhase),
	)
}

// Lead stands in a group, in which exactly one worker leads, and leads when its turn comes, again and again until it is
// stopped: by [Leadership.Stop], by [Client.Close], or by the end of ctx, which gives it 20 s to hand over. A connection that
// breaks does not end it; what would be refused again does, see [Leadership.Wait].
func (c *Client) Lead(ctx context.Context, group string, career LeaderCareer, opts LeadOptions) (*Leadership, error) {
	if career.Execute == nil {
		return nil, wrongSetting("execute", "nil", "a function")
	}
	if opts.CandidateID == "" {
		opts.CandidateID = thisProcess() + "/" + c.ids.next()
	}
	if err := opts.check(group); err != nil {
		return nil, err
	}
	l := &Leadership{client: c, link: c.leads, group: group, career: career, opts: opts, done: make(chan struct{}), deadline: never}
	l.base = context.WithValue(context.WithoutCancel(ctx), ledBy{l}, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, closedError()
	}
	c.leaderships[l] = struct{}{}
	l.unfollow = context.AfterFunc(ctx, func() { l.begin(defaultStop) })
	c.leads.add(l)
	return l, nil
}

// ledBy is a value of the contexts of what a leader runs.
type ledBy struct{ leadership *Leadership }

// Group that it stands in.
func (l *Leadership) Group() string { return l.group }

// CandidateID that it stands with.
func (l *Leadership) CandidateID() string { return l.opts.CandidateID }

// Term is the number of the term, while this worker has one that is known to live. Zero: it does not lead.
func (l *Leadership) Term() uint64 {
	l.link.mu.Lock()
	defer l.link.mu.Unlock()
	if l.term == nil || !l.term.isKnownToLive() {
		return 0
	}
	return l.term.Number
}

// Position is the place among those who wait, from 1. Zero: it leads, or is not known to stand.
func (l *Leadership) Position() int {
	l.link.mu.Lock()
	defer l.link.mu.Unlock()
	return l.position
}

// Yield: it does not want to lead any longer. The worker is asked to hand over, and stands again behind all others.
func (l *Leadership) Yield() {
	l.link.mu.Lock()
	defer l.link.mu.Unlock()
	l.yield(false)
}

// Stop hands over if it leads, and stands no more. When ctx ends, or after 20 s if it has no deadline, the worker is told
// that its term is lost, and the term ends with its TTL unless the worker stops at once. It returns when all is done, with
// what [Leadership.Wait] returns. What is called by the career with its own context does not wait for it.
func (l *Leadership) Stop(ctx context.Context) error {
	l.begin(timeToStop(ctx))
	if ctx.Value(ledBy{l}) != nil {
		return nil
	}
	return l.stopFor(ctx)
}

// Done is closed when it stands no more.
func (l *Leadership) Done() <-chan struct{} { return l.done }

// Wait returns when it stands no more: nil, or why the sidecar refused it.
func (l *Leadership) Wait() error {
	<-l.done
	l.link.mu.Lock()
	defer l.link.mu.Unlock()
	return l.err
}
