package keyturn_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startRedis starts one that keeps nothing, for a cluster of one sidecar, and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("redis-server is missing: apt-get install redis-server")
	}
	if err != nil {
		t.Fatalf("redis-server is missing, see .ci/debian-packages: %v", err)
	}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil || listener.Close() != nil {
		t.Fatalf("no free port: %v", err)
	}
	settings := []string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir()}
	cmd := exec.Command(program, settings...)
	cmd.SysProcAttr = diesWithParent()
	stdout := must(cmd.StdoutPipe())(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			return "redis://127.0.0.1:" + port
		}
	}
	t.Fatal("redis-server ended before it was ready")
	return ""
}
