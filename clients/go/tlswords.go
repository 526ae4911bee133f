package keyturn

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
)

// Disagreement about TLS, told as such. What the TLS library says names what does not fit; it is put into the words of
// whoever has to mend it.

const (
	tlsNoneShown   = "the sidecar wants a certificate of its clients, and this client shows none (TLSFiles.Cert and Key)"
	tlsNotAccepted = "the sidecar does not accept the certificate of this client (TLSFiles.Cert; tls.client_ca of the sidecar)"
)

// tlsSigns are in what gRPC tells of a connection that came to nothing because of TLS, the most telling first.
var tlsSigns = []struct{ sign, words string }{
	{"certificate required", tlsNoneShown},
	{"remote error: tls: unknown certificate authority", tlsNotAccepted},
	{"remote error: tls: expired certificate", "the certificate of this client has ended (TLSFiles.Cert)"},
	{"remote error: tls: ", "the sidecar refuses what this client shows, a certificate of the client included (TLSFiles.Cert)"},
	{"does not look like a TLS handshake", "the sidecar at this address speaks no TLS (leave WithTLS out, or see tls.cert of the sidecar)"},
	{"signed by unknown authority", "an authority that this client does not trust signed the certificate of the sidecar (TLSFiles.CA)"},
	{"certificate has expired", "the certificate of the sidecar has ended, or is not valid yet, by the clock of this machine"},
	{"x509: certificate is valid for", "the certificate of the sidecar has another name (TLSFiles.ServerName)"},
	{"x509: ", "the certificate of the sidecar does not fit"},
	{"tls: ", "client and sidecar do not agree"},
}

// errTLS marks what every further try would fail with, until somebody changes a setting or a file.
var errTLS = errors.New("client and sidecar do not agree on TLS")

func isAboutTLS(err error) bool { return errors.Is(err, errTLS) }

// readTLS puts an error of the connection into words, if it is about TLS.
func (e *Error) readTLS() {
	if e.Code != codes.Unavailable || e.Reason != "" || !strings.Contains(e.Message, "connection error") {
		return
	}
	for _, one := range tlsSigns {
		if strings.Contains(e.Message, one.sign) {
			e.Message, e.cause = "TLS: "+one.words+": "+e.Message, errTLS
			return
		}
	}
}
