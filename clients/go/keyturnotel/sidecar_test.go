package keyturnotel_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnotel"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

const config = `
queues:
  once: { idempotency_ttl: 1m }
  fast: { retry: { initial: 10ms, max: 20ms, max_attempts: 3 } }
  single: { retry: { max_attempts: 1 } }
`

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func repository() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// startSidecar starts one for this test, and returns its address.
func startSidecar(t *testing.T) string {
	t.Helper()
	main := os.Getenv("KEYTURN_SIDECAR_MAIN")
	if main == "" {
		main = filepath.Join(repository(), "dist", "bundle", "main.js")
	}
	settings := filepath.Join(t.TempDir(), "keyturn.yaml")
	if err := os.WriteFile(settings, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", main, "serve", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--console-listen", "off", "--config", settings)
	stderr := must(cmd.StderrPipe())(t)
	if err := cmd.Start(); err != nil {
		t.Fatalf("the sidecar does not start: run `npm run build` in the repository (%v)", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var log []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		var line struct{ Grpc, Msg string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			go func() {
				for lines.Scan() {
				}
			}()
			return line.Grpc
		}
		log = append(log, lines.Text())
	}
	t.Fatalf("the sidecar ended: %s", strings.Join(log, "\n"))
	return ""
}

// stage is a sidecar, a client that traces, and an SDK that keeps what it is told.
type stage struct {
	ctx     context.Context
	client  *keyturn.Client
	told    *tracetest.SpanRecorder
	spans   trace.Tracer
	address string
}

func newStage(t *testing.T, options keyturnotel.Options) *stage {
	t.Helper()
	told := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(told))
	options.Provider = provider
	address := startSidecar(t)
	client := must(keyturn.Dial(address, keyturn.WithTracer(keyturnotel.New(options))))(t)
	t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return &stage{ctx: ctx, client: client, told: told, spans: provider.Tracer("test"), address: address}
}

// under is a context with a span, and that span's.
func (s *stage) under(name string) (context.Context, trace.SpanContext) {
	ctx, span := s.spans.Start(s.ctx, name)
	span.End()
	return ctx, span.SpanContext()
}

// named are the spans that have ended, in the order of their beginning.
func (s *stage) named(name string) []sdk.ReadOnlySpan {
	ended := map[trace.SpanID]bool{}
	for _, span := range s.told.Ended() {
		ended[span.SpanContext().SpanID()] = true
	}
	var found []sdk.ReadOnlySpan
	for _, span := range s.told.Started() {
		if span.Name() == name && ended[span.SpanContext().SpanID()] {
			found = append(found, span)
		}
	}
	return found
}

func (s *stage) only(t *testing.T, name string) sdk.ReadOnlySpan {
	t.Helper()
	found := s.named(name)
	if len(found) != 1 {
		t.Fatalf("%d spans %q", len(found), name)
	}
	return found[0]
}

func attributesOf(span sdk.ReadOnlySpan) map[string]any {
	made := map[string]any{}
	for _, one := range span.Attributes() {
		made[string(one.Key)] = one.Value.AsInterface()
	}
	return made
}

func eventsOf(span sdk.ReadOnlySpan) string {
	var names []string
	for _, event := range span.Events() {
		names = append(names, event.Name)
	}
	return strings.Join(names, " ")
}
