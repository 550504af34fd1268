package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/conformance/registry"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/proxy"
)

const (
	secret     = "0123456789secret"
	gitHubHost = "github.com"
	gitLabHost = "gitlab.example.com"
	project    = "acme/provider"
	unlimited  = 1 << 30
)

// world is the servers of one run.
type world struct {
	hub   *github.Server
	lab   *gitlab.Server
	watch *stopwatch
	dir   string
	// env is how programs get there; gh has it and a folder with its token.
	env, gh []string
	close   func()
}

// newWorld starts servers that hold nothing but empty repositories.
func newWorld(dir string, repositories ...string) (*world, error) {
	dir, err := os.MkdirTemp(dir, "world")
	if err != nil {
		return nil, err
	}
	w := &world{watch: &stopwatch{}, dir: dir}
	w.hub = github.New(github.Options{Wrap: w.watch.wrap, Limit: unlimited, AnonymousLimit: unlimited})
	w.lab = gitlab.New(gitlab.Options{Wrap: w.watch.wrap})
	w.hub.AddToken(github.Token{Secret: secret, Right: github.Write})
	for _, r := range append(repositories, "provider") {
		w.hub.AddRepository(github.Repository{Owner: "acme", Name: r})
	}
	w.lab.AddToken(gitlab.Token{Secret: secret})
	if err := w.lab.AddProject(gitlab.Project{Path: project, Members: map[string]gitlab.Role{"publisher": gitlab.Developer}}); err != nil {
		return nil, err
	}
	p, err := proxy.New(dir, proxy.Hosts{}.Add(w.hub, github.Hosts(gitHubHost)...).Add(w.lab, gitlab.Hosts(gitLabHost)...))
	if err != nil {
		return nil, err
	}
	w.close = func() {
		p.Close()
		w.hub.Close()
		w.lab.Close()
		_ = os.RemoveAll(dir)
	}
	w.env = append(p.Env(), "CURL_CA_BUNDLE="+p.CAFile, "PATH="+os.Getenv("PATH"), "HOME="+dir, "XDG_CONFIG_HOME="+filepath.Join(dir, "config"),
		"GH_TOKEN="+secret, "GITLAB_TOKEN="+secret)
	config := filepath.Join(dir, "gh")
	if err := os.MkdirAll(config, 0o755); err != nil {
		return nil, err
	}
	w.gh = append(w.env, "GH_CONFIG_DIR="+config, "GH_NO_UPDATE_NOTIFIER=1", "GH_PROMPT_DISABLED=1")
	return w, nil
}

// stopwatch measures at the server how long uploads take: from the beginning of
// the first to the end of the last. It can also make the server far away.
type stopwatch struct {
	// distance is how long every answer takes. It is set while nobody asks.
	distance time.Duration

	mu          sync.Mutex
	first, last time.Time
}

func (s *stopwatch) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(s.distance)
		if r.Method != http.MethodPut && (r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/assets")) {
			h.ServeHTTP(w, r)
			return
		}
		s.mu.Lock()
		if s.first.IsZero() {
			s.first = time.Now()
		}
		s.mu.Unlock()
		h.ServeHTTP(w, r)
		s.mu.Lock()
		s.last = time.Now()
		s.mu.Unlock()
	})
}

func (s *stopwatch) span() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.Sub(s.first)
}

// withRegistry runs do with a registry of its own.
func (b *bench) withRegistry(do func(host string) error) error {
	dir, err := os.MkdirTemp(b.dir, "registry")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := registry.Start(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	return do(r.Host)
}

// generated writes a release with so many files of that size, besides those that
// every release has, and returns its folder. The folder is kept for later calls.
func (b *bench) generated(ctx context.Context, files, size int) (string, error) {
	dir := filepath.Join(b.dir, fmt.Sprintf("%dx%d", files, size), "infrastructure-acme", "v1.0.0")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	all := map[string]string{
		"metadata.yaml":                  "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n",
		"infrastructure-components.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n  labels: {cluster.x-k8s.io/provider: infrastructure-acme}\n",
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	for i := range files {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		line := fmt.Sprintf("# file %04d %s\n", i, strings.Repeat("x", 84))
		text := strings.Repeat(line, size/len(line)+1)[:size-1] + "\n"
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("extra-%04d.yaml", i)), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}
