package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/server"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// Program is something to build.
type Program struct {
	Name, Package string
	// Dir is the folder of the module that the package is built in, from that of the test.
	Dir string
	// Flags are further flags of go build.
	Flags []string
}

// Tool is the program under test.
const Tool = "clusterctl-repo"

// Programs are all that a rig needs. The slowest come first, so that a test that cannot
// build them ends early.
func Programs() []Program {
	out := []Program{
		{Name: Tool, Package: "./cmd/clusterctl-repo", Dir: "../.."},
		{Name: "kube", Package: "github.com/clusterctl-repo/clusterctl-repo/test/cluster/server/kube", Dir: "."},
		{Name: "kube-controller-manager", Package: "k8s.io/kubernetes/cmd/kube-controller-manager", Dir: "."},
	}
	for _, m := range managers {
		out = append(out, Program{Name: m.name, Package: m.program, Dir: m.dir})
	}
	return out
}

// Build compiles a program into a folder and returns its path. With keep, one that is
// there already is used.
func Build(ctx context.Context, dir string, p Program, keep bool) (string, error) {
	path := filepath.Join(dir, p.Name)
	if _, err := os.Stat(path); err == nil && keep && p.Name != Tool {
		return path, nil
	}
	// What go run linked is kept, for the next run and for the tests of other modules.
	args, env := []string{"run", "-exec", "cp", "-ldflags", server.Flags, p.Package, path}, os.Environ()
	switch {
	case p.Name == Tool:
		args, env = []string{"run", "-exec", "cp", "-trimpath", p.Package, path}, append(env, "CGO_ENABLED=0")
	case p.Flags != nil: // a mutant, which is wanted once
		args = slices.Concat([]string{"build", "-ldflags", server.Flags, "-o", path}, p.Flags, []string{p.Package})
	}
	build := exec.CommandContext(ctx, "go", args...)
	build.Env = env
	build.Dir = p.Dir
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", p.Name, err, out)
	}
	return path, nil
}

// module returns the folder of a module's source.
func module(ctx context.Context, dir, path string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", path)
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("find the module %s: %w", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// infraModule has the infrastructure provider.
const infraModule = "sigs.k8s.io/cluster-api/test"

// Edit changes a file of the infrastructure provider. Old must be there exactly once.
type Edit struct{ File, Old, New string }

// Mutants builds changed infrastructure providers.
type Mutants struct{ dir, source, modfile string }

// PrepareMutants copies the module of the infrastructure provider into a folder of the
// test, because go build replaces files by others only outside the module cache.
func PrepareMutants(t testing.TB) *Mutants {
	t.Helper()
	dir := t.TempDir()
	from := given.Value(module(t.Context(), ".", infraModule))(t)
	above := given.Value(filepath.Abs(".."))(t)
	m := &Mutants{dir: dir, source: filepath.Join(dir, "source"), modfile: filepath.Join(dir, "go.mod")}
	given.NoError(t, os.CopyFS(m.source, goFiles{os.DirFS(from)}))
	text := strings.ReplaceAll(string(given.Read(t, "go.mod")), "=> ../", "=> "+above+"/")
	given.File(t, m.modfile, text+"\nreplace "+infraModule+" => "+m.source+"\n")
	given.File(t, filepath.Join(dir, "go.sum"), string(given.Read(t, "go.sum")))
	return m
}

// goFiles hides the folders that the provider does not need.
type goFiles struct{ fs.FS }

func (g goFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(g.FS, name)
	var out []fs.DirEntry
	for _, e := range all {
		if name != "." || e.Name() == "infrastructure" || e.Name() == "framework" || !e.IsDir() {
			out = append(out, e)
		}
	}
	return out, err
}

// Build compiles the provider with edits and returns the path of the program.
func (m *Mutants) Build(t testing.TB, name string, edits []Edit) string {
	t.Helper()
	overlay := map[string]map[string]string{"Replace": {}}
	for i, e := range edits {
		original := filepath.Join(m.source, "infrastructure/docker", e.File)
		from := original
		if changed := overlay["Replace"][original]; changed != "" {
			from = changed
		}
		text := string(given.Read(t, from))
		if n := strings.Count(text, e.Old); n != 1 {
			t.Fatalf("%s: the text to change is there %d times; update the edit of the mutant:\n%s", e.File, n, e.Old)
		}
		changed := filepath.Join(m.dir, fmt.Sprintf("%s-%d.go", name, i))
		given.File(t, changed, strings.Replace(text, e.Old, e.New, 1))
		overlay["Replace"][original] = changed
	}
	file := filepath.Join(m.dir, name+".json")
	given.File(t, file, string(given.Value(json.Marshal(overlay))(t)))
	p := Program{Name: name, Package: managers[infra].program, Dir: ".", Flags: []string{"-overlay", file, "-modfile", m.modfile}}
	return given.Value(Build(t.Context(), m.dir, p, false))(t)
}
