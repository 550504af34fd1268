package imports

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

var update = flag.Bool("update", false, "write the map into docs/architecture.md")

func scan(t *testing.T, root fs.FS) map[string]*Source {
	t.Helper()
	return given.Value(Scan(root))(t)
}

func TestLaw(t *testing.T) {
	source := scan(t, os.DirFS("../.."))
	for _, problem := range slices.Concat(Judge(source), Effects(source), Comments(source)) {
		t.Error(problem)
	}
}

// TestDirections adds to each package every import that leads up, one at a time,
// and expects one complaint that names both and says what to do.
func TestDirections(t *testing.T) {
	source := scan(t, os.DirFS("../.."))
	ok := Judge(source)
	count := 0
	for p, s := range source {
		for imported := range source {
			if s.Imports[imported] != "" || layerOf(imported) <= layerOf(p) {
				continue
			}
			count++
			if why := s.forbidden(imported); why == "" {
				t.Errorf("%s may import %s", p, imported)
			}
		}
	}
	if count < 3000 {
		t.Errorf("only %d imports lead up", count)
	}
	for _, c := range []struct{ p, imported, want string }{
		{"repo/facts/diff", "repo/lint", `"facts" comes before "the engine of lint"`},
		{"repo/text/vars", "repo/capi/contract", `comes before "Cluster API"`},
		{"repo/kube/crd", "repo/capi/contract", `"Kubernetes" comes before "Cluster API"`},
		{"repo/capi/contract", "repo/facts/inventory", `comes before "facts"`},
		{"repo/lint", "repo/lint/rules", `"the engine of lint" comes before "the rules"`},
		{"repo/lint/rules/classes", "repo/report", `"the rules" comes before "reports"`},
		{"repo/lint/rules/classes", "repo/lint/rules/text", "stands alone"},
		{"repo/report", "repo/lint/rules", "findings of any rule"},
		{"repo/move", "repo/extension/probe", `comes before "the network"`},
		{"repo/capi/metadata", "repo/source/folder", "is given bytes"},
		{"layouts", "repo", `"the conventions" comes before "text`},
		{"layouts/config", "repo/lint", "judge nothing"},
		{"layouts/config", "transform", `comes before "making`},
		{"transform", "publish", "never back"},
		{"publish/mirror", "transform", "whoever made them"},
		{"publish/local", "publish/github", "without the others"},
		{"publish/mirror", "publish/oci", "without the others"},
		{"publish/transport", "cmd/internal/term", `comes before "the command line"`},
		{"publish/transport", "test/fakes/fault", `comes before "tests"`},
		{"cmd/clusterctl-repo", "repo", "knows signals"},
		{"test/fakes/github", "publish/github", "share its code"},
		{"examples/acme-runtime-extension", "repo/extension", "share its code"},
		{"repo/lint", "net/http", "without the network"},
		{"repo/extension", "crypto/tls", "without the network"},
		{"transform", "net/http", "without the network"},
		{"repo/capi/metadata", "sigs.k8s.io/yaml", "One package parses YAML"},
		{"transform", "sigs.k8s.io/kustomize/api", "One package knows kustomize"},
		{"publish/open", "oras.land/oras-go/v2", "publish/oci"},
		{"transform/check", "os/exec", "repo/source/program"},
		{"repo/report", "github.com/spf13/cobra", "the command line"},
		{"repo/report", "plugin", "does not list it"},
		{"repo/report", "example.com/unknown", "does not list it"},
	} {
		source[c.p].Imports[c.imported] = c.p + "/injected.go:1:1"
		problems := slices.DeleteFunc(Judge(source), func(problem string) bool { return slices.Contains(ok, problem) })
		delete(source[c.p].Imports, c.imported)
		if len(problems) != 1 || !strings.HasPrefix(problems[0], c.p+"/injected.go:1:1 imports "+c.imported+", which "+c.p+" must not know. ") ||
			!strings.Contains(problems[0], c.want) || !strings.Contains(problems[0], "Move the code") {
			t.Errorf("%s importing %s: want %q, got %q", c.p, c.imported, c.want, problems)
		}
	}
}

// scanOne scans a tree of one file in a package.
func scanOne(t *testing.T, source map[string]*Source, file, text string) *Source {
	t.Helper()
	tree := fstest.MapFS{file: {Data: []byte(text)}}
	for _, mod := range []string{"go.mod", path.Join(source[path.Dir(file)].Module, "go.mod")} {
		data := given.Read(t, path.Join("../..", mod))
		tree[mod] = &fstest.MapFile{Data: data}
	}
	return scan(t, tree)[path.Dir(file)]
}

// TestFormsOfImports hides forbidden imports in files: blank, renamed, for
// another platform, behind a build tag.
func TestFormsOfImports(t *testing.T) {
	source := scan(t, os.DirFS("../.."))
	for _, c := range []struct{ file, tags, name, imported string }{
		{"repo/facts/diff/x.go", "", "", Module + "/repo/lint"},
		{"repo/facts/diff/x.go", "", "_ ", Module + "/repo/lint"},
		{"repo/facts/diff/x.go", "", "y ", Module + "/repo/lint"},
		{"repo/kube/crd/x_windows.go", "", "", Module + "/repo/capi/contract"},
		{"repo/text/yamldoc/x.go", "//go:build ignore\n\n", "", Module + "/repo/lint"},
		{"repo/move/x_darwin.go", "", ". ", Module + "/repo/extension/probe"},
		{"repo/lint/x.go", "", "", "k8s.io/client-go/kubernetes"},
		{"repo/lint/x.go", "", "", "net/http/httptest"},
		{"repo/lint/x.go", "", "", "C"},
		{"examples/acme-runtime-extension/x.go", "", "", Module + "/repo/extension"},
	} {
		found := scanOne(t, source, c.file, c.tags+"package "+source[path.Dir(c.file)].Name+"\n\nimport "+c.name+`"`+c.imported+"\"\n")
		problems := Judge(map[string]*Source{found.Path: found})
		if !strings.HasPrefix(problems[0], c.file+":") {
			t.Errorf("%s importing %s: got %q", c.file, c.imported, problems[0])
		}
	}
}

func TestEffectsAreFound(t *testing.T) {
	source := scan(t, os.DirFS("../.."))
	for _, body := range []string{
		`import "fmt"; func x() { fmt.Println() }`,
		`import f "fmt"; func x() { f.Print() }`,
		`import "os"; var x = os.Getenv("X")`,
		`import "os"; func x() { os.Exit(1) }`,
		`import "os"; var x = os.Stdout`,
		`import "os"; var x, _ = os.MkdirTemp("", "x")`,
		`import . "os"; var x = Args`,
		`func x() { println("x") }`,
		`import "net/http"; var x, _ = http.Get("http://127.0.0.1")`,
	} {
		found := effectsOf(scanOne(t, source, "repo/lint/x.go", "package lint; "+body+"\n"))
		if len(found) != 1 || !strings.HasPrefix(found[0].at, "repo/lint/x.go:1:") {
			t.Errorf("%s: got %v", body, found)
		}
	}
}

func TestTableIsChecked(t *testing.T) {
	source := scan(t, os.DirFS("../.."))
	pkg := func(p, doc string) *Source {
		return &Source{Path: p, Name: path.Base(p), Doc: doc, Imports: map[string]string{}}
	}
	for name, c := range map[string]struct {
		change func(map[string]*Source)
		want   string
	}{
		"layer":      {func(s map[string]*Source) { s["repo/zzz"] = pkg("repo/zzz", "") }, "repo/zzz belongs to no layer"},
		"library":    {func(s map[string]*Source) { delete(s, "transform/kustomize") }, "sigs.k8s.io/kustomize/api, which transform/kustomize does not import"},
		"user":       {func(s map[string]*Source) { delete(s, "publish/mirror") }, "lets publish/mirror import github.com/Masterminds/semver/v3, which it does not"},
		"folder":     {func(s map[string]*Source) { s["repo/source/zzz/x"] = pkg("repo/source/zzz/x", "") }, "repo/source/zzz must have a row in Folders"},
		"package":    {func(s map[string]*Source) { s["repo/capi"] = pkg("repo/capi", "") }, "repo/capi must have a row in Folders if"},
		"old folder": {func(s map[string]*Source) { delete(s, "repo/lint/rules/internal/view") }, "repo/lint/rules/internal has no packages"},
		"folders of repo": {func(s map[string]*Source) {
			for i := range maxRepo {
				p := "repo/z" + string(rune('a'+i))
				s[p] = pkg(p, "")
			}
		}, "is the limit"},
		"comment": {func(s map[string]*Source) { s["repo/report"] = pkg("repo/report", "Reports must not x.") }, `repo/report: the package comment must begin with "Package report "`},
		"never":   {func(s map[string]*Source) { s["repo/report"] = pkg("repo/report", "Package report x.") }, "repo/report: the package comment must say what the package must not know"},
	} {
		changed := maps.Clone(source)
		c.change(changed)
		if problems := slices.Concat(Judge(changed), Comments(changed)); !strings.Contains(strings.Join(problems, "\n"), c.want) {
			t.Errorf("%s: want %q, got %q", name, c.want, problems)
		}
	}
}

// TestArchitecture compares the map in docs/architecture.md with the code.
func TestArchitecture(t *testing.T) {
	const (
		file  = "../../docs/architecture.md"
		begin = "<!-- The map: generated by make generate from the code, its comments and test/imports/table.go -->\n\n"
		end   = "<!-- End of the map -->\n"
	)
	text := given.Read(t, file)
	before, rest, ok1 := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q", file, begin, end)
	}
	want := before + begin + Markdown(scan(t, os.DirFS("../.."))) + end + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the code; run make generate", file)
	}
	given.NoError(t, os.WriteFile(file, []byte(want), 0o644))
}

// TestLibraryLinksNoNetwork looks through the libraries, too.
func TestLibraryLinksNoNetwork(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Deps \" \"}}", "./repo/...", "./layouts/...")
	cmd.Dir = "../.."
	out := given.Value(cmd.Output())(t)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if matches("repo/extension/probe", strings.TrimPrefix(fields[0], Module+"/")) {
			continue
		}
		for _, dep := range fields[1:] {
			if dep == "net/http" || dep == "crypto/tls" {
				t.Errorf("%s links %s; only the probe of extensions may", fields[0], dep)
			}
		}
	}
}
