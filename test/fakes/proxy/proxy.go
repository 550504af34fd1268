// Package proxy is an HTTP proxy that connects programs to fake servers under the real
// names of their hosts. It ends their TLS connections with certificates of a throw-away
// authority. A program finds it through HTTPS_PROXY, http_proxy and SSL_CERT_FILE.
//
// It must not know what the servers behind it speak, and it never opens a
// connection to anywhere.
package proxy

import (
	"bufio"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// Hosts says which server answers for which host. A key is a name, a domain with
// a dot in front for all names below it, or "*" for all others. Hosts that have no
// server are answered 502.
type Hosts map[string]http.Handler

// Add lets a server answer for more hosts and returns h.
func (h Hosts) Add(s http.Handler, names ...string) Hosts {
	for _, n := range names {
		h[n] = s
	}
	return h
}

func (h Hosts) find(host string) http.Handler {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if s := h[host]; s != nil {
		return s
	}
	for rest := host; ; {
		_, after, more := strings.Cut(rest, ".")
		if !more {
			return h["*"]
		}
		if s := h["."+after]; s != nil {
			return s
		}
		rest = after
	}
}

// Proxy is a proxy that listens on the loopback interface.
type Proxy struct {
	// CAFile is the certificate of the authority, for SSL_CERT_FILE.
	CAFile string

	hosts Hosts
	ca    *serve.Authority
	site  *serve.Site
	inner *http.Server
	conns *queue

	mu   sync.Mutex
	seen map[string]int
}

// Start returns a proxy that listens until the test ends. It keeps its
// certificate in a folder of the test.
func Start(tb testing.TB, hosts Hosts) *Proxy {
	tb.Helper()
	p, err := New(tb.TempDir(), hosts)
	given.NoError(tb, err)
	tb.Cleanup(p.Close)
	return p
}

// New returns a proxy that listens until it is closed. It writes its certificate
// into the folder.
func New(dir string, hosts Hosts) (*Proxy, error) {
	ca, err := serve.NewAuthority()
	if err != nil {
		return nil, err
	}
	p := &Proxy{CAFile: filepath.Join(dir, "ca.pem"), hosts: hosts, ca: ca, seen: map[string]int{}, conns: newQueue()}
	if err := os.WriteFile(p.CAFile, ca.PEM(), 0o600); err != nil {
		return nil, err
	}
	p.inner = serve.Server(http.HandlerFunc(p.forward))
	go func() { _ = p.inner.Serve(p.conns) }()
	if p.site, err = serve.Start(http.HandlerFunc(p.accept), nil); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// URL is the address of the proxy, for HTTPS_PROXY and http_proxy.
func (p *Proxy) URL() string { return p.site.URL("127.0.0.1") }

// Env returns the environment of a program that is to use the proxy for all
// hosts, and its certificate only.
func (p *Proxy) Env() []string {
	env := []string{"SSL_CERT_FILE=" + p.CAFile, "SSL_CERT_DIR=" + filepath.Dir(p.CAFile), "REQUESTS_CA_BUNDLE=" + p.CAFile, "NO_PROXY=", "no_proxy="}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		env = append(env, name+"="+p.URL())
	}
	return env
}

// Seen returns the hosts that were asked for, sorted, also those that have no
// server.
func (p *Proxy) Seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.seen))
}

// Close ends the proxy and all connections through it.
func (p *Proxy) Close() {
	if p.site != nil {
		_ = p.site.Close()
	}
	_ = p.inner.Close()
	_ = p.conns.Close()
}

// accept takes a request to the proxy itself.
func (p *Proxy) accept(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen[r.Host]++
	p.mu.Unlock()
	switch {
	case r.Method != http.MethodConnect && r.URL.IsAbs():
		p.forward(w, r)
		return
	case r.Method != http.MethodConnect:
		http.Error(w, "this is a proxy", http.StatusBadRequest)
		return
	case p.hosts.find(r.Host) == nil:
		http.Error(w, "no server for "+r.Host, http.StatusBadGateway)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	p.conns.push(tls.Server(&peeked{Conn: conn, r: buffered.Reader}, p.ca.Config()))
}

// forward gives a request to the server of its host.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	h := p.hosts.find(r.Host)
	if h == nil {
		http.Error(w, "no server for "+r.Host, http.StatusBadGateway)
		return
	}
	// Servers see a path, not the address that a proxy is asked for.
	r.URL.Scheme, r.URL.Host, r.URL.User = "", "", nil
	r.Host = strings.TrimSuffix(strings.TrimSuffix(r.Host, ":443"), ":80")
	r.Header.Del("Proxy-Connection")
	r.Header.Del("Proxy-Authorization")
	h.ServeHTTP(w, r)
}

// peeked is a connection of which some bytes were already read.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (c *peeked) Read(p []byte) (int, error) { return c.r.Read(p) }

// NetConn is for who wants to reset the connection.
func (c *peeked) NetConn() net.Conn { return c.Conn }

// queue is a listener that is given its connections.
type queue struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newQueue() *queue { return &queue{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (q *queue) push(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.closed:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (q *queue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

// Addr implements net.Listener.
func (q *queue) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
