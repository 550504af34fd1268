package conformance

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/conformance/openapi"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/proxy"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const (
	gitHubHost = "github.com"
	gitLabHost = "gitlab.example.com"
	// goProxy has no server of its own: it lists the tags of the fake GitHub.
	goProxy = "goproxy.example.com"
	// labProject is in a subgroup, so that its slash has to be escaped.
	labProject = "acme/infra/provider"
)

// world is what lies between a publisher and its readers. All programs reach it
// under its real names, through a proxy.
type world struct {
	hub   *github.Server
	lab   *gitlab.Server
	spec  *openapi.Spec // nil without GitHub's description
	proxy *proxy.Proxy
	// tool has the tokens, reader and clusterctl have none.
	tool, reader, clusterctl program
	// home is theirs. No file there may hold a token in the end.
	home string
}

// newWorld has the repositories owner/name on GitHub and the project labProject on
// GitLab, and a world's end at which no token may be anywhere.
func newWorld(t *testing.T, repositories ...github.Repository) *world {
	t.Helper()
	var spec *openapi.Spec
	wrap := func(h http.Handler) http.Handler { return h }
	if t.Run("description", func(t *testing.T) { spec = description(t) }); spec != nil {
		wrap = spec.Wrap
	}
	w := newServers(t, wrap, repositories...)
	w.spec = spec
	t.Cleanup(func() {
		w.close()
		if w.spec != nil {
			for _, p := range w.spec.Problems() {
				t.Error(p)
			}
			t.Logf("compared with GitHub's description: %v; not in it: %d kinds", w.spec.Checked(), len(w.spec.Unknown()))
		}
		if leaks := append(w.hub.Leaks(), w.lab.Leaks()...); len(leaks) > 0 {
			t.Errorf("credentials went to the storage: %v", leaks)
		}
		noSecrets(t, w.home)
	})
	return w
}

// newServers is a world that the caller closes. What it wraps sees every request to
// GitHub and GitLab.
func newServers(t testing.TB, wrap func(http.Handler) http.Handler, repositories ...github.Repository) *world {
	t.Helper()
	w := &world{home: t.TempDir()}
	w.hub = github.New(github.Options{Wrap: wrap})
	w.lab = gitlab.New(gitlab.Options{Wrap: wrap})
	w.hub.AddToken(github.Token{Secret: secret, Right: github.Write, Workflows: true})
	w.lab.AddToken(gitlab.Token{Secret: secret})
	for _, r := range repositories {
		w.hub.AddRepository(r)
	}
	members := map[string]gitlab.Role{"publisher": gitlab.Developer}
	for _, p := range []gitlab.Project{{Path: labProject, Members: members}, {Path: "private/" + labProject, Private: true, Members: members}} {
		w.lab.AddProject(p)
	}
	var err error
	w.proxy, err = proxy.New(w.home, proxy.Hosts{}.Add(w.hub, github.Hosts(gitHubHost)...).Add(w.lab, gitlab.Hosts(gitLabHost)...).Add(http.HandlerFunc(w.tags), goProxy))
	given.NoError(t, err)
	env := append(w.proxy.Env(), "PATH="+os.Getenv("PATH"), "HOME="+w.home, "XDG_CONFIG_HOME="+filepath.Join(w.home, "config"),
		"KUBECONFIG="+filepath.Join(w.home, "none"), "CLUSTERCTL_DISABLE_VERSIONCHECK=true", "GOPROXY=off")
	w.reader = program{path(t, tool), env}
	w.tool = w.reader.with("GH_TOKEN="+secret, "GITLAB_TOKEN="+secret)
	w.clusterctl = program{path(t, stock), env}
	return w
}

func (w *world) close() {
	w.proxy.Close()
	w.hub.Close()
	w.lab.Close()
}

// tags is what the Go proxy knows of a repository.
func (w *world) tags(rw http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"+gitHubHost+"/"), "/@v/list")
	tags := w.hub.Tags(name)
	if !ok || len(tags) == 0 {
		http.NotFound(rw, r)
		return
	}
	for _, tag := range tags {
		fmt.Fprintln(rw, tag.Name)
	}
}

// noSecrets fails if a file below dir holds the token.
func noSecrets(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s holds the token", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// release is a release in a local repository.
type release struct {
	layouts.Provider
	version    string
	dir        string
	components string
	// flavors are those of the cluster templates.
	flavors []string
}

// releases lists those in a local repository.
func releases(t testing.TB, root string) []release {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(root, "*", "v*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no releases in %s: %v", root, err)
	}
	var out []release
	for _, dir := range dirs {
		p := given.Value(layouts.ParseLabel(filepath.Base(filepath.Dir(dir))))(t)
		r := release{Provider: p, version: filepath.Base(dir), dir: dir}
		entries := given.Value(os.ReadDir(dir))(t)
		for _, e := range entries {
			switch layouts.KindOfFile(e.Name()) {
			case layouts.Components:
				r.components = e.Name()
			case layouts.ClusterTemplate:
				r.flavors = append(r.flavors, strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(e.Name(), "cluster-template"), ".yaml"), "-"))
			}
		}
		out = append(out, r)
	}
	return out
}

// local is the URL of a release in a folder.
func (r release) local(root string) string {
	return filepath.Join(root, r.Label(), r.version, r.components)
}

func (r release) gitHub(repository, version string) string {
	return "https://" + gitHubHost + "/" + repository + "/releases/" + version + "/" + r.components
}

func (r release) gitLab(project string) string {
	return "https://" + gitLabHost + "/api/v4/projects/" + strings.ReplaceAll(project, "/", "%2F") + "/packages/generic/" + r.Label() + "/" + r.version + "/" + r.components
}

// each calls do for all indices below n, as many at a time as there are processors.
func each(n int, do func(i int)) {
	var running sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	running.Wait()
}
