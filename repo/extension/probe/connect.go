package probe

import (
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
)

// renewal is how long before its end a certificate that renews itself is replaced.
const renewal = 14 * 24 * time.Hour

// connect looks at the TLS of the server. It returns the configuration for calls,
// or nil if there can be none. A certificate with a wrong name or date is accepted
// from then on, so that the author sees the rest too; an unknown CA is not.
func (p *probe) connect(ctx context.Context) *tls.Config {
	address := p.address()
	base := &tls.Config{ServerName: p.o.ServerName, MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}
	if c := p.o.Certificate; c != nil {
		base.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil }
	}
	old := base.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	var state *tls.ConnectionState
	var err, oldErr error
	p.together(ctx,
		func(ctx context.Context) { state, err = handshake(ctx, address, base) },
		func(ctx context.Context) { _, oldErr = handshake(ctx, address, old) },
	)
	var network *net.OpError
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil && oldErr == nil:
		p.as(lint.Error, "LIV005", here, "the server does not support TLS 1.2 or newer: %s", explain(err))
		return nil
	case errors.As(err, &network) && network.Op == "dial":
		p.unreached = true
		rule := &checks.ByID("LIV001").Rule
		p.put(lint.Finding{Rule: rule, Severity: rule.Severity, File: p.at(here), Message: explain(err), Fix: "Start the server, or correct the address."})
		return nil
	case err != nil:
		p.add("LIV001", here, "%s", explain(err))
		return nil
	case oldErr == nil:
		p.add("LIV005", here, "the server accepts TLS 1.0 or 1.1")
	}
	leaf := state.PeerCertificates[0]
	at := time.Now()
	// outside reports a certificate that is not valid now, and continues at a time when it is.
	outside := func(c *x509.Certificate, what string) bool {
		switch {
		case at.After(c.NotAfter):
			p.add("LIV003", here, "the certificate%s expired on %s", what, c.NotAfter.UTC().Format(time.DateOnly))
			at = c.NotAfter
		case at.Before(c.NotBefore):
			p.add("LIV003", here, "the certificate%s is not valid before %s", what, c.NotBefore.UTC().Format(time.DateOnly))
			at = c.NotBefore
		default:
			return false
		}
		return true
	}
	if !outside(leaf, "") && leaf.NotAfter.Sub(at) < renewal {
		p.warn("LIV003", here, "the certificate expires on %s", leaf.NotAfter.UTC().Format(time.DateOnly))
	}
	err = verify(state.PeerCertificates, p.o.Roots, at)
	var expired x509.CertificateInvalidError
	reported := []*x509.Certificate{leaf}
	for errors.As(err, &expired) && expired.Reason == x509.Expired && expired.Cert != nil { // of a CA
		c, now := expired.Cert, time.Now()
		valid := !now.Before(c.NotBefore) && !now.After(c.NotAfter)
		if valid || slices.ContainsFunc(reported, c.Equal) { // they are never all valid at once
			return nil
		}
		outside(c, fmt.Sprintf(" of the CA %q", c.Subject.String()))
		reported = append(reported, c)
		err = verify(state.PeerCertificates, p.o.Roots, at)
	}
	if err != nil {
		p.add("LIV001", here, "%s", trust(err))
		return nil
	}
	if err := leaf.VerifyHostname(p.o.ServerName); err != nil {
		p.add("LIV002", here, "the certificate is for %s, not for %s", names(leaf), p.o.ServerName)
	}
	if p.o.Roots != nil && verify(state.PeerCertificates, p.o.OtherRoots, at) == nil {
		p.add("LIV004", here, "the certificate is also trusted without the CA")
	}
	p.plain(ctx)
	config := base.Clone()
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if c := s.PeerCertificates[0]; c.VerifyHostname(p.o.ServerName) != nil && !p.reported("LIV002", here) {
			p.add("LIV002", here, "some connections get a certificate for %s, not for %s", names(c), p.o.ServerName)
		}
		return verify(s.PeerCertificates, p.o.Roots, at)
	}
	return config
}

// address is host and port of the server.
func (p *probe) address() string {
	port := p.o.URL.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(p.o.URL.Hostname(), port)
}

// refusal is how long a server has to refuse a client without a certificate.
const refusal = 500 * time.Millisecond

// handshake connects, and closes the connection. If the server asks for a client
// certificate and there is none, it waits for the refusal, which in TLS 1.3 comes
// after the handshake and may be lost once something is sent.
func handshake(ctx context.Context, address string, config *tls.Config) (*tls.ConnectionState, error) {
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
	state := conn.(*tls.Conn).ConnectionState()
	return &state, nil
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

// trust says why a chain is not trusted.
func trust(err error) string {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return fmt.Sprintf("the certificate was issued by %q, which is not the given CA; check --ca-file",
			short(unknown.Cert.Issuer.String()))
	}
	return err.Error()
}

// names are those that a certificate is for.
func names(c *x509.Certificate) string {
	list := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		list = append(list, ip.String())
	}
	if len(list) == 0 {
		return "no name"
	}
	return strings.Join(list, ", ")
}

// plain asks the port in plain http.
func (p *probe) plain(ctx context.Context) {
	u := *p.o.URL
	u.Scheme, u.Host = "http", p.address()
	c := newClient(&u, nil, false)
	r := c.do(ctx, p.discovery())
	if response, err := p.discoveryHook.Decode(r.body); r.ok() && err == nil &&
		response.Common().Status == extension.Success {
		p.add("LIV006", here, "discovery over plain http answers %s", extension.Success)
	}
}
