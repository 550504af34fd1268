package fault

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// Injector applies rules to the requests of the handlers that it wraps and logs
// the requests. It is safe for concurrent use. The zero value is not ready; use
// [New].
type Injector struct {
	mu         sync.Mutex
	rules      []*counted
	log        []*Entry
	busy, peak int

	closed chan struct{}
	close  sync.Once
}

type counted struct {
	Rule
	seen int
}

// New returns an injector with these rules.
func New(rules ...Rule) *Injector {
	i := &Injector{closed: make(chan struct{})}
	i.Add(rules...)
	return i
}

// Add adds rules; their counts begin now.
func (i *Injector) Add(rules ...Rule) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, r := range rules {
		i.rules = append(i.rules, &counted{Rule: r})
	}
}

// Reset removes all rules.
func (i *Injector) Reset() { i.update(func() { i.rules = nil }) }

// Close ends all stalls, now and in future.
func (i *Injector) Close() { i.close.Do(func() { close(i.closed) }) }

// begin logs a request and returns the fault that it suffers. Of the rules that
// strike, the skews add up and the first of the others counts.
func (i *Injector) begin(r *http.Request, step string) (*Entry, Fault) {
	e := &Entry{
		Method: r.Method, Host: r.Host, Path: r.URL.EscapedPath(), Query: query(r.URL), Step: step,
		Credentials: Credentials(r), ContentLength: r.ContentLength,
		ContentType: r.Header.Get("Content-Type"), UserAgent: r.UserAgent(),
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	var f Fault
	var skew time.Duration
	chosen := false
	for _, rule := range i.rules {
		if rule.Step != "" && rule.Step != step {
			continue
		}
		rule.seen++
		if !rule.suffers(rule.seen) || chosen && !rule.Fault.onlySkews() {
			continue
		}
		skew += rule.Fault.Skew
		if rule.Fault.onlySkews() {
			if !chosen {
				f.Name = rule.Fault.Name
			}
			continue
		}
		f, chosen = rule.Fault, true
	}
	f.Skew = skew
	e.Fault = f.Name
	i.log = append(i.log, e)
	i.busy++
	i.peak = max(i.peak, i.busy)
	return e, f
}

func (i *Injector) update(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

// Wrap returns a handler that applies the rules before and after h. The function
// step names the operation of a request; it may be nil.
func (i *Injector) Wrap(h http.Handler, step func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := ""
		if step != nil {
			name = step(r)
		}
		e, f := i.begin(r, name)
		defer i.update(func() { i.busy-- })
		a := &answer{ResponseWriter: w, in: i, entry: e, fault: f, ctx: r.Context()}
		r.Body = &body{ReadCloser: r.Body, in: i, entry: e, fault: f, ctx: r.Context()}
		r = r.WithContext(with(r.Context(), f))
		w.Header().Set("Date", Now(r.Context()).UTC().Format(http.TimeFormat))
		if f.Call != nil {
			f.Call()
		}
		i.serve(h, a, r, f)
	})
}

func (i *Injector) serve(h http.Handler, a *answer, r *http.Request, f Fault) {
	if f.Twice {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		h.ServeHTTP(httptest.NewRecorder(), r)
		r.Body = io.NopCloser(bytes.NewReader(raw))
	}
	switch {
	case !f.replaces():
		h.ServeHTTP(a, r)
		return
	case f.Handled && f.Bytes > 0 && (f.Reset || f.Stall):
		// The answer strikes when its bytes are out, or at its end.
		h.ServeHTTP(a, r)
	case f.Handled:
		h.ServeHTTP(httptest.NewRecorder(), r)
	case f.Reset || f.Stall:
		_, _ = io.CopyN(io.Discard, r.Body, f.Bytes)
	default:
		// A client that is still sending may miss an early answer.
		_, _ = io.Copy(io.Discard, r.Body)
	}
	switch {
	case f.Reset || f.Stall:
		a.strike()
	case f.Redirect != "":
		a.Header().Set("Location", f.Redirect+r.URL.RequestURI())
		f.Status = cmp.Or(f.Status, http.StatusTemporaryRedirect)
		fallthrough
	default:
		a.reply(r.Context(), f)
	}
}

func (a *answer) reply(ctx context.Context, f Fault) {
	for name, value := range f.Header {
		a.Header().Set(name, value)
	}
	for name, distance := range f.Epoch {
		a.Header().Set(name, strconv.FormatInt(Now(ctx).Add(distance).Unix(), 10))
	}
	a.Header().Set("Content-Length", strconv.Itoa(len(f.Body)))
	a.WriteHeader(f.Status)
	_, _ = io.WriteString(a, f.Body)
}

// wait sleeps unless the client leaves or the injector closes.
func (i *Injector) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-i.closed:
	}
}

// body counts and slows down what comes in.
type body struct {
	io.ReadCloser
	in    *Injector
	entry *Entry
	fault Fault
	ctx   context.Context
}

func (b *body) Read(p []byte) (int, error) {
	if b.fault.Chunk > 0 {
		b.in.wait(b.ctx, b.fault.Pause)
		p = p[:min(len(p), b.fault.Chunk)]
	}
	n, err := b.ReadCloser.Read(p)
	b.in.update(func() { b.entry.In += int64(n) })
	return n, err
}

// answer counts what goes out and breaks it.
type answer struct {
	http.ResponseWriter
	in    *Injector
	entry *Entry
	fault Fault
	ctx   context.Context

	wrote bool
	sent  int64
	// limit is how many bytes of the body go out, -1 for all.
	limit int64
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	if !a.wrote && status >= 200 {
		a.wrote, a.limit = true, -1
		if (a.fault.Reset || a.fault.Stall) && a.fault.Handled {
			a.limit = a.fault.Bytes
		}
		length, err := strconv.ParseInt(a.Header().Get("Content-Length"), 10, 64)
		if a.fault.Shorten > 0 && err == nil {
			a.limit = max(0, length-a.fault.Shorten)
			a.Header().Set("Content-Length", strconv.FormatInt(a.limit, 10))
		}
		a.in.update(func() { a.entry.Status = status })
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) plain() bool {
	return a.wrote && a.limit < 0 && a.fault.Chunk == 0 && !a.fault.Corrupt
}

func (a *answer) count(n int64) {
	a.sent += n
	a.in.update(func() { a.entry.Out += n })
}

func (a *answer) Write(p []byte) (int, error) {
	if !a.wrote {
		a.WriteHeader(http.StatusOK)
	}
	if a.plain() {
		n, err := a.ResponseWriter.Write(p)
		a.count(int64(n))
		return n, err
	}
	all := len(p)
	if a.fault.Corrupt && a.sent == 0 && len(p) > 0 {
		p = bytes.Clone(p)
		p[0] ^= 1
	}
	cut := false
	if a.limit >= 0 && a.sent+int64(len(p)) > a.limit {
		p, cut = p[:a.limit-a.sent], true
	}
	for len(p) > 0 {
		chunk := p
		if a.fault.Chunk > 0 {
			chunk = p[:min(len(p), a.fault.Chunk)]
		}
		n, err := a.ResponseWriter.Write(chunk)
		a.count(int64(n))
		if err != nil {
			return n, err
		}
		p = p[n:]
		if a.fault.Chunk > 0 {
			_ = http.NewResponseController(a.ResponseWriter).Flush()
			a.in.wait(a.ctx, a.fault.Pause)
		}
	}
	if cut && (a.fault.Reset || a.fault.Stall) {
		_ = http.NewResponseController(a.ResponseWriter).Flush()
		a.strike()
	}
	return all, nil
}

// strike stalls or resets. It does not return.
func (a *answer) strike() {
	if a.fault.Stall {
		select {
		case <-a.ctx.Done():
		case <-a.in.closed:
		}
		panic(http.ErrAbortHandler)
	}
	// What is on its way must arrive before the reset overtakes it.
	if a.wrote {
		panic(http.ErrAbortHandler)
	}
	if conn, _, err := http.NewResponseController(a.ResponseWriter).Hijack(); err == nil {
		abort(conn)
	}
	panic(http.ErrAbortHandler)
}

// abort closes a connection with a TCP reset, whatever it is wrapped in.
func abort(conn net.Conn) {
	inner := conn
	for {
		w, ok := inner.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		inner = w.NetConn()
	}
	if tcp, ok := inner.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	// A TLS connection would say goodbye first.
	_ = inner.Close()
	_ = conn.Close()
}
