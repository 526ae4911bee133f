package keyturn

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLSFiles are certificates in PEM files.
type TLSFiles struct {
	// CA that signed the sidecar's certificate. Empty: those that the system trusts.
	CA string
	// Cert and Key are shown to a sidecar that asks for them (mutual TLS).
	Cert, Key string
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
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, wrongSetting("tls.cert", files.Cert, "a certificate and its key (PEM): "+err.Error())
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
