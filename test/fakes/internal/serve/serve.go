// Package serve starts HTTP servers on the loopback interface, with throw-away
// certificates where TLS is wanted, and holds what the fake services share: the search
// for an operation, bytes, and a storage. It must not know any protocol.
package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"
)

// Site is a server that listens.
type Site struct {
	// Port is the port on 127.0.0.1, in decimal.
	Port   string
	Scheme string
	server *http.Server
	run    func()
}

// Start serves h on a free port. Without an authority it speaks plain HTTP.
func Start(h http.Handler, a *Authority) (*Site, error) {
	s, err := listen(h, a)
	if err == nil {
		s.run()
	}
	return s, err
}

// listen is Start, but nothing is answered before run.
func listen(h http.Handler, a *Authority) (*Site, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, err
	}
	s := &Site{Port: port, Scheme: "http", server: Server(h)}
	if a != nil {
		s.Scheme = "https"
		listener = tls.NewListener(listener, a.Config())
	}
	s.run = func() { go func() { _ = s.server.Serve(listener) }() }
	return s, nil
}

// Server returns a quiet server that does not wait for ever.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
}

// URL returns the address of the site under a name of the loopback interface:
// 127.0.0.1 or localhost. The two are different hosts to a client, which must not
// take its credentials from one to the other.
func (s *Site) URL(host string) string { return s.Scheme + "://" + net.JoinHostPort(host, s.Port) }

// Close ends the server and its connections.
func (s *Site) Close() error { return s.server.Close() }

// Authority issues certificates for every host name it is asked for. Its key
// never leaves the process.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	mu    sync.Mutex
	hosts map[string]*tls.Certificate
}

// NewAuthority makes an authority for this day.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "throw-away test authority"},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{cert: cert, key: key, hosts: map[string]*tls.Certificate{}}, nil
}

// PEM returns the certificate that clients have to trust.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Pool returns the same for a Go client.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// Config returns the settings of a TLS server that has a certificate for every
// name, and speaks HTTP/1.1 only, so that connections can be broken one by one.
func (a *Authority) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			name := hello.ServerName
			if name == "" {
				name = "127.0.0.1"
			}
			return a.certificate(name)
		},
	}
}

func (a *Authority) certificate(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.hosts[host]; c != nil {
		return c, nil
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: host},
		NotBefore:    a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.key}
	a.hosts[host] = c
	return c, nil
}
