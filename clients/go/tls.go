package keyturn

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
)

// TLSFiles are certificates in PEM files.
type TLSFiles struct {
	// CA that signed the sidecar's certificate; read once. Empty: those that the system trusts.
	CA string
	// Cert and Key are shown to a sidecar that asks for them (mutual TLS). They are read anew for every connection, so that a
	// new pair may be put in their place; while the files are no pair the last good one is shown.
	Cert, Key string
	// OnError is told when they are no pair any more, at every connection, by any goroutine. Nil: nobody is told.
	OnError func(error)
	// ServerName is the name in the sidecar's certificate, if it is not the host of the address.
	ServerName string
}

// LoadTLS reads the files for [WithTLS].
func LoadTLS(files TLSFiles) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: files.ServerName}
	if files.CA != "" {
		pem, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, wrongSetting("tls.ca", files.CA, "a file that can be read: "+err.Error())
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, wrongSetting("tls.ca", files.CA, "a file with certificates (PEM)")
		}
	}
	if (files.Cert == "") != (files.Key == "") {
		return nil, wrongSetting("tls.cert", files.Cert, fmt.Sprintf("one that comes with a key, which is %q", files.Key))
	}
	if files.Cert == "" {
		return config, nil
	}
	pair := &clientPair{files: files}
	if _, err := pair.read(); err != nil {
		return nil, err
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.current(), nil }
	return config, nil
}

// clientPair is a certificate with its key, in files that somebody may replace.
type clientPair struct {
	files TLSFiles
	mu    sync.Mutex
	good  *tls.Certificate
}

// read is for every connection, of which there are few; so nobody has to watch the files, or to trust their times.
func (p *clientPair) read() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pair, err := tls.LoadX509KeyPair(p.files.Cert, p.files.Key)
	if err != nil {
		return p.good, wrongSetting("tls.cert", p.files.Cert, "a certificate and its key (PEM): "+err.Error())
	}
	p.good = &pair
	return p.good, nil
}

// current is the last good one: in the middle of a replacement the two files do not belong together.
func (p *clientPair) current() *tls.Certificate {
	pair, err := p.read()
	if err != nil && p.files.OnError != nil {
		// These files belong to no client, and to no logger but that of the process.
		(&settings{}).alone("OnError of TLSFiles", func() { p.files.OnError(err) })
	}
	return pair
}
