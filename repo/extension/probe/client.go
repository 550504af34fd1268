package probe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
)

// client calls a server as Cluster API does (internal/runtime/client, httpCall and
// createHTTPClient): POST without a Content-Type, the timeout as a parameter too,
// no redirects.
type client struct {
	base *url.URL
	http *http.Client
	// keeps tells whether connections are kept, so that a call may meet one that was just closed.
	keeps bool
	// host is what requests name, if it is not the host of the address.
	host string
}

// newClient returns a client that speaks HTTP/1.1, and HTTP/2 if the server offers
// it and newer is set. If it is not, each call has a connection of its own, and a call
// that fails is not made again.
func newClient(base *url.URL, config *tls.Config, newer bool) *client {
	p := &http.Protocols{}
	p.SetHTTP1(true)
	p.SetHTTP2(newer)
	// The transport adds the protocols to the configuration.
	t := &http.Transport{TLSClientConfig: config.Clone(), MaxIdleConnsPerHost: parallelCalls, DisableKeepAlives: !newer, Protocols: p}
	last := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{base: base, keeps: newer, http: &http.Client{Transport: t, CheckRedirect: last}}
}

// dial returns a client whose requests name the host and the port of the Service.
func (p *probe) dial(config *tls.Config, newer bool) *client {
	c := newClient(p.o.URL, config, newer)
	if p.o.ServerName != p.o.URL.Hostname() {
		port := "443" // that of an ExtensionConfig without one
		if r := p.o.Registration; r != nil && len(r.Ports) > 0 {
			port = r.Ports[0]
		}
		c.host = net.JoinHostPort(p.o.ServerName, port)
	}
	return c
}

func (c *client) close() { c.http.CloseIdleConnections() }

// call is one request.
type call struct {
	method      string
	path        string // below the address of the server
	body        []byte
	timeout     time.Duration
	contentType string
	// noParameter leaves the parameter timeout out.
	noParameter bool
}

// reply is what came of a call.
type reply struct {
	status int
	body   []byte
	took   time.Duration
	// err is set if there was no complete answer; tooLarge if it was cut off.
	err      error
	tooLarge bool
}

func (r *reply) ok() bool         { return r.err == nil && r.status == http.StatusOK && !r.tooLarge }
func (r *reply) redirected() bool { return r.err == nil && r.status >= 300 && r.status < 400 }

// broken reports whether the server did not survive the call, or nearly so.
func (r *reply) broken() bool { return r.err != nil || r.status >= 500 }

// String says what came, for people.
func (r *reply) String() string {
	switch {
	case r.err != nil:
		return explain(r.err)
	case r.tooLarge:
		return fmt.Sprintf("the answer is larger than %d MiB", extension.MaxBody>>20)
	}
	return fmt.Sprintf("it answers %d%s", r.status, excerpt(r.body))
}

// excerpt is the beginning of a body on one line.
func excerpt(body []byte) string {
	const longest = 120
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), 4*longest)]), "?")), " ")
	if text == "" {
		return " with nothing"
	}
	return fmt.Sprintf(" with %q", cut(text, longest))
}

var errTimeout = errors.New("no answer in time")

// address is where a call goes.
func (c *client) address(in call) *url.URL {
	u := *c.base
	u.Path = path.Join(u.Path, in.path)
	if !in.noParameter {
		u.RawQuery = url.Values{"timeout": {in.timeout.String()}}.Encode()
	}
	return &u
}

// do makes a call. It returns when the timeout of the call ends, or ctx.
func (c *client) do(ctx context.Context, in call) reply {
	limit, cancel := context.WithTimeoutCause(ctx, in.timeout, errTimeout)
	defer cancel()
	u := c.address(in)
	var body io.Reader
	if in.method == "" {
		in.method = http.MethodPost
	}
	if in.method == http.MethodPost {
		body = bytes.NewReader(in.body)
	}
	start := time.Now()
	out := func(r reply) reply {
		r.took = time.Since(start)
		if r.err != nil && limit.Err() != nil {
			r.err = fmt.Errorf("%w: %w", context.Cause(limit), limit.Err())
			if ctx.Err() == nil {
				r.err = fmt.Errorf("%w (%s)", errTimeout, in.timeout)
			}
		}
		return r
	}
	req, err := http.NewRequestWithContext(limit, in.method, u.String(), body)
	if err != nil {
		return out(reply{err: err})
	}
	req.Host = cmp.Or(c.host, u.Host)
	// A connection that is closed between two calls is no fault. The header is not sent, but lets the transport try again.
	req.Header["Idempotency-Key"] = []string{}
	if in.contentType != "" {
		req.Header.Set("Content-Type", in.contentType)
	}
	resp, err := c.http.Do(req)
	// Closed while the request was written.
	if c.keeps && (errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)) && req.GetBody != nil && limit.Err() == nil {
		c.close() // others that are kept may be closed too
		req.Body, _ = req.GetBody()
		resp, err = c.http.Do(req)
	}
	if err != nil {
		return out(reply{err: err})
	}
	defer resp.Body.Close()
	limited := io.LimitReader(resp.Body, extension.MaxBody+1)
	data, err := io.ReadAll(limited)
	if err != nil {
		return out(reply{status: resp.StatusCode, err: err})
	}
	if len(data) > extension.MaxBody {
		return out(reply{status: resp.StatusCode, tooLarge: true})
	}
	return out(reply{status: resp.StatusCode, body: data})
}

// wantsCertificate reports whether the server answered with the alert
// bad_certificate or certificate_required (RFC 8446, section 6). Outside of QUIC
// package tls does not export the type of alerts, only that it is a number.
func wantsCertificate(err error) bool {
	var op *net.OpError
	if !errors.As(err, &op) {
		return false
	}
	alert := reflect.ValueOf(op.Err)
	return op.Op == "remote error" && alert.CanUint() && (alert.Uint() == 42 || alert.Uint() == 116)
}

// explain says what a failed call is to a person, without the address, which the
// finding has.
func explain(err error) string {
	var record tls.RecordHeaderError
	var dns *net.DNSError
	switch {
	case errors.Is(err, errTimeout):
		return err.Error()
	case errors.As(err, &record) && string(record.RecordHeader[:4]) == "HTTP":
		return "the server speaks http, not https"
	case errors.As(err, &record):
		return "the server does not speak TLS; is it plain http?"
	case errors.As(err, &dns):
		return "host not found: " + dns.Name
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closes the connection"
	}
	for {
		var u *url.Error
		if !errors.As(err, &u) {
			break
		}
		err = u.Err
	}
	text := err.Error()
	if _, what, ok := strings.Cut(text, "transport connection broken: "); ok {
		return "the answer is not HTTP: " + strings.TrimPrefix(what, "net/http: ")
	}
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the server speaks http, not https"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: no server listens at this address"
	case strings.Contains(text, "INTERNAL_ERROR"):
		return "the server aborts its answer, as after a panic"
	case errors.Is(err, syscall.ECONNRESET):
		return "the server resets the connection"
	case wantsCertificate(err):
		return "the server requires another client certificate: give it with --client-cert and --client-key"
	}
	return text
}
