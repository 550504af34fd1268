package gitlab

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/internal/serve"
)

// Options are what differs between servers. The zero value is a GitLab that
// serves files itself.
type Options struct {
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
}

// Server is a GitLab. It is an http.Handler for all its hosts; Start gives it
// addresses of its own: one for the API and one for the storage.
type Server struct {
	serve.Fake

	opts     Options
	routes   []operation
	tokens   map[string]*Token
	projects []*project
}

// New returns a server that does not listen. It knows no tokens and no projects.
func New(o Options) *Server {
	s := &Server{opts: o, tokens: map[string]*Token{}, routes: operations()}
	s.Init(2, o.TLS, o.Wrap, s.serve, s.Step)
	return s
}

// Start returns a server that listens until the test ends.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	s := New(o)
	s.Listen(tb)
	return s
}

// URL is the address of the GitLab, without a slash at the end. The API is below
// /api/v4/.
func (s *Server) URL() string { return s.Address(0) + s.opts.Root }

// storageHost is the host of the storage of a GitLab. It is not below that, for
// clients keep their credentials there.
func storageHost(host string) string { return "objects.usercontent-" + host }

// Hosts returns the names of all hosts of a GitLab at a domain.
func Hosts(domain string) []string { return []string{domain, storageHost(domain)} }

// storage returns the address of the storage for the host of a request, and
// whether the request is for the storage itself.
func (s *Server) storage(r *http.Request) (address string, here bool) {
	switch host, scheme := s.At(r); host {
	case -1:
		return scheme + storageHost(r.Host), strings.HasPrefix(r.Host, "objects.")
	default:
		return s.StorageURL(), host == 1
	}
}

// access is what an operation needs.
type access struct {
	// tokens are the kinds that count here. Others are as if not sent.
	tokens []Kind
	// wall says that strangers are asked to log in before they hear that there is no
	// such project, as the endpoints of generic packages do.
	wall bool
	// role is what the client has to be in the project to change it; who only reads
	// need not be a member.
	role Role
}

type operation = serve.Operation[access, *call]

const api = "/api/v4"

// find returns the operation of a request, or nil.
func (s *Server) find(r *http.Request) (*operation, map[string]string) {
	path := r.URL.EscapedPath()
	if _, here := s.storage(r); here {
		return serve.Find(s.routes, 1, r.Method, path)
	}
	path, ok := strings.CutPrefix(path, s.opts.Root+api)
	if !ok {
		return nil, nil
	}
	return serve.Find(s.routes, 0, r.Method, path)
}

// Step names the operation of a request, for rules and for the log. See Steps.
func (s *Server) Step(r *http.Request) string {
	if o, _ := s.find(r); o != nil {
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
	vars  map[string]string
	token *Token
	// base is the address of the GitLab as this client knows it.
	base string
	// What the path names, found before the operation begins.
	project *project
	pkg     *pkg
}

type reply = serve.Reply

type object = map[string]any

// refuse ends the call with a message.
func refuse(status int, format string, args ...any) {
	serve.Refuse(reply{Status: status, Body: object{"message": fmt.Sprintf(format, args...)}})
}

// notFound ends the call: what the path names is not there.
func notFound() { refuse(http.StatusNotFound, "404 Not Found") }

// bad ends the call, because of what the client sent.
func bad(why string) { serve.Refuse(reply{Status: http.StatusBadRequest, Body: object{"error": why}}) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	_, scheme := s.At(r)
	c := &call{s: s, w: w, r: r, base: scheme + r.Host + s.opts.Root}
	o, vars := s.find(r)
	c.vars = vars
	w.Header().Set("X-Request-Id", rand.Text())
	c.write(s.Call(r, o != nil && o.Step == "upload-file", func() reply { return c.answer(o) }))
}

// answer does what a request asks for, once it is known who asks, and for what.
func (c *call) answer(o *operation) reply {
	if o == nil {
		return reply{Status: http.StatusNotFound, Body: object{"error": "404 Not Found"}}
	}
	if o.Step == serve.StorageStep {
		return o.Do(c)
	}
	c.authenticate(o.Need)
	if c.vars["project"] != "" {
		c.open(o.Need)
	}
	return o.Do(c)
}

func (c *call) write(a reply) { a.Write(c.w, c.r, "application/json") }

// sent is the secret in a request and the kind of tokens that may come that way.
func (c *call) sent() (secret string, kind Kind, ok bool) {
	for header, kind := range map[string]Kind{"Private-Token": Personal, "Job-Token": Job, "Deploy-Token": Deploy} {
		if v := c.r.Header.Get(header); v != "" {
			return v, kind, true
		}
	}
	_, secret, ok = fault.Secret(c.r)
	return secret, Personal, ok
}

func unauthorized() { refuse(http.StatusUnauthorized, "401 Unauthorized") }

// authenticate finds the token of a request. A wrong one is refused, even where
// none is needed.
func (c *call) authenticate(need access) {
	secret, kind, ok := c.sent()
	if !ok || !slices.Contains(need.tokens, kind) {
		return
	}
	t := c.s.tokens[secret]
	if t == nil || t.Kind != kind {
		unauthorized()
	}
	if t.Expired = t.Expired || fault.Has(c.r.Context(), fault.ExpireToken); t.Expired {
		serve.Refuse(reply{Status: http.StatusUnauthorized, Body: object{"error": "invalid_token",
			"error_description": "Token is expired. You can either do re-authorization or token refresh."}})
	}
	known := *t
	c.token = &known
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

// scope refuses a token that is not for that.
func (c *call) scope(write bool) {
	if c.token == nil || len(c.token.Scopes) == 0 || c.token.Kind == Job {
		return
	}
	wanted := []string{"api", "read_api"}
	if c.token.Kind == Deploy {
		// Writing implies reading.
		wanted = []string{"write_package_registry", "read_package_registry"}
	}
	if write {
		wanted = wanted[:1]
	}
	if slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(c.token.Scopes, w) }) {
		return
	}
	if c.token.Kind == Deploy {
		refuse(http.StatusForbidden, "403 Forbidden")
	}
	serve.Refuse(reply{Status: http.StatusForbidden, Body: object{"error": "insufficient_scope",
		"error_description": "The request requires higher privileges than provided by the access token.", "scope": strings.Join(wanted, " ")}})
}
