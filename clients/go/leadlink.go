package keyturn

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// leadLink is the stream of all candidacies of a client. There is one as long as anybody stands. Its lock is that of all
// candidacies and terms, too.
type leadLink struct {
	set     *settings
	conn    *grpc.ClientConn
	stub    pb.LeaderServiceClient
	running sync.WaitGroup

	mu          sync.Mutex
	candidacies map[uint32]*Leadership
	last        uint32
	stream      *leadStream
	backOff     backOff
	retry       leadAlarm
	retrying    bool
}

// leadStream is one stream. What is said waits in commands until it is written.
type leadStream struct {
	ctx      context.Context
	cancel   context.CancelFunc
	wake     chan struct{}
	since    moment
	commands []*pb.LeadCommand
	// Nobody stands any more: what is left is written, then it ends.
	leaving bool
}

// What the sidecar takes in one message, of commands; and of bytes with room to spare.
const (
	mostCommands = 1_000
	mostBytes    = 1 << 20
)

func newLeadLink(set *settings, conn *grpc.ClientConn) *leadLink {
	return &leadLink{set: set, conn: conn, stub: pb.NewLeaderServiceClient(conn), candidacies: map[uint32]*Leadership{}, backOff: backOff{longest: longestReconnect}}
}

func (k *leadLink) add(l *Leadership) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stand(l)
}

// stand gives the candidacy a number and says it, now or on the next stream. The lock is held, as in all that follows.
func (k *leadLink) stand(l *Leadership) {
	if l.over {
		return
	}
	k.last++
	l.number = k.last
	k.candidacies[l.number] = l
	if k.stream != nil && !k.stream.leaving {
		l.opened()
	} else if !k.retrying {
		k.connect()
	}
}

// remove: it is over. The stream ends with the last one.
func (k *leadLink) remove(number uint32) {
	delete(k.candidacies, number)
	if len(k.candidacies) > 0 {
		return
	}
	k.retry.off()
	k.retrying = false
	if k.stream != nil {
		k.stream.leaving = true
		k.stream.signal()
		// A sidecar that does not end it is not waited for.
		time.AfterFunc(farewellTime, k.stream.cancel)
	}
}

// say reports whether there is a stream; without one nothing is said.
func (k *leadLink) say(command *pb.LeadCommand) bool {
	if k.stream == nil || k.stream.leaving {
		return false
	}
	k.stream.commands = append(k.stream.commands, command)
	k.stream.signal()
	return true
}

func (k *leadLink) connect() {
	k.retrying = false
	s := &leadStream{wake: make(chan struct{}, 1), since: now()}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	k.stream = s
	for _, l := range k.inOrder() {
		l.opened()
	}
	k.running.Add(1)
	go k.run(s)
}

func (k *leadLink) inOrder() []*Leadership {
	all := make([]*Leadership, 0, len(k.candidacies))
	for _, l := range k.candidacies {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *Leadership) int { return int(a.number) - int(b.number) })
	return all
}

func (k *leadLink) ended(s *leadStream, err error) {
	s.cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stream != s {
		return
	}
	k.stream = nil
	if now().minus(s.since) >= longestReconnect {
		k.backOff.reset()
	}
	if len(k.candidacies) == 0 {
		return
	}
	for _, l := range k.inOrder() {
		l.broke(err)
	}
	k.retrying = true
	k.retry.set(k, k.backOff.next(0), k.connect)
}

// run opens the stream and writes to it until it ends.
func (k *leadLink) run(s *leadStream) {
	defer k.running.Done()
	hurry(s.ctx, k.conn)
	stream, err := k.stub.Lead(s.ctx)
	if err != nil {
		k.ended(s, k.explained(err))
		return
	}
	k.running.Add(1)
	go k.read(s, stream)
	k.write(s, stream)
}

func (k *leadLink) explained(err error) error {
	if errors.Is(err, io.EOF) {
		return &Error{Code: codes.Unavailable, Message: "the sidecar ended the stream"}
	}
	return k.set.explain(statusError(status.Convert(err).Proto(), TurnRef{}))
}

func (k *leadLink) write(s *leadStream, stream pb.LeaderService_LeadClient) {
	for {
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return
		}
		k.mu.Lock()
		commands, leaving := s.commands, s.leaving
		s.commands = nil
		k.mu.Unlock()
		for len(commands) > 0 {
			some := commands[:travellers(commands)]
			commands = commands[len(some):]
			// Why it failed is told to the reader.
			if stream.Send(&pb.LeadRequest{Commands: some}) != nil {
				return
			}
		}
		if leaving {
			if stream.CloseSend() != nil {
				s.cancel()
			}
			return
		}
	}
}

// travellers is how many of them travel in one message, at least one.
func travellers(commands []*pb.LeadCommand) int {
	bytes := 0
	for at, command := range commands {
		bytes += proto.Size(command)
		if at > 0 && bytes > mostBytes || at == mostCommands {
			return at
		}
	}
	return len(commands)
}

func (k *leadLink) read(s *leadStream, stream pb.LeaderService_LeadClient) {
	defer k.running.Done()
	for {
		message, err := stream.Recv()
		if err != nil {
			k.ended(s, k.explained(err))
			return
		}
		k.mu.Lock()
		if k.stream == s {
			k.backOff.reset()
			for _, news := range message.GetNews() {
				if l := k.candidacies[news.GetCandidacy()]; l != nil {
					l.told(news)
				}
			}
		}
		k.mu.Unlock()
	}
}

func (s *leadStream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// leadAlarm calls once, with the lock of the link held, unless it was set anew or called off.
type leadAlarm struct {
	timer *time.Timer
	armed int
}

func (a *leadAlarm) set(link *leadLink, d time.Duration, do func()) {
	a.off()
	armed := a.armed
	a.timer = time.AfterFunc(d, func() {
		link.mu.Lock()
		defer link.mu.Unlock()
		if a.armed == armed {
			a.armed++
			do()
		}
	})
}

func (a *leadAlarm) off() {
	a.armed++
	if a.timer != nil {
		a.timer.Stop()
	}
}
