package mesos

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const tlsTimeout = 10 * time.Second

// tls returns whose certificates are trusted, for the stream and for the calls alike.
func (c *Config) tls() (*tls.Config, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.SkipVerify}
	if len(c.CA) > 0 {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(c.CA) {
			return nil, errors.New("mesos: the file of CAs has no certificate: want PEM, from -----BEGIN CERTIFICATE----- on")
		}
	}
	return trust, nil
}

// distrust says that a master's certificate is not accepted.
type distrust struct {
	certificate *x509.Certificate // nil if it is not known
	err         error
}

// Error names the certificate.
func (d *distrust) Error() string {
	text := "its certificate is not accepted: " + strings.TrimPrefix(d.err.Error(), "tls: failed to verify certificate: ")
	if c := d.certificate; c != nil {
		names := append([]string{}, c.DNSNames...)
		for _, ip := range c.IPAddresses {
			names = append(names, ip.String())
		}
		text += fmt.Sprintf(" (it is %q for %s, issued by %q, valid until %s)", c.Subject.String(), strings.Join(names, ", "), c.Issuer.String(), c.NotAfter.UTC().Format("2006-01-02"))
	}
	return text + "; MESOS_CA_FILE names a file with the CA to trust"
}

// Unwrap returns what the check said.
func (d *distrust) Unwrap() error { return d.err }

// explainTLS makes sentences of what goes wrong with TLS, and of TLS where the other side has none.
func explainTLS(to *url.URL, err error) error {
	var unverified *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unverified):
		d := &distrust{err: unverified}
		if len(unverified.UnverifiedCertificates) > 0 {
			d.certificate = unverified.UnverifiedCertificates[0]
		}
		return d
	case to.Scheme == "https" && (errors.As(err, &record) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")):
		return fmt.Errorf("there is no TLS at this port: is it http://, or MESOS_SSL=false? (%w)", err)
	case to.Scheme == "http" && strings.Contains(err.Error(), "malformed HTTP response"):
		return fmt.Errorf("this is no HTTP: is it https://, or MESOS_SSL=true? (%s)", quoted(err.Error()))
	}
	return err
}

// quoted cuts what a server has sent to a length for people.
func quoted(text string) string {
	const enough = 60
	text = oneLine(string(bytes.ToValidUTF8([]byte(text), []byte("?"))))
	if runes := []rune(text); len(runes) > enough {
		text = string(runes[:enough]) + " …"
	}
	return text
}
