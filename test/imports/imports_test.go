package imports

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write the map into docs/architecture.md")

func scan(t *testing.T, root fs.FS) map[string]*Source {
	t.Helper()
	source, err := Scan(root)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func TestLaw(t *testing.T) {
	source := scan(t, os.DirFS("../.."))
	for _, problem := range slices.Concat(Judge(source, Folders, Packages), Effects(source), Comments(source)) {
		t.Error(problem)
	}
}

// TestEveryOtherImportIsCaught adds each import that is not there today to each
// package, one at a time, and expects one complaint that names both.
func TestEveryOtherImportIsCaught(t *testing.T) {
	source := scan(t, os.DirFS("../.."))
	rows := rowsByPath()
	candidates := slices.Collect(maps.Keys(source))
	candidates = append(candidates, "net/http", "crypto/tls", "os/exec", "os/signal", "flag", "log", "syscall", "unsafe", "testing", "C",
		"go.yaml.in/yaml/v4", "sigs.k8s.io/yaml", "sigs.k8s.io/kustomize/api", "github.com/google/go-github/v60", "github.com/xanzy/go-gitlab",
		"oras.land/oras-go/v2", "k8s.io/client-go", "github.com/spf13/cobra", "example.com/unknown")
	count := 0
	for p, s := range source {
		for _, forbidden := range candidates {
			if s.Imports[forbidden] != "" || forbidden == p || s.Module != "" && !isOwn(forbidden) {
				continue
			}
			count++
			problems := injected(source, rows, p, forbidden, p+"/injected.go:1:1")
			if len(problems) != 1 || !strings.HasPrefix(problems[0], p+"/injected.go:1:1 imports "+forbidden+", which") {
				t.Fatalf("%s importing %s: got %q", p, forbidden, problems)
			}
		}
	}
	if count < 3000 {
		t.Errorf("only %d imports were injected", count)
	}
}

// injected returns the problems that an import adds to a package.
func injected(source map[string]*Source, rows map[string]Package, p, imported, at string) []string {
	s := source[p]
	before := s.judge(rows[p], rows)
	old, had := s.Imports[imported]
	s.Imports[imported] = at
	after := s.judge(rows[p], rows)
	delete(s.Imports, imported)
	if had {
		s.Imports[imported] = old
	}
	return slices.DeleteFunc(after, func(problem string) bool { return slices.Contains(before, problem) })
}

func rowsByPath() map[string]Package {
	rows := map[string]Package{}
	for _, row := range Packages {
		rows[row.Path] = row
	}
	return rows
}

// scanOne scans a tree of one file in a package.
func scanOne(t *testing.T, source map[string]*Source, file, text string) *Source {
	t.Helper()
	tree := fstest.MapFS{file: {Data: []byte(text)}}
	for _, mod := range []string{"go.mod", path.Join(source[path.Dir(file)].Module, "go.mod")} {
		data, err := os.ReadFile(path.Join("../..", mod))
		if err != nil {
			t.Fatal(err)
		}
		tree[mod] = &fstest.MapFile{Data: data}
	}
	return scan(t, tree)[path.Dir(file)]
}

// TestForbiddenImportsInFiles writes forbidden imports into files over the real
// tree: blank, renamed, for another platform, behind a build tag.
func TestForbiddenImportsInFiles(t *testing.T) {
	const lintRules = "repo/lint/rules"
	rows := rowsByPath()
	source := scan(t, os.DirFS("../.."))
	for _, c := range []struct{ file, tags, name, imported string }{
		{"transform/x.go", "", "_ ", lintRules},
		{"transform/kustomize/x.go", "", "_ ", "repo/lint"},
		{"repo/facts/diff/x.go", "", "_ ", lintRules},
		{"repo/facts/inventory/x.go", "", "_ ", "repo/lint"},
		{"repo/kube/openapi/x.go", "", "_ ", "repo/trust/provenance"},
		{"repo/kube/crd/x_windows.go", "", "", "repo/capi/contract"},
		{"repo/text/yamldoc/x.go", "//go:build ignore\n\n", "", "repo"},
		{"repo/text/vars/x.go", "", "y ", "repo/text/yamldoc"},
		{"repo/capi/metadata/x.go", "", "", "repo/source/folder"},
		{"repo/extension/x.go", "", "", "repo/extension/probe"},
		{"repo/move/owners/x_darwin.go", "", "", "repo/live"},
		{"repo/report/x.go", "", "", "publish"},
		{"repo/trust/sign/x.go", "", "", "cmd/internal/term"},
		{"repo/lint/x.go", "", "", lintRules},
		{"repo/x.go", "", "", "repo/source/folder"},
		{"layouts/x.go", "", "", "repo"},
		{"layouts/config/x.go", "", "", "transform"},
		{"publish/local/x.go", "", "", "publish/github"},
		{"publish/github/x.go", "", "_ ", "transform/clusterctl"},
		{"publish/transport/x.go", "", "", "test/fakes/fault"},
		{"cmd/clusterctl-repo/x.go", "", "", "repo"},
		{"cmd/internal/term/x.go", "", "", "layouts"},
		{"test/fakes/github/x.go", "", "", "publish/github"},
		{"examples/acme-runtime-extension/x.go", "", "", "repo/extension"},
	} {
		p := path.Dir(c.file)
		found := scanOne(t, source, c.file, c.tags+"package "+source[p].Name+"\n\nimport "+c.name+`"`+Module+"/"+c.imported+"\"\n")
		if len(found.Imports) != 1 {
			t.Fatalf("%s: found %v", c.file, found.Imports)
		}
		problems := injected(source, rows, p, c.imported, found.Imports[c.imported])
		if len(problems) != 1 || !strings.Contains(problems[0], c.file+":") || !strings.Contains(problems[0], c.imported) {
			t.Errorf("%s importing %s: got %q", c.file, c.imported, problems)
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
	row := func(p string) int {
		return slices.IndexFunc(Packages, func(row Package) bool { return row.Path == p })
	}
	for name, c := range map[string]struct {
		change func(folders *[]Folder, packages *[]Package)
		want   string
	}{
		"missing row": {func(_ *[]Folder, p *[]Package) { *p = slices.Delete(*p, row("repo/report"), row("repo/report")+1) }, `Path:  "repo/report"`},
		"stale row":   {func(_ *[]Folder, p *[]Package) { *p = append(*p, Package{Path: "zzz", Holds: "x", Never: "y"}) }, "the row of zzz has no package"},
		"wide row":    {func(_ *[]Folder, p *[]Package) { (*p)[row("repo/report")].Knows += " repo/text/vars" }, "lists repo/text/vars, which the package does not import"},
		"empty text":  {func(_ *[]Folder, p *[]Package) { (*p)[row("repo/report")].Never = "" }, "repo/report must say"},
		"unsorted":    {func(_ *[]Folder, p *[]Package) { (*p)[0], (*p)[1] = (*p)[1], (*p)[0] }, "keep the rows sorted"},
		"no folder":   {func(f *[]Folder, _ *[]Package) { *f = (*f)[1:] }, "the folder cmd has no row"},
		"extra folder": {func(f *[]Folder, _ *[]Package) {
			*f = append(*f, Folder{"zzz", "x", "y"})
		}, "the folder zzz has no packages"},
		"folders of repo": {func(_ *[]Folder, p *[]Package) {
			for i := range maxRepo {
				*p = append(*p, Package{Path: "repo/z" + string(rune('a'+i)), Holds: "x", Never: "y"})
			}
		}, "is the limit"},
	} {
		folders, packages := slices.Clone(Folders), slices.Clone(Packages)
		c.change(&folders, &packages)
		if problems := Judge(source, folders, packages); !strings.Contains(strings.Join(problems, "\n"), c.want) {
			t.Errorf("%s: want %q, got %q", name, c.want, problems)
		}
	}
}

// TestRowsCannotBreakPrinciples widens rows together with the code.
func TestRowsCannotBreakPrinciples(t *testing.T) {
	source := scan(t, os.DirFS("../.."))
	for _, c := range [][2]string{
		{"repo/facts/diff", "repo/lint/rules"}, {"repo/report", "cmd/internal/term"}, {"publish/github", "publish/gitlab"},
		{"transform", "publish"}, {"repo/lint", "net/http"}, {"repo/capi/metadata", "sigs.k8s.io/yaml"}, {"layouts", "repo"},
	} {
		packages := slices.Clone(Packages)
		i := slices.IndexFunc(packages, func(row Package) bool { return row.Path == c[0] })
		packages[i].Knows += " " + c[1]
		source[c[0]].Imports[c[1]] = "injected.go:1:1"
		problems := slices.DeleteFunc(Judge(source, Folders, packages), func(problem string) bool { return !strings.Contains(problem, c[1]) })
		delete(source[c[0]].Imports, c[1])
		if len(problems) != 1 || !strings.Contains(problems[0], "which no row may allow") {
			t.Errorf("%s with %s: got %q", c[0], c[1], problems)
		}
	}
}

func TestNew(t *testing.T) {
	root := t.TempDir()
	table, err := os.ReadFile("table.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "test/imports"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, tableFile), table, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := New(root, "repo/facts/example", "an example", "anything else."); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(root, "repo/facts/example/doc.go"))
	if err != nil || string(doc) != "// Package example holds an example.\n//\n// It must not know anything else.\npackage example\n" {
		t.Errorf("doc.go: %v\n%s", err, doc)
	}
	changed, err := os.ReadFile(filepath.Join(root, tableFile))
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(changed), `Path:  "repo/facts/example"`)
	if !found || !strings.Contains(before, `"repo/facts/diff"`) || strings.Contains(before, `"repo/facts/inventory"`) {
		t.Error("the row is missing, or not at its place")
	}
	for _, dir := range []string{"repo/facts/example", "../x", "/x", "repo/Upper", "x/y", "repo/lint"} {
		if _, err := New(root, dir, "x", "y"); err == nil {
			t.Errorf("New(%s) succeeded", dir)
		}
	}
}

// TestArchitecture compares the map in docs/architecture.md with the table.
func TestArchitecture(t *testing.T) {
	const (
		file  = "../../docs/architecture.md"
		begin = "<!-- The map: generated from test/imports/table.go by make generate -->\n\n"
		end   = "<!-- End of the map -->\n"
	)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q", file, begin, end)
	}
	want := before + begin + Markdown(Folders, Packages) + end + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s differs from test/imports/table.go; run make generate", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLibraryLinksNoNetwork looks through the libraries, too.
func TestLibraryLinksNoNetwork(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Deps \" \"}}", "./repo/...", "./layouts/...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if p := strings.TrimPrefix(fields[0], Module+"/"); p == "repo/extension/probe" || p == "repo/live" || strings.HasPrefix(p, "repo/live/") {
			continue
		}
		for _, dep := range fields[1:] {
			if dep == "net/http" || dep == "crypto/tls" {
				t.Errorf("%s links %s; only the probe of extensions and the client of management clusters may", fields[0], dep)
			}
		}
	}
}
