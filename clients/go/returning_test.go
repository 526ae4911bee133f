package keyturn_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// breaking is a sidecar whose first stream breaks when it is told to call a wait off: the grant that crossed that is lost. The
// next one tells of the turn.
type breaking struct {
	keyturnv1.UnimplementedCoordinatorServiceServer
	streams  atomic.Int32
	asked    chan struct{}
	released chan uint64
}

func (b *breaking) Session(stream keyturnv1.CoordinatorService_SessionServer) error {
	var turns []*keyturnv1.TurnRef
	if b.streams.Add(1) > 1 {
		turns = []*keyturnv1.TurnRef{{Queue: "q", Key: "k", Token: 7}}
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return nil
		}
		for _, command := range message.Commands {
			reply := &keyturnv1.Reply{Id: command.Id}
			switch call := command.Call.(type) {
			case *keyturnv1.Command_Hello:
				ttl := durationpb.New(time.Minute)
				reply.Outcome = &keyturnv1.Reply_Hello{Hello: &keyturnv1.HelloResponse{SessionId: "s", Ttl: ttl, Turns: turns, TurnCount: uint32(len(turns))}}
			case *keyturnv1.Command_Enqueue:
				b.asked <- struct{}{}
				continue
			case *keyturnv1.Command_Cancel:
				return status.Error(codes.Unavailable, "it breaks")
			case *keyturnv1.Command_Nack:
				b.released <- call.Nack.Token
				reply.Outcome = &keyturnv1.Reply_Nack{Nack: &keyturnv1.NackResponse{}}
			default:
				return status.Errorf(codes.Unimplemented, "%T", call)
			}
			if err := stream.Send(&keyturnv1.SessionResponse{Replies: []*keyturnv1.Reply{reply}}); err != nil {
				return nil
			}
		}
	}
}

func TestATurnThatAStreamHadBroughtWhichBrokeAsItsClientClosedIsGivenBack(t *testing.T) {
	t.Parallel()
	ctx := within(t, 30*time.Second)
	side := &breaking{asked: make(chan struct{}, 1), released: make(chan uint64, 1)}
	server := grpc.NewServer()
	keyturnv1.RegisterCoordinatorServiceServer(server, side)
	t.Cleanup(server.Stop)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	go func() { _ = server.Serve(listener) }()
	client := must(keyturn.Dial(listener.Addr().String()))(t)
	failed := make(chan error)
	go func() {
		_, err := client.EnQueue(context.Background(), &keyturnv1.EnQueueRequest{Queue: "q", Key: "k", Wait: durationpb.New(time.Minute)})
		failed <- err
	}()
	<-side.asked
	closed := make(chan error)
	go func() { closed <- client.Close() }()
	if err := <-failed; !errors.Is(err, keyturn.ErrClosed) {
		t.Fatal(err)
	}
	select {
	case token := <-side.released:
		if token != 7 {
			t.Fatalf("%d was given back", token)
		}
	case <-ctx.Done():
		t.Fatal("the turn was not given back")
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}
