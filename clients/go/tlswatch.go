package keyturn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
)

// tlsWatch knows how far the last handshake came. With TLS 1.3 a sidecar refuses a client's certificate after the client's
// handshake is over: the client may write to a connection that is closed before it reads why.
type tlsWatch struct {
	credentials.TransportCredentials

	mu sync.Mutex
	// The sidecar asked for a certificate, there was one to show, and it said something after the handshake; the connection is
	// closed.
	asked, shown, heard, shut bool
}

func watchTLS(config *tls.Config) *tlsWatch {
	w := &tlsWatch{}
	config = config.Clone()
	given := config.GetClientCertificate
	chosen := config.Certificates
	config.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		var certificate *tls.Certificate
		var err error
		if given != nil {
			certificate, err = given(info)
		} else {
			certificate = fitting(info, chosen)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked, w.shown = true, err == nil && certificate != nil && len(certificate.Certificate) > 0
		return certificate, err
	}
	w.TransportCredentials = credentials.NewTLS(config)
	return w
}

// fitting is what the TLS library does itself where nobody chooses.
func fitting(info *tls.CertificateRequestInfo, certificates []tls.Certificate) *tls.Certificate {
	for at := range certificates {
		if info.SupportsCertificate(&certificates[at]) == nil {
			return &certificates[at]
		}
	}
	return &tls.Certificate{}
}

// ClientHandshake is that of the credentials, watched.
func (w *tlsWatch) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	w.mu.Lock()
	w.asked, w.shown, w.heard, w.shut = false, false, false, false
	w.mu.Unlock()
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		return conn, info, err
	}
	return &watchedConn{Conn: conn, watch: w}, info, nil
}

// Clone is this one: a client has one connection.
func (w *tlsWatch) Clone() credentials.TransportCredentials { return w }

type watchedConn struct {
	net.Conn
	watch *tlsWatch
	// Only the reader has it.
	heard bool
}

func (c *watchedConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n > 0 && !c.heard {
		c.wasHeard()
	}
	if err != nil {
		c.ended()
	}
	return n, err
}

func (c *watchedConn) wasHeard() {
	c.heard = true
	c.watch.mu.Lock()
	c.watch.heard = true
	c.watch.mu.Unlock()
}

// Close comes after whatever ended it.
func (c *watchedConn) Close() error {
	c.ended()
	return c.Conn.Close()
}

func (c *watchedConn) ended() {
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	c.watch.shut = true
}

// explain puts an error into words of TLS where the sidecar asked for a certificate and then closed the connection.
func (w *tlsWatch) explain(err error) error {
	var told *Error
	if w == nil || !errors.As(err, &told) || told.Code != codes.Unavailable || told.Reason != "" || isAboutTLS(err) {
		return err
	}
	w.mu.Lock()
	refused, shown := w.asked && w.shut && !w.heard, w.shown
	w.mu.Unlock()
	// Where nobody could be dialled since, no handshake came to anything, nor to nothing.
	if !refused || strings.Contains(told.Message, "Error while dialing") {
		return err
	}
	words := tlsNoneShown
	if shown {
		words = tlsNotAccepted
	}
	return &Error{Code: told.Code, Message: "TLS: " + words + ": " + told.Message, cause: errTLS}
}
