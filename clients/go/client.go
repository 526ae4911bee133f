package keyturn

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

const (
	// defaultAddress is where a sidecar listens that was told nothing else.
	defaultAddress = "127.0.0.1:7420"
	addressEnv     = "KEYTURN_ADDRESS"
	addressAllowed = "host:port or unix:/path"
	// largestAnswer: answers stop growing at 3 MiB; what a session gathers in one message may be more than one of them.
	largestAnswer = 64 << 20
	// windowBytes is more than a message, so that the sidecar need not wait in the middle of one.
	windowBytes = 4 << 20
	// defaultStop is how long handlers may go on when a consumer is stopped or the client is closed.
	defaultStop = 20 * time.Second
)

// Client is the client of one sidecar. Make it with [Dial], and end it with [Client.Close]. It may be used by any number
// of goroutines.
type Client struct {
	address string
	set     *settings
	conn    *grpc.ClientConn
	over    transport
	ids     idMaker
	ages    ages

	mu     sync.Mutex
	closed bool
	// Whoever works in the background: known, so that closing the client ends all of them.
	consumers map[*Consumer]struct{}
	producers map[*Producer]struct{}
	// The lock is taken before that of leads, never after it.
	leaderships map[*Leadership]struct{}
	leads       *leadLink
	closing     sync.Once
}

// Dial makes a client; the connection is made by the first call, and a sidecar that is not there is waited for.
//
// The address is host:port or unix:/path; empty, it is that in KEYTURN_ADDRESS, else 127.0.0.1:7420. An option that is
// wrong is told with an [Error] that names it.
func Dial(address string, options ...Option) (*Client, error) {
	set, err := settingsOf(options)
	if err != nil {
		return nil, err
	}
	if address == "" {
		address = os.Getenv(addressEnv)
	}
	if address == "" {
		address = defaultAddress
	}
	target, err := targetOf(address)
	if err != nil {
		return nil, err
	}
	if err := set.refuseClearToken(address); err != nil {
		return nil, err
	}
	set.reach.address = address
	conn, err := grpc.NewClient(target, dialOptions(set)...)
	if err != nil {
		return nil, wrongSetting("address", address, addressAllowed+": "+err.Error())
	}
	c := &Client{
		address: address, set: set, conn: conn, ids: idMaker{origin: newOrigin()},
		consumers: map[*Consumer]struct{}{}, producers: map[*Producer]struct{}{}, leaderships: map[*Leadership]struct{}{},
		leads: newLeadLink(set, conn),
	}
	if set.transport == TransportUnary {
		c.over = newUnary(set, conn)
	} else {
		c.over = newSession(set, conn)
	}
	return c, nil
}

// targetOf is the address as grpc names it. A host is looked up by the dialer, at every attempt.
func targetOf(address string) (string, error) {
	if path, isUnix := strings.CutPrefix(address, "unix:"); isUnix {
		hasHost := strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///")
		if path == "" || hasHost {
			return "", wrongSetting("address", address, addressAllowed)
		}
		return address, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || strings.ContainsFunc(host, unicode.IsSpace) {
		return "", wrongSetting("address", address, addressAllowed)
	}
	// A name of a service is looked up here, on this machine.
	if number, err := net.LookupPort("tcp", port); err != nil || number == 0 {
		return "", wrongSetting("address", address, addressAllowed)
	}
	return "passthrough:///" + address, nil
}

// dialOptions: the sidecar is a neighbour. Neither a proxy from the environment nor a service config from DNS may come
// between.
func dialOptions(set *settings) []grpc.DialOption {
	var secrets credentials.TransportCredentials
	if set.tls != nil {
		set.watch = watchTLS(set.tls)
		secrets = set.watch
	} else {
		set.plain = &plainWatch{TransportCredentials: insecure.NewCredentials()}
		secrets = set.plain
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(secrets),
		grpc.WithUserAgent("keyturn-go/" + Version),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		// The process's idle connections are few, and a session would have to be made anew.
		grpc.WithIdleTimeout(0),
		// The session has a back-off of its own above this one.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstBackOff, Multiplier: 2, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		// A sidecar that vanished without a word is noticed after the two together.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(largestAnswer)),
	}
	if set.token != nil {
		options = append(options, grpc.WithPerRPCCredentials(set.token))
	}
	return options
}

// Address of the sidecar.
func (c *Client) Address() string { return c.address }

// Admin has the calls for people: how queues stand, why a key does not move, pause, redrive. They are the generated ones,
// with gRPC's own errors; [ErrorFrom] reads those.
func (c *Client) Admin() pb.AdminServiceClient { return pb.NewAdminServiceClient(c.conn) }

// Leaders has the calls for people about leaders: who leads, and to ask a leader to hand over. They are the generated ones, with
// gRPC's own errors; [ErrorFrom] reads those. To lead use [Client.Lead].
func (c *Client) Leaders() pb.LeaderServiceClient { return pb.NewLeaderServiceClient(c.conn) }

// Close stops consumers (20 s for handlers), leaders (which hand over, 20 s) and producers (which flush, at the latest after the Timeout of their items),
// then refuses the calls that are open ([ErrClosed]), and gives those who work on a turn a second to end. Nothing is left of the client when it returns: no goroutine, no socket.
// Closing twice is fine: each returns when all is done. In a handler of a consumer, a phase of a leader, OnTrouble and OnError it
// would wait for itself: there it is refused at once (codes.FailedPrecondition), and nothing is closed. Let such a handler end
// the context of [Client.Consume] instead, or another goroutine close the client.
func (c *Client) Close() error { return c.close(context.Background()) }

// Shutdown is [Client.Close] with a time: when the context ends, handlers are told to stop and what producers have not
// handed over is refused. Called while the client is being closed it shortens the time that there is.
func (c *Client) Shutdown(ctx context.Context) error {
	if err := c.close(ctx); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (c *Client) close(ctx context.Context) error {
	if err := c.set.inside.refusal(); err != nil {
		return err
	}
	// Also of who comes second: the shortest time counts.
	c.closeWorkers(ctx)
	c.closing.Do(func() {
		c.leads.running.Wait()
		c.over.close()
		// It only says that it was closed before.
		_ = c.conn.Close()
	})
	return nil
}

// closeWorkers ends consumers, producers and leaders at the same time. A context without an end leaves each its own time.
func (c *Client) closeWorkers(ctx context.Context) {
	c.mu.Lock()
	c.closed = true
	var ending []func()
	for consumer := range c.consumers {
		ending = append(ending, func() { consumer.stopFor(ctx) })
	}
	for producer := range c.producers {
		ending = append(ending, func() { producer.closeFor(ctx) })
	}
	for leadership := range c.leaderships {
		ending = append(ending, func() { _ = leadership.stopFor(ctx) })
	}
	c.mu.Unlock()
	var done sync.WaitGroup
	for _, end := range ending {
		done.Add(1)
		go func() {
			defer done.Done()
			end()
		}()
	}
	done.Wait()
}
