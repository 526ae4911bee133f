package keyturn

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
	"unicode/utf8"
)

// Transport is how the calls of a client travel.
type Transport string

// The transports.
const (
	// TransportSession carries all calls on one stream, which keeps turns alive and comes back by itself. The normal one.
	TransportSession Transport = "session"
	// TransportUnary sends each call by itself, and renews turns by their lease.
	TransportUnary Transport = "unary"
)

// unset is a margin that nobody has said, and that nobody would.
const unset = NoWait

const (
	shortestLife = 100 * time.Millisecond
	longestLife  = 24 * time.Hour
	mostOpen     = 100_000
)

// settings of a client, with every default filled in.
type settings struct {
	transport    Transport
	consumerID   string
	sessionID    string
	sessionTTL   time.Duration
	margin       time.Duration
	maxOpenCalls int
	maxOpenBytes int
	tls          *tls.Config
	// Nil without TLS.
	watch *tlsWatch
	// Nil with TLS.
	plain *plainWatch
	reach *reach
	// Code of the application that the client waits for when it is closed.
	inside *insiders
	// WithTLS was said without a config. Plain text is not what was asked for then.
	noTLS bool
	// Nil: nobody says who asks.
	token *bearer
	// insecure: the token may be sent to another machine without TLS.
	insecure bool
	// Nil: nobody is told.
	told    *slog.Logger
	logger  *slog.Logger
	metrics Metrics
	// Nil: nobody traces.
	tracer Tracer
	// WithTracer was said without one.
	noTracer bool
}

// loudLogger is told of what must not be silent: somebody always is.
func (s *settings) loudLogger() *slog.Logger {
	if s.told == nil {
		return aloneLogger(slog.Default())
	}
	return s.logger
}

// Option is a setting of [Dial].
type Option func(*settings)

// WithTransport chooses how calls travel. Default: [Session].
func WithTransport(transport Transport) Option { return func(s *settings) { s.transport = transport } }

// WithConsumerID says who asks, for people who look, in calls that do not say; up to 256 bytes. Default: host and process.
func WithConsumerID(id string) Option { return func(s *settings) { s.consumerID = id } }

// WithSessionID says who takes over the turns of a broken stream, up to 256 bytes. Of two clients with one id the newer
// wins, and the older ends for good (SESSION_REPLACED). Default: an id that no other client has.
func WithSessionID(id string) Option { return func(s *settings) { s.sessionID = id } }

// WithSessionTTL says how long turns outlive a broken stream, 100 ms to 24 h. Within this a client that comes back has them
// still. Default: 10 s.
func WithSessionTTL(ttl time.Duration) Option { return func(s *settings) { s.sessionTTL = ttl } }

// WithMargin says how long before a turn may have ended its holder is told to stop, 0 to 24 h. Default: a tenth of the
// turn's life, at most 2 s. Never more than half of its life.
func WithMargin(margin time.Duration) Option { return func(s *settings) { s.margin = margin } }

// WithMaxOpenCalls says how many calls may wait for their answers; one more is refused (RESOURCE_EXHAUSTED). 1 to 100,000,
// the default.
func WithMaxOpenCalls(calls int) Option { return func(s *settings) { s.maxOpenCalls = calls } }

// WithMaxOpenBytes says how many bytes they may take together, 4 MiB or more. Default: 256 MiB.
func WithMaxOpenBytes(bytes int) Option { return func(s *settings) { s.maxOpenBytes = bytes } }

// WithTLS encrypts the connection. See [LoadTLS] for certificates in files. Default: plain text; a config that is nil is
// refused.
func WithTLS(config *tls.Config) Option {
	return func(s *settings) { s.tls, s.noTLS = config.Clone(), config == nil }
}

// WithLogger is told of breaks, returns and what is wrong in the background. Default: [slog.Default], of what must not be silent
// alone: attempts that failed, that no turns can be taken and that they can be again, the end of a consumer or a candidacy,
// dead letters, handlers that panic ([PanicError]) or were cut off. A panic of it ends nothing.
func WithLogger(logger *slog.Logger) Option { return func(s *settings) { s.told = logger } }

// WithMetrics is told what the client does.
func WithMetrics(metrics Metrics) Option { return func(s *settings) { s.metrics = metrics } }

func settingsOf(options []Option) (*settings, error) {
	s := &settings{
		transport: TransportSession, consumerID: thisProcess(), sessionID: newOrigin(), sessionTTL: 10 * time.Second, margin: unset,
		maxOpenCalls: mostOpen, maxOpenBytes: 256 << 20, reach: &reach{}, inside: &insiders{},
	}
	for at, option := range options {
		if option == nil {
			return nil, wrongSetting(fmt.Sprintf("options[%d]", at), "nil", "an option")
		}
		option(s)
	}
	s.logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	if s.told != nil {
		s.logger = aloneLogger(s.told)
	}
	if s.metrics != nil {
		s.metrics = aloneMetrics{s.metrics, s}
	}
	if s.tracer != nil {
		s.tracer = aloneTracer{s.tracer, s}
	}
	return s, s.check()
}

// thisProcess is who asks if nobody says. Left out it would be the peer's address: another after each reconnect, and the
// tickets of an Acquire belong to who asks.
func thisProcess() string {
	host, err := os.Hostname()
	if err != nil || len(host) > 200 || !utf8.ValidString(host) {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

func (s *settings) check() error {
	if s.consumerID == "" {
		s.consumerID = thisProcess()
	}
	if s.transport != TransportSession && s.transport != TransportUnary {
		return wrongSetting("transport", string(s.transport), `"session" or "unary"`)
	}
	if s.noTLS {
		return wrongSetting("tls", "nil", "a *tls.Config; leave the option out for plain text")
	}
	if s.noTracer {
		return wrongSetting("tracer", "nil", "a Tracer; leave the option out for none")
	}
	if s.token != nil {
		if err := s.token.check(); err != nil {
			return err
		}
	}
	if s.margin != unset {
		if err := durationWithin("margin", s.margin, 0, longestLife); err != nil {
			return err
		}
	}
	if s.maxOpenBytes < 4<<20 {
		return wrongSetting("max_open_bytes", s.maxOpenBytes, fmt.Sprintf("%d or more", 4<<20))
	}
	for field, id := range map[string]string{"consumer_id": s.consumerID, "session_id": s.sessionID} {
		if len(id) > 256 {
			return wrongSetting(field, fmt.Sprintf("%d bytes", len(id)), "up to 256 bytes")
		}
	}
	if s.sessionID == "" {
		return wrongSetting("session_id", "", "a text that is not empty")
	}
	if err := countWithin("max_open_calls", s.maxOpenCalls, 1, mostOpen); err != nil {
		return err
	}
	var check checks
	check.text("consumer_id", s.consumerID)
	check.text("session_id", s.sessionID)
	if err := check.err(); err != nil {
		return err
	}
	return durationWithin("session_ttl", s.sessionTTL, shortestLife, longestLife)
}
