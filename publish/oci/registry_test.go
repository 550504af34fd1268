package oci

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/publishtest"
)

const (
	repository = "acme/manifests/provider"
	user       = "robot"
	password   = "correct-horse-battery"
	refresh    = "refresh-token-of-the-robot"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // the registry of these tests talks
	os.Exit(m.Run())
}

// server is a registry whose every request may suffer a fault.
type server struct {
	t      testing.TB
	http   *httptest.Server
	faults *fault.Injector
	inner  http.Handler // without faults and without guard
	guard  func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	slept []time.Duration
}

func serve(t testing.TB, rules ...fault.Rule) *server {
	t.Helper()
	s := &server{t: t, faults: fault.New(rules...), inner: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range") // the registry takes no open ones
		if s.guard == nil || s.guard(w, r) {
			s.inner.ServeHTTP(w, r)
		}
	})
	s.http = httptest.NewServer(s.faults.Wrap(guarded, step))
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(func() { s.faults.Close(); s.http.CloseClientConnections(); s.http.Close() })
	return s
}

// step names a request by what it is for.
func step(r *http.Request) string {
	kind := "other"
	for _, k := range []string{"manifests", "uploads", "blobs", "tags"} {
		if strings.Contains(strings.TrimPrefix(r.URL.Path, "/v2/"+repository), "/"+k+"/") {
			kind = k
			break
		}
	}
	return r.Method + " " + kind
}

func (s *server) host() string { return strings.TrimPrefix(s.http.URL, "http://") }

func (s *server) options() Options {
	return Options{
		Host: s.host(), Repository: repository, Base: s.http.Client().Transport,
		Policy: transport.Policy{Timeout: 10 * time.Second, Sleep: func(ctx context.Context, d time.Duration) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.slept = append(s.slept, d)
			return context.Cause(ctx)
		}},
	}
}

func (s *server) open(change ...func(*Options)) *Repository {
	s.t.Helper()
	o := s.options()
	for _, c := range change {
		c(&o)
	}
	d, err := New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// ask sends a request past faults and guard.
func (s *server) ask(method, path, contentType string, body io.Reader) *http.Response {
	req := httptest.NewRequest(method, "/v2/"+repository+"/"+path, body)
	req.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	s.inner.ServeHTTP(w, req)
	return w.Result()
}

// manifest returns what readers see under a tag.
func (s *server) manifest(tag string) (v1.Manifest, []byte, bool) {
	s.t.Helper()
	resp := s.ask(http.MethodGet, "manifests/"+tag, "", nil)
	if resp.StatusCode != http.StatusOK {
		return v1.Manifest{}, nil, false
	}
	data, _ := io.ReadAll(resp.Body)
	var m v1.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		s.t.Error(err)
	}
	return m, data, true
}

// store puts a manifest of somebody else under a tag, with the blobs.
func (s *server) store(tag, mediaType string, manifest any, blobs ...[]byte) {
	s.t.Helper()
	for _, b := range blobs {
		resp := s.ask(http.MethodPost, "blobs/uploads/?digest="+digestOf(b), "application/octet-stream", strings.NewReader(string(b)))
		if resp.StatusCode != http.StatusCreated {
			s.t.Fatal("store a blob:", resp.Status)
		}
	}
	data, err := json.Marshal(manifest)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp := s.ask(http.MethodPut, "manifests/"+tag, mediaType, strings.NewReader(string(data))); resp.StatusCode != http.StatusCreated {
		text, _ := io.ReadAll(resp.Body)
		s.t.Fatal("store a manifest:", resp.Status, string(text))
	}
}

// seen says whether readers get a release whole. That a tag names what is not there, or
// other content, is an error.
func (s *server) seen(r *repo.Release) (bool, error) {
	m, _, there := s.manifest(r.Version)
	if !there {
		return false, nil
	}
	files := map[string]string{}
	for _, layer := range append(slices.Clone(m.Layers), m.Config) {
		resp := s.ask(http.MethodHead, "blobs/"+layer.Digest.String(), "", nil)
		if title := layer.Annotations[v1.AnnotationTitle]; resp.StatusCode != http.StatusOK {
			return false, fmt.Errorf("the tag is visible, but its layer %q is not there", title)
		} else if title != "" {
			files[title] = layer.Digest.Encoded()
		}
	}
	for _, a := range r.Artifacts {
		sum, err := a.Sum(context.Background())
		if err != nil || files[a.Name] != sum.String() {
			return false, fmt.Errorf("%s has other content, or is not there: %v", a.Name, err)
		}
	}
	if len(files) != len(r.Artifacts) {
		return false, fmt.Errorf("readers see %v", files)
	}
	return true, nil
}

// bearer makes the registry want a token, which expires after some uses, from
// another server, which takes the password or the refresh token.
type bearer struct {
	t      testing.TB
	http   *httptest.Server
	uses   int
	mu     sync.Mutex
	left   map[string]int // by token
	scope  map[string]string
	grants int
	// seen are the kinds of credentials that came.
	seen []string
	// status is answered if it is set.
	status int
}

func wantToken(s *server, uses int) *bearer {
	b := &bearer{t: s.t, uses: uses, left: map[string]int{}, scope: map[string]string{}}
	b.http = httptest.NewServer(b)
	s.t.Cleanup(b.http.Close)
	s.guard = func(w http.ResponseWriter, r *http.Request) bool {
		need := "repository:" + repository + ":pull"
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			need += ",push"
		}
		_, token, _ := fault.Secret(r)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.left[token] > 0 && b.scope[token] == need {
			b.left[token]--
			return true
		}
		w.Header().Set("Www-Authenticate", fmt.Sprintf(`Bearer realm="%s/token?a=b",service="registry",scope="%s",error="invalid_token"`, b.http.URL, need))
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	return b
}

func (b *bearer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status != 0 {
		http.Error(w, "no", b.status)
		return
	}
	u, p, _ := fault.Secret(r)
	scope := r.URL.Query().Get("scope")
	switch {
	case r.Method == http.MethodPost && r.FormValue("refresh_token") == refresh && r.FormValue("grant_type") == "refresh_token":
		b.seen, scope = append(b.seen, "refresh"), r.FormValue("scope")
	case r.Method == http.MethodGet && u == user && p == password && r.URL.Query().Get("service") == "registry":
		b.seen = append(b.seen, "password")
	default:
		http.Error(w, "go away, "+p, http.StatusUnauthorized)
		return
	}
	b.grants++
	token := fmt.Sprintf("granted-token-%d", b.grants)
	b.left[token], b.scope[token] = b.uses, scope
	_ = json.NewEncoder(w).Encode(map[string]string{"token": token})
}

func robot(o *Options) {
	o.Credential = Credentials(Credential{UserName: user, Password: password})
}

// secrets are those of these tests.
func secrets() []string {
	return []string{password, refresh, "granted-token", base64.StdEncoding.EncodeToString([]byte(user + ":" + password)), url.QueryEscape(refresh), "access-token-of-the-robot"}
}

// noSecret fails if one of the secrets of these tests is in a text.
func noSecret(t testing.TB, texts ...any) {
	t.Helper()
	publishtest.Unshown(t, secrets(), texts...)
}

// release is one of a provider with its own files.
func release(p layouts.Provider, version string, more ...*repo.Artifact) *repo.Release {
	info, _ := p.Type.Info()
	components := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s-system\n  labels:\n    %s: %s\n", p.Name, layouts.ProviderLabel, p.Label())
	r := &repo.Release{Provider: p, Version: version, Path: p.Label() + "/" + version, Artifacts: append([]*repo.Artifact{
		repo.BytesArtifact(info.ComponentsFile, []byte(components)),
		repo.BytesArtifact(layouts.MetadataFile, []byte("apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n")),
	}, more...)}
	r.Sort()
	return r
}

func acme(more ...*repo.Artifact) *repo.Release {
	return release(layouts.Provider{Type: layouts.Infrastructure, Name: "acme"}, "v1.2.3", more...)
}
