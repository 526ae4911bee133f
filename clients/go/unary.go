package keyturn

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// unary sends each call by itself, and renews turns by their lease.
type unary struct {
	set    *settings
	conn   *grpc.ClientConn
	metric metricsOf
	renew  *renewals
	ctx    context.Context
	cancel context.CancelCauseFunc
	// Calls that are left to themselves.
	running sync.WaitGroup

	mu    sync.Mutex
	open  int
	bytes int
	// Turns of scoped calls that have not begun with them.
	fresh map[turnID]TurnRef
	// Turns on which somebody works who will say when that is over.
	begun map[*heldTurn]struct{}
	// Told when there are none, or fewer, once the client is being closed.
	ending chan struct{}
	// Nothing is given back any more.
	final bool
}

func newUnary(set *settings, conn *grpc.ClientConn) *unary {
	u := &unary{
		set: set, conn: conn, metric: metricsOf{set.metrics},
		fresh: map[turnID]TurnRef{}, begun: map[*heldTurn]struct{}{}, ending: make(chan struct{}, 1),
	}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	u.renew = newRenewals(set.margin, func(ctx context.Context, turns []TurnRef, lease, timeout time.Duration) ([]*pb.RenewResult, error) {
		return renewOver(ctx, u, turns, lease, timeout)
	}, func(held *heldTurn, cause LossCause) {
		if held.lose(cause) {
			u.metric.turnLost(held.ref.Queue, cause)
		}
		if cause != LossClosed {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.over(held)
		}
	})
	return u
}

func (u *unary) ordered() bool { return false }

func (u *unary) start(context.Context, *command) {}

func (u *unary) wait(ctx context.Context, c *command) error {
	c.askedAt = now()
	err := u.ask(ctx, c)
	u.metric.callDone(c, err)
	return err
}

func (u *unary) ask(ctx context.Context, c *command) error {
	if err := u.enter(c); err != nil {
		return err
	}
	defer u.leave(c)
	if ctx.Err() != nil {
		return contextError(ctx).because(u.why())
	}
	timeout := c.timeout
	if _, bounded := ctx.Deadline(); timeout == 0 && !bounded {
		// A wait that is longer is refused.
		timeout = min(c.wait, longestWait) + callGrace
	}
	c.sayWho(u.set.consumerID)
	if c.mayBringTurns() {
		return u.askForTurns(ctx, c, timeout)
	}
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(u.ctx, func() {
		if !c.onlyEnds() {
			cancel(ErrClosed)
			return
		}
		time.AfterFunc(farewellTime, func() { cancel(ErrClosed) })
	})()
	if timeout > 0 {
		var done context.CancelFunc
		call, done = context.WithTimeout(call, timeout)
		defer done()
	}
	response := c.response()
	err := u.invoke(call, c, response)
	if c.settles() {
		u.forget(c.ref)
	}
	if err != nil {
		return u.failed(ctx, c, err)
	}
	c.answer = response
	return nil
}

func (u *unary) invoke(ctx context.Context, c *command, response proto.Message) error {
	return u.conn.Invoke(ctx, "/"+pb.CoordinatorService_ServiceDesc.ServiceName+"/"+c.name, c.request, response)
}

func (u *unary) enter(c *command) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx.Err() != nil {
		return closedError()
	}
	limits := &openCommands{limits: openLimits{u.set.maxOpenCalls, u.set.maxOpenBytes}, workers: u.open, bytes: u.bytes}
	if err := limits.refusal(c); err != nil {
		return err
	}
	u.open++
	u.bytes += c.bytes
	u.running.Add(1)
	return nil
}

func (u *unary) leave(c *command) {
	u.mu.Lock()
	u.open--
	u.bytes -= c.bytes
	u.mu.Unlock()
	u.running.Done()
}

func (u *unary) failed(ctx context.Context, c *command, err error) error {
	if u.ctx.Err() != nil {
		return closedError()
	}
	if ctx.Err() == nil {
		return u.overdue(u.set.explain(statusError(status.Convert(err).Proto(), c.ref)))
	}
	return contextError(ctx).because(u.why())
}

// overdue: gRPC says of a call whose time is over only that it is.
func (u *unary) overdue(err error) error {
	var told *Error
	if !errors.As(err, &told) || told.Code != codes.DeadlineExceeded || told.Reason != "" {
		return err
	}
	return told.because(u.why())
}

func (u *unary) why() error { return u.set.reach.why(u.conn) }

func (u *unary) hold(info *TurnInfo, since moment) *heldTurn {
	held := &heldTurn{ref: info.TurnRef, lease: info.Lease, safeUntil: never}
	u.renew.keep(held, since)
	return held
}

func (u *unary) release(held *heldTurn) {
	u.renew.drop(held)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over(held)
}

// sayWho names the client in calls that do not say who asks; a session has said so in its hello.
func (c *command) sayWho(consumerID string) {
	switch request := c.request.(type) {
	case *pb.EnQueueRequest:
		if request.ConsumerId == "" {
			request.ConsumerId = consumerID
		}
	case *pb.AcquireRequest:
		if request.ConsumerId == "" {
			request.ConsumerId = consumerID
		}
	case *pb.AckRequest:
		if request.Next != nil && request.Next.ConsumerId == "" {
			request.Next.ConsumerId = consumerID
		}
	}
}

func (c *command) response() proto.Message {
	switch c.request.(type) {
	case *pb.EnQueueRequest:
		return &pb.EnQueueResponse{}
	case *pb.DeQueueRequest:
		return &pb.DeQueueResponse{}
	case *pb.SubmitRequest:
		return &pb.SubmitResponse{}
	case *pb.AcquireRequest:
		return &pb.AcquireResponse{}
	case *pb.AckRequest:
		return &pb.AckResponse{}
	case *pb.NackRequest:
		return &pb.NackResponse{}
	case *pb.RenewRequest:
		return &pb.RenewResponse{}
	default:
		return &pb.AwaitResponse{}
	}
}
