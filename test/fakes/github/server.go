package github

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/blob"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/bucket"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/route"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
)

// Options are what differs between servers. The zero value is GitHub.
type Options struct {
	// Dir keeps the assets on disk instead of in memory.
	Dir string
	// TLS lets Start serve HTTPS.
	TLS bool
	// Wrap puts something between the faults and the server, for example a
	// check of requests and answers.
	Wrap func(http.Handler) http.Handler
	// Direct answers downloads of the API with the bytes instead of a redirect
	// to the storage.
	Direct bool
	// NoDigests answers null for the digest of uploaded assets.
	NoDigests bool
	// Limit and AnonymousLimit are the requests per hour; 0 means GitHub's 5000
	// and 60.
	Limit, AnonymousLimit int
	// MaxAssets and MaxAssetSize are limits of a release; 0 means GitHub's 1000
	// and 2 GiB.
	MaxAssets    int
	MaxAssetSize int64
}

// Server is a GitHub. It is an http.Handler for all its hosts; Start gives it
// addresses of its own.
type Server struct {
	// Faults breaks requests and has the log of all of them.
	Faults *fault.Injector

	opts    Options
	blobs   blob.Store
	handler http.Handler
	routes  []operation
	bucket  *bucket.Bucket

	mu     sync.Mutex
	lastID int64
	tokens map[string]*Token
	repos  []*repository
	usage  map[string]*usage
	listed map[string]role
	sites  []*serve.Site
	ca     *serve.Authority
}

// usage counts the requests of one user.
type usage struct {
	used  int
	since time.Time
}

// New returns a server that does not listen. It knows no tokens and no
// repositories.
func New(o Options) *Server {
	s := &Server{
		Faults: fault.New(), opts: o, blobs: blob.Store{Dir: o.Dir}, bucket: bucket.New(),
		tokens: map[string]*Token{}, usage: map[string]*usage{}, listed: map[string]role{}, lastID: 1000,
	}
	s.routes = s.operations()
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

// Listen gives the server addresses on 127.0.0.1: one each for the API and the
// pages, for uploads and for the storage. The last one is called localhost, so
// that it is another host.
func (s *Server) Listen() error {
	if s.opts.TLS {
		ca, err := serve.NewAuthority()
		if err != nil {
			return err
		}
		s.ca = ca
	}
	for _, r := range []role{roleAPI, roleUpload, roleStorage} {
		site, err := serve.Start(s, s.ca)
		if err != nil {
			s.Close()
			return err
		}
		s.mu.Lock()
		s.sites = append(s.sites, site)
		for _, name := range []string{"127.0.0.1", "localhost"} {
			s.listed[name+":"+site.Port] = r
		}
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

// APIURL is the root of the API, with a slash at the end.
func (s *Server) APIURL() string { return s.sites[0].URL("127.0.0.1") + "/" }

// UploadURL is the root for uploads, with a slash at the end.
func (s *Server) UploadURL() string { return s.sites[1].URL("127.0.0.1") + "/" }

// EnterpriseURL is the address of the same server as a GitHub Enterprise, without
// a slash at the end. The API is below /api/v3/, uploads are below /api/uploads/.
func (s *Server) EnterpriseURL() string { return s.sites[0].URL("127.0.0.1") }

// WebURL is where the pages and downloads for people are, without a slash at the
// end.
func (s *Server) WebURL() string { return s.sites[0].URL("127.0.0.1") }

// StorageURL is where downloads are redirected to.
func (s *Server) StorageURL() string { return s.sites[2].URL("localhost") }

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

// Leaks returns the requests that brought credentials to the storage, which a
// careful client never does.
func (s *Server) Leaks() []fault.Entry {
	return bucket.Leaks(s.Faults.Log())
}

// ServeHTTP answers requests to all hosts.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// role is what kind of host a request is for.
type role int

const (
	roleAPI role = iota + 1
	roleUpload
	roleWeb
	roleStorage
)

// place is where a request arrived: the kind of host, the path there, and the
// addresses of all hosts as this client knows them.
type place struct {
	role                      role
	path                      string
	api, upload, web, storage string
	enterprise                bool
}

// enterprise are the folders of a GitHub Enterprise.
func enterprise() []struct {
	prefix string
	role   role
} {
	return []struct {
		prefix string
		role   role
	}{{"/api/v3", roleAPI}, {"/api/uploads", roleUpload}, {"/api/graphql", roleAPI}}
}

func (s *Server) locate(r *http.Request) place {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	p := place{path: r.URL.EscapedPath()}
	s.mu.Lock()
	listed := s.listed[r.Host]
	started := len(s.sites) > 2
	s.mu.Unlock()
	host := scheme + r.Host
	p.api, p.upload, p.web, p.storage = host, host, host, host
	if started {
		p.storage = s.StorageURL()
	}
	for _, e := range enterprise() {
		rest, ok := strings.CutPrefix(p.path, e.prefix)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		p.enterprise, p.role = true, e.role
		p.api, p.upload = host+"/api/v3", host+"/api/uploads"
		if p.path = rest; e.prefix == "/api/graphql" {
			p.path = "/graphql"
		}
		if listed == 0 {
			p.storage = scheme + storageHost(r.Host)
		}
		return p
	}
	if listed != 0 {
		p.role = listed
		p.api, p.upload, p.web = s.sites[0].URL("127.0.0.1"), s.sites[1].URL("127.0.0.1"), s.sites[0].URL("127.0.0.1")
		if listed == roleAPI && !isAPI(p.path) {
			p.role = roleWeb
		}
		return p
	}
	first, domain, _ := strings.Cut(r.Host, ".")
	switch first {
	case "api":
		p.role = roleAPI
	case "uploads":
		p.role = roleUpload
	case "objects":
		p.role = roleStorage
	default:
		p.role, domain = roleWeb, r.Host
	}
	p.api, p.upload, p.web, p.storage = scheme+"api."+domain, scheme+"uploads."+domain, scheme+domain, scheme+storageHost(domain)
	return p
}

// storageHost is the host of the storage for a domain. It is not below the
// domain, for clients keep their credentials there.
func storageHost(domain string) string {
	if domain == "github.com" {
		return "objects.githubusercontent.com"
	}
	return "objects.usercontent-" + domain
}

// Hosts returns the names of all hosts of a GitHub, or GitHub Enterprise, at a
// domain.
func Hosts(domain string) []string {
	return []string{domain, "api." + domain, "uploads." + domain, storageHost(domain)}
}

// isAPI tells the API from the pages where both have one address.
func isAPI(path string) bool {
	switch first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); first {
	case "repos", "repositories", "rate_limit", "graphql", "user", "":
		return true
	}
	return false
}

// operation is something that clients can do.
type operation struct {
	step    string
	role    role
	method  string
	pattern string
	// need is the right on the repository of the path.
	need Right
	do   func(*call) reply
}

// find returns the operation of a request, or nil.
func (s *Server) find(p place, method string) (*operation, map[string]string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i := range s.routes {
		o := &s.routes[i]
		if o.role != p.role || o.method != method {
			continue
		}
		if vars, ok := route.Match(o.pattern, p.path); ok {
			return o, vars
		}
	}
	return nil, nil
}

// Step names the operation of a request, for rules and for the log. See Steps.
func (s *Server) Step(r *http.Request) string {
	if o, _ := s.find(s.locate(r), r.Method); o != nil {
		return o.step
	}
	return ""
}

// Steps returns the names of all operations.
func (s *Server) Steps() []string {
	var out []string
	seen := map[string]bool{}
	for _, o := range s.routes {
		if !seen[o.step] {
			seen[o.step] = true
			out = append(out, o.step)
		}
	}
	return out
}

// call is one request on its way through an operation.
type call struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	place place
	vars  map[string]string
	token *Token
	repo  *repository
}

// reply is what a request is answered. A nil body means none.
type reply struct {
	status   int
	body     any
	location string
	link     string
	// done says that the operation has answered by itself.
	done bool
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	c := &call{s: s, w: w, r: r, place: s.locate(r)}
	o, vars := s.find(c.place, r.Method)
	if c.place.role == roleWeb || c.place.role == roleStorage {
		if o == nil {
			http.NotFound(w, r)
			return
		}
		c.vars = vars
		c.write(o.do(c))
		return
	}
	c.vars = vars
	h := w.Header()
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	h.Set("X-GitHub-Request-Id", s.requestID())
	h.Set("X-Content-Type-Options", "nosniff")
	answer, ok := c.authenticate()
	if ok {
		answer, ok = c.limit(o)
	}
	switch {
	case !ok:
	case o == nil:
		answer = notFound()
	default:
		answer = c.run(o)
	}
	if answer.status >= 400 {
		// A client that is still sending may miss an early answer.
		_, _ = io.Copy(io.Discard, r.Body)
	}
	c.write(answer)
}

func (s *Server) requestID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("FAKE:%05X", s.nextID())
}

// authenticate finds the token of a request. A wrong one is refused everywhere,
// even where none is needed.
func (c *call) authenticate() (reply, bool) {
	_, secret, sent := fault.Secret(c.r)
	if !sent {
		return reply{}, true
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	t := c.s.tokens[secret]
	if t != nil && fault.Has(c.r.Context(), fault.ExpireToken) {
		t.Expired = true
	}
	if t == nil || t.Expired {
		return failure(http.StatusUnauthorized, "Bad credentials"), false
	}
	known := *t
	c.token = &known
	return reply{}, true
}

// limit counts a request to the API. Uploads have no limit of this kind and no
// headers that tell of it.
func (c *call) limit(o *operation) (reply, bool) {
	if c.place.role != roleAPI {
		return reply{}, true
	}
	s, key, limit := c.s, "", c.s.opts.AnonymousLimit
	if limit == 0 {
		limit = 60
	}
	if c.token != nil {
		key = c.token.User
		if limit = s.opts.Limit; limit == 0 {
			limit = 5000
		}
	}
	now := fault.Now(c.r.Context())
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.usage[key]
	if u == nil || time.Since(u.since) > time.Hour {
		u = &usage{since: time.Now()}
		s.usage[key] = u
	}
	allowed := true
	if o == nil || o.step != "rate-limit" {
		if allowed = u.used < limit; allowed {
			u.used++
		}
	}
	h := c.w.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Used", strconv.Itoa(u.used))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(limit-u.used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(now.Add(time.Hour-time.Since(u.since)).Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
	if !allowed {
		who := "user " + key
		if key == "" {
			who = "127.0.0.1"
		}
		return failure(http.StatusForbidden, "API rate limit exceeded for "+who+"."), false
	}
	return reply{}, true
}

// right returns what the client may do with a repository.
func (c *call) right(r *repository) Right {
	public := Read
	if r.Private {
		public = None
	}
	if c.token == nil {
		return public
	}
	of := Admin
	if r.Users != nil {
		of = r.Users[c.token.User]
	}
	return max(min(of, c.token.Right), public)
}

// run finds the repository of the path, checks the right and does it.
func (c *call) run(o *operation) reply {
	name := ""
	if id := c.vars["repository"]; id != "" {
		c.s.mu.Lock()
		for _, r := range c.s.repos {
			if strconv.FormatInt(r.id, 10) == id {
				name = r.fullName()
			}
		}
		c.s.mu.Unlock()
		if name == "" {
			return notFound()
		}
	} else if c.vars["repo"] != "" {
		name = c.vars["owner"] + "/" + c.vars["repo"]
	}
	if name != "" {
		c.s.mu.Lock()
		repo, former := c.s.repo(name)
		var have Right
		if repo != nil {
			have = c.right(repo)
		}
		c.s.mu.Unlock()
		if have == None {
			return notFound()
		}
		if former {
			return c.moved(repo, name)
		}
		if answer, ok := c.allow(repo, have, o.need); !ok {
			return answer
		}
		c.repo = repo
	}
	return o.do(c)
}

// moved answers a request to a repository that was renamed.
func (c *call) moved(r *repository, name string) reply {
	base := c.place.api
	if c.place.role == roleUpload {
		base = c.place.upload
	}
	// The path begins with /repos/{owner}/{repo}.
	parts := strings.SplitN(c.place.path, "/", 5)
	rest := ""
	if len(parts) == 5 {
		rest = "/" + parts[4]
	}
	to := base + "/repositories/" + strconv.FormatInt(r.id, 10) + rest
	if q := c.r.URL.RawQuery; q != "" {
		to += "?" + q
	}
	status := http.StatusTemporaryRedirect
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		status = http.StatusMovedPermanently
	}
	return reply{status: status, location: to, body: message{Message: "Moved Permanently", URL: to, Docs: "https://docs.github.com/v3/#http-redirects"}}
}

func (c *call) allow(r *repository, have, need Right) (reply, bool) {
	switch {
	case have < need && c.token == nil:
		return failure(http.StatusUnauthorized, "Requires authentication"), false
	case have < need:
		return c.refuse(), false
	case need >= Write && r.Archived:
		return failure(http.StatusForbidden, "Repository was archived so is read-only."), false
	}
	return reply{}, true
}

// refuse says no in the way that fits the token.
func (c *call) refuse() reply {
	switch c.token.Kind {
	case FineGrained:
		return failure(http.StatusForbidden, "Resource not accessible by personal access token")
	case Actions:
		return failure(http.StatusForbidden, "Resource not accessible by integration")
	}
	return notFound()
}

// message is the body of an error.
type message struct {
	Message   string       `json:"message"`
	RequestID string       `json:"request_id,omitempty"`
	URL       string       `json:"url,omitempty"`
	Docs      string       `json:"documentation_url"`
	Errors    []fieldError `json:"errors,omitempty"`
	Status    string       `json:"status,omitempty"`
}

// fieldError is one reason why a request was not valid.
type fieldError struct {
	Resource string `json:"resource"`
	Code     string `json:"code"`
	Field    string `json:"field,omitempty"`
	Message  string `json:"message,omitempty"`
}

const docs = "https://docs.github.com/rest"

func failure(status int, text string) reply {
	return reply{status: status, body: message{Message: text, Docs: docs, Status: strconv.Itoa(status)}}
}

func notFound() reply { return failure(http.StatusNotFound, "Not Found") }

func invalid(errors ...fieldError) reply {
	return reply{status: http.StatusUnprocessableEntity, body: message{Message: "Validation Failed", Docs: docs, Errors: errors, Status: "422"}}
}

// write sends a reply. The upload host has its own form of errors.
func (c *call) write(a reply) {
	if a.done {
		return
	}
	h := c.w.Header()
	if m, ok := a.body.(message); ok && c.place.role == roleUpload && a.location == "" {
		m.RequestID, m.Status = h.Get("X-GitHub-Request-Id"), ""
		a.body = m
	}
	if a.location != "" {
		h.Set("Location", a.location)
	}
	if a.link != "" {
		h.Set("Link", a.link)
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
	sum := sha256.Sum256(raw)
	etag := `W/"` + hex.EncodeToString(sum[:]) + `"`
	h.Set("Content-Type", "application/json; charset=utf-8")
	if a.status < 300 {
		h.Set("Etag", etag)
	}
	if a.status == http.StatusOK && c.r.Method == http.MethodGet && c.r.Header.Get("If-None-Match") == etag {
		c.refund()
		h.Del("Content-Type")
		c.w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(raw)))
	c.w.WriteHeader(a.status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(raw)
	}
}

// refund gives back a request that found nothing new.
func (c *call) refund() {
	key := ""
	if c.token != nil {
		key = c.token.User
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if u := c.s.usage[key]; u != nil && u.used > 0 {
		u.used--
		h := c.w.Header()
		if remaining, err := strconv.Atoi(h.Get("X-RateLimit-Remaining")); err == nil {
			h.Set("X-RateLimit-Remaining", strconv.Itoa(remaining+1))
			h.Set("X-RateLimit-Used", strconv.Itoa(u.used))
		}
	}
}

// decode reads a JSON body of a request.
func (c *call) decode(to any) (reply, bool) {
	err := json.NewDecoder(http.MaxBytesReader(c.w, c.r.Body, 1<<20)).Decode(to)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return reply{status: http.StatusUnprocessableEntity, body: message{
			Message: "Invalid request.\n\nFor '" + kind.Field + "', " + kind.Value + " is not a " + kind.Type.String() + ".", Docs: docs, Status: "422"}}, false
	case err != nil:
		return failure(http.StatusBadRequest, "Problems parsing JSON"), false
	}
	return reply{}, true
}
