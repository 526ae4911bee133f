package keyturn_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

// sidecar is a child process that dies with the test.
type sidecar struct {
	t       testing.TB
	address string
	args    []string
	cmd     *exec.Cmd
	exited  chan struct{}
}

func sidecarMain() string {
	if main := os.Getenv("KEYTURN_SIDECAR_MAIN"); main != "" {
		return main
	}
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "dist", "bundle", "main.js")
}

// startSidecar starts one with this configuration (YAML, may be empty).
func startSidecar(t testing.TB, config string, args ...string) *sidecar {
	t.Helper()
	s := &sidecar{t: t, args: args}
	if config != "" {
		path := filepath.Join(t.TempDir(), "keyturn.yaml")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		s.args = append(s.args, "--config", path)
	}
	s.start(ownAddress(t))
	t.Cleanup(s.kill)
	return s
}

// Ports that systems do not give to those who ask for any: what is killed here finds its own free again, however many others start
// meanwhile.
const firstPort, ports = 21_000, 9_000

var nextPort atomic.Int64

func init() { nextPort.Store(rand.Int63n(ports)) }

func ownAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+nextPort.Add(1)%ports)
		if taken, err := net.Listen("tcp", address); err == nil {
			_ = taken.Close()
			return address
		}
	}
	t.Fatal("a hundred ports in a row are in use")
	return ""
}

func (s *sidecar) start(listen string) {
	s.t.Helper()
	main := sidecarMain()
	if _, err := os.Stat(main); err != nil {
		s.t.Fatalf("the sidecar is not built: run `npm run build` in the repository (%v)", err)
	}
	args := append([]string{main, "serve", "--listen", listen, "--http-listen", "127.0.0.1:0", "--console-listen", "off"}, s.args...)
	s.cmd = exec.Command("node", args...)
	s.cmd.SysProcAttr = diesWithParent()
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	listening := make(chan string, 1)
	exited := make(chan struct{})
	s.exited = exited
	cmd := s.cmd
	go func() {
		var log []string
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			var line struct{ Grpc, Msg string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
				listening <- line.Grpc
			}
			log = append(log, lines.Text())
		}
		_ = cmd.Wait()
		close(exited)
		select {
		case listening <- "!" + strings.Join(log, "\n"):
		default:
		}
	}()
	select {
	case s.address = <-listening:
	case <-time.After(60 * time.Second):
		s.t.Fatal("the sidecar did not listen within 60 s")
	}
	if said, failed := strings.CutPrefix(s.address, "!"); failed {
		s.t.Fatalf("the sidecar ended: %s", said)
	}
}

func (s *sidecar) kill() {
	_ = s.cmd.Process.Kill()
	<-s.exited
}

// restart after a kill, at the same address.
func (s *sidecar) restart() { s.t.Helper(); s.start(s.address) }

// shared is one for all tests that use queues of their own, and for the examples.
var shared *sidecar

func sharedSidecar(testing.TB) *sidecar { return shared }

func TestMain(m *testing.M) {
	shared = &sidecar{t: fatal{}}
	shared.start("127.0.0.1:0")
	_ = os.Setenv("KEYTURN_ADDRESS", shared.address)
	code := m.Run()
	shared.kill()
	os.Exit(code)
}

// fatal is for what fails before the first test.
type fatal struct{ testing.TB }

func (fatal) Helper() {}

func (fatal) Fatal(args ...any) { log.Fatal(args...) }

func (fatal) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func dial(t testing.TB, address string, options ...keyturn.Option) *keyturn.Client {
	t.Helper()
	client, err := keyturn.Dial(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// within is a context that ends the test, not the machine's patience.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// runs numbers the tests that have asked for a queue: the shared sidecar remembers those of a test that runs once more.
var runs struct {
	sync.Mutex
	of map[testing.TB]int
}

// queueOf is a queue of this run of this test alone.
func queueOf(t testing.TB) string {
	runs.Lock()
	defer runs.Unlock()
	if runs.of == nil {
		runs.of = map[testing.TB]int{}
	}
	if runs.of[t] == 0 {
		runs.of[t] = len(runs.of) + 1
	}
	return fmt.Sprintf("%s-%d", nameOf(t), runs.of[t])
}

func nameOf(t testing.TB) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '_' || r == '-' || (r >= '0' && r <= '9') || (r >= 'A' && r <= 'Z') || (r >= 'a' && r <= 'z') {
			return r
		}
		return '-'
	}, t.Name())
}

func must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
