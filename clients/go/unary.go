package keyturn

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
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
}

func newUnary(set *settings, conn *grpc.ClientConn) *unary {
	u := &unary{set: set, conn: conn, metric: metricsOf{set.metrics}}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	u.renew = newRenewals(set.margin, func(ctx context.Context, call *RenewCall, timeout time.Duration) (*RenewAnswer, error) {
		return renewOver(ctx, u, call, timeout)
	}, func(held *heldTurn, cause LossCause) {
		if held.lose(cause) {
			u.metric.turnLost(held.ref.Queue, cause)
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
	timeout := c.timeout
	if _, bounded := ctx.Deadline(); timeout == 0 && !bounded {
		timeout = c.wait + callGrace
	}
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(u.ctx, func() { cancel(ErrClosed) })()
	if timeout > 0 {
		var done context.CancelFunc
		call, done = context.WithTimeout(call, timeout)
		defer done()
	}
	c.sayWho(u.set.consumerID)
	response := c.response()
	if err := u.conn.Invoke(call, "/"+pb.CoordinatorService_ServiceDesc.ServiceName+"/"+c.name, c.request, response); err != nil {
		return u.failed(ctx, c, err)
	}
	c.answer = response
	u.granted(c)
	return nil
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
		return statusError(status.Convert(err).Proto(), c.ref)
	}
	if c.leaving(ctx) && c.ticket() != "" {
		u.giveUpPlace(c)
	}
	return contextError(ctx)
}

// giveUpPlace: a cancelled call leaves its ticket where it is; that takes a call of its own. Should it fail too, the place
// ends with its ticket_ttl.
func (u *unary) giveUpPlace(c *command) {
	queue, key := c.asked()
	if key == "" {
		return
	}
	leaving, err := newDeQueue(&DeQueueCall{Queue: queue, Key: key, Ticket: c.ticket(), Abandoned: true})
	leaving.timeout = givingUp
	u.running.Add(1)
	go func() {
		defer u.running.Done()
		_ = ask(context.Background(), u, leaving, err)
	}()
}

func (u *unary) granted(c *command) {
	switch answer := c.answer.(type) {
	case *pb.EnQueueResponse:
		if answer.GetTurn() != nil {
			u.metric.turnGranted(c.ref.Queue)
		}
	case *pb.AcquireResponse:
		for _, one := range answer.GetDeliveries() {
			u.metric.turnGranted(one.GetTurn().GetQueue())
		}
	case *pb.AckResponse:
		for _, one := range answer.GetNext().GetDeliveries() {
			u.metric.turnGranted(one.GetTurn().GetQueue())
		}
	}
}

func (u *unary) hold(info *TurnInfo, since moment) *heldTurn {
	held := &heldTurn{ref: info.TurnRef, lease: info.Lease, safeUntil: never}
	u.renew.keep(held, since)
	return held
}

func (u *unary) release(held *heldTurn) { u.renew.drop(held) }

func (u *unary) close() {
	u.mu.Lock()
	u.cancel(ErrClosed)
	u.mu.Unlock()
	u.renew.close(Closed)
	u.running.Wait()
	u.renew.wait()
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
