package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Policy says how long to wait for what. The zero value of a field means the
// default.
type Policy struct {
	// Attempts is how often a request is made that may be repeated; 5.
	Attempts int
	// Pause is the time before the second attempt; it doubles each time and
	// varies by half; 500 ms.
	Pause time.Duration
	// MaxWait is the longest time that one request waits because a server asks
	// for it, such as until a rate limit is reset; 15 minutes. Beyond it the
	// request fails at once.
	MaxWait time.Duration
	// Timeout is how long a server may neither take nor give a byte, or lag
	// behind MinRate; 1 minute. Time that the source of an upload or the reader
	// of an answer takes does not count.
	Timeout time.Duration
	// Waiting is told before each wait that a server asked for, with the
	// reason; from several goroutines if there are several requests. It may be
	// nil.
	Waiting func(reason string, d time.Duration)
	// Sleep waits, and returns early with the cause when the context is done.
	// Tests replace it.
	Sleep func(ctx context.Context, d time.Duration) error
}

func (p Policy) withDefaults() Policy {
	p.Attempts = cmp.Or(p.Attempts, 5)
	p.Pause = cmp.Or(p.Pause, 500*time.Millisecond)
	p.MaxWait = cmp.Or(p.MaxWait, 15*time.Minute)
	p.Timeout = cmp.Or(p.Timeout, time.Minute)
	if p.Sleep == nil {
		p.Sleep = sleep
	}
	return p
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// backoff is the pause after a number of failed attempts.
func (p Policy) backoff(failed int) time.Duration {
	d := p.Pause << min(failed-1, 6)
	return d/2 + rand.N(d+1)
}

// Retry decides about a job that failed for the failed-th time in a row. It
// returns nil after a pause if another attempt makes sense: err is
// *publish.Temporary and attempts are left. Otherwise it returns err, or the
// cause once the context is done.
func (p Policy) Retry(ctx context.Context, failed int, err error) error {
	p = p.withDefaults()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !IsTemporary(err) || failed >= p.Attempts {
		return err
	}
	return p.Sleep(ctx, p.backoff(failed))
}

// Repeat does something, and does it again while the error is one for which again
// is true, nil standing for all, and Retry lets it. The error is the last one.
func (p Policy) Repeat(ctx context.Context, again func(error) bool, do func() error) error {
	for failed := 1; ; failed++ {
		err := do()
		if err == nil || again != nil && !again(err) {
			return err
		}
		if err = p.Retry(ctx, failed, err); err != nil {
			return err
		}
	}
}

// AtLeast returns the policy with pauses that are at least as long as what pause
// returns.
func (p Policy) AtLeast(pause func() time.Duration) Policy {
	p = p.withDefaults()
	sleep := p.Sleep
	p.Sleep = func(ctx context.Context, d time.Duration) error { return sleep(ctx, max(d, pause())) }
	return p
}

// Yield waits for a random time, which is longer in later rounds, so that one of
// several publishers gets ahead.
func (p Policy) Yield(ctx context.Context, round int) error {
	return p.withDefaults().Sleep(ctx, rand.N(200*time.Millisecond<<min(round, 6)))
}

// Credential is what one server gets to see. It is never sent to another host,
// nor over an unencrypted connection to another machine.
type Credential struct {
	// Hosts are the servers, each with its port if there is one in URLs.
	Hosts []string
	// Header and Value are what is added, such as Authorization.
	Header, Value string
}

// New returns a client over base, which is Usual if nil. The
// methods of the client put the whole URL of a request in front of an error,
// and signed links have their signature there: pass the error through Clean.
//
// The error wraps *publish.Temporary if it is unknown whether the server did its work
// or if the network may recover, and is the cause of the context once that is done.
func New(base http.RoundTripper, policy Policy, credentials ...Credential) *http.Client {
	if base == nil {
		base = Usual()
	}
	t := &tripper{base: base, policy: policy.withDefaults(), credentials: credentials}
	return &http.Client{Transport: t, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		err := checkRedirect(req, via)
		if err == nil && t.echoes(req.URL, via[0]) {
			err = fmt.Errorf("%s redirects to a URL that contains the credential; this redirect is not followed", via[0].URL.Host)
		}
		if err != nil {
			return &redirectError{via[0].URL, err}
		}
		return nil
	}}
}

func policyOf(client *http.Client) Policy {
	if t, ok := client.Transport.(*tripper); ok {
		return t.policy
	}
	return Policy{}.withDefaults()
}

// redirectError is why a redirect is not followed. What was asked for stands in its
// place, because the server chose the URL that it leads to.
type redirectError struct {
	asked *url.URL
	error
}

func (e *redirectError) Unwrap() error { return e.error }

// secretHeaders are those that bring credentials.
var secretHeaders = []string{"Authorization", "Private-Token", "Job-Token", "Deploy-Token", "Cookie"}

// echoes reports whether a URL that a server chose holds a credential in the part
// that is shown.
func (t *tripper) echoes(u *url.URL, first *http.Request) bool {
	values := phrase.List(t.credentials, func(c Credential) string { return c.Value })
	values = append(values, phrase.Flat(secretHeaders, first.Header.Values)...)
	raw := bare(u)
	plain, err := url.QueryUnescape(raw)
	if err != nil {
		plain = raw
	}
	return slices.ContainsFunc(values, func(v string) bool {
		secret := v[strings.LastIndexByte(v, ' ')+1:] // without the scheme, such as Bearer
		return secret != "" && (strings.Contains(raw, secret) || strings.Contains(plain, secret) || strings.Contains(u.Path, secret))
	})
}

const maxRedirects = 10

func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) >= maxRedirects:
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	case first.URL.Scheme == "https" && req.URL.Scheme != "https":
		return fmt.Errorf("%s redirects to %s without encryption; this redirect is not followed", first.URL.Host, req.URL.Host)
	case !safe(first.Method) && req.URL.Host != first.URL.Host:
		return fmt.Errorf("%s redirects a %s to %s; this redirect is not followed", first.URL.Host, first.Method, req.URL.Host)
	case !safe(first.Method) && safe(req.Method):
		// A 301 or 302 turns a POST into a GET, whose success would mean nothing.
		return fmt.Errorf("%s moved to %s; use the new address", first.URL.EscapedPath(), req.URL.EscapedPath())
	}
	req.Header.Del("Referer") // the last URL, with its signature
	// Secrets that somebody else put into headers stay with their host.
	if req.URL.Host != first.URL.Host {
		for _, name := range secretHeaders {
			req.Header.Del(name)
		}
	}
	return nil
}

// safe reports whether a request changes nothing.
func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

type tripper struct {
	base        http.RoundTripper
	policy      Policy
	credentials []Credential
}

// RoundTrip makes the request, several times if need be. What changes something is not
// sent unencrypted to another machine, such as a file to the upload URL of a server: who
// listens could change it, and its checksum with it.
func (t *tripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if !safe(req.Method) && !Protected(req.URL) {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, fmt.Errorf("%s %s would not be encrypted, so it is not sent", req.Method, req.URL.Host)
	}
	ctx := req.Context()
	var waited time.Duration
	for attempt, waits := 1, 0; ; {
		resp, err := t.once(req)
		if ctx.Err() != nil {
			if err == nil {
				resp.Body.Close()
			}
			return nil, context.Cause(ctx)
		}
		var pause time.Duration
		reason := ""
		if err == nil {
			repeatable := req.Body == nil || req.Body == http.NoBody || req.GetBody != nil
			asked, limited := limit(resp)
			switch {
			case limited && waited+asked > t.policy.MaxWait:
				resp.Body.Close()
				return nil, fmt.Errorf("%s accepts no more requests for %s (rate limit); wait that long, or use a token with a higher limit", req.URL.Host, asked.Round(time.Second))
			case limited && waits < t.policy.Attempts && repeatable:
				waits++
				waited += asked
				pause, reason = asked, "the rate limit of "+req.URL.Host
			case Failing(resp.StatusCode) && safe(req.Method) && attempt < t.policy.Attempts:
				pause = max(t.policy.backoff(attempt), min(asked, t.policy.MaxWait))
				attempt++
			case !sound(resp):
				resp.Body.Close()
				return nil, fmt.Errorf("%s redirects to an address that is not a URL, or names a user", req.URL.Host)
			default:
				return resp, nil
			}
			drain(resp.Body)
		} else {
			if !passing(err) {
				return nil, clean(err)
			}
			if !safe(req.Method) || attempt >= t.policy.Attempts {
				return nil, &publish.Temporary{Err: clean(err)}
			}
			pause = t.policy.backoff(attempt)
			attempt++
		}
		if reason != "" && t.policy.Waiting != nil {
			t.policy.Waiting(reason, pause)
		}
		if err := t.policy.Sleep(ctx, pause); err != nil {
			return nil, err
		}
		if req, err = again(req); err != nil {
			return nil, err
		}
	}
}

// sound reports whether a redirect, or the place of an upload, is a URL without a
// user. For anything else the error of the client would show all of it, and a
// password in it would be sent as if it were ours.
func sound(resp *http.Response) bool {
	to, err := resp.Location()
	if err == nil {
		return to.User == nil
	}
	return resp.StatusCode/100 != 3 || errors.Is(err, http.ErrNoLocation)
}

// again returns the request with a fresh body.
func again(req *http.Request) (*http.Request, error) {
	out := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	return out, nil
}

// passing reports whether a network error may be gone on the next attempt. A
// certificate or a name that does not exist stays as it is, and nothing was sent.
func passing(err error) bool {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return !dns.IsNotFound
	}
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	return !certificate && !noTLS && !errors.Is(err, http.ErrSchemeMismatch) &&
		!strings.Contains(err.Error(), "unsupported protocol scheme")
}

// drain lets the connection be used again, unless there is much to read.
func drain(body io.ReadCloser) {
	io.CopyN(io.Discard, body, 64<<10)
	body.Close()
}

// once makes the request one time, under the eyes of a watchdog.
func (t *tripper) once(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stalled := fmt.Errorf("%s was silent or too slow for %s", req.URL.Host, t.policy.Timeout)
	patience := t.policy.Timeout
	dog := &watchdog{patience: patience, left: patience, began: time.Now(), timer: time.AfterFunc(patience, func() { cancel(stalled) })}
	out := req.Clone(ctx)
	for _, c := range t.credentials {
		if c.mayGoTo(req.URL) {
			out.Header.Set(c.Header, c.Value)
		}
	}
	if out.Body != nil && out.Body != http.NoBody {
		out.Body = &sending{ReadCloser: out.Body, dog: dog}
	}
	resp, err := t.base.RoundTrip(out)
	dog.answered()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = &receiving{resp.Body, dog, ctx, cancel}
	return resp, nil
}

// mayGoTo reports whether a server may see the credential.
func (c Credential) mayGoTo(u *url.URL) bool {
	return c.Value != "" && Protected(u) && slices.ContainsFunc(c.Hosts, func(host string) bool { return strings.EqualFold(host, u.Host) })
}

// RateLimit reports whether a response is a refusal because of too many
// requests, and how long the server wants to be left alone. Times are compared
// with the clock of the server.
//
// GitHub answers 403 or 429, with Retry-After, or with x-ratelimit-remaining 0
// and x-ratelimit-reset; without any of them a minute is asked for. GitLab
// answers 429 with Retry-After and RateLimit-Reset.
func RateLimit(resp *http.Response) (wait time.Duration, limited bool) {
	h := resp.Header
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusForbidden {
		wait, _ = retryAfter(h, now) // of a 503
		return wait, false
	}
	if wait, ok := retryAfter(h, now); ok {
		return wait, true
	}
	exhausted := h.Get("X-Ratelimit-Remaining") == "0" || h.Get("Ratelimit-Remaining") == "0"
	if exhausted {
		for _, name := range []string{"X-Ratelimit-Reset", "Ratelimit-Reset"} {
			if at, err := strconv.ParseInt(h.Get(name), 10, 64); err == nil {
				// A reset in the past is a matter of rounding, one far ahead
				// must not overflow.
				left := min(max(at-now.Unix(), 0), math.MaxInt32)
				return time.Duration(left+1) * time.Second, true
			}
		}
	}
	if exhausted || resp.StatusCode == http.StatusTooManyRequests {
		return unsaid, true
	}
	return 0, false
}

// unsaid is how long to wait if the server does not say it (GitHub: at least
// one minute).
const unsaid = time.Minute

// limit is RateLimit, and knows GitHub's refusals without any header.
func limit(resp *http.Response) (wait time.Duration, limited bool) {
	wait, limited = RateLimit(resp)
	if !limited && resp.StatusCode == http.StatusForbidden && saysRateLimit(resp) {
		return unsaid, true
	}
	return wait, limited
}

// saysRateLimit looks into the text of a refusal for GitHub's secondary limits,
// which may come without any header. The body can be read again.
func saysRateLimit(resp *http.Response) bool {
	const enough = 8 << 10
	start, _ := io.ReadAll(io.LimitReader(resp.Body, enough))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
	return bytes.Contains(bytes.ToLower(start), []byte("rate limit"))
}

func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// clean removes what is secret from the URL in an error.
func clean(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Clean makes the error of a client that New made fit to be shown: without the
// query of the URL, which has the signature of signed links.
func Clean(err error) error {
	e, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	at, _, _ := strings.Cut(e.URL, "?")
	if refused, ok := errors.AsType[*redirectError](err); ok {
		at = bare(refused.asked)
	} else if u, parseErr := url.Parse(e.URL); parseErr == nil {
		at = bare(u)
	}
	return fmt.Errorf("%s %s: %w", strings.ToUpper(e.Op), at, e.Err)
}

// Advice is what to do about an error of the network, as the end of a message; "" for
// others.
func Advice(err error) string {
	_, dns := errors.AsType[*net.DNSError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, op := errors.AsType[*net.OpError](err)
	switch {
	case authority:
		return "; to trust another CA, name its PEM file in SSL_CERT_FILE"
	case dns:
		return "; check the name of the host, and HTTPS_PROXY if a proxy is needed"
	case op:
		return "; check that the server runs at this address, and HTTPS_PROXY if a proxy is needed"
	}
	return ""
}

// bare is a URL without what may be secret in it.
func bare(u *url.URL) string {
	out := *u
	out.RawQuery, out.ForceQuery, out.Fragment, out.User = "", false, "", nil
	return out.String()
}
