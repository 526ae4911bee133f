package keyturn

import (
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

const (
	// farewellTime is how long the sidecar may take to end the stream of a client that was closed.
	farewellTime = time.Second
	// connectTime is how long a new attempt to connect may take before the failure of the last one is told.
	connectTime = 250 * time.Millisecond
)

// link is one stream of a session.
type link struct {
	ctx    context.Context
	cancel context.CancelFunc
	// There is something to write, or it ends.
	wake  chan struct{}
	since moment
	// piped: calls are sent with hello; nothing is known that its answer would have to settle first.
	piped bool
	// stopAt: until when the turns were safe before it.
	stopAt moment
	// What is written last, when the client is closed.
	farewell  []*pb.Command
	finishing chan struct{}
}

func newLink(since moment, piped bool, stopAt moment) *link {
	l := &link{wake: make(chan struct{}, 1), finishing: make(chan struct{}), since: since, piped: piped, stopAt: stopAt}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func (l *link) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// finish ends the stream in peace: what is left is written, and the sidecar ends it.
func (l *link) finish() {
	close(l.finishing)
	time.AfterFunc(farewellTime, l.cancel)
}

// run opens the stream and writes to it until it ends.
func (s *session) run(l *link) {
	defer s.running.Done()
	hurry(l.ctx, s.conn)
	stream, err := s.stub.Session(l.ctx)
	if err != nil {
		s.ended(l, err)
		return
	}
	s.running.Add(1)
	go s.read(l, stream)
	s.write(l, stream)
}

// hurry lets the back-off of a stream govern, not that of the connection below it.
func hurry(ctx context.Context, conn *grpc.ClientConn) {
	if conn.GetState() != connectivity.TransientFailure {
		return
	}
	conn.ResetConnectBackoff()
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn.WaitForStateChange(ctx, connectivity.TransientFailure)
}

func (s *session) write(l *link, stream pb.CoordinatorService_SessionClient) {
	message := &pb.SessionRequest{}
	for {
		select {
		case <-l.wake:
		case <-l.finishing:
			s.leave(l, stream)
			return
		case <-l.ctx.Done():
			return
		}
		// Whoever else can run may ask for something that goes into the same message.
		runtime.Gosched()
		for {
			s.mu.Lock()
			if s.link != l {
				s.mu.Unlock()
				break
			}
			message.Commands = s.out.batch(message.Commands[:0], now())
			s.mu.Unlock()
			if len(message.Commands) == 0 {
				break
			}
			// Written when Send returns: commands and the message may be used again. Why it failed is told to the reader.
			if stream.Send(message) != nil {
				return
			}
		}
		clear(message.Commands[:cap(message.Commands)])
	}
}

func (s *session) leave(l *link, stream pb.CoordinatorService_SessionClient) {
	if len(l.farewell) > 0 && stream.Send(&pb.SessionRequest{Commands: l.farewell}) != nil {
		return
	}
	if stream.CloseSend() != nil {
		l.cancel()
	}
}

func (s *session) read(l *link, stream pb.CoordinatorService_SessionClient) {
	defer s.running.Done()
	// Whatever ends the stream, nothing of it stays behind.
	defer l.cancel()
	var finished []*command
	for {
		message, err := stream.Recv()
		if err != nil {
			s.ended(l, err)
			return
		}
		s.mu.Lock()
		if s.link == l {
			finished = s.take(message, finished[:0])
			s.arm()
		}
		s.mu.Unlock()
		// Without the lock: who is woken asks again at once.
		for at, c := range finished {
			close(c.done)
			finished[at] = nil
		}
		finished = finished[:0]
	}
}

func (s *session) ended(l *link, err error) {
	if errors.Is(err, io.EOF) {
		err = &Error{Code: codes.Unavailable, Message: "the sidecar ended the stream"}
	} else {
		err = s.set.explain(statusError(status.Convert(err).Proto(), TurnRef{}))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broke(l, err)
}

// take reads a message with the lock held, and appends the calls whose callers are to be told.
func (s *session) take(message *pb.SessionResponse, finished []*command) []*command {
	for _, reply := range message.GetReplies() {
		c := s.open.find(reply.GetId())
		if c == nil {
			continue
		}
		s.open.remove(c)
		s.live.proved(c.sentAt)
		c.answer = answerOf(reply)
		if c.own != nil {
			c.own(c.answer)
			continue
		}
		s.book(c)
		s.turns.done(c)
		if !c.abandoned {
			finished = append(finished, c)
		}
	}
	// After the replies: the turn that a notice is about may have been given by one of them.
	for _, notice := range message.GetNotices() {
		s.turns.notice(notice, s.open.workersInOrder)
	}
	if !s.wanted() {
		s.live.idle()
	}
	if s.closing != nil && s.isDrained() {
		s.endDrain()
	}
	return finished
}

// book notes what an answer means for the turns of the session.
func (s *session) book(c *command) {
	switch answer := c.answer.(type) {
	case *rpcstatus.Status:
		err := statusError(answer, c.ref)
		var lostTurn *TurnLostError
		if c.settles() && errors.As(err, &lostTurn) {
			s.turns.lostBy(c.ref, lostTurn.Cause)
		}
		s.turns.refused(c)
		c.failed(err)
	case *pb.EnQueueResponse:
		if turn := answer.GetTurn(); turn != nil && answer.GetDecision() == pb.Decision_DECISION_ACCEPT {
			s.bookTurn(c, turn)
		}
	case *pb.AcquireResponse:
		s.bookDeliveries(c, answer)
	case *pb.AckResponse:
		s.turns.settled(c.ref, "")
		s.bookDeliveries(c, answer.GetNext())
	case *pb.DeQueueResponse:
		if call, ok := c.wire.Call.(*pb.Command_Dequeue); ok {
			s.turns.settled(c.ref, call.Dequeue.GetTicket())
		}
	case *pb.NackResponse:
		s.turns.settled(c.ref, "")
	case *pb.RenewResponse:
		s.bookRenewed(c, answer)
	case nil:
		c.failed(badAnswer("the sidecar answered with nothing"))
	}
}

func (s *session) bookRenewed(c *command, answer *pb.RenewResponse) {
	call, ok := c.wire.Call.(*pb.Command_Renew)
	if !ok {
		return
	}
	turns := call.Renew.GetTurns()
	for at, result := range answer.GetResults() {
		if at < len(turns) && !result.GetAlive() {
			s.turns.lostBy(TurnRef{turns[at].Queue, turns[at].Key, turns[at].Token}, lossOf(result.GetCause()))
		}
	}
}

// failed sets the error of a command whose caller still waits; it is read after done is closed.
func (c *command) failed(err error) {
	if !c.abandoned {
		c.err = err
	}
}

func (s *session) bookDeliveries(c *command, answer *pb.AcquireResponse) {
	for _, delivery := range answer.GetDeliveries() {
		s.bookTurn(c, delivery.GetTurn())
	}
}

func (s *session) bookTurn(c *command, turn *pb.Turn) {
	ref := refOf(turn)
	if ref.Queue == "" {
		ref.Queue, ref.Key = c.asked()
	}
	if c.abandoned {
		s.turns.undelivered(ref, c)
		return
	}
	c.given = append(c.given, s.turns.given(ref, int(turn.GetAttempt()), turn.GetLease().AsDuration(), c))
	s.metric.turnGranted(ref.Queue)
}
