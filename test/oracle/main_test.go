package oracle

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/cost"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// The programs are built when the first test asks for them.
var (
	clusterctl func() (*real.Binary, error)
	// tool returns the path of this project's program.
	tool func() (string, error)
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "oracle")
	if err == nil {
		defer os.RemoveAll(dir)
		cost.In(dir)
		err = real.Isolate(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	clusterctl = sync.OnceValues(func() (*real.Binary, error) { return real.Build(dir) })
	tool = sync.OnceValues(func() (string, error) { return buildTool(dir) })
	return m.Run()
}

func binary(t testing.TB) *real.Binary {
	t.Helper()
	return given.Value(clusterctl())(t)
}

// subjects are the releases that everything is tried on: those of the examples
// and those of the corpus.
func subjects(t testing.TB) []real.Release {
	t.Helper()
	out := releases(t, builtExamples(t))
	root, missing := share.FindCorpus("releases")
	if missing != "" {
		t.Log(missing)
		return out
	}
	return append(out, releases(t, root)...)
}

// releases lists the releases in a folder.
func releases(t testing.TB, root string) []real.Release {
	t.Helper()
	dirs := given.Value(filepath.Glob(filepath.Join(root, "*", "*")))(t)
	var out []real.Release
	for _, dir := range dirs {
		p := given.Value(layouts.ParseLabel(filepath.Base(filepath.Dir(dir))))(t)
		r := real.Release{Root: root, Type: string(p.Type), Name: p.Name, Version: filepath.Base(dir)}
		for _, f := range files(t, dir) {
			if layouts.KindOfFile(f) == layouts.Components {
				r.Components = f
			}
		}
		out = append(out, r)
	}
	return out
}

func files(t testing.TB, dir string) []string {
	t.Helper()
	entries := given.Value(os.ReadDir(dir))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// lintRelease applies rules to a release of one provider.
func lintRelease(p layouts.Provider, opts lint.Options, files ...*repo.Artifact) (*lint.Report, error) {
	r := &repo.Release{Provider: p, Version: "v1.0.0", Artifacts: files}
	return lint.Run(background, &repo.Repository{Providers: []*repo.Provider{{Provider: p, Releases: []*repo.Release{r}}}}, opts)
}

func provider(r real.Release) layouts.Provider {
	return layouts.Provider{Type: layouts.ProviderType(r.Type), Name: r.Name}
}

// newFolder returns a new folder. Its path contains no part of the test's name, because
// clusterctl replaces variables in paths.
func newFolder(t testing.TB) string {
	t.Helper()
	dir := given.Value(os.MkdirTemp("", "oracle"))(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// write makes a tree of files below a new folder.
func write(t testing.TB, tree map[string]string) string {
	t.Helper()
	dir := newFolder(t)
	for name, content := range tree {
		path := filepath.Join(dir, filepath.FromSlash(name))
		given.File(t, path, content)
	}
	return dir
}

func read(t testing.TB, path string) *yamldoc.File {
	t.Helper()
	data := given.Read(t, path)
	return yamldoc.NewFile(path, data)
}

// values are variables by their exact name.
type values map[string]string

func (v values) Get(name string) (string, bool) {
	value, ok := v[name]
	return value, ok
}

// env is the environment that says the same. Names must be in upper case.
func (v values) env() []string {
	var out []string
	for name, value := range v {
		out = append(out, name+"="+value)
	}
	return out
}

// dummies gives every variable of the texts that needs one a plausible value.
func dummies(texts ...[]byte) values {
	v := values{}
	for _, text := range texts {
		for _, name := range real.Required(text) {
			v[name] = real.Dummy(name)
		}
	}
	if v["WORKER_MACHINE_COUNT"] != "" {
		v["WORKER_MACHINE_COUNT"] = "0" // what clusterctl takes without the flag, whatever the environment
	}
	return v
}

// core is the part of a message that both sides share.
func core(err error) string {
	if err == nil {
		return ""
	}
	var at *yamldoc.Error
	text := err.Error()
	if errors.As(err, &at) {
		text = at.Err.Error()
	}
	for _, cut := range []struct{ from, to string }{
		// clusterctl quotes the whole document.
		{`(failed to unmarshal the \w+ yaml document): "(?:[^"\\]|\\.)*"`, "$1"},
		// Where the scheme was built.
		{` in scheme "[^"]*"`, ""},
		// The field that the tool adds.
		{` \([\w.]+ is an? \w+\)`, ""},
		// Where a file was looked for.
		{`(failed to read "[^"]+" from provider's repository "[^"]+"): .*`, "$1"},
		// A set without order.
		{`v1beta1, v1beta2 contract`, "v1beta2, v1beta1 contract"},
	} {
		text = regexp.MustCompile(cut.from).ReplaceAllString(text, cut.to)
	}
	return text
}

// same compares what clusterctl says with what the tool says.
func same(t testing.TB, what string, want []byte, wantErr error, got []byte, gotErr error) bool {
	t.Helper()
	switch {
	case core(wantErr) != core(gotErr):
		t.Errorf("%s:\nclusterctl: %v\nthe tool:   %v", what, abbreviate(wantErr), gotErr)
	case wantErr == nil && !bytes.Equal(want, got):
		t.Errorf("%s: different output\n%s", what, firstDifference(want, got))
	default:
		return true
	}
	return false
}

func abbreviate(err error) string {
	if text := core(err); text != "" {
		return text
	}
	return "accepts it"
}

func firstDifference(want, got []byte) string {
	a, b := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\nclusterctl: %q\nthe tool:   %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("clusterctl prints %d lines, the tool %d", len(a), len(b))
}

// settings writes a clusterctl.yaml that knows one provider.
func settings(t testing.TB, r real.Release, rest string) string {
	t.Helper()
	dir := write(t, map[string]string{"clusterctl.yaml": fmt.Sprintf(
		"overridesFolder: %q\nproviders:\n- name: %q\n  type: %q\n  url: %q\n%s", t.TempDir(), r.Name, r.Type, r.URL(), rest)})
	return filepath.Join(dir, "clusterctl.yaml")
}

// flagOf is the flag that selects a provider of a type.
func flagOf(t testing.TB, r real.Release) string {
	t.Helper()
	info, ok := layouts.ProviderType(r.Type).Info()
	if !ok {
		t.Fatalf("unknown type %q", r.Type)
	}
	return info.Flag
}

var background = context.Background()
