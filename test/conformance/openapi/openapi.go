// Package openapi checks HTTP traffic against an OpenAPI description, on the side
// of the server. It must not know who sends or answers, only GitHub's exceptions
// from its own description.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing/iotest"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Spec is a description and what was found with it. It is safe for concurrent
// use.
type Spec struct {
	doc    *openapi3.T
	router routers.Router

	mu       sync.Mutex
	checked  map[string]int
	unknown  map[string]int
	problems []string
}

// Load reads GitHub's description from a file.
func Load(path string) (*Spec, error) {
	doc, err := openapi3.NewLoader().LoadFromFile(path)
	if err != nil {
		return nil, err
	}
	// The traffic is for other hosts than the description's.
	doc.Servers = nil
	for _, item := range doc.Paths.Map() {
		item.Servers = nil
		for _, o := range item.Operations() {
			o.Servers = nil
		}
	}
	// The description of uploads speaks of this state, its schema does not.
	if a := doc.Components.Schemas["release-asset"]; a != nil && a.Value.Properties["state"] != nil {
		state := a.Value.Properties["state"].Value
		state.Enum = append(state.Enum, "starter")
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, err
	}
	return &Spec{doc: doc, router: router, checked: map[string]int{}, unknown: map[string]int{}}, nil
}

// Problems returns what did not match the description.
func (s *Spec) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Checked returns how many requests of each operation were compared.
func (s *Spec) Checked() map[string]int { return s.counts(s.checked) }

// Unknown returns how many requests were for what the description does not have,
// by method and path.
func (s *Spec) Unknown() map[string]int { return s.counts(s.unknown) }

func (s *Spec) counts(of map[string]int) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(of)
}

// Operations returns the names of all operations of the description.
func (s *Spec) Operations() []string {
	var out []string
	for _, item := range s.doc.Paths.Map() {
		for _, o := range item.Operations() {
			out = append(out, o.OperationID)
		}
	}
	slices.Sort(out)
	return out
}

func (s *Spec) problem(r *http.Request, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf("%s %s: ", r.Method, r.URL.Path)+fmt.Sprintf(format, args...))
}

// Wrap returns a handler that compares the requests to h, and its answers, with
// the description.
func (s *Spec) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bare := r.Clone(r.Context())
		// The description leaves out the folders of a GitHub Enterprise.
		for _, p := range []string{"/api/v3", "/api/uploads"} {
			if rest, ok := strings.CutPrefix(bare.URL.Path, p); ok {
				bare.URL = &url.URL{Path: rest, RawQuery: r.URL.RawQuery}
			}
		}
		// The router takes a reference for several folders.
		if before, ref, ok := strings.Cut(bare.URL.Path, "/git/ref/"); ok {
			bare.URL = &url.URL{Path: before + "/git/ref/" + strings.ReplaceAll(ref, "/", "-"), RawQuery: r.URL.RawQuery}
		}
		route, vars, err := s.router.FindRoute(bare)
		if err != nil {
			s.mu.Lock()
			s.unknown[r.Method+" "+r.URL.Path]++
			s.mu.Unlock()
			h.ServeHTTP(w, r)
			return
		}
		in := &openapi3filter.RequestValidationInput{Request: bare, PathParams: vars, Route: route, Options: &openapi3filter.Options{
			// Files are not JSON, and come with every media type.
			ExcludeRequestBody: route.Operation.OperationID == "repos/upload-release-asset", SkipSettingDefaults: true, MultiError: true,
		}}
		if !in.Options.ExcludeRequestBody {
			raw, err := io.ReadAll(r.Body)
			if err != nil {
				// Perhaps the client was killed: half a request breaks no rule. The server sees the same error.
				r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(raw), iotest.ErrReader(err)))
				h.ServeHTTP(w, r)
				return
			}
			r.Body, bare.Body = io.NopCloser(bytes.NewReader(raw)), io.NopCloser(bytes.NewReader(raw))
			// Not every client says that it sends JSON; GitHub does not mind.
			if len(raw) > 0 {
				bare.Header.Set("Content-Type", "application/json")
			}
		}
		s.mu.Lock()
		s.checked[route.Operation.OperationID]++
		s.mu.Unlock()
		badRequest := openapi3filter.ValidateRequest(r.Context(), in)
		a := &answer{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(a, r)
		// A bad request is the client's fault only if the server took it.
		if badRequest != nil && a.status < 400 {
			s.problem(r, "request: %v", badRequest)
		}
		s.checkAnswer(in, a)
	})
}

func (s *Spec) checkAnswer(in *openapi3filter.RequestValidationInput, a *answer) {
	r := in.Request
	if r.Method == http.MethodHead || strings.Contains(a.Header().Get("Content-Type"), "octet-stream") {
		return
	}
	if in.Route.Operation.Responses.Status(a.status) == nil {
		s.checkUnlisted(r, a)
		return
	}
	err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.status, Header: a.Header(), Body: io.NopCloser(bytes.NewReader(a.body.Bytes())), Options: in.Options,
	})
	if err != nil {
		s.problem(r, "answer %d: %v", a.status, err)
	}
}

// checkUnlisted looks at an answer that the description does not list for its
// operation: every error may come everywhere, in the form that errors have.
func (s *Spec) checkUnlisted(r *http.Request, a *answer) {
	if a.status == http.StatusNotModified || a.status == http.StatusTemporaryRedirect || a.status == http.StatusMovedPermanently {
		return
	}
	if a.status < 400 {
		s.problem(r, "answer %d is not in the description", a.status)
		return
	}
	var body any
	if err := json.Unmarshal(a.body.Bytes(), &body); err != nil {
		s.problem(r, "answer %d: %v", a.status, err)
		return
	}
	schema := "basic-error"
	if a.status == http.StatusUnprocessableEntity {
		schema = "validation-error"
	}
	if err := s.doc.Components.Schemas[schema].Value.VisitJSON(body); err != nil {
		s.problem(r, "answer %d is no %s: %v", a.status, schema, err)
	}
}

// answer keeps a copy of what the server says.
type answer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if !strings.Contains(a.Header().Get("Content-Type"), "octet-stream") {
		a.body.Write(p)
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
