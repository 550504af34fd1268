package lint_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// tree is a repository in a folder: files by label, version and name.
func tree(root string, files map[[3]string]string) *repo.Repository {
	out := &repo.Repository{Path: root}
	labels := map[string]*repo.Provider{}
	releases := map[string]*repo.Release{}
	for key, text := range files {
		label, version, name := key[0], key[1], key[2]
		p := labels[label]
		if p == nil {
			id, _ := layouts.ParseLabel(label)
			p = &repo.Provider{Provider: id, Path: filepath.Join(root, label)}
			labels[label] = p
			out.Providers = append(out.Providers, p)
		}
		r := releases[label+version]
		if r == nil {
			r = &repo.Release{Provider: p.Provider, Version: version, Path: filepath.Join(p.Path, version)}
			releases[label+version] = r
			p.Releases = append(p.Releases, r)
		}
		a := repo.BytesArtifact(name, []byte(text))
		a.Path = filepath.Join(r.Path, name)
		r.Artifacts = append(r.Artifacts, a)
	}
	return out
}

const fingerprinted = `kind: Cluster
metadata: {name: a, namespace: b}
spec:
  list: [{name: one, value: ${ONE}}, {name: two, value: two}]
  same: [same, same]
---
kind: Other
last: ${ONE}
`

// fingerprintRules report every value, every variable, and what is not in a file.
func fingerprintRules(wording string) []*lint.Rule {
	values := &lint.Rule{ID: "TEST001", Severity: lint.Warning, Check: func(p *lint.Pass) {
		for _, d := range p.File.Docs().Docs {
			d.Root.Walk(func(_ yamldoc.Path, n *yamldoc.Node) bool {
				p.Node(d, n, "%s %s", wording, n.Text())
				return true
			})
		}
	}}
	variables := &lint.Rule{ID: "TEST002", Severity: lint.Warning, Check: func(p *lint.Pass) {
		for _, r := range refsOf(p) {
			p.Span(r.Start, r.End, "%s %s", wording, r.Name)
		}
	}}
	folders := &lint.Rule{ID: "TEST003", Severity: lint.Warning, Scope: lint.ScopeProvider, Check: func(p *lint.Pass) {
		for _, r := range p.Provider.Releases {
			p.Path(r.Path, "%s folder", wording)
			p.Path(filepath.Join(r.Path, "missing.yaml"), "%s missing", wording)
		}
	}}
	return []*lint.Rule{values, variables, folders}
}

// printsOf returns the fingerprints, sorted.
func printsOf(t *testing.T, r *repo.Repository, wording string) []string {
	t.Helper()
	var out []string
	for _, f := range run(t, r, lint.Options{Rules: fingerprintRules(wording)}).Findings {
		out = append(out, f.Fingerprint)
	}
	slices.Sort(out)
	return out
}

func TestFingerprintsSurvive(t *testing.T) {
	file := func(label, version, text string) map[[3]string]string {
		return map[[3]string]string{{label, version, "cluster-template.yaml"}: text}
	}
	const label, version = "infrastructure-foo", "v0.1.0"
	before := printsOf(t, tree("a/b", file(label, version, fingerprinted)), "has")
	for i := range before {
		if i > 0 && before[i] == before[i-1] {
			t.Errorf("two findings have the fingerprint %s", before[i])
		}
	}
	if len(before) != 23 {
		t.Fatalf("%d findings", len(before))
	}
	for what, after := range map[string][]string{
		"rewording":           printsOf(t, tree("a/b", file(label, version, fingerprinted)), "lacks at line 7"),
		"moved lines":         printsOf(t, tree("a/b", file(label, version, "# one\n# two\n"+strings.ReplaceAll(fingerprinted, "spec:\n", "spec:\n\n"))), "has"),
		"the next release":    printsOf(t, tree("a/b", file(label, "v0.2.0", fingerprinted)), "has"),
		"another start":       printsOf(t, tree("", file(label, version, fingerprinted)), "has"),
		"the start inside":    printsOf(t, tree("../../x", file(label, version, fingerprinted)), "has"),
		"the order of a list": printsOf(t, tree("a/b", file(label, version, strings.Replace(fingerprinted, "[{name: one, value: ${ONE}}, {name: two, value: two}]", "[{name: two, value: two}, {name: one, value: ${ONE}}]", 1))), "has"),
	} {
		if !slices.Equal(before, after) {
			t.Errorf("they do not survive %s:\n%s\n%s", what, before, after)
		}
	}
	both := file(label, version, fingerprinted)
	both[[3]string{label, "v0.2.0", "cluster-template.yaml"}] = fingerprinted
	if got := slices.Compact(printsOf(t, tree("a", both), "has")); !slices.Equal(got, before) {
		t.Errorf("two releases with the same faults have other fingerprints:\n%s\n%s", got, before)
	}
}

// TestFingerprintsTellApart changes one thing that a fingerprint is made of after
// the other: none of the findings keeps its fingerprint.
func TestFingerprintsTellApart(t *testing.T) {
	of := func(label, name, text string) []string {
		return printsOf(t, tree("a", map[[3]string]string{{label, "v0.1.0", name}: text}), "has")
	}
	const text = "kind: A\nmetadata: {name: b}\n"
	before := of("infrastructure-foo", "cluster-template.yaml", text)
	in := func(list []string) (n int) {
		for _, f := range list {
			if slices.Contains(before, f) {
				n++
			}
		}
		return n
	}
	const folders = 2 // are about the release and a file in it, whatever the templates hold
	for what, c := range map[string]struct {
		list []string
		same int
	}{
		"provider": {of("infrastructure-bar", "cluster-template.yaml", text), 0},
		"file":     {of("infrastructure-foo", "cluster-template-x.yaml", text), folders},
		"object":   {of("infrastructure-foo", "cluster-template.yaml", strings.Replace(text, "b", "c", 1)), folders},
		"path":     {of("infrastructure-foo", "cluster-template.yaml", "kind: A\nmetadata: {name: b, other: c}\n"), len(before)},
	} {
		if n := in(c.list); n != c.same {
			t.Errorf("with another %s %d findings of %d keep their fingerprints", what, n, len(before))
		}
	}
}

// TestFingerprintsOfObjects: the object tells findings apart that are not about a release.
func TestFingerprintsOfObjects(t *testing.T) {
	of := func(object string) string {
		var all lint.Report
		all.Join(&lint.Report{Findings: []lint.Finding{{Rule: &lint.Rule{ID: "LIV001"}, File: "a", Object: object}}})
		return all.Findings[0].Fingerprint
	}
	if a, b := of("handler a"), of("handler b"); a == "" || a == b {
		t.Errorf("got the fingerprints %q and %q", a, b)
	}
}

// TestFingerprintsOfKeptErrors: switching a rule off in a configuration next to the releases
// does not change the fingerprints of the errors that stay.
func TestFingerprintsOfKeptErrors(t *testing.T) {
	of := func(severity map[string]lint.Severity, messages ...string) string {
		rule := &lint.Rule{ID: "TEST001", Severity: lint.Warning, Check: func(p *lint.Pass) {
			for _, m := range messages {
				f := lint.At(p.File, p.File.Docs().Docs[0], p.File.Docs().Docs[0].Root, "%s", m)
				f.Severity = lint.Warning
				if m == "error" {
					f.Severity = lint.Error
				}
				p.Report(f)
			}
		}}
		r := tree("a", map[[3]string]string{{"infrastructure-foo", "v0.1.0", "cluster-template.yaml"}: "kind: A\n"})
		found := run(t, r, lint.Options{Rules: []*lint.Rule{rule}, Own: lint.Own{Severity: severity}}).Findings
		return found[len(found)-1].Fingerprint
	}
	off := map[string]lint.Severity{"TEST001": lint.Off}
	if got, want := of(off, "a warning", "error"), of(nil, "error"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFingerprintsAreStable keeps the fingerprints of one release to version: who
// changes how they are made must change the name of the key in SARIF too.
func TestFingerprintsAreStable(t *testing.T) {
	got := fmt.Sprint(printsOf(t, tree("a", map[[3]string]string{{"infrastructure-foo", "v0.1.0", "cluster-template.yaml"}: "kind: A\n"}), "has"))
	if want := "[036bf170c2b2a1a9b505492b 48b98699febeb24ca4fbb179 4fba95b471ff7341780869af eab3da7b45817a7dcb8af50d]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestPathsInFingerprints keeps the fingerprints of values in lists, of keys, of aliases and
// of what has the same identity, as TestFingerprintsAreStable does.
func TestPathsInFingerprints(t *testing.T) {
	const text = `kind: A
metadata: {name: b, namespace: c}
series: [{major: 1, minor: 2}, {minor: 2}, {major: 1}, {name: ""}, [3, [4, 5]]]
list: [{name: one, value: 1}, {name: one, value: 2}]
anchor: &a {x: [y]}
alias: *a
again: [*a, *a]
---
last: ${ONE}`
	rule := &lint.Rule{ID: "TEST001", Severity: lint.Warning, Check: func(p *lint.Pass) {
		for _, d := range p.File.Docs().Docs {
			d.Root.Walk(func(at yamldoc.Path, n *yamldoc.Node) bool {
				for i := range 3 {
					p.Node(d, n, "%v %d", at, i)
				}
				for i := range n.Fields() {
					p.Node(d, n.Fields()[i].Key(), "%v key %d", at, i)
				}
				return true
			})
		}
		for _, r := range refsOf(p) {
			p.Span(r.Start, r.End, "%s", r.Name)
		}
	}}
	r := tree("a", map[[3]string]string{{"infrastructure-foo", "v0.1.0", "cluster-template.yaml"}: text})
	r.Providers[0].Releases[0].Artifacts[0].Path = "elsewhere/x.yaml"
	var lines strings.Builder
	report := run(t, r, lint.Options{Rules: []*lint.Rule{rule}})
	report.Join(&lint.Report{}) // which makes them again
	for _, f := range report.Findings {
		fmt.Fprintln(&lines, f.Message, f.Fingerprint)
	}
	if got := fmt.Sprintf("%d %.4x", len(report.Findings), sha256.Sum256([]byte(lines.String()))); got != "150 30d276a9" {
		t.Errorf("got %s of\n%s", got, lines.String())
	}
}

// TestPlacesOfFindings: a finding is in the release and provider of its rule, or in those
// of its path.
func TestPlacesOfFindings(t *testing.T) {
	r := tree("a", map[[3]string]string{{"infrastructure-foo", "v1.0.0", "metadata.yaml"}: ""})
	nowhere := &repo.Provider{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "none"}}
	for _, version := range []string{"v3.0.0", "v3.1.0"} {
		nowhere.Releases = append(nowhere.Releases, &repo.Release{Provider: nowhere.Provider, Version: version})
	}
	r.Providers = append(r.Providers, nowhere)
	check := func(p *lint.Pass) {
		by := "repository"
		if p.Provider != nil {
			by = p.Provider.Label()
		}
		if p.Release != nil {
			by = p.Release.Version
		}
		p.Path("x", "%s", by)
		if p.Provider == nil || p.Provider.Path != "" {
			p.Path("a/./infrastructure-foo/v1.0.0/x", "%s", by)
			p.Path("a/infrastructure-foo/x", "%s", by)
		}
	}
	rules := []*lint.Rule{
		{ID: "TEST001", Scope: lint.ScopeRelease, Check: check},
		{ID: "TEST002", Scope: lint.ScopeProvider, Check: check},
		{ID: "TEST003", Scope: lint.ScopeRepository, Check: check},
	}
	var got []string
	for _, f := range run(t, r, lint.Options{Rules: rules}).Findings {
		provider, version := cmp.Or(f.Provider, "-"), cmp.Or(f.Version, "-")
		got = append(got, fmt.Sprintf("%s by %s: %s %s\n", f.File, f.Message, provider, version))
	}
	const want = `a/./infrastructure-foo/v1.0.0/x by v1.0.0: infrastructure-foo v1.0.0
a/./infrastructure-foo/v1.0.0/x by infrastructure-foo: infrastructure-foo v1.0.0
a/./infrastructure-foo/v1.0.0/x by repository: infrastructure-foo v1.0.0
a/infrastructure-foo/x by v1.0.0: infrastructure-foo v1.0.0
a/infrastructure-foo/x by infrastructure-foo: infrastructure-foo -
a/infrastructure-foo/x by repository: infrastructure-foo -
x by v1.0.0: infrastructure-foo v1.0.0
x by v3.0.0: infrastructure-none v3.0.0
x by v3.1.0: infrastructure-none v3.1.0
x by infrastructure-foo: infrastructure-foo -
x by infrastructure-none: infrastructure-none -
x by repository: - -
`
	if got := strings.Join(got, ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFingerprintsOfTwins: of two findings that say the same about the same place, the
// same one stays, whichever was made first.
func TestFingerprintsOfTwins(t *testing.T) {
	prints := map[string]bool{}
	for _, reverse := range []bool{false, true} {
		rule := &lint.Rule{ID: "TEST001", Severity: lint.Warning, Check: func(p *lint.Pass) {
			d := p.File.Docs().Docs[0]
			spec := d.Root.Get("spec") // stands where its first key does
			nodes := []*yamldoc.Node{spec, spec.Fields()[0].Key()}
			if reverse {
				slices.Reverse(nodes)
			}
			for _, n := range nodes {
				p.Node(d, n, "is wrong")
			}
		}}
		found := run(t, tree("a", map[[3]string]string{{"infrastructure-foo", "v0.1.0", "cluster-template.yaml"}: "kind: A\nspec:\n  b: c\n"}), lint.Options{Rules: []*lint.Rule{rule}}).Findings
		if len(found) != 1 {
			t.Fatalf("%d findings", len(found))
		}
		prints[found[0].Fingerprint] = true
	}
	if len(prints) != 1 {
		t.Errorf("the fingerprint depends on the order: %v", prints)
	}
}

func refsOf(p *lint.Pass) []vars.Ref {
	t, _ := p.File.Template()
	return t.Refs()
}
