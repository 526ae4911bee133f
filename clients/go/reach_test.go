package keyturn_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// Why a sidecar cannot be reached is in what a call fails with, whatever ends it.

var callsOfAll = map[string]func(ctx context.Context, client *keyturn.Client) error{
	"Submit": func(ctx context.Context, client *keyturn.Client) error {
		_, err := client.Submit(ctx, "q", keyturn.NewItem{})
		return err
	},
	"EnQueue": func(ctx context.Context, client *keyturn.Client) error {
		_, err := client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: "q", Key: "k", Wait: durationpb.New(0)})
		return err
	},
	"WithTurn": func(ctx context.Context, client *keyturn.Client) error {
		_, err := client.WithTurn(ctx, "q", "k", keyturn.TurnOptions{}, func(context.Context, *keyturn.Turn) error { return nil })
		return err
	},
	"Result": func(ctx context.Context, client *keyturn.Client) error {
		_, err := client.Result(ctx, "q", "i")
		return err
	},
}

func TestTheErrorOfACallSaysWhyTheSidecarCannotBeReached(t *testing.T) {
	silent := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = silent.Close() })
	for address, reason := range map[string]string{"127.0.0.1:1": "connection refused", silent.Addr().String(): "no answer yet"} {
		for name, call := range callsOfAll {
			for _, transport := range bothTransports {
				t.Run(name+" "+reason+" "+string(transport), func(t *testing.T) {
					t.Parallel()
					client := dial(t, address, keyturn.WithTransport(transport))
					err := call(within(t, 500*time.Millisecond), client)
					if err == nil || !strings.Contains(err.Error(), "cannot reach "+address+": ") || !strings.Contains(err.Error(), reason) {
						t.Fatalf("%v", err)
					}
				})
			}
		}
	}
}

func TestSidesThatDisagreeAboutTLSSaySoAtOnce(t *testing.T) {
	ca := newAuthority(t)
	ca.pair("server", &x509.Certificate{DNSNames: []string{"keyturn.test"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	secure := startSidecar(t, fmt.Sprintf("tls: { cert: %q, key: %q }", ca.path("server.pem"), ca.path("server.key"))).address
	files := keyturn.TLSFiles{CA: ca.path("ca.pem"), ServerName: "keyturn.test"}
	encrypted := keyturn.WithTLS(must(keyturn.LoadTLS(files))(t))
	for name, one := range map[string]struct {
		address string
		option  keyturn.Option
		words   string
	}{
		"plain at TLS": {secure, keyturn.WithConsumerID("plain"), "speaks TLS, and this client does not (WithTLS)"},
		"TLS at plain": {sharedSidecar(t).address, encrypted, "speaks no TLS"},
	} {
		for call, ask := range callsOfAll {
			for _, transport := range bothTransports {
				t.Run(name+" "+call+" "+string(transport), func(t *testing.T) {
					t.Parallel()
					client := dial(t, one.address, one.option, keyturn.WithTransport(transport))
					// Below the time-out of a call, and far above what it takes.
					err := ask(within(t, 9*time.Second), client)
					if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cannot reach "+one.address+": TLS: ") || !strings.Contains(err.Error(), one.words) {
						t.Fatalf("%v", err)
					}
				})
			}
		}
	}
}
