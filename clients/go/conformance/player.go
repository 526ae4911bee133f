package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// farewell is how long clients may take to close when the driver has gone.
const farewell = 2 * time.Second

// player takes requests, line by line, and answers each once.
type player struct {
	write func(any)

	mu         sync.Mutex
	clients    map[string]*keyturn.Client
	asked      map[int]context.CancelCauseFunc
	performers map[string]*performer
	consumers  map[string]*keyturn.Consumer
	producers  map[string]*producer
	leading    map[string]*leading
}

func newPlayer(write func(any)) *player {
	return &player{
		write: write, clients: map[string]*keyturn.Client{}, asked: map[int]context.CancelCauseFunc{},
		performers: map[string]*performer{}, consumers: map[string]*keyturn.Consumer{}, producers: map[string]*producer{}, leading: map[string]*leading{},
	}
}

// take begins what a line asks for. What must keep the order of the lines is done before it returns.
func (p *player) take(line []byte) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		p.answer(r.ID, nil, fmt.Errorf("the line cannot be read: %w", err))
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	p.mu.Lock()
	p.asked[r.ID] = cancel
	p.mu.Unlock()
	done := func(ok fields, err error) {
		p.mu.Lock()
		delete(p.asked, r.ID)
		p.mu.Unlock()
		cancel(nil)
		p.answer(r.ID, ok, err)
	}
	switch r.Op {
	case "hello", "open", "cancel", "finish", "consume", "producer", "lead", "yield":
		done(p.atOnce(&r))
	case "add", "flush", "close_producer":
		if err := p.ask(ctx, &r, done); err != nil {
			done(nil, err)
		}
	case "with_turn", "turn":
		p.performer(&r)
		fallthrough
	default:
		begun := make(chan struct{})
		go func() {
			close(begun)
			done(p.perform(ctx, &r))
		}()
		// Calls begin in the order of their lines, as near as goroutines do: nobody is promised more.
		<-begun
	}
}

func (p *player) answer(id int, ok fields, err error) {
	if err != nil {
		p.write(fields{"id": id, "error": shownError(err)})
		return
	}
	if ok == nil {
		ok = fields{}
	}
	p.write(fields{"id": id, "ok": ok})
}

func (p *player) atOnce(r *request) (fields, error) {
	switch r.Op {
	case "hello":
		return fields{"language": "go", "version": keyturn.Version, "runtime": runtime.Version()}, nil
	case "open":
		return nil, p.open(r)
	case "cancel":
		p.mu.Lock()
		cancel := p.asked[r.Call]
		p.mu.Unlock()
		if cancel != nil && r.Leave {
			cancel(keyturn.ErrLeave)
		} else if cancel != nil {
			cancel(nil)
		}
		return nil, nil
	case "lead":
		return nil, p.lead(r)
	case "yield":
		leading, err := found(p, p.leading, r.Handle)
		if err == nil {
			leading.leadership.Yield()
		}
		return nil, err
	case "finish":
		if leading, err := found(p, p.leading, r.Handle); err == nil {
			return nil, leading.finish(r.With)
		}
		performer, err := found(p, p.performers, r.Handle)
		if err != nil {
			return nil, err
		}
		return nil, performer.finish(r.Token, r.With)
	case "consume":
		return nil, p.consume(r)
	default:
		return nil, p.produce(r)
	}
}

func found[T any](p *player, all map[string]T, name string) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok := all[name]
	if !ok {
		return one, fmt.Errorf("nothing is called %q", name)
	}
	return one, nil
}

func (p *player) perform(ctx context.Context, r *request) (fields, error) {
	switch r.Op {
	case "close":
		return nil, p.close(r)
	case "leftovers":
		return p.leftovers(), nil
	case "stop":
		consumer, err := found(p, p.consumers, r.Handle)
		if err != nil {
			return nil, err
		}
		return fields{"cut_off": stop(ctx, consumer, r)}, nil
	case "withdraw":
		leading, err := found(p, p.leading, r.Handle)
		if err != nil {
			return nil, err
		}
		if r.Timeout != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, r.Timeout.or0())
			defer cancel()
		}
		// Why it was refused is told by an event.
		_ = leading.leadership.Stop(ctx)
		return nil, nil
	case "redis_pairs":
		return redisPairs(r)
	}
	client, err := found(p, p.clients, r.Client)
	if err != nil {
		return nil, err
	}
	switch r.Op {
	case "with_turn":
		return p.withTurn(ctx, client, r)
	case "turn":
		return p.turn(ctx, client, r)
	case "pairs":
		return pairs(client, r)
	}
	return call(ctx, client, r)
}

func (p *player) open(r *request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients[r.Client] != nil {
		return fmt.Errorf("client %q is open", r.Client)
	}
	var options []keyturn.Option
	if r.Transport != nil {
		options = append(options, keyturn.WithTransport(keyturn.Transport(*r.Transport)))
	}
	if r.ConsumerID != nil {
		options = append(options, keyturn.WithConsumerID(*r.ConsumerID))
	}
	if r.SessionID != nil {
		options = append(options, keyturn.WithSessionID(*r.SessionID))
	}
	if r.SessionTTL != nil {
		options = append(options, keyturn.WithSessionTTL(r.SessionTTL.or0()))
	}
	if r.Margin != nil {
		options = append(options, keyturn.WithMargin(r.Margin.or0()))
	}
	if r.OpenCalls != nil {
		options = append(options, keyturn.WithMaxOpenCalls(*r.OpenCalls))
	}
	if r.OpenBytes != nil {
		options = append(options, keyturn.WithMaxOpenBytes(*r.OpenBytes))
	}
	if r.TLS != nil {
		config, err := keyturn.LoadTLS(keyturn.TLSFiles{CA: r.TLS.CA, Cert: r.TLS.Cert, Key: r.TLS.Key, ServerName: r.TLS.ServerName})
		if err != nil {
			return err
		}
		options = append(options, keyturn.WithTLS(config))
	}
	if r.Bearer != nil {
		options = append(options, r.Bearer.option())
	}
	client, err := keyturn.Dial(r.Address, options...)
	if err != nil {
		return err
	}
	p.clients[r.Client] = client
	return nil
}

func (p *player) close(r *request) error {
	client, err := found(p, p.clients, r.Client)
	if err != nil {
		return err
	}
	p.mu.Lock()
	delete(p.clients, r.Client)
	p.mu.Unlock()
	if r.Timeout == nil {
		return client.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.Timeout.or0())
	defer cancel()
	_ = client.Shutdown(ctx)
	return nil
}

// leftovers are goroutines of the client and of gRPC. One that is told to end is gone a moment later.
func (p *player) leftovers() fields {
	until := time.Now().Add(2 * time.Second)
	for {
		what := left()
		if len(what) == 0 || time.Now().After(until) {
			return fields{"count": len(what), "what": what}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func left() []string {
	stacks := make([]byte, 1<<22)
	stacks = stacks[:runtime.Stack(stacks, true)]
	what := []string{}
	for _, one := range strings.Split(string(stacks), "\n\n") {
		if strings.Contains(one, "/clients/go.") || strings.Contains(one, "google.golang.org/grpc") {
			what = append(what, one)
		}
	}
	return what
}

// end closes the clients: the driver has gone.
func (p *player) end() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	var closing sync.WaitGroup
	p.mu.Lock()
	for _, client := range p.clients {
		closing.Add(1)
		go func() {
			defer closing.Done()
			now, over := context.WithCancel(ctx)
			over()
			_ = client.Shutdown(now)
		}()
	}
	p.mu.Unlock()
	closed := make(chan struct{})
	go func() { closing.Wait(); close(closed) }()
	select {
	case <-closed:
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr, "the clients did not close in time")
	}
}

func (p *player) performer(r *request) *performer {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := newPerformer(r.Handle, r.Work, p.write)
	p.performers[r.Handle] = one
	return one
}

// stop is whether it says that handlers were cut off. Why a consumer could not go on is told by an event.
func stop(ctx context.Context, consumer *keyturn.Consumer, r *request) bool {
	if r.Timeout != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout.or0())
		defer cancel()
	}
	return errors.Is(consumer.Stop(ctx), keyturn.ErrStopped)
}
