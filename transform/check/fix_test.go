package check_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// content is that of all files below a folder, with their modes.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		out[filepath.ToSlash(rel)] = fmt.Sprintf("%v\n%s", info.Mode(), data)
		return err
	})
	given.NoError(t, err)
	return out
}

func fixed(t *testing.T, dir string, known map[string]bool) *check.Fixed {
	t.Helper()
	return given.Value(check.Fix(t.Context(), dir, check.Options{}, known, true))(t)
}

// TestFixReplacedSources: the offsets of a text that sourceReplacements made
// longer are not those of the file.
func TestFixReplacedSources(t *testing.T) {
	template := "# channel: dev\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${CLUSTER_NAME}\ndata:\n  channel: dev\n  version: ${ KUBERNETES_VERSION }\n  other: more\n"
	for _, channel := range []string{"channel: a-much-longer-channel-than-before", "channel: x"} {
		dir := tree(t)
		write(t, dir, map[string]string{
			"templates/cluster-template.yaml": template,
			"clusterctl-repo.yaml":            provider["clusterctl-repo.yaml"] + "  sourceReplacements:\n  - file: templates/cluster-template.yaml\n    old: 'channel: dev'\n    new: '" + channel + "'\n  templates:\n  - files: templates/cluster-template*.yaml\n",
		})
		f := fixed(t, dir, nil)
		want := strings.Replace(template, "${ KUBERNETES_VERSION }", "${KUBERNETES_VERSION}", 1)
		if got := string(given.Read(t, filepath.Join(dir, "templates/cluster-template.yaml"))); got != want {
			t.Errorf("%s: got\n%s\nrefused %+v", channel, got, f.Refused)
		}
	}
}

// TestFixKeepsFiles: what a file is stays, and what cannot be fixed stays as it is.
func TestFixKeepsFiles(t *testing.T) {
	manager := func(labels string) string {
		return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n  labels: " + labels + "\n"
	}
	for name, tc := range map[string]struct{ before, after, refused string }{
		"tag":             {manager(`{a: !!int 3, keep: "x"}`), "", "written with a tag"},
		"anchor":          {manager("{a: &y yes, b: *y}"), "", ""},
		"block anchor":    {manager("\n    a: &y 5\n    b: *y"), "", "written with an a"},
		"plain":           {manager(`{a: 3, keep: "x"}`), manager(`{a: "3", keep: "x"}`), ""},
		"line ends":       {strings.ReplaceAll(manager("\n    a: 3 # why"), "\n", "\r\n"), strings.ReplaceAll(manager("\n    a: \"3\" # why"), "\n", "\r\n"), ""},
		"several at once": {manager("{a: 3, b: 4, c: !!int 5}"), manager(`{a: "3", b: "4", c: !!int 5}`), "written with a tag"},
	} {
		dir := tree(t)
		file := filepath.Join(dir, "config/default/manager.yaml")
		write(t, dir, map[string]string{"config/default/manager.yaml": tc.before})
		given.NoError(t, os.Chmod(file, 0o600))
		f := fixed(t, dir, nil)
		want := tc.after
		if want == "" {
			want = tc.before
		}
		if got := string(given.Read(t, file)); got != want {
			t.Errorf("%s: got\n%s", name, got)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, info.Mode())
		}
		reasons := ""
		for _, r := range f.Refused {
			reasons += r.Reason + "\n"
		}
		if tc.refused == "" && reasons != "" || !strings.Contains(reasons, tc.refused) {
			t.Errorf("%s: refused %q, want %q", name, reasons, tc.refused)
		}
	}
}

// TestFixLinks: a link stays one, and nothing outside of the tree is written to.
func TestFixLinks(t *testing.T) {
	dir := tree(t)
	write(t, dir, map[string]string{"shared/namespace.yaml": provider["config/default/manager.yaml"], "config/default/manager.yaml": ""})
	link := filepath.Join(dir, "config/default/manager.yaml")
	if err := os.Symlink("../../shared/namespace.yaml", link); err != nil {
		t.Skip(err)
	}
	write(t, dir, map[string]string{"clusterctl-repo.yaml": provider["clusterctl-repo.yaml"] + "    loadRestrictor: none\n"})
	f := fixed(t, dir, nil)
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v", info.Mode())
	}
	if got := string(given.Read(t, filepath.Join(dir, "shared/namespace.yaml"))); !strings.Contains(got, `team: "5"`) {
		t.Errorf("not fixed: %s; refused %+v", got, f.Refused)
	}
}

// TestFixKnown: old findings are not edited.
func TestFixKnown(t *testing.T) {
	dir := tree(t)
	r := given.Value(check.Folder(t.Context(), dir, check.Options{}))(t)
	known := map[string]bool{}
	for _, f := range r.Report.Findings {
		known[f.Fingerprint] = true
	}
	before := content(t, dir)
	if f := fixed(t, dir, known); len(f.Fixes) != 0 || !equal(before, content(t, dir)) {
		t.Errorf("edited: %+v", f.Changed)
	}
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, text := range a {
		if b[name] != text {
			return false
		}
	}
	return true
}

// TestFixOnlyShows: without write, the diff is all there is.
func TestFixOnlyShows(t *testing.T) {
	dir := tree(t)
	before := content(t, dir)
	f := given.Value(check.Fix(t.Context(), dir, check.Options{}, nil, false))(t)
	if len(f.Changed) != 1 || len(f.Fixes) != 1 || !bytes.Contains(f.Changed[0].New, []byte(`team: "5"`)) || !equal(before, content(t, dir)) {
		t.Errorf("%+v", f.Changed)
	}
	if got := len(f.After.Report.Findings); got >= len(f.Before.Report.Findings) {
		t.Errorf("%d findings are foreseen", got)
	}
}

// TestFixBringsNoFinding: a value that is used elsewhere too is left alone if
// the other place would break.
func TestFixBringsNoFinding(t *testing.T) {
	dir := tree(t)
	// Then the configuration would no longer find the text.
	write(t, dir, map[string]string{"clusterctl-repo.yaml": provider["clusterctl-repo.yaml"] + "  sourceReplacements:\n  - file: config/default/manager.yaml\n    old: 'team: 5'\n    new: 'team: 5 # of {version}'\n"})
	before := content(t, dir)
	f := fixed(t, dir, nil)
	if !equal(before, content(t, dir)) || len(f.Refused) != 1 || !strings.Contains(f.Refused[0].Reason, "would then have a new finding") {
		t.Errorf("fixes %+v, refused %+v", f.Fixes, f.Refused)
	}
}

// TestFixExamples makes every edit that a rule offers in its bad example: it removes its
// finding and brings no other, and the rules that offer one are these.
func TestFixExamples(t *testing.T) {
	offered := map[string]bool{}
	for _, r := range rules.All {
		e := given.Value(examples.Load(r.ID))(t)
		if e.Source {
			continue
		}
		dir := t.TempDir()
		given.NoError(t, e.Bad.Write(dir))
		f := fixed(t, dir, nil)
		for _, u := range f.Refused {
			t.Errorf("%s: %s is not fixed: %s", r.ID, u.Finding.Message, u.Reason)
		}
		for _, fix := range f.Fixes {
			offered[fix.Rule.ID] = true
			for _, left := range f.After.Report.Findings {
				if left.Fingerprint == fix.Fingerprint && left.File == fix.File {
					t.Errorf("%s: %s is fixed, and still there", r.ID, fix.Message)
				}
			}
		}
	}
	if got := strings.Join(slices.Sorted(maps.Keys(offered)), " "); got != "META002 META006 REPO002 VAR017 YAML006 YAML009" {
		t.Errorf("edits are offered by %s", got)
	}
}

// trees is how many source trees the tests of fixes and of random trees make.
func trees() int { return share.Of(10, 200) }

// TestFixIsSemantic makes random trees: after Fix nothing but the intended values
// has changed, the trees have no new finding, and a second run does nothing.
func TestFixIsSemantic(t *testing.T) {
	edits := 0
	for seed := range trees() {
		rnd := rand.New(rand.NewPCG(uint64(seed), 11))
		dir := filepath.Join(t.TempDir(), "tree")
		write(t, dir, randomTree(rnd))
		before := content(t, dir)
		f, err := check.Fix(t.Context(), dir, check.Options{}, nil, true)
		if err != nil {
			continue // the tree cannot be built; then nothing may have changed
		}
		after := content(t, dir)
		seen := map[string]bool{}
		for _, finding := range f.Before.Report.Findings {
			seen[finding.Fingerprint] = true
		}
		now, err := check.Folder(t.Context(), dir, check.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, finding := range now.Report.Findings {
			if !seen[finding.Fingerprint] {
				t.Errorf("seed %d: new finding %s:%d %s %s", seed, finding.File, finding.Pos.Line, finding.Rule.ID, finding.Message)
			}
		}
		lines := map[string]map[int]bool{}
		for _, fix := range f.Fixes {
			rel := given.Value(filepath.Rel(dir, filepath.FromSlash(fix.File)))(t)
			rel = filepath.ToSlash(rel)
			if lines[rel] == nil {
				lines[rel] = map[int]bool{}
			}
			lines[rel][fix.Pos.Line] = true
			edits++
		}
		for name := range before {
			if before[name] != after[name] {
				sameBut(t, seed, name, before[name], after[name], lines[name])
			}
		}
		if again := fixed(t, dir, nil); len(again.Fixes) != 0 || !equal(after, content(t, dir)) {
			t.Errorf("seed %d: a second run fixes %+v", seed, again.Changed)
		}
	}
	if edits == 0 {
		t.Error("nothing was fixed in any tree")
	}
	t.Logf("%d edits in %d trees", edits, trees())
}

// legacy is an expression with spaces, which means the same without.
var legacy = regexp.MustCompile(`\$\{\s*(\w+)\s*\}`)

// sameBut compares two versions of a file: every line without a fix is as it
// was, and all values are but those on lines with one.
func sameBut(t *testing.T, seed int, name, before, after string, lines map[int]bool) {
	t.Helper()
	_, before, _ = strings.Cut(before, "\n")
	_, after, _ = strings.Cut(after, "\n")
	if name == "metadata.yaml" {
		// Lines may be added; without them it is the old file.
		rest := strings.Split(after, "\n")
		for _, line := range strings.Split(before, "\n") {
			i := slices.Index(rest, line)
			if i < 0 {
				t.Errorf("seed %d: %s lost %q", seed, name, line)
				return
			}
			rest = rest[i+1:]
		}
		return
	}
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(a) != len(b) {
		t.Errorf("seed %d: %s has another number of lines:\n%s\n%s", seed, name, before, after)
		return
	}
	for i := range a {
		if a[i] != b[i] && !lines[i+1] {
			t.Errorf("seed %d: %s:%d changed from %q to %q", seed, name, i+1, a[i], b[i])
		}
	}
	old, changed := yamldoc.Parse(yamldoc.NewFile(name, []byte(before))), yamldoc.Parse(yamldoc.NewFile(name, []byte(after)))
	for i, d := range old.Docs {
		if d.Err != nil {
			continue
		}
		values := map[string]string{}
		d.Root.Walk(func(p yamldoc.Path, n *yamldoc.Node) bool {
			if !lines[d.Pos(n).Line] {
				values[p.String()] = n.Kind.String() + legacy.ReplaceAllString(n.Text(), "$${$1}")
			}
			return true
		})
		changed.Docs[i].Root.Walk(func(p yamldoc.Path, n *yamldoc.Node) bool {
			if want, ok := values[p.String()]; ok && want != n.Kind.String()+legacy.ReplaceAllString(n.Text(), "$${$1}") {
				t.Errorf("seed %d: %s: %s was %s and is %s", seed, name, p, want, n.Kind.String()+n.Text())
			}
			return true
		})
	}
}

// randomTree is a provider with values written in all kinds of ways.
func randomTree(rnd *rand.Rand) map[string]string {
	pick := func(texts ...string) string { return texts[rnd.IntN(len(texts))] }
	files := map[string]string{}
	for name, text := range provider {
		files[name] = text
	}
	files["metadata.yaml"] = pick("", "# all series\n") + "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\n" + pick("", "kind: Metadata\n") + "releaseSeries:\n" +
		pick("- major: 0\n  minor: 1\n  contract: v1beta2\n", "- {major: 0, minor: 1, contract: v1beta2}\n", "  - contract: &c v1beta2\n    major: 0\n    minor: 1\n  - major: 0\n    minor: 0\n    contract: *c\n")
	labels := func() string {
		var out strings.Builder
		out.WriteString("  labels:" + pick("", " # why") + "\n")
		anchor := false
		for i := range 1 + rnd.IntN(5) {
			value := pick("5", "yes", "off", "1.0", `"x"`, "x", "!!int 7", "0x10", "'on'", "${FOO}", "${ FOO }", "\"${ BAR } and ${ BAR }\"", "null", "1_000")
			if !anchor && rnd.IntN(4) == 0 {
				value, anchor = "&a "+value, true
			} else if anchor && rnd.IntN(3) == 0 {
				value = "*a"
			}
			fmt.Fprintf(&out, "    l%d: %s%s\n", i, value, pick("", "", " # ${ OLD } text"))
		}
		return out.String()
	}
	files["config/default/manager.yaml"] = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n" + labels()
	if rnd.IntN(2) == 0 {
		files["config/default/kustomization.yaml"] = "resources: [manager.yaml]\n" + pick("", "patches:\n- path: patch.yaml\n", "commonLabels: {team: 7}\n", "labels:\n- pairs: {team: yes}\n")
		if strings.Contains(files["config/default/kustomization.yaml"], "patch.yaml") {
			files["config/default/patch.yaml"] = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n" + labels()
		}
	}
	template := pick("# channel: dev\n", "") + "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${CLUSTER_NAME}\n" + labels() + "data:\n  channel: dev\n  version: ${ KUBERNETES_VERSION }\n" +
		pick("", "  block: |\n    ${ A } and ${B}\n    # ${ C }\n", "  on: 'x'\n")
	files["templates/cluster-template.yaml"] = template
	if rnd.IntN(3) == 0 {
		for name := range files {
			if strings.HasPrefix(name, "templates/") || rnd.IntN(2) == 0 {
				files[name] = strings.ReplaceAll(files[name], "\n", "\r\n")
			}
		}
	}
	if rnd.IntN(2) == 0 {
		files["clusterctl-repo.yaml"] = provider["clusterctl-repo.yaml"] + "  templates:\n  - files: templates/cluster-template*.yaml\n  sourceReplacements:\n  - file: templates/cluster-template.yaml\n    old: 'channel: dev'\n    new: 'channel: " + pick("x", "a-longer-channel-for-{version}") + "'\n"
	}
	return files
}
