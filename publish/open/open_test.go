package open

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// wire answers every request with what makes clients show who they are, and
// remembers which secrets which host has seen. Destinations send requests side by
// side.
type wire struct {
	mu   sync.Mutex
	seen map[string]map[string]bool
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, values := range req.Header {
		for _, v := range values {
			for _, word := range strings.Fields(v) {
				if secret, ok := strings.CutPrefix(word, "secret-"); ok {
					if w.seen[req.URL.Host] == nil {
						w.seen[req.URL.Host] = map[string]bool{}
					}
					w.seen[req.URL.Host][secret] = true
				}
			}
		}
	}
	resp := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Request: req, Body: io.NopCloser(strings.NewReader("{}"))}
	if strings.HasPrefix(req.URL.Path, "/v2/") && req.Header.Get("Authorization") == "" {
		resp.StatusCode = http.StatusUnauthorized
		resp.Header.Set("Www-Authenticate", "Bearer realm=https://"+req.URL.Host+"/token")
	}
	return resp, nil
}

// every is an environment in which all variables for credentials are set.
var every = map[string]string{
	"GH_TOKEN": "secret-gh", "GITHUB_TOKEN": "secret-run", "GH_ENTERPRISE_TOKEN": "secret-enterprise", "GITHUB_ENTERPRISE_TOKEN": "secret-enterprise2",
	"GITLAB_TOKEN": "secret-lab", "CI_JOB_TOKEN": "secret-job", "OCI_ACCESS_TOKEN": "secret-oci",
}

func without(names ...string) map[string]string {
	out := maps.Clone(every)
	for _, n := range names {
		delete(out, n)
	}
	return out
}

func with(pairs ...string) map[string]string {
	out := maps.Clone(every)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

const (
	labURL    = "/api/v4/projects/g%2Fp/packages/generic/infrastructure-foo/v1.0.0/f.yaml"
	hubURL    = "/o/r/releases/v1.0.0/infrastructure-components.yaml"
	ociURL    = "/acme/foo:v1.0.0"
	labA      = "https://gitlab.a.test"
	labB      = "https://gitlab.b.test"
	hub       = "https://github.com"
	hubA      = "https://github.a.test"
	hubB      = "https://github.b.test"
	registryA = "oci://a.test"
	registryB = "oci://b.test"
)

// Every secret is seen by one host at most, and by the right one.
func TestCredentialsBelongToOneHost(t *testing.T) {
	for name, tt := range map[string]struct {
		env     map[string]string
		to      []string // destinations
		targets []string
		want    string
	}{
		"GitLab: that of DEST":                   {every, []string{labA + "/g/p"}, []string{labB + labURL, labA + labURL}, "gitlab.a.test lab"},
		"GitLab: the first DEST":                 {every, []string{labA + "/g/p", labB + "/g/p"}, []string{labB + labURL}, "gitlab.a.test lab"},
		"GitLab: none named":                     {every, nil, []string{labB + labURL, labA + labURL}, ""},
		"GitLab: DEST of another kind":           {every, []string{"folder", hub + "/o/r"}, []string{labB + labURL}, "api.github.com gh"},
		"GitLab: named":                          {with("CI_SERVER_URL", labA), []string{labB + "/g/p"}, []string{labA + labURL, labB + labURL}, "gitlab.a.test lab"},
		"GitLab: named as for glab":              {with("GITLAB_HOST", "gitlab.a.test"), nil, []string{labA + labURL, labB + labURL}, "gitlab.a.test lab"},
		"GitLab: port is part of the host":       {with("CI_SERVER_URL", labA+":8443"), nil, []string{labA + labURL}, ""},
		"GitLab: the API elsewhere":              {with("CI_SERVER_URL", labA, "CI_API_V4_URL", "https://api.test/api/v4"), nil, []string{labA + labURL, labB + labURL}, "api.test lab"},
		"GitLab: API and DEST":                   {with("CI_API_V4_URL", "https://api.test/api/v4"), []string{labA + "/g/p"}, []string{labB + labURL}, "api.test lab"},
		"GitLab: job token":                      {maps.Clone(without("GITLAB_TOKEN")), []string{labA + "/g/p"}, []string{labB + labURL}, "gitlab.a.test job"},
		"GitHub":                                 {every, nil, []string{hub + hubURL, hubA + hubURL, hubB + hubURL}, "api.github.com gh"},
		"GitHub: DEST":                           {every, []string{hub + "/o/r"}, []string{hubA + hubURL}, "api.github.com gh"},
		"GitHub: enterprise DEST":                {every, []string{hubA + "/o/r"}, []string{hubB + hubURL, hub + hubURL}, "api.github.com gh; github.a.test enterprise"},
		"GitHub: GITHUB_TOKEN of a run":          {without("GH_TOKEN"), []string{hubA + "/o/r"}, []string{hub + hubURL}, "api.github.com run; github.a.test enterprise"},
		"GitHub: run on an enterprise server":    {with("GITHUB_SERVER_URL", hubA, "GH_ENTERPRISE_TOKEN", "", "GITHUB_ENTERPRISE_TOKEN", ""), nil, []string{hubA + hubURL, hubB + hubURL, hub + hubURL}, "api.github.com gh; github.a.test run"},
		"GitHub: enterprise server, other DEST":  {with("GITHUB_SERVER_URL", hubA), []string{hubB + "/o/r"}, []string{hubA + hubURL}, "github.a.test enterprise"},
		"GitHub: named as for gh":                {with("GH_HOST", "github.a.test"), nil, []string{hubA + hubURL, hubB + hubURL}, "github.a.test enterprise"},
		"OCI: that of DEST":                      {every, []string{registryA + "/acme/foo"}, []string{registryB + ociURL, registryA + ociURL}, "a.test oci"},
		"OCI: none named":                        {every, nil, []string{registryB + ociURL, registryA + ociURL}, ""},
		"OCI: named":                             {with("OCI_REGISTRY", "a.test"), []string{registryB + "/acme/foo"}, []string{registryA + ociURL, registryB + ociURL}, "a.test oci"},
		"nothing without encryption":             {with("CI_SERVER_URL", "http://gitlab.a.test"), nil, []string{"http://gitlab.a.test" + labURL}, ""},
		"all kinds at once, from and to another": {every, []string{labA + "/g/p", registryA + "/x"}, []string{labB + labURL, registryB + ociURL, hubB + hubURL}, "a.test oci; gitlab.a.test lab"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &wire{seen: map[string]map[string]bool{}}
			p := &Places{Env: func(n string) (string, bool) { v, ok := tt.env[n]; return v, ok }, Dir: t.TempDir(), Base: seen}
			p.Policy.Sleep = func(context.Context, time.Duration) error { return nil }
			r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Artifacts: []*repo.Artifact{repo.BytesArtifact("a.yaml", []byte("a"))}}
			for _, name := range tt.to {
				site := given.Value(p.Site(name, Options{}))(t)
				use(t, r, func() (publish.Destination, error) { return site.Of(r.Provider) })
			}
			for _, raw := range tt.targets {
				l, err := layouts.ParseURL(raw, p.Servers())
				if err != nil {
					continue // not a place of anybody
				}
				use(t, r, func() (publish.Destination, error) { return p.Location(l) })
			}
			var got []string
			for _, host := range slices.Sorted(maps.Keys(seen.seen)) {
				got = append(got, host+" "+strings.Join(slices.Sorted(maps.Keys(seen.seen[host])), " "))
			}
			if text := strings.Join(got, "; "); text != tt.want {
				t.Errorf("seen %q, want %q", text, tt.want)
			}
		})
	}
}

// TestRegistryFiles finds the file in which docker, podman or skopeo keeps a login.
func TestRegistryFiles(t *testing.T) {
	for variable, file := range map[string]string{
		"DOCKER_CONFIG": "config.json", "HOME": ".docker/config.json", "REGISTRY_AUTH_FILE": "", "XDG_RUNTIME_DIR": "containers/auth.json",
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, "file")
		if file != "" {
			name = filepath.Join(dir, file)
		}
		given.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(`{"auths": {"a.test": {"registrytoken": "secret-file"}}}`), 0o600)))
		value := dir
		if file == "" {
			value = name
		}
		seen := &wire{seen: map[string]map[string]bool{}}
		p := &Places{Env: func(n string) (string, bool) { return map[string]string{variable: value}[n], n == variable }, Dir: dir, Base: seen}
		p.Policy.Sleep = func(context.Context, time.Duration) error { return nil }
		site := given.Value(p.Site(registryA+"/x", Options{}))(t)
		provider := layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}
		use(t, &repo.Release{Provider: provider, Version: "v1.0.0"}, func() (publish.Destination, error) { return site.Of(provider) })
		if !seen.seen["a.test"]["file"] {
			t.Errorf("%s: seen %v", variable, seen.seen)
		}
	}
}

// use makes all requests that a destination can make.
func use(t *testing.T, r *repo.Release, open func() (publish.Destination, error)) {
	t.Helper()
	d, err := open()
	if err != nil {
		t.Log(err)
		return
	}
	ctx := t.Context()
	_, e1 := d.Versions(ctx)
	_, e2 := d.Fetch(ctx, r.Version)
	_, e3 := d.Plan(ctx, r)
	_, e4 := d.Put(ctx, r)
	for _, err := range []error{e1, e2, e3, e4, d.Verify(ctx, r)} {
		if err != nil && strings.Contains(err.Error(), "secret-") {
			t.Errorf("shown: %v", err)
		}
	}
}
