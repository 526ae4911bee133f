package keyturn

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"google.golang.org/grpc/codes"
)

// Callbacks of the application. A panic of one ends nothing here: goroutines of the client run them, some with locks held, and the
// process would end.

// longestStack is how much of a stack is logged, bytes.
const longestStack = 2_000

func boundedStack() string {
	stack := debug.Stack()
	return string(stack[:min(len(stack), longestStack)])
}

// alone runs a callback. A panic is logged.
func (s *settings) alone(callback string, run func()) {
	defer func() {
		if value := recover(); value != nil {
			s.loudLogger().Warn("keyturn: a callback of the application panicked",
				"callback", callback, "panic", shortened(fmt.Sprint(value)), "stack", boundedStack())
		}
	}()
	run()
}

// aloneInside runs a callback that Close waits for.
func (s *settings) aloneInside(callback string, run func()) {
	defer s.inside.enter()()
	s.alone(callback, run)
}

// aloneHandler is the handler of a logger. Where a logger panics there is nothing left but the standard error.
type aloneHandler struct{ to slog.Handler }

func aloneLogger(logger *slog.Logger) *slog.Logger { return slog.New(aloneHandler{logger.Handler()}) }

func loggerPanicked() {
	if value := recover(); value != nil {
		_, _ = fmt.Fprintf(os.Stderr, "keyturn: a callback of the application panicked: the logger: %v\n", value)
	}
}

func (h aloneHandler) Enabled(ctx context.Context, level slog.Level) (is bool) {
	defer loggerPanicked()
	return h.to.Enabled(ctx, level)
}

func (h aloneHandler) Handle(ctx context.Context, record slog.Record) (err error) {
	defer loggerPanicked()
	return h.to.Handle(ctx, record)
}

// WithAttrs and WithGroup are not used by the client.
func (h aloneHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return aloneHandler{h.to.WithAttrs(attrs)}
}

func (h aloneHandler) WithGroup(name string) slog.Handler { return aloneHandler{h.to.WithGroup(name)} }

type aloneMetrics struct {
	to  Metrics
	set *settings
}

func (m aloneMetrics) CallDone(method string, code codes.Code, took time.Duration) {
	m.set.alone("Metrics", func() { m.to.CallDone(method, code, took) })
}

func (m aloneMetrics) TurnGranted(queue string) {
	m.set.alone("Metrics", func() { m.to.TurnGranted(queue) })
}

func (m aloneMetrics) TurnLost(queue string, cause LossCause) {
	m.set.alone("Metrics", func() { m.to.TurnLost(queue, cause) })
}

func (m aloneMetrics) Reconnected() { m.set.alone("Metrics", m.to.Reconnected) }

type aloneTracer struct {
	to  Tracer
	set *settings
}

func (t aloneTracer) Headers(ctx context.Context, headers map[string]string) map[string]string {
	made := headers
	t.set.alone("Tracer", func() { made = t.to.Headers(ctx, headers) })
	return made
}

func (t aloneTracer) Attempt(ctx context.Context, work *Work) (context.Context, TraceSpan) {
	return t.begin(ctx, func() (context.Context, TraceSpan) { return t.to.Attempt(ctx, work) })
}

func (t aloneTracer) Turn(ctx context.Context, queue, key string) (context.Context, TraceSpan) {
	return t.begin(ctx, func() (context.Context, TraceSpan) { return t.to.Turn(ctx, queue, key) })
}

func (t aloneTracer) begin(ctx context.Context, begin func() (context.Context, TraceSpan)) (context.Context, TraceSpan) {
	inside, span := ctx, TraceSpan(nil)
	t.set.alone("Tracer", func() { inside, span = begin() })
	if span == nil {
		return inside, nil
	}
	return inside, aloneSpan{span, t.set}
}

type aloneSpan struct {
	to  TraceSpan
	set *settings
}

func (s aloneSpan) Waiting()              { s.set.alone("TraceSpan", s.to.Waiting) }
func (s aloneSpan) Granted(turn TurnInfo) { s.set.alone("TraceSpan", func() { s.to.Granted(turn) }) }
func (s aloneSpan) Lost(cause LossCause)  { s.set.alone("TraceSpan", func() { s.to.Lost(cause) }) }
func (s aloneSpan) Failed(err error)      { s.set.alone("TraceSpan", func() { s.to.Failed(err) }) }
func (s aloneSpan) Outcome(outcome TraceOutcome) {
	s.set.alone("TraceSpan", func() { s.to.Outcome(outcome) })
}
func (s aloneSpan) End() { s.set.alone("TraceSpan", s.to.End) }
