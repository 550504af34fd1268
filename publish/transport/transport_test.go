package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const secret = "glpat-very-secret"

// waits is a policy that never really waits, and remembers.
type waits struct {
	mu   sync.Mutex
	list []time.Duration
	said []string
}

func (w *waits) policy() Policy {
	return Policy{
		Pause: 100 * time.Millisecond,
		Waiting: func(reason string, d time.Duration) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.said = append(w.said, fmt.Sprintf("%s: %s", reason, d))
		},
		Sleep: func(ctx context.Context, d time.Duration) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.list = append(w.list, d)
			return context.Cause(ctx)
		},
	}
}

// serve starts a server on the loopback interface.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// inBubble serves without a network, so that time passes only when both sides wait.
func inBubble(t *testing.T, test func(t *testing.T, base http.RoundTripper), h http.HandlerFunc) {
	synctest.Test(t, func(t *testing.T) {
		base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			l := &oneConn{conn: make(chan net.Conn, 1)}
			l.conn <- there
			s := &http.Server{Handler: h, BaseContext: func(net.Listener) context.Context { return t.Context() }}
			go s.Serve(l)
			t.Cleanup(func() { s.Close(); there.Close() })
			return here, nil
		}}
		t.Cleanup(base.CloseIdleConnections)
		test(t, base)
	})
}

// oneConn is a listener for one connection.
type oneConn struct {
	net.Listener
	conn chan net.Conn
	once sync.Once
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conn; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { l.once.Do(func() { close(l.conn) }); return nil }
func (l *oneConn) Addr() net.Addr { return &net.IPAddr{} }

func request(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	return given.Value(http.NewRequestWithContext(t.Context(), method, url, body))(t)
}

// Lists end: by themselves, or when they have too many pages or entries.
func TestPages(t *testing.T) {
	for _, tt := range []struct{ entries, last, pages int }{{1, 3, 3}, {maxEntries / 2, 9, 3}, {0, 2 * MaxPages, MaxPages}} {
		pages := 0
		err := Pages(t.Context(), Policy{}, "a", func(_ context.Context, n int, add func(int) error) (int, error) {
			if pages++; n == tt.last {
				return n, add(tt.entries)
			}
			return n + 1, add(tt.entries)
		})
		if pages != tt.pages || IsExcess(err) != (tt.pages < tt.last) {
			t.Errorf("%d entries on each of %d pages: %v after %d", tt.entries, tt.last, err, pages)
		}
	}
}

// TestBounded: no answer of an API is read beyond the limits, and of a refusal only the start.
func TestBounded(t *testing.T) {
	for _, tt := range []struct {
		status int
		text   string
		times  int
		read   int64
		want   string
	}{
		{200, "{}", maxObjects, 2 * maxObjects, ""},
		{200, "{}", maxObjects + 1, 0, "an answer with more than 100000 entries"},
		{200, " ", maxAnswer, maxAnswer, ""},
		{200, " ", maxAnswer + 1, 0, "an answer of more than 16 MiB"},
		{400, "m", 2 * maxRefusal, maxRefusal, ""},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			io.WriteString(w, strings.Repeat(tt.text, tt.times))
		})
		resp := given.Value(Bounded(New(nil, Policy{})).Do(request(t, "GET", s.URL, nil)))(t)
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if IsExcess(err) != (tt.want != "") || tt.want == "" && (err != nil || n != tt.read) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%d of %q: %d bytes, %v", tt.times, tt.text, n, err)
		}
	}
}

// Waits are measured with the clock of the server, whatever ours says.
func TestRateLimit(t *testing.T) {
	for _, skew := range []time.Duration{0, time.Hour, -time.Hour, -1000 * time.Hour} {
		clock := time.Now().Add(skew).UTC().Truncate(time.Second)
		for _, tt := range limits(clock) {
			t.Run(skew.String()+" "+tt.name, func(t *testing.T) { limited(t, clock, tt) })
		}
	}
}

// never stands for no wait.
const never = -time.Second

type limitTest struct {
	name   string
	status int
	header map[string]string
	body   string
	want   time.Duration
}

func limits(clock time.Time) []limitTest {
	epoch := func(d time.Duration) string { return strconv.FormatInt(clock.Add(d).Unix(), 10) }
	return []limitTest{
		{"plain 403", 403, nil, "no", never},
		{"403 with other words", 403, nil, `{"message":"403 Forbidden - Package protected."}`, never},
		{"404", 404, map[string]string{"Retry-After": "9"}, "", never},
		{"429 alone", 429, nil, "", time.Minute},
		{"429 with seconds", 429, map[string]string{"Retry-After": "7"}, "", 7 * time.Second},
		{"429 at once", 429, map[string]string{"Retry-After": "0"}, "", 0},
		{"429 with a date", 429, map[string]string{"Retry-After": clock.Add(9 * time.Second).Format(http.TimeFormat)}, "", 9 * time.Second},
		{"429 with a past date", 429, map[string]string{"Retry-After": clock.Add(-time.Hour).Format(http.TimeFormat)}, "", 0},
		{"429 with nonsense", 429, map[string]string{"Retry-After": "soon"}, "", time.Minute},
		{"429 with too large a number", 429, map[string]string{"Retry-After": "99999999999999999999"}, "", time.Minute},
		{"403 with seconds", 403, map[string]string{"Retry-After": "7"}, "", 7 * time.Second},
		{"403 exhausted", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": epoch(30 * time.Second)}, "", 31 * time.Second},
		{"429 exhausted", 429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": epoch(30 * time.Second)}, "", 31 * time.Second},
		{"403 with requests left", 403, map[string]string{"X-RateLimit-Remaining": "12", "X-RateLimit-Reset": epoch(30 * time.Second)}, "", never},
		{"429 of GitLab", 429, map[string]string{"RateLimit-Remaining": "0", "RateLimit-Reset": epoch(5 * time.Second)}, "", 6 * time.Second},
		{"reset in the past", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": epoch(-time.Hour)}, "", time.Second},
		{"reset is nonsense", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "x"}, "", time.Minute},
		{"secondary without headers", 403, nil, `{"message":"You have exceeded a secondary rate limit. Please wait."}`, time.Minute},
	}
}

func limited(t *testing.T, clock time.Time, tt limitTest) {
	var served []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if served = append(served, string(body)); len(served) > 1 {
			io.WriteString(w, "done")
			return
		}
		w.Header().Set("Date", clock.Format(http.TimeFormat))
		for k, v := range tt.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(tt.status)
		io.WriteString(w, tt.body)
	})
	var w waits
	resp := given.Value(New(nil, w.policy()).Do(request(t, "POST", s.URL, strings.NewReader("sent"))))(t)
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if tt.want == never {
		if resp.StatusCode != tt.status || len(served) != 1 || string(body) != tt.body || w.list != nil {
			t.Errorf("%d %q after %q, waited %v", resp.StatusCode, body, served, w.list)
		}
		return
	}
	if string(body) != "done" || !slices.Equal(served, []string{"sent", "sent"}) || !slices.Equal(w.list, []time.Duration{tt.want}) {
		t.Errorf("%d %q after %q, waited %v, want %v", resp.StatusCode, body, served, w.list, tt.want)
	}
	if len(w.said) != 1 || !strings.HasPrefix(w.said[0], "the rate limit of 127.0.0.1") {
		t.Errorf("said %q", w.said)
	}
}

// What is too long to wait for fails at once, or when all waits together are too long. A
// limit that never ends is handed to the caller after some waits; so is the first one if
// the body cannot be sent again.
func TestRateLimitTooLong(t *testing.T) {
	for _, tt := range []struct {
		header map[string]string
		body   io.Reader
		most   time.Duration // of all waits
		served int
		limit  bool
	}{
		{map[string]string{"Retry-After": "901"}, nil, 0, 1, true},
		{map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9223372036854775807"}, nil, 0, 1, true},
		{map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}, nil, 0, 1, true},
		{map[string]string{"Retry-After": "400"}, nil, 800 * time.Second, 3, true},
		{map[string]string{"Retry-After": "1"}, nil, 0, 6, false},
		{map[string]string{"Retry-After": "1"}, strings.NewReader("x"), 0, 6, false},
		{map[string]string{"Retry-After": "1"}, io.MultiReader(strings.NewReader("x")), 0, 1, false},
	} {
		served := 0
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			served++
			for k, v := range tt.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(429)
		})
		var w waits
		p := w.policy()
		p.MaxWait = tt.most
		resp, err := New(nil, p).Do(request(t, "PUT", s.URL+"/?sig="+secret, tt.body))
		if served != tt.served || len(w.list) != tt.served-1 {
			t.Errorf("%v: %d requests, want %d; waited %v", tt.header, served, tt.served, w.list)
		}
		limited := err != nil && strings.Contains(err.Error(), "accepts no more requests for ")
		switch {
		case limited != tt.limit:
			t.Errorf("%v: %v", tt.header, err)
		case limited:
			if err := Clean(err); IsTemporary(err) || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "rate limit") {
				t.Errorf("%v: %v", tt.header, err)
			}
		default:
			given.NoError(t, resp.Body.Close())
			if !IsTemporary(StatusError(resp)) {
				t.Errorf("%v: %v", tt.header, StatusError(resp))
			}
		}
	}
}

// fails is a transport whose first requests fail.
type fails struct {
	times int
	err   error
	seen  int
}

func (f *fails) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
		io.Copy(io.Discard, req.Body)
	}
	if f.seen++; f.seen <= f.times {
		return nil, f.err
	}
	return &http.Response{StatusCode: 200, Body: http.NoBody, Header: http.Header{}, Request: req}, nil
}

func TestRepeats(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
	tests := []struct {
		name, method string
		times        int
		err          error
		seen         int
		ok, passing  bool
	}{
		{"GET", "GET", 4, reset, 5, true, false},
		{"HEAD", "HEAD", 4, reset, 5, true, false},
		{"GET for ever", "GET", 99, reset, 5, false, true},
		{"PUT", "PUT", 1, reset, 1, false, true},
		{"POST", "POST", 1, io.ErrUnexpectedEOF, 1, false, true},
		{"PATCH", "PATCH", 1, io.EOF, 1, false, true},
		{"DELETE", "DELETE", 1, io.EOF, 1, false, true},
		{"certificate", "GET", 99, &tls.CertificateVerificationError{Err: errors.New("x509: unknown authority")}, 1, false, false},
		{"certificate of a PUT", "PUT", 99, &tls.CertificateVerificationError{Err: errors.New("x509: unknown authority")}, 1, false, false},
		{"no TLS", "GET", 99, http.ErrSchemeMismatch, 1, false, false},
		{"unknown host", "GET", 99, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}}, 1, false, false},
		{"name server down", "GET", 1, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: "h", IsTemporary: true}}, 2, true, false},
	}
	for _, tt := range tests {
		f := &fails{times: tt.times, err: tt.err}
		var w waits
		resp, err := New(f, w.policy()).Do(request(t, tt.method, "https://example.com/", nil))
		if (err == nil) != tt.ok || f.seen != tt.seen || IsTemporary(err) != tt.passing || !tt.ok && !errors.Is(err, tt.err) {
			t.Errorf("%s: %v after %d", tt.name, err, f.seen)
		}
		if err == nil {
			resp.Body.Close()
		}
		if len(w.list) != tt.seen-1 {
			t.Errorf("%s: %d pauses", tt.name, len(w.list))
		}
		for i, d := range w.list {
			if base := 100 * time.Millisecond << i; d < base/2 || d > base*3/2+1 {
				t.Errorf("%s: pause %d is %s", tt.name, i, d)
			}
		}
	}
}

func TestRepeatsStatus(t *testing.T) {
	tests := []struct {
		method      string
		status      int
		retryAfter  string
		want        int
		pause       time.Duration // at least
		isTemporary bool
	}{
		{"GET", 500, "", 5, 0, true},
		{"GET", 502, "", 5, 0, true},
		{"GET", 503, "30", 5, 30 * time.Second, true},
		{"GET", 503, "86400", 5, 15 * time.Minute, true},
		{"GET", 501, "", 1, 0, false},
		{"GET", 404, "", 1, 0, false},
		{"GET", 401, "", 1, 0, false},
		{"PUT", 500, "", 1, 0, true},
		{"POST", 502, "", 1, 0, true},
		{"PATCH", 503, "1", 1, 0, true},
		{"DELETE", 503, "", 1, 0, true},
	}
	for _, tt := range tests {
		served := 0
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			served++
			if tt.retryAfter != "" {
				w.Header().Set("Retry-After", tt.retryAfter)
			}
			w.WriteHeader(tt.status)
		})
		var w waits
		resp := given.Value(New(nil, w.policy()).Do(request(t, tt.method, s.URL, nil)))(t)
		resp.Body.Close()
		if resp.StatusCode != tt.status || served != tt.want || IsTemporary(StatusError(resp)) != tt.isTemporary {
			t.Errorf("%s %d: %d after %d requests, want %d", tt.method, tt.status, resp.StatusCode, served, tt.want)
		}
		for _, d := range w.list {
			if d < tt.pause {
				t.Errorf("%s %d: paused %s", tt.method, tt.status, d)
			}
		}
	}
}

// secretsOf returns the headers in which the secret travels.
func secretsOf(r *http.Request) []string {
	var out []string
	for name, values := range r.Header {
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, secret) }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func TestCredentials(t *testing.T) {
	tests := []struct {
		url, host string
		want      bool
	}{
		{"https://gitlab.example.com/x", "gitlab.example.com", true},
		{"https://GitLab.example.com/x", "gitlab.example.com", true},
		{"https://gitlab.example.com:8443/x", "gitlab.example.com:8443", true},
		{"https://gitlab.example.com:8443/x", "gitlab.example.com", false},
		{"https://gitlab.example.com.evil.com/x", "gitlab.example.com", false},
		{"https://evil.com/x", "gitlab.example.com", false},
		{"http://gitlab.example.com/x", "gitlab.example.com", false},
		{"http://127.0.0.1:80/x", "127.0.0.1:80", true},
		{"http://[::1]:80/x", "[::1]:80", true},
		{"http://localhost/x", "localhost", true},
		{"http://127.0.0.1.evil.com/x", "127.0.0.1.evil.com", false},
		{"http://127.evil.com/x", "127.evil.com", false},
		{"http://notlocalhost/x", "notlocalhost", false},
	}
	for _, tt := range tests {
		u := given.Value(url.Parse(tt.url))(t)
		if got := (Credential{Hosts: []string{"other", tt.host}, Header: "A", Value: "v"}).mayGoTo(u); got != tt.want {
			t.Errorf("%s to %s: %v", tt.host, tt.url, got)
		}
		if (Credential{Hosts: []string{tt.host}, Header: "A"}).mayGoTo(u) {
			t.Errorf("%s: no credential was sent", tt.url)
		}
	}
}

func host(s *httptest.Server) string {
	return strings.TrimPrefix(strings.TrimPrefix(s.URL, "https://"), "http://")
}

// Whoever put the secret into the request, another host does not see it, nor
// where the client came from.
func TestRedirectWithTheCredential(t *testing.T) {
	for _, escape := range []func(string) string{url.PathEscape, func(s string) string { return "%" + fmt.Sprintf("%x", s[0]) + s[1:] }, func(s string) string { return "[Bearer+" + s + "]" }} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/"+escape(secret))
			w.WriteHeader(http.StatusFound)
		}))
		client := New(nil, Policy{Attempts: 1}, Credential{Hosts: []string{strings.TrimPrefix(server.URL, "http://")}, Header: "Authorization", Value: "Bearer " + secret})
		_, err := client.Get(server.URL + "/asked")
		server.Close()
		if text := Clean(err).Error(); !strings.Contains(text, "contains the credential") || !strings.Contains(text, "/asked") || strings.Contains(text, secret[1:]) {
			t.Error(text)
		}
	}
}

func TestRedirectToAnotherHost(t *testing.T) {
	var got *http.Request
	var store, home *httptest.Server
	store = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got = r.Clone(r.Context()); r.URL.Path == "/home" {
			http.Redirect(w, r, home.URL+"/end", http.StatusFound)
			return
		}
		io.WriteString(w, "content")
	})
	home = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			got = r.Clone(r.Context())
			return
		}
		http.Redirect(w, r, store.URL+r.URL.Path+"?X-Amz-Signature="+secret, http.StatusFound)
	})
	credential := Credential{Hosts: []string{host(home)}, Header: "Private-Token", Value: secret}
	for _, path := range []string{"/file", "/home"} {
		req := request(t, "GET", home.URL+path+"?private="+secret, nil)
		for _, name := range []string{"Authorization", "Private-Token", "Job-Token", "Deploy-Token", "Cookie"} {
			req.Header.Set(name, "by the caller "+secret)
		}
		req.Header.Set("Range", "bytes=1-")
		resp := given.Value(New(nil, Policy{}, credential).Do(req))(t)
		resp.Body.Close()
		leaked := secretsOf(got)
		if path == "/home" && (got.Header.Get("Private-Token") != secret || slices.Contains(leaked, "Referer")) {
			t.Errorf("back at home: %v", leaked)
		}
		if path == "/file" && leaked != nil {
			t.Errorf("leaked in %v", leaked)
		}
		if got.Header.Get("Range") == "" {
			t.Errorf("%s: the range is lost", path)
		}
	}
}

func TestRefusedRedirects(t *testing.T) {
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("%s arrived", r.Method) })
	tests := []struct {
		name, method string
		status       int
		to           string
		tls          bool
		want         string
	}{
		{"no encryption", "GET", 302, other.URL + "/?sig=" + secret, true, "without encryption"},
		{"PUT to another host", "PUT", 307, other.URL + "/?sig=" + secret, false, "redirects a PUT"},
		{"POST that becomes GET", "POST", 302, "/there?sig=" + secret, false, "use the new address"},
		{"no URL", "GET", 302, "http://h/%zz?sig=" + secret, false, "not a URL"},
		{"circle", "GET", 302, "/?sig=" + secret, false, "stopped after 10 redirects"},
	}
	for _, tt := range tests {
		h := func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				t.Errorf("%s: followed as %s", tt.name, r.Method)
			}
			w.Header().Set("Location", tt.to)
			w.WriteHeader(tt.status)
		}
		var s *httptest.Server
		var base http.RoundTripper
		if tt.tls {
			s = httptest.NewTLSServer(http.HandlerFunc(h))
			t.Cleanup(s.Close)
			base = s.Client().Transport
		} else {
			s = serve(t, h)
		}
		_, err := New(base, Policy{}).Do(request(t, tt.method, s.URL+"/?sig="+secret, strings.NewReader("x")))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if err := Clean(err); strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "?") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A redirect on the same host repeats the body.
func TestRedirectOfAnUpload(t *testing.T) {
	got := ""
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
			return
		}
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + string(body)
	})
	resp := given.Value(New(nil, Policy{}).Do(request(t, "PUT", s.URL+"/old", strings.NewReader("body"))))(t)
	resp.Body.Close()
	if got != "PUT body" {
		t.Errorf("got %q", got)
	}
}

func TestStall(t *testing.T) {
	var seen atomic.Int32
	inBubble(t, func(t *testing.T, base http.RoundTripper) {
		policy := func(w *waits) Policy {
			p := w.policy()
			p.Timeout, p.Attempts = 30*time.Second, 2
			return p
		}
		for _, tt := range []struct {
			name, method, path string
			body               io.Reader
			seen               int32
		}{
			{"no answer", "GET", "/", nil, 2},
			{"no answer to a PUT", "PUT", "/", strings.NewReader("x"), 1},
			{"takes no more", "PUT", "/upload", neverEnding{}, 1},
		} {
			seen.Store(0)
			var w waits
			began := time.Now()
			_, err := New(base, policy(&w)).Do(request(t, tt.method, "http://localhost"+tt.path, tt.body))
			if err == nil || !strings.Contains(err.Error(), "was silent or too slow for 30s") || !IsTemporary(err) || seen.Load() != tt.seen {
				t.Errorf("%s: %v after %d requests", tt.name, err, seen.Load())
			}
			if took := time.Since(began); tt.path == "/" && took != time.Duration(tt.seen)*30*time.Second {
				t.Errorf("%s: it took %s", tt.name, took)
			}
		}
		var w waits
		resp := given.Value(New(base, policy(&w)).Do(request(t, "GET", "http://localhost/body", nil)))(t)
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err == nil || !strings.Contains(err.Error(), "was silent or too slow for 30s") || string(body) != "begin" {
			t.Errorf("%q, %v", body, err)
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		switch r.URL.Path {
		case "/body":
			io.WriteString(w, "begin")
			w.(http.Flusher).Flush()
		case "/upload":
			io.CopyN(io.Discard, r.Body, 1)
		}
		<-r.Context().Done()
	})
}

type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) { return len(p), nil }

// A slow source and a slow reader are no stall of the server.
func TestSlowClientIsNoStall(t *testing.T) {
	const patience, nap = time.Minute, time.Hour
	inBubble(t, func(t *testing.T, base http.RoundTripper) {
		n := 0
		slow := readerFunc(func(p []byte) (int, error) {
			time.Sleep(nap)
			if n++; n > 2 {
				return 0, io.EOF
			}
			return copy(p, "a"), nil
		})
		resp := given.Value(New(base, Policy{Timeout: patience}).Do(request(t, "PUT", "http://localhost", slow)))(t)
		defer resp.Body.Close()
		start := make([]byte, 2)
		if _, err := io.ReadFull(resp.Body, start); err != nil || string(start) != "aa" {
			t.Fatalf("%q, %v", start, err)
		}
		time.Sleep(nap)
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 8<<20 {
			t.Errorf("%d, %v", n, err)
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
		w.(http.Flusher).Flush()
		w.Write(bytes.Repeat([]byte("x"), 8<<20)) // more than the buffers between us hold
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A cancelled context ends everything at once, with its cause.
func TestCancel(t *testing.T) {
	stopped := errors.New("stopped by the user")
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/limited":
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(429)
		case "/broken":
			w.WriteHeader(500)
		case "/body":
			io.WriteString(w, "begin")
			w.(http.Flusher).Flush()
			<-release
		case "/silent":
			<-release
		}
	})
	t.Cleanup(func() { close(release) }) // before the server stops
	for _, path := range []string{"/limited", "/broken", "/body", "/silent"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		time.AfterFunc(20*time.Millisecond, func() { cancel(stopped) })
		req, _ := http.NewRequestWithContext(ctx, "GET", s.URL+path, nil)
		resp, err := New(nil, Policy{Pause: time.Hour}).Do(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if !errors.Is(err, stopped) || time.Since(began) > time.Minute {
			t.Errorf("%s: %v after %s", path, err, time.Since(began))
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if err := (Policy{}).Retry(ctx, 1, &publish.Temporary{Err: io.EOF}); !errors.Is(err, stopped) {
		t.Errorf("retry: %v", err)
	}
}

func TestPolicyRetry(t *testing.T) {
	var w waits
	p := w.policy()
	passing, lasting := &publish.Temporary{Err: io.EOF}, errors.New("no")
	for failed := 1; failed < 5; failed++ {
		if err := p.Retry(t.Context(), failed, fmt.Errorf("wrapped: %w", passing)); err != nil || len(w.list) != failed {
			t.Errorf("after %d: %v, %v", failed, err, w.list)
		}
	}
	if err := p.Retry(t.Context(), 5, passing); err != passing || len(w.list) != 4 {
		t.Errorf("at the end: %v", err)
	}
	if err := p.Retry(t.Context(), 1, lasting); err != lasting {
		t.Errorf("lasting: %v", err)
	}
}

// No error shows a query.
func TestClean(t *testing.T) {
	for _, err := range []error{
		&url.Error{Op: "Get", URL: "https://user:" + secret + "@h/p?sig=" + secret + "#" + secret, Err: io.EOF},
		&url.Error{Op: "parse", URL: "https://h/%zz?sig=" + secret, Err: io.EOF},
		fmt.Errorf("outer: %w", &url.Error{Op: "Put", URL: "https://h/p?sig=" + secret, Err: io.EOF}),
	} {
		if got := Clean(err); strings.Contains(got.Error(), secret) || !errors.Is(got, io.EOF) || !strings.Contains(got.Error(), "https://h/") && !strings.Contains(got.Error(), "/h/") {
			t.Errorf("%v", got)
		}
	}
	if got := Clean(io.EOF); got != io.EOF {
		t.Error(got)
	}
	resp := &http.Response{StatusCode: 404, Body: http.NoBody, Request: &http.Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: "h", Path: "/p", RawQuery: "sig=" + secret, User: url.User(secret)}}}
	if got := StatusError(resp).Error(); got != "GET https://h/p: 404 Not Found" {
		t.Error(got)
	}
}

func TestUsualKeepsConnections(t *testing.T) {
	const atOnce = 8
	var made atomic.Int32
	arrived := make(chan chan struct{}, atOnce)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		leave := make(chan struct{})
		arrived <- leave
		<-leave
		io.WriteString(w, "answer")
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	client := New(nil, Policy{})
	for range 3 {
		var wg sync.WaitGroup
		for range atOnce {
			wg.Go(func() {
				resp, err := client.Do(request(t, http.MethodGet, s.URL, nil))
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if _, err := io.ReadAll(resp.Body); err != nil {
					t.Error(err)
				}
			})
		}
		var waiting []chan struct{}
		for range atOnce {
			waiting = append(waiting, <-arrived)
		}
		for _, leave := range waiting {
			close(leave)
		}
		wg.Wait()
	}
	if n := made.Load(); n != atOnce {
		t.Errorf("%d requests at a time, three times, took %d connections", atOnce, n)
	}
}

func TestAdvice(t *testing.T) {
	wrap := func(err error) error {
		return fmt.Errorf("list: %w", &url.Error{Op: "Get", URL: "https://x", Err: err})
	}
	for want, err := range map[string]error{
		"name of the host": wrap(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "x", IsNotFound: true}}),
		"server runs":      wrap(&net.OpError{Op: "dial", Err: errors.New("refused")}),
		"SSL_CERT_FILE":    wrap(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}),
	} {
		if got := Advice(err); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	if got := Advice(wrap(io.EOF)); got != "" {
		t.Errorf("%q", got)
	}
}

func TestPrintable(t *testing.T) {
	if got := Printable("a\u202eb\x1b\u2028c\n\td\xff"); got != "abc\n\td?" {
		t.Errorf("%q", got)
	}
}
