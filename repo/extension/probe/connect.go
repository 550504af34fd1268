package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// renewal is how long before its end a certificate that renews itself is replaced.
const renewal = 14 * 24 * time.Hour

// connect looks at the TLS of the server. It returns the configuration for calls,
// or nil if there can be none. A certificate with a wrong name or date is accepted
// from then on, so that the author sees the rest too; an unknown CA is not.
func (p *probe) connect(ctx context.Context) *tls.Config {
	config := &tls.Config{ServerName: p.o.ServerName, MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}
	if c := p.o.Certificate; c != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil }
	}
	chain, err := handshake(ctx, p.address(), config)
	var network *net.OpError
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case errors.As(err, &network) && network.Op == "dial":
		rule := &checks.ByID("LIV001").Rule
		p.report.Findings = append(p.report.Findings, lint.Finding{
			Rule: rule, Severity: rule.Severity, File: p.at(here), Message: explain(err),
			Fix: "Start the server, or correct the address.",
		})
		err = fmt.Errorf("check of %s: nothing was judged, because the connection failed", p.o.URL)
		p.report.Failures = append(p.report.Failures, err)
		return nil
	case err != nil:
		p.add("LIV001", here, "%s", explain(err))
		return nil
	}
	leaf, at := chain[0], time.Now()
	switch {
	case at.After(leaf.NotAfter):
		p.add("LIV003", here, "the certificate expired on %s", leaf.NotAfter.UTC().Format(time.DateOnly))
		at = leaf.NotAfter
	case at.Before(leaf.NotBefore):
		p.add("LIV003", here, "the certificate is not valid before %s", leaf.NotBefore.UTC().Format(time.DateOnly))
		at = leaf.NotBefore
	case leaf.NotAfter.Sub(at) < renewal:
		p.as(lint.Warning, "LIV003", here, "the certificate expires on %s", leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	if err := verify(chain, p.o.Roots, at); err != nil {
		id, text := trust(err)
		p.add(id, here, "%s", text)
		return nil
	}
	if leaf.VerifyHostname(p.o.ServerName) != nil {
		p.add("LIV002", here, "the certificate is for %s, not for %s", names(leaf), p.o.ServerName)
	}
	config.VerifyConnection = func(s tls.ConnectionState) error { return verify(s.PeerCertificates, p.o.Roots, at) }
	return config
}

// address is host and port of the server.
func (p *probe) address() string {
	return net.JoinHostPort(p.o.URL.Hostname(), cmp.Or(p.o.URL.Port(), "443"))
}

// refusal is how long a server has to refuse a client without a certificate.
const refusal = 500 * time.Millisecond

// handshake connects, closes the connection, and returns the certificates of the server. If
// it asks for a client certificate and there is none, handshake waits for the refusal, which
// in TLS 1.3 comes after the handshake and may be lost once something is sent.
func handshake(ctx context.Context, address string, config *tls.Config) ([]*x509.Certificate, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, extension.DefaultTimeout*time.Second, errTimeout)
	defer cancel()
	asked := false
	if config.GetClientCertificate == nil {
		config = config.Clone()
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked = true
			return &tls.Certificate{}, nil
		}
	}
	d := tls.Dialer{Config: config}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w (%d s)", errTimeout, extension.DefaultTimeout)
		}
		return nil, err
	}
	defer conn.Close()
	if asked {
		_ = conn.SetReadDeadline(time.Now().Add(refusal))
		if _, err := conn.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
	}
	return conn.(*tls.Conn).ConnectionState().PeerCertificates, nil
}

// verify checks the chain of a server's certificates, but not its name.
func verify(chain []*x509.Certificate, roots *x509.CertPool, at time.Time) error {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: at})
	return err
}

// trust says why a chain is not trusted, and by which check.
func trust(err error) (id, text string) {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return "LIV001", fmt.Sprintf("the certificate was issued by %q, which is not the given CA; check --ca-file",
			short(unknown.Cert.Issuer.String()))
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "LIV003", fmt.Sprintf("the certificate of the CA %q is only valid from %s to %s",
			short(invalid.Cert.Subject.String()), invalid.Cert.NotBefore.UTC().Format(time.DateOnly), invalid.Cert.NotAfter.UTC().Format(time.DateOnly))
	}
	return "LIV001", err.Error()
}

func names(c *x509.Certificate) string {
	list := slices.Concat(c.DNSNames, phrase.List(c.IPAddresses, net.IP.String))
	if len(list) == 0 {
		return "no name"
	}
	return strings.Join(list, ", ")
}
