package gitlab

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/blob"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/bucket"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/route"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
)

// Options are what differs between servers. The zero value is a GitLab that
// serves files itself.
type Options struct {
	// Dir keeps the files on disk instead of in memory.
	Dir string
	// TLS lets Start serve HTTPS.
	TLS bool
	// Wrap puts something between the faults and the server, for example a
	// check of requests and answers.
	Wrap func(http.Handler) http.Handler
	// Root is the folder of the whole GitLab, for example /gitlab.
	Root string
	// DirectDownload redirects readers to the storage, without a checksum.
	DirectDownload bool
	// MaxFileSize is 5 GB if 0.
	MaxFileSize int64
	// RaceFirstUploads answers 500 to those who upload the first files of a
	// package at the same time, except to the first to end.
	RaceFirstUploads bool
	// Version is what the server says it is; 17.5.0 if empty.
	Version string
}

// Server is a GitLab. It is an http.Handler for all its hosts; Start gives it
// addresses of its own.
type Server struct {
	// Faults breaks requests and has the log of all of them.
	Faults *fault.Injector

	opts    Options
	blobs   blob.Store
	bucket  *bucket.Bucket
	routes  []operation
	handler http.Handler

	mu       sync.Mutex
	lastID   int64
	tokens   map[string]*Token
	projects []*project
	sites    []*serve.Site
	ca       *serve.Authority
}

// New returns a server that does not listen. It knows no tokens and no projects.
func New(o Options) *Server {
	s := &Server{Faults: fault.New(), opts: o, blobs: blob.Store{Dir: o.Dir}, bucket: bucket.New(), tokens: map[string]*Token{}, lastID: 100}
	s.routes = operations()
	inner := http.Handler(http.HandlerFunc(s.serve))
	if o.Wrap != nil {
		inner = o.Wrap(inner)
	}
	s.handler = s.Faults.Wrap(inner, s.Step)
	return s
}

// Start returns a server that listens until the test ends.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := New(o)
	if err := s.Listen(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Listen gives the server addresses on 127.0.0.1: one for the API and one for the
// storage. The latter is called localhost, so that it is another host.
func (s *Server) Listen() error {
	if s.opts.TLS {
		ca, err := serve.NewAuthority()
		if err != nil {
			return err
		}
		s.ca = ca
	}
	for range 2 {
		site, err := serve.Start(s, s.ca)
		if err != nil {
			s.Close()
			return err
		}
		s.mu.Lock()
		s.sites = append(s.sites, site)
		s.mu.Unlock()
	}
	return nil
}

// Close ends the listeners and all stalled requests.
func (s *Server) Close() {
	s.Faults.Close()
	for _, site := range s.sites {
		_ = site.Close()
	}
}

// URL is the address of the GitLab, without a slash at the end. The API is below
// /api/v4/.
func (s *Server) URL() string { return s.sites[0].URL("127.0.0.1") + s.opts.Root }

// StorageURL is where downloads are redirected to.
func (s *Server) StorageURL() string { return s.sites[1].URL("localhost") }

// CA returns the certificate of the server's authority, or nil without TLS.
func (s *Server) CA() []byte {
	if s.ca == nil {
		return nil
	}
	return s.ca.PEM()
}

// CAPool returns the same for a Go client.
func (s *Server) CAPool() *x509.CertPool {
	if s.ca == nil {
		return nil
	}
	return s.ca.Pool()
}

// Leaks returns the requests that brought credentials to the storage.
func (s *Server) Leaks() []fault.Entry { return bucket.Leaks(s.Faults.Log()) }

// ServeHTTP answers requests to all hosts.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// storageHost is the host of the storage of a GitLab. It is not below that, for
// clients keep their credentials there.
func storageHost(host string) string { return "objects.usercontent-" + host }

// Hosts returns the names of all hosts of a GitLab at a domain.
func Hosts(domain string) []string { return []string{domain, storageHost(domain)} }

// storage returns the address of the storage for the host of a request, and
// whether the request is for the storage itself.
func (s *Server) storage(r *http.Request) (address string, here bool) {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sites) == 2 {
		for i, site := range s.sites {
			if strings.HasSuffix(r.Host, ":"+site.Port) {
				return s.StorageURL(), i == 1
			}
		}
	}
	return scheme + storageHost(r.Host), strings.HasPrefix(r.Host, "objects.")
}

// operation is something that clients can do.
type operation struct {
	step    string
	method  string
	pattern string
	// tokens are the kinds that count here. Others are as if not sent.
	tokens []Kind
	// basic says that tokens may come with Basic authentication.
	basic bool
	do    func(*call) reply
}

const api = "/api/v4"

// find returns the operation of a request, or nil.
func (s *Server) find(r *http.Request) (*operation, map[string]string) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if _, here := s.storage(r); here {
		if values, ok := route.Match(bucket.Pattern, r.URL.EscapedPath()); ok && method == http.MethodGet {
			return &operation{step: bucket.Step, do: (*call).object}, values
		}
		return nil, nil
	}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), s.opts.Root+api)
	if !ok {
		return nil, nil
	}
	for i := range s.routes {
		if o := &s.routes[i]; o.method == method {
			if values, ok := route.Match(o.pattern, path); ok {
				return o, values
			}
		}
	}
	return nil, nil
}

// Step names the operation of a request, for rules and for the log. See Steps.
func (s *Server) Step(r *http.Request) string {
	if o, _ := s.find(r); o != nil {
		return o.step
	}
	return ""
}

// Steps returns the names of all operations.
func (s *Server) Steps() []string {
	var out []string
	for _, o := range s.routes {
		out = append(out, o.step)
	}
	return append(out, bucket.Step)
}

// call is one request on its way through an operation.
type call struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	vars  map[string]string
	token *Token
	// base is the address of the GitLab as this client knows it.
	base string
}

// reply is what a request is answered. A nil body means none.
type reply struct {
	status int
	body   any
	header map[string]string
	// done says that the operation has answered by itself.
	done bool
}

type object = map[string]any

func failure(status int, format string, args ...any) reply {
	return reply{status: status, body: object{"message": fmt.Sprintf(format, args...)}}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	c := &call{s: s, w: w, r: r, base: scheme + r.Host + s.opts.Root}
	o, vars := s.find(r)
	c.vars = vars
	w.Header().Set("X-Request-Id", requestID())
	switch {
	case o == nil:
		c.write(reply{status: http.StatusNotFound, body: object{"error": "404 Not Found"}})
	case o.step == bucket.Step:
		o.do(c)
	default:
		answer, ok := c.authenticate(o)
		if ok {
			answer = o.do(c)
		}
		if answer.status >= 400 {
			// A client that is still sending may miss an early answer.
			_, _ = io.Copy(io.Discard, r.Body)
		}
		c.write(answer)
	}
}

func requestID() string { return rand.Text() }

func (c *call) write(a reply) {
	if a.done {
		return
	}
	h := c.w.Header()
	for k, v := range a.header {
		h.Set(k, v)
	}
	if a.body == nil {
		c.w.WriteHeader(a.status)
		return
	}
	raw, err := json.Marshal(a.body)
	if err != nil {
		http.Error(c.w, "", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	c.w.WriteHeader(a.status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(raw)
	}
}

// sent is a secret in a request and the kinds of tokens that may come that way.
type sent struct {
	secret string
	kinds  []Kind
	basic  bool
}

func (c *call) sent() (sent, bool) {
	h := c.r.Header
	for _, way := range []struct {
		header string
		kind   Kind
	}{{"Private-Token", Personal}, {"Job-Token", Job}, {"Deploy-Token", Deploy}} {
		if v := h.Get(way.header); v != "" {
			return sent{secret: v, kinds: []Kind{way.kind}}, true
		}
	}
	for _, way := range []struct {
		query string
		kind  Kind
	}{{"private_token", Personal}, {"access_token", Personal}, {"job_token", Job}} {
		if v := c.r.URL.Query().Get(way.query); v != "" {
			return sent{secret: v, kinds: []Kind{way.kind}}, true
		}
	}
	user, secret, ok := fault.Secret(c.r)
	switch {
	case !ok:
		return sent{}, false
	case strings.HasPrefix(strings.ToLower(h.Get("Authorization")), "basic"):
		kinds := []Kind{Personal, Deploy}
		if user == "gitlab-ci-token" {
			kinds = []Kind{Job}
		}
		return sent{secret: secret, kinds: kinds, basic: true}, true
	}
	return sent{secret: secret, kinds: []Kind{Personal}}, true
}

func unauthorized() reply { return failure(http.StatusUnauthorized, "401 Unauthorized") }

// authenticate finds the token of a request. A wrong one is refused, even where
// none is needed; but with Basic authentication it only counts as none.
func (c *call) authenticate(o *operation) (reply, bool) {
	way, ok := c.sent()
	if !ok {
		return reply{}, true
	}
	allowed := func(k Kind) bool { return contains(o.tokens, k) && contains(way.kinds, k) }
	if way.basic && !o.basic || !allowed(Personal) && !allowed(Job) && !allowed(Deploy) {
		return reply{}, true
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	t := c.s.tokens[way.secret]
	if t != nil && fault.Has(c.r.Context(), fault.ExpireToken) {
		t.Expired = true
	}
	switch {
	case t != nil && !t.Expired && allowed(t.Kind):
		known := *t
		c.token = &known
		return reply{}, true
	case way.basic:
		return reply{}, true
	case t != nil && t.Expired:
		return reply{status: http.StatusUnauthorized, body: object{"error": "invalid_token",
			"error_description": "Token is expired. You can either do re-authorization or token refresh."}}, false
	}
	return unauthorized(), false
}

func contains(kinds []Kind, k Kind) bool {
	for _, x := range kinds {
		if x == k {
			return true
		}
	}
	return false
}

// role returns what the client is in a project.
func (c *call) role(p *project) Role {
	switch {
	case c.token == nil:
		return NoMember
	case c.token.Kind == Deploy && strings.EqualFold(c.token.Project, p.Path):
		return Developer
	case c.token.Kind == Deploy:
		return NoMember
	}
	return p.Members[c.token.User]
}

// scope reports whether the token is for that.
func (c *call) scope(write bool) (reply, bool) {
	if c.token == nil || len(c.token.Scopes) == 0 || c.token.Kind == Job {
		return reply{}, true
	}
	wanted := []string{"api", "read_api"}
	if write {
		wanted = wanted[:1]
	}
	if c.token.Kind == Deploy {
		// Writing implies reading.
		wanted = []string{"write_package_registry", "read_package_registry"}
		if write {
			wanted = wanted[:1]
		}
	}
	for _, w := range wanted {
		for _, s := range c.token.Scopes {
			if s == w {
				return reply{}, true
			}
		}
	}
	if c.token.Kind == Deploy {
		return failure(http.StatusForbidden, "403 Forbidden"), false
	}
	return reply{status: http.StatusForbidden, body: object{"error": "insufficient_scope",
		"error_description": "The request requires higher privileges than provided by the access token.", "scope": strings.Join(wanted, " ")}}, false
}
