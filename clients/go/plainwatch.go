package keyturn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
)

// plainWatch knows whether a sidecar that is spoken to without TLS speaks TLS: the first byte that comes is that of an alert, or
// none comes before the connection is closed, and a handshake is answered.
type plainWatch struct {
	credentials.TransportCredentials

	mu        sync.Mutex
	speaksTLS bool
}

const (
	// tlsAlert begins a record that nobody sends but TLS.
	tlsAlert = 21
	// probeTime is how long a handshake may take that only shows who is there.
	probeTime = time.Second
)

// ClientHandshake is that of the credentials, watched.
func (w *plainWatch) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	w.note(false)
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return conn, info, err
	}
	return &plainConn{Conn: conn, watch: w}, info, nil
}

// Clone is this one: a client has one connection.
func (w *plainWatch) Clone() credentials.TransportCredentials { return w }

func (w *plainWatch) note(speaksTLS bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.speaksTLS = speaksTLS
}

type plainConn struct {
	net.Conn
	watch *plainWatch
	// Only the reader has it.
	heard bool
}

func (c *plainConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n > 0 && !c.heard {
		c.heard = true
		c.watch.note(into[0] == tlsAlert)
	}
	if err != nil && !c.heard && !errors.Is(err, net.ErrClosed) {
		c.heard = true
		c.watch.note(speaksTLS(c.RemoteAddr()))
	}
	return n, err
}

// speaksTLS looks whether a handshake is answered. Nothing is sent in it, so that nobody's certificate matters.
func speaksTLS(address net.Addr) bool {
	raw, err := net.DialTimeout(address.Network(), address.String(), probeTime)
	if err != nil {
		return false
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(probeTime))
	var isTLS bool
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, VerifyConnection: func(tls.ConnectionState) error {
		isTLS = true
		return nil
	}}
	_ = tls.Client(raw, config).Handshake()
	return isTLS
}

func (w *plainWatch) explain(err error) error {
	var told *Error
	if w == nil || !errors.As(err, &told) || told.Code != codes.Unavailable || told.Reason != "" || strings.Contains(told.Message, "Error while dialing") {
		return err
	}
	w.mu.Lock()
	speaksTLS := w.speaksTLS
	w.mu.Unlock()
	if !speaksTLS {
		return err
	}
	return &Error{Code: told.Code, Message: "TLS: the sidecar at this address speaks TLS, and this client does not (WithTLS): " + told.Message, cause: errTLS}
}
