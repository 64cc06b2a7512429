package shared

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/krmflow/krmflow/diag"
)

// tlsConfig returns the TLS configuration for verifying the server and authenticating the client.
// It returns nil for a plain connection.
func tlsConfig(o Options, at address) (*tls.Config, error) {
	switch {
	case at.plain() && (o.CA != "" || o.Cert != "" || o.Key != ""):
		return nil, diag.FlagValue.Errorf("certificates need TLS, but the address of the shared cache is %s: use grpcs or https",
			at.shown())
	case at.plain():
		return nil, nil
	case (o.Cert == "") != (o.Key == ""):
		return nil, diag.FlagValue.Errorf("a certificate for the shared cache needs its key, and a key needs its certificate")
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		text, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, diag.NotReadable.Errorf("the CA certificates of the shared cache: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, diag.FlagValue.Errorf("%s has no certificate in PEM format", o.CA)
		}
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, diag.NotReadable.Errorf("the certificate for the shared cache: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
