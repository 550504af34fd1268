package probe

import (
	"bytes"
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
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// client calls a server as Cluster API does (internal/runtime/client, httpCall and
// createHTTPClient): POST without a Content-Type, the timeout as a parameter too, each on a
// connection of its own.
type client struct {
	base *url.URL
	http *http.Client
	// host is what requests name.
	host string
}

// dial returns a client whose requests name the host and the port of the Service. It
// follows redirects only for a Cluster API that does.
func (p *probe) dial(config *tls.Config) *client {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	c := &client{base: p.o.URL, host: p.o.URL.Host, http: &http.Client{
		Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, Protocols: protocols},
	}}
	if p.o.Core >= noRedirects {
		c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	if p.o.ServerName != p.o.URL.Hostname() {
		port := "443" // that of an ExtensionConfig without one
		if r := p.o.Registration; r != nil && len(r.Ports) > 0 {
			port = r.Ports[0]
		}
		c.host = net.JoinHostPort(p.o.ServerName, port)
	}
	return c
}

// noRedirects is the minor version of Cluster API that first follows no redirects.
const noRedirects = 14

// reply is what came of a call.
type reply struct {
	status int
	// form is the media type, without parameters.
	form string
	body []byte
	took time.Duration
	// err is set if there was no complete answer.
	err error
}

func (r *reply) ok() bool { return r.err == nil && r.status == http.StatusOK }

// String says what came, for people.
func (r *reply) String() string {
	if r.err != nil {
		return explain(r.err)
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
	return fmt.Sprintf(" with %q", phrase.Cut(text, longest))
}

var (
	errTimeout  = errors.New("no answer in time")
	errTooLarge = fmt.Errorf("the answer is larger than %d MiB", extension.MaxBody>>20)
)

// do makes a call to a path below the address of the server. It returns when the timeout
// ends, or ctx.
func (c *client) do(ctx context.Context, at string, body []byte, timeout time.Duration) (r reply) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w (%s)", errTimeout, timeout))
	defer cancel()
	start := time.Now()
	defer func() {
		r.took = time.Since(start)
		if r.err != nil && ctx.Err() != nil {
			r.err = context.Cause(ctx)
		}
	}()
	u := *c.base
	u.Path = path.Join(u.Path, at)
	u.RawQuery = url.Values{"timeout": {timeout.String()}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	request.Host = c.host
	answer, err := c.http.Do(request)
	if err != nil {
		return reply{err: err}
	}
	defer answer.Body.Close()
	var data []byte
	if answer.ContentLength <= extension.MaxBody {
		data, err = io.ReadAll(io.LimitReader(answer.Body, extension.MaxBody+1))
	}
	if max(answer.ContentLength, int64(len(data))) > extension.MaxBody {
		data, err = nil, errTooLarge
	}
	form, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	return reply{status: answer.StatusCode, form: strings.ToLower(strings.TrimSpace(form)), body: data, err: err}
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
