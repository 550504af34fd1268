package serve

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// Fake is what the fake services share: faults in front of them, addresses, a storage
// that is another host, and one lock. It is an http.Handler for all its hosts.
type Fake struct {
	// Faults breaks requests and has the log of all of them.
	Faults *fault.Injector
	// Mu guards the state of the service. A call holds it, but while it waits for bytes.
	Mu     sync.Mutex
	Bucket *Bucket

	hosts   int
	tls     bool
	handler http.Handler
	sites   atomic.Pointer[[]*Site] // requests may come by a proxy before there are any
	ca      *Authority
	lastID  int64
}

// Init makes a fake that does not listen: with so many hosts, of which the last is the
// storage, and with wrap, if it is not nil, between the faults and the service.
func (f *Fake) Init(
	hosts int, tls bool, wrap func(http.Handler) http.Handler, service http.HandlerFunc, step func(*http.Request) string,
) {
	f.Faults, f.Bucket, f.hosts, f.tls, f.lastID = fault.New(), &Bucket{[]byte(rand.Text())}, hosts, tls, 1000
	inner := http.Handler(service)
	if wrap != nil {
		inner = wrap(inner)
	}
	f.handler = f.Faults.Wrap(inner, step)
}

// Listen gives the hosts addresses on 127.0.0.1 until the test ends. The storage is
// called localhost, so that it is another host.
func (f *Fake) Listen(tb testing.TB) {
	tb.Helper()
	tb.Cleanup(f.Close)
	if f.tls {
		f.ca = given.Value(NewAuthority())(tb)
	}
	var sites []*Site
	for range f.hosts {
		sites = append(sites, given.Value(listen(f, f.ca))(tb))
	}
	f.sites.Store(&sites)
	for _, site := range sites {
		site.run()
	}
}

// Close ends the listeners and all stalled requests.
func (f *Fake) Close() {
	f.Faults.Close()
	for _, site := range f.listening() {
		_ = site.Close()
	}
}

func (f *Fake) listening() []*Site {
	if sites := f.sites.Load(); sites != nil {
		return *sites
	}
	return nil
}

// Address is the root of a host, without a slash at the end.
func (f *Fake) Address(host int) string { return f.listening()[host].URL("127.0.0.1") }

// StorageURL is where downloads are redirected to.
func (f *Fake) StorageURL() string { return f.listening()[f.hosts-1].URL("localhost") }

// At returns the host that a request is for, -1 if it names none that listens, and the
// beginning of its address.
func (f *Fake) At(r *http.Request) (host int, scheme string) {
	scheme = "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return slices.IndexFunc(f.listening(), func(s *Site) bool { return strings.HasSuffix(r.Host, ":"+s.Port) }), scheme
}

// CAPool returns the certificate of the server's authority for a Go client, or nil without TLS.
func (f *Fake) CAPool() *x509.CertPool {
	if f.ca == nil {
		return nil
	}
	return f.ca.Pool()
}

// Leaks returns the requests that brought credentials to the storage, which a
// careful client never does.
func (f *Fake) Leaks() (out []fault.Entry) {
	for _, e := range f.Faults.Log() {
		if e.Step == StorageStep && len(e.Credentials) > 0 {
			out = append(out, e)
		}
	}
	return out
}

// ServeHTTP answers requests to all hosts.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.handler.ServeHTTP(w, r) }

// NextID returns a number for something new. It needs the lock.
func (f *Fake) NextID() int64 {
	f.lastID++
	return f.lastID
}

// refusal is what Refuse panics with.
type refusal struct{ Reply }

// Refuse ends the call with an answer, from any depth of the handler.
func Refuse(answer Reply) { panic(refusal{answer}) }

// Call answers a request while no other is. The body of a request in JSON is there
// before that.
func (f *Fake) Call(r *http.Request, streams bool, do func() Reply) Reply {
	body := r.Body
	if !streams && r.ContentLength != 0 {
		raw, _ := io.ReadAll(io.LimitReader(body, 1<<20)) // what is cut off is no JSON
		r.Body = io.NopCloser(bytes.NewReader(raw))
	}
	answer := func() (answer Reply) {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		defer func() {
			switch r := recover().(type) {
			case nil:
			case refusal:
				answer = r.Reply
			default:
				panic(r)
			}
		}()
		return do()
	}()
	if answer.Status >= 400 && r.ContentLength != 0 {
		// A client that is still sending may miss an early answer.
		_, _ = io.Copy(io.Discard, body)
	}
	return answer
}

// Unlocked lets others work while a call waits for bytes.
func (f *Fake) Unlocked(do func()) {
	f.Mu.Unlock()
	defer f.Mu.Lock()
	do()
}

// Bytes returns what is stored; find has the lock.
func (f *Fake) Bytes(find func() *Blob) ([]byte, error) {
	f.Mu.Lock()
	b := find()
	f.Mu.Unlock()
	if b == nil {
		return nil, errors.New("nothing is stored there")
	}
	return bytes.Clone(b.data), nil
}

// Object is the storage.
func (f *Fake) Object(w http.ResponseWriter, r *http.Request, find func(id int64) *Blob) Reply {
	f.Unlocked(func() {
		f.Bucket.serve(w, r, func(id int64) *Blob {
			f.Mu.Lock()
			defer f.Mu.Unlock()
			return find(id)
		})
	})
	return Reply{Done: true}
}

// Reply is what a request is answered.
type Reply struct {
	Status int
	// Body is sent as JSON; nil means none.
	Body           any
	Location, Link string
	Header         map[string]string
	// Done says that the operation has answered by itself.
	Done bool
}

// OK is the answer to what succeeded.
func OK(body any) Reply { return Reply{Status: http.StatusOK, Body: body} }

// Write sends a reply.
func (a Reply) Write(w http.ResponseWriter, r *http.Request, kind string) {
	if a.Done {
		return
	}
	h := w.Header()
	for k, v := range a.Header {
		h.Set(k, v)
	}
	if a.Location != "" {
		h.Set("Location", a.Location)
	}
	if a.Link != "" {
		h.Set("Link", a.Link)
	}
	if a.Body == nil {
		w.WriteHeader(a.Status)
		return
	}
	raw, err := json.Marshal(a.Body)
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(a.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(raw)
	}
}

// Operation is something that clients of a host can do, and what they need for it.
type Operation[N, C any] struct {
	Step            string
	Host            int
	Method, Pattern string
	Need            N
	Do              func(C) Reply
}

// Row makes an operation, for tables of them.
func Row[N, C any](step string, host int, method, pattern string, need N, do func(C) Reply) Operation[N, C] {
	return Operation[N, C]{step, host, method, pattern, need, do}
}

// Find returns the first operation that a request asks for, with the values in its
// path, or nil.
func Find[N, C any](all []Operation[N, C], host int, method, path string) (*Operation[N, C], map[string]string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := range all {
		if o := &all[i]; o.Host == host && o.Method == method {
			if values, ok := match(o.Pattern, path); ok {
				return o, values
			}
		}
	}
	return nil, nil
}

// Steps returns the names of operations, each once.
func Steps[N, C any](all []Operation[N, C]) (out []string) {
	for _, o := range all {
		if !slices.Contains(out, o.Step) {
			out = append(out, o.Step)
		}
	}
	return out
}

// match compares an escaped path with a pattern such as "/repos/{owner}/{repo}",
// segment by segment. A last segment like {ref...} takes all that is left. The
// values are unescaped, so they may contain slashes.
func match(pattern, path string) (values map[string]string, ok bool) {
	values = map[string]string{}
	wanted := strings.Split(strings.Trim(pattern, "/"), "/")
	got := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for n, w := range wanted {
		if n >= len(got) {
			return nil, false
		}
		name, variable := strings.CutPrefix(w, "{")
		if !variable {
			if got[n] != w {
				return nil, false
			}
			continue
		}
		name = strings.TrimSuffix(name, "}")
		value := got[n]
		if rest, all := strings.CutSuffix(name, "..."); all {
			name, value = rest, strings.Join(got[n:], "/")
			got = got[:n+1]
		}
		value, err := url.PathUnescape(value)
		if err != nil || value == "" {
			return nil, false
		}
		values[name] = value
	}
	return values, len(wanted) == len(got)
}

// First returns the first element that is what is looked for, and whether there is one.
func First[T any](all []T, is func(T) bool) (found T, ok bool) {
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return found, false
	}
	return all[i], true
}

// Stamp is a time in an answer, null if it is zero.
func Stamp(t time.Time, layout string) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(layout)
}

// Part returns the elements of a page of a list, which the query names, with its
// number, its size and the number of the last one.
func Part[T any](q url.Values, all []T, size int) (some []T, page, per, last int) {
	number := func(name string, otherwise int) int {
		n, err := strconv.Atoi(q.Get(name))
		if err != nil || n < 1 {
			return otherwise
		}
		return min(n, 1<<20)
	}
	per, page = min(number("per_page", size), 100), number("page", 1)
	from := min((page-1)*per, len(all))
	return all[from:min(from+per, len(all))], page, per, max(1, (len(all)+per-1)/per)
}
