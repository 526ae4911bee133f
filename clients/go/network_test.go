package keyturn_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

func TestUnixSocket(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport keyturn.Transport) {
		directory := must(os.MkdirTemp("", "kt"))(t)
		t.Cleanup(func() { _ = os.RemoveAll(directory) })
		address := "unix:" + filepath.Join(directory, "s")
		side := &sidecar{t: t}
		t.Cleanup(func() { side.kill() })
		side.start(address)
		client := dial(t, address, keyturn.WithTransport(transport))
		outcome, err := client.WithTurn(within(t, 10*time.Second), "q", "k", keyturn.TurnOptions{}, func(context.Context, *keyturn.Turn) error { return nil })
		if err != nil || outcome.Status != keyturn.StatusDone {
			t.Fatalf("%+v %v", outcome, err)
		}
	})
}

func TestUserAgent(t *testing.T) {
	t.Parallel()
	agents := make(chan string, 1)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		about, _ := metadata.FromIncomingContext(stream.Context())
		agents <- strings.Join(about.Get("user-agent"), " ")
		return status.Error(codes.Unimplemented, "nothing is served here")
	}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client := dial(t, listener.Addr().String())
	_, err := client.EnQueue(within(t, 10*time.Second), &keyturnv1.EnQueueRequest{Queue: "q", Key: "k"})
	var told *keyturn.Error
	if !errors.As(err, &told) || told.Code != codes.Unimplemented {
		t.Fatalf("%v", err)
	}
	if agent := <-agents; !strings.HasPrefix(agent, "keyturn-go/"+keyturn.Version) {
		t.Fatalf("%q", agent)
	}
}

// authority signs certificates for tests.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	a.cert = a.sign("ca", a.key, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *authority) sign(name string, key *ecdsa.PrivateKey, template *x509.Certificate) *x509.Certificate {
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.Subject = pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.cert
	if parent == nil {
		parent = template
	}
	der := must(x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key))(a.t)
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "EC PRIVATE KEY", must(x509.MarshalECPrivateKey(key))(a.t))
	return must(x509.ParseCertificate(der))(a.t)
}

func (a *authority) write(name, kind string, der []byte) {
	if err := os.WriteFile(a.path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) pair(name string, template *x509.Certificate) tls.Certificate {
	a.sign(name, must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(a.t), template)
	return must(tls.LoadX509KeyPair(a.path(name+".pem"), a.path(name+".key")))(a.t)
}

// secured puts TLS before a sidecar, whatever that can do itself.
func secured(t *testing.T, address string, config *tls.Config) string {
	config.NextProtos = []string{"h2"}
	listener := must(tls.Listen("tcp", "127.0.0.1:0", config))(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", address)
			if err != nil {
				_ = from.Close()
				continue
			}
			pipe := func(a, b net.Conn) { _, _ = io.Copy(a, b); _ = a.Close(); _ = b.Close() }
			go pipe(from, to)
			go pipe(to, from)
		}
	}()
	return listener.Addr().String()
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server := ca.pair("server", &x509.Certificate{DNSNames: []string{"keyturn.test"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	ca.pair("worker", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	clients := x509.NewCertPool()
	clients.AddCert(ca.cert)
	open := secured(t, sharedSidecar(t).address, &tls.Config{Certificates: []tls.Certificate{server}})
	mutual := secured(t, sharedSidecar(t).address, &tls.Config{
		Certificates: []tls.Certificate{server}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
	})
	known := keyturn.TLSFiles{CA: ca.path("ca.pem"), ServerName: "keyturn.test"}
	shown := known
	shown.Cert, shown.Key = ca.path("worker.pem"), ca.path("worker.key")
	unnamed := known
	unnamed.ServerName = ""
	for name, one := range map[string]struct {
		address string
		files   keyturn.TLSFiles
		fine    bool
	}{
		"known": {open, known, true}, "not known": {open, keyturn.TLSFiles{ServerName: "keyturn.test"}, false},
		"another name": {open, unnamed, false}, "mutual": {mutual, shown, true}, "mutual without": {mutual, known, false},
	} {
		for _, transport := range []keyturn.Transport{keyturn.TransportSession, keyturn.TransportUnary} {
			t.Run(name+" "+string(transport), func(t *testing.T) {
				t.Parallel()
				config := must(keyturn.LoadTLS(one.files))(t)
				client := dial(t, one.address, keyturn.WithTransport(transport), keyturn.WithTLS(config))
				ctx := within(t, 15*time.Second)
				if !one.fine {
					ctx = within(t, time.Second)
				}
				_, err := client.Submit(ctx, "tls", keyturn.NewItem{})
				if one.fine != (err == nil) {
					t.Fatalf("%v", err)
				}
			})
		}
	}
}

func TestCertificateOfAClientMayBeReplaced(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server := ca.pair("server", &x509.Certificate{DNSNames: []string{"keyturn.test"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	clients := x509.NewCertPool()
	clients.AddCert(ca.cert)
	shown := make(chan *big.Int, 1)
	address := secured(t, sharedSidecar(t).address, &tls.Config{
		Certificates: []tls.Certificate{server}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
		VerifyConnection: func(state tls.ConnectionState) error {
			shown <- state.PeerCertificates[0].SerialNumber
			return nil
		},
	})
	issue := func() *big.Int {
		template := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		ca.pair("worker", template)
		return template.SerialNumber
	}
	first := issue()
	told := make(chan error, 1)
	config := must(keyturn.LoadTLS(keyturn.TLSFiles{
		CA: ca.path("ca.pem"), ServerName: "keyturn.test", Cert: ca.path("worker.pem"), Key: ca.path("worker.key"),
		OnError: func(err error) { told <- err },
	}))(t)
	connect := func() *big.Int {
		client := dial(t, address, keyturn.WithTLS(config))
		must(client.Submit(within(t, 10*time.Second), queueOf(t), keyturn.NewItem{}))(t)
		return <-shown
	}
	if serial := connect(); serial.Cmp(first) != 0 {
		t.Fatalf("%v instead of %v", serial, first)
	}
	second := issue()
	if serial := connect(); serial.Cmp(second) != 0 {
		t.Fatalf("%v instead of %v, the new one", serial, second)
	}
	// Half of a replacement: a key that is of another certificate.
	if err := os.Rename(ca.path("server.key"), ca.path("worker.key")); err != nil {
		t.Fatal(err)
	}
	if serial := connect(); serial.Cmp(second) != 0 {
		t.Fatalf("%v instead of %v, the last good one", serial, second)
	}
	isRefused(t, "tls.cert", <-told)
}

func TestWrongTLSFiles(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for field, files := range map[string]keyturn.TLSFiles{
		"tls.ca":   {CA: empty},
		"tls.cert": {Cert: empty, Key: empty},
	} {
		_, err := keyturn.LoadTLS(files)
		var told *keyturn.Error
		if !errors.As(err, &told) || told.Violations[0].Field != field || !strings.Contains(err.Error(), empty) {
			t.Errorf("%v", err)
		}
	}
	if _, err := keyturn.LoadTLS(keyturn.TLSFiles{Cert: empty}); err == nil {
		t.Error("a certificate without a key is taken")
	}
}
