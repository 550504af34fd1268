package check_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/program"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// provider is a small source tree with one fault: a label that is a number.
var provider = map[string]string{
	"metadata.yaml":                     "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- major: 0\n  minor: 1\n  contract: v1beta2\n",
	"clusterctl-repo.yaml":              "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\nproviders:\n- type: infrastructure\n  name: acme\n  components:\n    path: config/default\n",
	"config/default/kustomization.yaml": "resources: [manager.yaml]\n",
	"config/default/manager.yaml":       "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n  labels:\n    team: 5\n",
}

// write writes files below a folder; an empty text removes the file.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if text == "" {
			given.NoError(t, os.Remove(name))
			continue
		}
		given.File(t, name, text)
	}
}

// tree is a copy of provider in a folder of its own.
func tree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	write(t, dir, provider)
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	p := program.Program{Dir: dir, Env: []string{"GIT_CONFIG_GLOBAL=/dev/null"}, Args: append([]string{"git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always"}, args...)}
	if _, err := p.Output(t.Context()); err != nil {
		if strings.Contains(err.Error(), "executable file not found") {
			t.Skip("git is not installed")
		}
		t.Fatalf("git %v: %v", args, err)
	}
}

func commit(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "more")
}

// ids are the rules of the findings.
func ids(r *check.Result) []string {
	var out []string
	for _, f := range r.Report.Findings {
		out = append(out, f.Rule.ID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestFolder: a source tree is one, whatever releases lie in it.
func TestFolder(t *testing.T) {
	components := "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: old\n"
	for name, more := range map[string]map[string]string{
		"plain":                  nil,
		"releases of its own":    {"releases/v0.1.0/metadata.yaml": provider["metadata.yaml"], "releases/v0.1.0/infrastructure-components.yaml": components},
		"a version at the root":  {"v0.1.0/metadata.yaml": provider["metadata.yaml"], "v0.1.0/infrastructure-components.yaml": components},
		"components at the root": {"infrastructure-components.yaml": components},
	} {
		dir := tree(t)
		write(t, dir, more)
		r, err := check.Folder(t.Context(), dir, check.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Contains(ids(r), "YAML009") || r.Report.Releases != 1 {
			t.Errorf("%s: %v in %d releases", name, ids(r), r.Report.Releases)
		}
		for _, f := range r.Report.Findings {
			if f.Rule.ID == "YAML009" && (f.File != filepath.ToSlash(filepath.Join(dir, "config/default/manager.yaml")) || f.Pos.Line != 6) {
				t.Errorf("%s: at %s:%d", name, f.File, f.Pos.Line)
			}
		}
	}
}

func TestFolderRefuses(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"unknown rule":      {"clusterctl-repo.yaml": "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\nrules: {NOPE001: off}\n"},
		"unknown role":      {"clusterctl-repo.yaml": "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\nroles: {Foo.x: Bar}\n"},
		"not YAML":          {"clusterctl-repo.yaml": "a: [\n"},
		"without manifests": {"go.mod": "module x\n"},
	} {
		dir := t.TempDir()
		write(t, dir, files)
		_, err := check.Folder(t.Context(), dir, check.Options{})
		if _, ok := errors.AsType[*transform.InputError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := check.Folder(t.Context(), filepath.Join(t.TempDir(), "nowhere"), check.Options{}); !errors.Is(err, folder.ErrNotRepository) {
		t.Errorf("nowhere: %v", err)
	}
}

// TestSince compares with revisions at which there was nothing, or nothing that
// can be built.
func TestSince(t *testing.T) {
	for name, tc := range map[string]struct {
		base   map[string]string
		before string // rules of findings at the base
		note   string
	}{
		"the same":            {provider, "COMP039 TPL002 YAML009", ""},
		"nothing":             {map[string]string{"README.md": "x\n"}, "", "cannot be checked at HEAD~1, so all its findings count as new"},
		"no manifests yet":    {map[string]string{"go.mod": "module x\n"}, "", "cannot be checked at HEAD~1"},
		"broken base":         {map[string]string{"metadata.yaml": provider["metadata.yaml"], "clusterctl-repo.yaml": provider["clusterctl-repo.yaml"], "config/default/kustomization.yaml": "resources: [missing.yaml]\n"}, "LINT003", "cannot be built at HEAD~1, so all its findings but those of the build count as new"},
		"wrong configuration": {map[string]string{"clusterctl-repo.yaml": "kind: [\n"}, "", "cannot be checked at HEAD~1"},
		"generated files":     {map[string]string{"metadata.yaml": provider["metadata.yaml"], "config/default/kustomization.yaml": "resources: [generated.yaml]\n", ".gitignore": "generated.yaml\n", "config/default/generated.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"}, "", "cannot be checked at HEAD~1"},
	} {
		dir := filepath.Join(t.TempDir(), "tree")
		write(t, dir, tc.base)
		git(t, dir, "init", "-q")
		commit(t, dir)
		write(t, dir, provider)
		commit(t, dir)
		var notes []string
		o := check.Options{}
		o.Source.Note = func(n transform.Note) {
			if !n.Detail {
				notes = append(notes, n.Text)
			}
		}
		r, err := check.Since(t.Context(), "HEAD~1", dir, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(ids(&check.Result{Report: r}), " "); got != tc.before {
			t.Errorf("%s: %q, want %q", name, got, tc.before)
		}
		if got := strings.Join(notes, "\n"); !strings.Contains(got, tc.note) || tc.note == "" && got != "" {
			t.Errorf("%s: notes %q, want %q", name, got, tc.note)
		}
		for _, n := range notes {
			if strings.Contains(n, os.TempDir()+"/clusterctl-repo-") {
				t.Errorf("%s: a note names the temporary folder: %s", name, n)
			}
		}
	}
}

// TestSinceKeepsFingerprints: what was there before is the same finding now.
func TestSinceKeepsFingerprints(t *testing.T) {
	dir := tree(t)
	git(t, dir, "init", "-q")
	write(t, dir, map[string]string{"config/default/manager.yaml": provider["config/default/manager.yaml"] + "# clusterctl-repo:ignore VAR014 nothing\n"})
	commit(t, dir)
	git(t, dir, "mv", "config/default/manager.yaml", "config/default/renamed.yaml")
	write(t, dir, map[string]string{
		"config/default/renamed.yaml":       "# one more line\n" + provider["config/default/manager.yaml"] + "# clusterctl-repo:ignore VAR014 nothing\n",
		"config/default/kustomization.yaml": strings.ReplaceAll(provider["config/default/kustomization.yaml"], "manager.yaml", "renamed.yaml"),
	})
	before := given.Value(check.Since(t.Context(), "HEAD", dir, check.Options{}))(t)
	now := given.Value(check.Folder(t.Context(), dir, check.Options{}))(t)
	known := map[string]bool{}
	for _, f := range before.Findings {
		known[f.Fingerprint] = true
	}
	if n := now.Report.Without(known); n == 0 || len(now.Report.Findings) != 0 {
		t.Errorf("%d were known; new: %+v", n, now.Report.Findings)
	}
}

func TestSinceRefuses(t *testing.T) {
	dir := tree(t)
	for _, revision := range []string{"HEAD", "nothing"} {
		_, err := check.Since(t.Context(), revision, dir, check.Options{})
		if _, ok := errors.AsType[*transform.InputError](err); !ok {
			t.Errorf("%s: %v", revision, err)
		}
		if revision == "HEAD" {
			git(t, dir, "init", "-q")
			commit(t, dir)
		}
	}
}

func TestFingerprints(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":          {"", "is empty"},
		"not JSON":       {"a: 1\n", "is not a report of lint in JSON"},
		"images":         {`{"schemaVersion":1,"images":[]}`, "has no findings and summary"},
		"only findings":  {`{"schemaVersion":1,"findings":[]}`, "has no findings and summary"},
		"a list":         {`[]`, "is not a report of lint in JSON"},
		"newer":          {`{"schemaVersion":2,"findings":[],"summary":{}}`, "unsupported schemaVersion 2 (supported: 1)"},
		"no fingerprint": {`{"schemaVersion":1,"findings":[{"rule":"X001"}],"summary":{}}`, "findings[0] has no rule and fingerprint"},
		"cut off":        {`{"schemaVersion":1,"findings":[{"rule":"X001"`, "is not a report of lint in JSON"},
		"report":         {`{"schemaVersion":1,"findings":[{"rule":"X001","fingerprint":"f"}],"summary":{}}`, ""},
	} {
		known, err := check.Fingerprints("b.json", []byte(tc.text))
		switch {
		case tc.want == "" && (err != nil || !known["f"] || len(known) != 1):
			t.Errorf("%s: %v, %v", name, known, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// Findings are in files of the tree, also where a kustomization only builds with what
// sourceReplacements change in it, and where they are about the release.
func TestPlacesInTheTree(t *testing.T) {
	dir := tree(t)
	write(t, dir, map[string]string{
		"config/default/kustomization.yaml": "resources: [manager_edited.yaml]\n",
		"clusterctl-repo.yaml": provider["clusterctl-repo.yaml"] +
			"  sourceReplacements:\n  - file: config/default/kustomization.yaml\n    old: manager_edited.yaml\n    new: manager.yaml\n",
	})
	r := given.Value(check.Folder(t.Context(), dir, check.Options{}))(t)
	got := map[string]string{}
	for _, f := range r.Report.Findings {
		if rel, err := filepath.Rel(dir, f.File); err == nil {
			got[f.Rule.ID] = fmt.Sprintf("%s:%d", rel, f.Pos.Line)
		}
	}
	want := map[string]string{"YAML009": "config/default/manager.yaml:6", "COMP039": "config/default/kustomization.yaml:0", "TPL002": "config/default/kustomization.yaml:0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}
