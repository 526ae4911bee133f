package keyturn_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// Who asks: tokens of the client, against a sidecar that wants to know.

// guarded is a sidecar that lets ada in, who may do nothing in queue "foreign".
type guarded struct {
	t       *testing.T
	address string
	folder  string
}

func startGuarded(t *testing.T) *guarded {
	g := &guarded{t: t, folder: t.TempDir()}
	g.accept("first-token")
	g.address = startSidecar(t, fmt.Sprintf(`
auth:
  tokens: %q
  rights: { ada: [{ queues: [q], groups: [g], may: [produce, consume, view] }] }
`, g.path("tokens.yaml"))).address
	return g
}

func (g *guarded) path(name string) string { return filepath.Join(g.folder, name) }

// accept: this is the token of ada from now on. A half of it is never read.
func (g *guarded) accept(token string) {
	g.write("tokens.yaml", fmt.Sprintf("ada: { sha256: %x }\n", sha256.Sum256([]byte(token))))
}

func (g *guarded) write(name, text string) string {
	if err := os.WriteFile(g.path("new"), []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
	if err := os.Rename(g.path("new"), g.path(name)); err != nil {
		g.t.Fatal(err)
	}
	return g.path(name)
}

var bothTransports = []keyturn.Transport{keyturn.TransportSession, keyturn.TransportUnary}

// patient: nothing but a refusal ends it, however slow the machine is.
func patient(t *testing.T) context.Context { return within(t, time.Minute) }

func ask(ctx context.Context, client *keyturn.Client, queue string) error {
	_, err := client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: queue, Key: "k", Wait: durationpb.New(time.Minute)})
	return err
}

func TestATokenLetsIn(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	gives := func(context.Context) (string, error) { return "first-token", nil }
	for how, option := range map[string]keyturn.Option{
		"as a text": keyturn.WithToken("first-token"), "in a file": keyturn.WithTokenFile(g.write("token", "first-token\n")),
		"in a file of Windows": keyturn.WithTokenFile(g.write("token-of-windows", " first-token\r\n")),
		"by a function":        keyturn.WithTokenFunc(gives),
	} {
		for _, transport := range bothTransports {
			t.Run(how+" "+string(transport), func(t *testing.T) {
				client := dial(t, g.address, keyturn.WithTransport(transport), option)
				must(client.Submit(patient(t), "q", keyturn.NewItem{}))(t)
				must(client.Admin().ExplainKey(patient(t), &keyturnv1.ExplainKeyRequest{Queue: "q", Key: "k"}))(t)
			})
		}
	}
}

func TestWithoutATokenThatHoldsCallsFailAtOnce(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	fails := func(context.Context) (string, error) { return "", errors.New("the vault is closed") }
	nothing := func(context.Context) (string, error) { return "", nil }
	for expected, options := range map[string][]keyturn.Option{
		"nothing says who is asking":       nil,
		"not known here":                   {keyturn.WithToken("another-token")},
		"no token: the vault is closed":    {keyturn.WithTokenFunc(fails)},
		"no token: the token is empty, or": {keyturn.WithTokenFunc(nothing)},
	} {
		for _, transport := range bothTransports {
			t.Run(expected+" "+string(transport), func(t *testing.T) {
				client := dial(t, g.address, append([]keyturn.Option{keyturn.WithTransport(transport)}, options...)...)
				err := ask(patient(t), client, "q")
				var told *keyturn.Error
				if !errors.Is(err, keyturn.ErrUnauthenticated) || !errors.As(err, &told) || told.Code != codes.Unauthenticated {
					t.Fatalf("%v", err)
				}
				if !strings.Contains(err.Error(), expected) {
					t.Errorf("%q is not in %v", expected, err)
				}
				// Only the client knows how it is told.
				if told.Reason == "NO_CREDENTIALS" && !strings.Contains(err.Error(), "WithTokenFile") {
					t.Errorf("what to do is not in %v", err)
				}
				_, err = client.Admin().ListQueues(patient(t), &keyturnv1.ListQueuesRequest{})
				if err = keyturn.ErrorFrom(err); !errors.Is(err, keyturn.ErrUnauthenticated) {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

func TestWhatTheRightsDoNotAllowIsToldWithVerbAndQueue(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	for _, transport := range bothTransports {
		client := dial(t, g.address, keyturn.WithTransport(transport), keyturn.WithToken("first-token"))
		err := ask(patient(t), client, "foreign")
		var told *keyturn.Error
		if !errors.Is(err, keyturn.ErrPermissionDenied) || !errors.As(err, &told) || told.Reason != "NOT_ALLOWED" {
			t.Fatalf("%v", err)
		}
		if told.Metadata["verb"] != "consume" || told.Metadata["what"] != "queue foreign" || !strings.Contains(err.Error(), "auth.rights") {
			t.Errorf("%v, %v", err, told.Metadata)
		}
		// The rest goes on.
		must(client.Submit(patient(t), "q", keyturn.NewItem{}))(t)
	}
}

func TestASessionWhoseTokenIsReplacedInItsFileComesBackWithItsTurns(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	old := dial(t, g.address, keyturn.WithTransport(keyturn.TransportUnary), keyturn.WithToken("first-token"))
	client := dial(t, g.address, keyturn.WithTokenFile(g.write("token", "first-token")), keyturn.WithSessionTTL(time.Hour))
	turn := must(client.Turn(patient(t), "q", "k", keyturn.TurnOptions{}))(t)
	waiting := make(chan error, 1)
	go func() { waiting <- ask(patient(t), old, "q") }()
	g.write("token", "second-token")
	g.accept("second-token")
	// Its call ends with its token; so does the stream of the other.
	if err := <-waiting; !errors.Is(err, keyturn.ErrUnauthenticated) {
		t.Fatalf("%v", err)
	}
	must(client.Submit(patient(t), "q", keyturn.NewItem{}))(t)
	if err := turn.Done(patient(t)); err != nil {
		t.Fatalf("the turn was lost: %v", err)
	}
}

func TestWhileTheFileCannotBeReadTheLastGoodTokenCounts(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	path := g.write("token", "first-token")
	client := dial(t, g.address, keyturn.WithTokenFile(path))
	for _, text := range []string{"", "two words", strings.Repeat("x", 10_000)} {
		g.write("token", text)
		// A stream of people is one more that looks at the file when it begins.
		ctx, cancel := context.WithCancel(patient(t))
		events := must(client.Admin().WatchEvents(ctx, &keyturnv1.WatchEventsRequest{Queue: "q"}))(t)
		must(client.Submit(patient(t), "q", keyturn.NewItem{}))(t)
		must(events.Recv())(t)
		cancel()
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	must(client.Submit(patient(t), "q", keyturn.NewItem{}))(t)
}

func TestWrongTokenOptions(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(text string) keyturn.Option {
		path := filepath.Join(folder, fmt.Sprintf("token-%d", len(text)))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return keyturn.WithTokenFile(path)
	}
	for _, one := range []struct {
		field  string
		option keyturn.Option
	}{
		{"token", keyturn.WithToken("")}, {"token", keyturn.WithToken("my secret")}, {"token", keyturn.WithToken(strings.Repeat("x", 8_193))},
		{"token", keyturn.WithToken("a\nb")}, {"token", keyturn.WithToken("é")}, {"token_func", keyturn.WithTokenFunc(nil)},
		{"token_file", keyturn.WithTokenFile(filepath.Join(folder, "none"))}, {"token_file", keyturn.WithTokenFile(folder)},
		{"token_file", file("")}, {"token_file", file("my secret")}, {"token_file", file(strings.Repeat("x", 8_193))},
		{"token_file", file("my\n\nsecret\n")}, {"token_file", file("\ufeffmy-secret")}, {"token_file", file(strings.Repeat("x", 1_048_576))},
	} {
		_, err := keyturn.Dial("127.0.0.1:1", one.option)
		isRefused(t, one.field, err)
		if strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("the error shows the token: %v", err)
		}
	}
	dial(t, "127.0.0.1:1", keyturn.WithToken(strings.Repeat("x", 8_192)))
}

func TestNoTokenIsSentToAnotherMachineInClearText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := keyturn.WithToken("secret")
	for _, option := range []keyturn.Option{token, keyturn.WithTokenFile(path), keyturn.WithTokenFunc(func(context.Context) (string, error) { return "secret", nil })} {
		for _, address := range []string{"192.0.2.1:1", "keyturn.example:1", "[2001:db8::1]:1", "127.0.0.1.example:1", "localhost.example:1"} {
			_, err := keyturn.Dial(address, option)
			var told *keyturn.Error
			if !errors.As(err, &told) || told.Code != codes.InvalidArgument || told.Violations[0].Field != "token" {
				t.Errorf("%v", err)
			}
			if want := "token: it would be sent to " + address + " in clear text; use WithTLS, or say WithInsecure"; !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v", err)
			}
		}
	}
	for _, one := range []struct {
		address string
		options []keyturn.Option
	}{
		{"192.0.2.1:1", []keyturn.Option{token, keyturn.WithTLS(&tls.Config{})}}, {"192.0.2.1:1", []keyturn.Option{token, keyturn.WithInsecure()}},
		{"192.0.2.1:1", nil}, {"127.0.0.1:1", []keyturn.Option{token}}, {"127.1.2.3:1", []keyturn.Option{token}},
		{"LocalHost:1", []keyturn.Option{token}}, {"[::1]:1", []keyturn.Option{token}}, {":1", []keyturn.Option{token}}, {"unix:/run/keyturn.sock", []keyturn.Option{token}},
	} {
		dial(t, one.address, one.options...)
	}
}
