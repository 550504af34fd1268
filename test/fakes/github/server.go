package github

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
)

// Options are what differs between servers. The zero value is GitHub.
type Options struct {
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
}

// Server is a GitHub. It is an http.Handler for all its hosts; Start gives it
// addresses of its own: one each for the API and the pages, for uploads and for the
// storage.
type Server struct {
	serve.Fake

	opts   Options
	routes []operation
	tokens map[string]*Token
	repos  []*repository
}

// New returns a server that does not listen. It knows no tokens and no
// repositories.
func New(o Options) *Server {
	s := &Server{opts: o, tokens: map[string]*Token{}, routes: operations()}
	s.Init(3, o.TLS, o.Wrap, s.serve, s.Step)
	return s
}

// Start returns a server that listens until the test ends.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := New(o)
	s.Listen(tb)
	return s
}

// APIURL is the root of the API, with a slash at the end.
func (s *Server) APIURL() string { return s.Address(0) + "/" }

// UploadURL is the root for uploads, with a slash at the end.
func (s *Server) UploadURL() string { return s.Address(1) + "/" }

// EnterpriseURL is the address of the same server as a GitHub Enterprise, without
// a slash at the end. The API is below /api/v3/, uploads are below /api/uploads/.
func (s *Server) EnterpriseURL() string { return s.Address(0) }

// WebURL is where the pages and downloads for people are, without a slash at the
// end.
func (s *Server) WebURL() string { return s.Address(0) }

// The kinds of hosts, in the order of their addresses. The pages share that of the API.
const (
	roleAPI = iota
	roleUpload
	roleStorage
	roleWeb
)

// place is where a request arrived: the kind of host, the path there, and the
// addresses of all hosts as this client knows them.
type place struct {
	role                      int
	path                      string
	api, upload, web, storage string
	enterprise                bool
}

// enterprise are the folders of a GitHub Enterprise.
var enterprise = []struct {
	prefix string
	role   int
}{{"/api/v3", roleAPI}, {"/api/uploads", roleUpload}, {"/api/graphql", roleAPI}}

func (s *Server) locate(r *http.Request) place {
	listed, scheme := s.At(r)
	p := place{path: r.URL.EscapedPath()}
	host := scheme + r.Host
	p.api, p.upload, p.web, p.storage = host, host, host, scheme+storageHost(r.Host)
	if listed >= 0 {
		p.storage = s.StorageURL()
	}
	for _, e := range enterprise {
		rest, ok := strings.CutPrefix(p.path, e.prefix)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		p.enterprise, p.role = true, e.role
		p.api, p.upload = host+"/api/v3", host+"/api/uploads"
		if p.path = rest; e.prefix == "/api/graphql" {
			p.path = "/graphql"
		}
		return p
	}
	if listed >= 0 {
		p.role = listed
		p.api, p.upload, p.web = s.Address(roleAPI), s.Address(roleUpload), s.Address(roleAPI)
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
	case "repos", "repositories", "graphql", "":
		return true
	}
	return false
}

// operation needs a right on the repository of the path.
type operation = serve.Operation[Right, *call]

func (s *Server) find(p place, method string) (*operation, map[string]string) {
	return serve.Find(s.routes, p.role, method, p.path)
}

// Step names the operation of a request, for rules and for the log. See Steps.
func (s *Server) Step(r *http.Request) string {
	if o, _ := s.find(s.locate(r), r.Method); o != nil {
		return o.Step
	}
	return ""
}

// Steps returns the names of all operations.
func (s *Server) Steps() []string { return serve.Steps(s.routes) }

// call is one request on its way through an operation.
type call struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	place place
	vars  map[string]string
	token *Token
	// What the path names, found before the operation begins.
	repo    *repository
	release *release
	asset   *asset
}

type reply = serve.Reply

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	c := &call{s: s, w: w, r: r, place: s.locate(r)}
	o, vars := s.find(c.place, r.Method)
	c.vars = vars
	c.write(s.Call(r, c.place.role == roleUpload, func() reply { return c.answer(o) }))
}

// answer does what a request asks for, once it is known who asks, and for what.
func (c *call) answer(o *operation) reply {
	if c.place.role == roleWeb || c.place.role == roleStorage {
		if o == nil {
			return c.page404()
		}
		return o.Do(c)
	}
	h := c.w.Header()
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	h.Set("X-GitHub-Request-Id", fmt.Sprintf("FAKE:%05X", c.s.NextID()))
	h.Set("X-Content-Type-Options", "nosniff")
	c.authenticate()
	if o == nil {
		return notFound()
	}
	c.open(o)
	return o.Do(c)
}

// authenticate finds the token of a request. A wrong one is refused everywhere,
// even where none is needed.
func (c *call) authenticate() {
	_, secret, sent := fault.Secret(c.r)
	if !sent {
		return
	}
	t := c.s.tokens[secret]
	if t != nil && fault.Has(c.r.Context(), fault.ExpireToken) {
		t.Expired = true
	}
	if t == nil || t.Expired {
		serve.Refuse(failure(http.StatusUnauthorized, "Bad credentials"))
	}
	known := *t
	c.token = &known
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
	return max(c.token.Right, public)
}

// open finds what the path names, and checks the right on the repository.
func (c *call) open(o *operation) {
	name := c.vars["owner"] + "/" + c.vars["repo"]
	repo, former := c.s.repo(name)
	if id := c.vars["repository"]; id != "" {
		repo, _ = serve.First(c.s.repos, func(r *repository) bool { return c.named("repository", r.id) })
	} else if c.vars["repo"] == "" {
		return
	}
	if repo == nil || c.right(repo) == None {
		serve.Refuse(notFound())
	}
	if former {
		serve.Refuse(c.moved(repo))
	}
	switch have := c.right(repo); {
	case have < o.Need && c.token == nil:
		serve.Refuse(failure(http.StatusUnauthorized, "Requires authentication"))
	case have < o.Need:
		c.forbid()
	case o.Need >= Write && repo.Archived:
		serve.Refuse(failure(http.StatusForbidden, "Repository was archived so is read-only."))
	}
	c.repo = repo
	for _, r := range repo.releases {
		if r.Draft && !c.drafts() {
			continue
		}
		if c.named("release", r.ID) {
			c.release = r
		}
		for _, a := range r.assets {
			if c.named("asset", a.ID) {
				c.asset = a
			}
		}
	}
	if c.vars["release"] != "" && c.release == nil || c.vars["asset"] != "" && c.asset == nil {
		serve.Refuse(notFound())
	}
}

// named reports whether the path names something by its number.
func (c *call) named(variable string, id int64) bool {
	return c.vars[variable] == strconv.FormatInt(id, 10)
}

// moved answers a request to a repository that was renamed.
func (c *call) moved(r *repository) reply {
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
	return reply{Status: status, Location: to, Body: message{Message: "Moved Permanently", URL: to, Docs: "https://docs.github.com/v3/#http-redirects"}}
}

// forbid says no in the way that fits the token.
func (c *call) forbid() {
	if c.token.Kind == Actions {
		serve.Refuse(failure(http.StatusForbidden, "Resource not accessible by integration"))
	}
	serve.Refuse(notFound())
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
	return reply{Status: status, Body: message{Message: text, Docs: docs, Status: strconv.Itoa(status)}}
}

func notFound() reply { return failure(http.StatusNotFound, "Not Found") }

func unprocessable(text string) reply { return failure(http.StatusUnprocessableEntity, text) }

// refuse ends the call, because what the client sent is not valid.
func refuse(errors ...fieldError) {
	serve.Refuse(reply{Status: http.StatusUnprocessableEntity, Body: message{Message: "Validation Failed", Docs: docs, Errors: errors, Status: "422"}})
}

// write sends a reply. The upload host has its own form of errors.
func (c *call) write(a reply) {
	h := c.w.Header()
	if m, ok := a.Body.(message); ok && c.place.role == roleUpload && a.Location == "" {
		m.RequestID, m.Status = h.Get("X-GitHub-Request-Id"), ""
		a.Body = m
	}
	a.Write(c.w, c.r, "application/json; charset=utf-8")
}

// decode reads a JSON body of a request.
func (c *call) decode(to any) {
	err := json.NewDecoder(http.MaxBytesReader(c.w, c.r.Body, 1<<20)).Decode(to)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		field := strings.TrimPrefix(kind.Field, "Release.")
		serve.Refuse(unprocessable(fmt.Sprintf("Invalid request.\n\nFor '%s', %s is not a %s.", field, kind.Value, kind.Type)))
	case err != nil:
		serve.Refuse(failure(http.StatusBadRequest, "Problems parsing JSON"))
	}
}
