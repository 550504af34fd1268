package conformance

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// artifact is something that clusterctl makes of a release.
type artifact struct {
	release
	args []string
}

func (a artifact) String() string { return a.Label() + " " + strings.Join(a.args, " ") }

// artifacts are all that clusterctl makes of the releases: the components of every
// provider and a cluster of every template. The version of the components is
// named or, with latest, left to clusterctl, which it does not do for clusters.
func artifacts(t testing.TB, all []release, latest bool) []artifact {
	t.Helper()
	var out []artifact
	for _, r := range all {
		info, ok := r.Type.Info()
		if !ok {
			t.Fatalf("unknown type %q", r.Type)
		}
		name := r.Name + ":" + r.version
		components := name
		if latest {
			components = r.Name
		}
		out = append(out, artifact{r, []string{"generate", "provider", info.Flag, components}})
		if r.Type != layouts.Infrastructure {
			continue
		}
		for _, f := range r.flavors {
			out = append(out, artifact{r, []string{"generate", "cluster", "my-cluster", info.Flag, name, "--flavor", f,
				"--target-namespace", "default", "--kubernetes-version", "v1.34.0"}})
		}
	}
	return out
}

// settings writes a clusterctl.yaml.
func settings(t testing.TB, all []release, url func(release) string) string {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("overridesFolder: %q\nproviders:\n", filepath.Join(dir, "none"))
	for _, r := range all {
		text += fmt.Sprintf("- {name: %q, type: %q, url: %q}\n", r.Name, r.Type, url(r))
	}
	file := filepath.Join(dir, "clusterctl.yaml")
	given.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

var (
	// required is a variable that has no default.
	required = regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)\}`)
	// number is in the names of those that are one.
	number = regexp.MustCompile(`COUNT|REPLICAS|SIZE|PORT|_GB|_MB|_GIB|CPUS?|CORES|NUM|MTU|VLAN|SECONDS|INDEX|_ID$|MEMORY`)
)

// variables gives the variables of the releases a value, where they need one.
func variables(t testing.TB, all []release) []string {
	t.Helper()
	env := map[string]bool{}
	for _, r := range all {
		for _, data := range files(t, r.dir) {
			for _, m := range required.FindAllStringSubmatch(data, -1) {
				value := "dummy"
				if number.MatchString(m[1]) {
					value = "1"
				}
				env[m[1]+"="+value] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(env))
}

// reading is what the stock clusterctl prints, and why it refuses.
type reading struct{ out, refusal string }

var unread = regexp.MustCompile(`(failed to read "[^"]*" from provider's repository "[^"]*"): [^\n]*`)

// read runs the stock clusterctl once for each artifact.
func read(t testing.TB, clusterctl program, config string, all []artifact) []reading {
	t.Helper()
	out := make([]reading, len(all))
	each(len(all), func(i int) {
		stdout, stderr, err := clusterctl.output(t, append(slices.Clone(all[i].args), "--config", config)...)
		out[i].out = stdout
		if err != nil {
			// How a file is missing depends on the place.
			_, text, _ := strings.Cut(stderr, "Error: ")
			out[i].refusal = fmt.Sprintf("%v: %s", err, unread.ReplaceAllString(text, "$1"))
		}
	})
	return out
}

// same compares what clusterctl made of what was published with what it made of
// the folder it was published from, and returns how many artifacts it made.
func same(t testing.TB, all []artifact, want, got []reading) (made int) {
	t.Helper()
	var different []string
	for i := range all {
		switch {
		case got[i] != want[i]:
			different = append(different, fmt.Sprintf("%s: %d bytes %s, of the folder %d bytes %s", all[i], len(got[i].out), got[i].refusal, len(want[i].out), want[i].refusal))
		case want[i].refusal == "" && want[i].out != "":
			made++
		}
	}
	if len(different) > 0 {
		t.Errorf("%d of %d artifacts differ:\n%s", len(different), len(all), strings.Join(different[:min(5, len(different))], "\n"))
	}
	if made*10 < len(all)*9 {
		t.Errorf("clusterctl makes only %d of %d artifacts", made, len(all))
	}
	return made
}

// way is a way for clusterctl to a published release.
type way struct {
	name string
	// url is what clusterctl.yaml says.
	url func(release) string
	// latest says that the URL does not name a version.
	latest bool
	// env has what the reader needs.
	env []string
	// step is a request that is made on this way.
	step string
	// all says that it is good for all providers there are, not only for one of
	// each type.
	all bool
}

// ways are all there are to GitHub and GitLab, with one repository for each
// provider on GitHub and one package for each on GitLab.
func ways() []way {
	private := []string{"GITHUB_TOKEN=" + secret, "GITLAB_ACCESS_TOKEN=" + secret}
	pages := []string{"GOPROXY=https://" + goProxy}
	gitHub := func(owner, version string) func(release) string {
		return func(r release) string {
			v := version
			if v == "" {
				v = r.version
			}
			return r.gitHub(owner+"/"+r.Label(), v)
		}
	}
	gitLab := func(project string) func(release) string {
		return func(r release) string { return r.gitLab(project) }
	}
	return []way{
		{name: "GitHub, API", url: gitHub("public", ""), step: "get-asset"},
		{name: "GitHub, downloads", url: gitHub("public", ""), env: pages, step: "download", all: true},
		{name: "GitHub, latest by API", url: gitHub("public", layouts.Latest), latest: true, step: "list-releases"},
		{name: "GitHub, latest by downloads", url: gitHub("public", layouts.Latest), latest: true, env: pages, step: "download"},
		{name: "GitHub, private", url: gitHub("private", ""), env: private, step: "get-asset"},
		{name: "GitHub, private, latest", url: gitHub("private", layouts.Latest), latest: true, env: append(private, pages...), step: "get-asset"},
		{name: "GitLab", url: gitLab(labProject), step: "download-file", all: true},
		{name: "GitLab, private", url: gitLab("private/" + labProject), env: private, step: "download-file"},
	}
}

// TestStockReads publishes everything with the program and has the stock clusterctl
// read it: it prints what it prints for the folder that was published.
func TestStockReads(t *testing.T) {
	t.Run("examples", func(t *testing.T) { stockReads(t, path(t, built), false) })
	t.Run("corpus", func(t *testing.T) { stockReads(t, share.Corpus(t, "releases"), true) })
}

func stockReads(t *testing.T, root string, many bool) {
	all := releases(t, root)
	types := map[layouts.ProviderType]bool{}
	var repositories []github.Repository
	for _, r := range all {
		types[r.Type] = true
		repositories = append(repositories, github.Repository{Owner: "public", Name: r.Label()}, github.Repository{Owner: "private", Name: r.Label(), Private: true})
	}
	if len(types) != len(layouts.Types) {
		t.Errorf("providers of %d types, there are %d", len(types), len(layouts.Types))
	}
	w := newWorld(t, repositories...)
	w.clusterctl = w.clusterctl.with(variables(t, all)...)
	want := read(t, w.clusterctl, settings(t, all, func(r release) string { return r.local(root) }), artifacts(t, all, false))

	dests := []string{"https://github.com/public/{provider}", "https://gitlab.example.com/" + labProject}
	if !many {
		dests = append(dests, "https://github.com/private/{provider}", "https://gitlab.example.com/private/"+labProject)
	}
	for i, to := range dests {
		out := w.tool.must(t, "publish", root, "--to", to, "--fail-on", "never", "--receipt", filepath.Join(w.home, fmt.Sprintf("record-%d.json", i)))
		if n := strings.Count(out, "published "); n != len(all) {
			t.Errorf("published %d of %d releases at %s:\n%s", n, len(all), to, out)
		}
		if out := w.tool.must(t, "publish", root, "--to", to, "--fail-on", "never"); strings.Count(out, "already published: ") != len(all) {
			t.Errorf("published twice at %s:\n%s", to, out)
		}
	}
	for _, way := range ways() {
		if many && !way.all {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			before := len(w.hub.Faults.Log()) + len(w.lab.Faults.Log())
			as := artifacts(t, all, way.latest)
			made := same(t, as, want, read(t, w.clusterctl.with(way.env...), settings(t, all, way.url), as))
			used := map[string]bool{}
			for _, e := range append(w.hub.Faults.Log(), w.lab.Faults.Log()...) {
				used[e.Step] = true
			}
			if !used[way.step] {
				t.Errorf("nobody asked for %s", way.step)
			}
			t.Logf("%d of %d artifacts, with %d requests", made, len(as), len(w.hub.Faults.Log())+len(w.lab.Faults.Log())-before)
		})
	}

	t.Run("OCI", func(t *testing.T) {
		host := startRegistry(t)
		skopeo := find(t, "skopeo", "install Debian's package of that name")
		w.tool.must(t, "publish", root, "--to", "oci://"+host+"/manifests/{provider}", "--fail-on", "never")
		layout, back := t.TempDir(), t.TempDir()
		for i, r := range all {
			name := oci.RepositoryName(r.Provider) + ":" + r.version
			folder := fmt.Sprintf("oci:%s/%d:%s", layout, i, r.version)
			skopeo.must(t, "copy", "--src-tls-verify=false", "docker://"+host+"/manifests/"+name, folder)
			skopeo.must(t, "copy", "--dest-tls-verify=false", folder, "docker://"+host+"/copies/"+name)
			if out, err := w.reader.run(t, "publish", "oci://"+host+"/copies/"+name, "--to", back, "--fail-on", "never"); err != nil {
				t.Errorf("%s: %v\n%s", r, err, out)
			}
		}
		as := artifacts(t, all, false)
		made := same(t, as, want, read(t, w.clusterctl, settings(t, all, func(r release) string { return r.local(back) }), as))
		sameFiles(t, root, back)
		t.Logf("%d of %d artifacts", made, len(as))
	})
}

// sameFiles compares the files of two folders.
func sameFiles(t testing.TB, want, got string) {
	t.Helper()
	var different []string
	a, b := files(t, want), files(t, got)
	for name, data := range a {
		if other, ok := b[name]; !ok || other != data {
			different = append(different, fmt.Sprintf("%s is there: %v, with %d bytes instead of %d", name, ok, len(other), len(data)))
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			different = append(different, name+" is new")
		}
	}
	if len(different) > 0 {
		slices.Sort(different)
		t.Errorf("%d of %d files differ:\n%s", len(different), len(a), strings.Join(different[:min(5, len(different))], "\n"))
	}
}

// files returns the contents of the files below a folder, but for hidden ones.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	given.NoError(t, err)
	return out
}
