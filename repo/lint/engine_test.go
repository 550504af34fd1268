package lint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %s.infrastructure.cluster.x-k8s.io
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: %s, plural: %s}
  scope: Namespaced
  versions:
  - {name: %s, served: true, storage: %s, schema: {openAPIV3Schema: {type: object}}}
`

func widget(kind, version string, storage bool) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf(widgets, plural, kind, plural, version, fmt.Sprint(storage))
}

const ownMetadata = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n"

// releases holds versions of one provider, each with its files.
func releases(versions map[string]map[string]string) *repo.Repository {
	r := &repo.Repository{Providers: []*repo.Provider{{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}}}}
	p := r.Providers[0]
	for version, files := range versions {
		one := &repo.Release{Provider: p.Provider, Version: version, Path: "infrastructure-foo/" + version}
		for name, text := range files {
			a := repo.BytesArtifact(name, []byte(text))
			a.Path = one.Path + "/" + name
			one.Artifacts = append(one.Artifacts, a)
		}
		one.Sort()
		p.Releases = append(p.Releases, one)
	}
	slices.SortFunc(p.Releases, func(a, b *repo.Release) int { return strings.Compare(a.Version, b.Version) })
	return r
}

func TestRulesSeeTheRelease(t *testing.T) {
	components := widget("FooCluster", "v1beta2", true) + "---\n" + widget("FooMachine", "v1beta1", true) + "---\nkind: Namespace\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: a, labels: {second: x}}\n"
	called := 0
	rule := &lint.Rule{ID: "TEST002", Severity: lint.Error, Scope: lint.ScopeRelease, Check: func(p *lint.Pass) {
		called++
		r := p.Release
		var kinds, roles []string
		for _, c := range r.CRDs() {
			kinds = append(kinds, c.Kind)
		}
		for _, k := range r.Roles() {
			roles = append(roles, k.Kind)
		}
		const group = "infrastructure.cluster.x-k8s.io"
		for name, ok := range map[string]bool{
			"CRDs":             slices.Equal(kinds, []string{"FooCluster", "FooMachine"}),
			"Roles":            slices.Equal(roles, kinds),
			"CRD":              r.CRD(group, "FooMachine") != nil && r.CRD(group, "FooMachine").Kind == "FooMachine" && r.CRD(group, "X") == nil,
			"Role":             r.Role(group, "FooCluster") != nil && r.Role(group, "FooCluster").Kind == "FooCluster" && r.Role("", "FooCluster") == nil,
			"Installed":        len(r.Installed().Objects) == 4 && len(r.Installed().Kind("", "Namespace")) == 2,
			"the first counts": r.Installed().Find("", "Namespace", "a") != nil && r.Installed().Find("", "Namespace", "a").Get("metadata", "labels") == nil,
			"none":             r.Installed().Find("", "Namespace", "b") == nil,
			"File":             r.File("metadata.yaml") != nil && r.File("metadata.yaml").Artifact.Name == "metadata.yaml" && r.File("x") == nil,
			"OfKind":           len(r.OfKind(layouts.Components)) == 1 && len(r.OfKind(layouts.ClusterTemplate)) == 2,
			"Metadata":         r.MetadataErr == nil && len(r.Metadata.Series) == 1,
			"Parsed":           r.Parsed.Major() == 1,
			"Profile":          p.Profile.Core == contract.NewestCore,
			"Provider":         p.Provider.Complete,
			"Repository":       p.Repository != nil,
		} {
			if !ok {
				t.Errorf("%s is wrong", name)
			}
		}
	}}
	report := run(t, releases(map[string]map[string]string{"v1.0.0": {
		"infrastructure-components.yaml": components, "metadata.yaml": ownMetadata,
		"cluster-template.yaml": "a: b\n", "cluster-template-ha.yaml": "a: b\n", "README.md": "x",
	}}), lint.Options{Rules: []*lint.Rule{rule}})
	if called != 1 || len(report.Failures) > 0 {
		t.Errorf("called %d times, failures %v", called, report.Failures)
	}
	if report.Files != 4 || report.Releases != 1 || report.Providers != 1 {
		t.Errorf("counted %d files, %d releases, %d providers", report.Files, report.Releases, report.Providers)
	}
}

func TestARuleSeesTheProfileItAsksFor(t *testing.T) {
	var seen contract.Profile
	rule := &lint.Rule{ID: "TEST002", Scope: lint.ScopeRelease, Check: func(p *lint.Pass) { seen = p.Profile }}
	want := contract.Profile{Core: contract.NewestCore - 1}
	run(t, repository(nil), lint.Options{Rules: []*lint.Rule{rule}, Profile: want})
	if seen.Core != want.Core {
		t.Errorf("got %v", seen.Core)
	}
}

func TestReleasesWithoutComponentsOrMetadata(t *testing.T) {
	rule := &lint.Rule{ID: "TEST002", Scope: lint.ScopeRelease, Check: func(p *lint.Pass) {
		if p.Release.Installed() == nil || len(p.Release.Installed().Objects) != 0 || len(p.Release.CRDs()) != 0 {
			t.Error("objects from nowhere")
		}
		if err := p.Release.MetadataErr; err == nil || !strings.Contains(err.Error(), "metadata.yaml is missing") {
			t.Errorf("got %v", err)
		}
	}}
	if r := run(t, repository(nil), lint.Options{Rules: []*lint.Rule{rule}}); len(r.Failures) > 0 {
		t.Error(r.Failures)
	}
}

// TestProviderRulesSeeAllVersions also checks that only what they need is kept
// of each.
func TestProviderRulesSeeAllVersions(t *testing.T) {
	var seen []string
	provider := &lint.Rule{ID: "TEST003", Scope: lint.ScopeProvider, Check: func(p *lint.Pass) {
		for _, r := range p.Provider.Releases {
			seen = append(seen, fmt.Sprintf("%s series=%d files=%d stored=%v", r.Version, r.Parsed.Minor(), len(r.Files), r.Stored))
		}
	}}
	partial := &lint.Rule{ID: "TEST004", Scope: lint.ScopeProvider, Check: func(p *lint.Pass) {
		if p.Provider.Complete {
			t.Error("the provider is not complete")
		}
	}}
	const name = "infrastructure-components.yaml"
	r := releases(map[string]map[string]string{
		"v1.0.0": {name: widget("FooCluster", "v1", true), "README.md": "not read"},
		"v1.1.0": {name: widget("FooCluster", "v1", true)},
		"v1.2.0": {name: widget("FooCluster", "v2", true) + "---\n" + widget("FooMachine", "v1", false)},
	})
	var watched sync.Map
	run(t, r, lint.Options{Rules: []*lint.Rule{provider, partial}, Partial: true, Watch: func(done, all int) { watched.Store([2]int{done, all}, true) }})
	for done := 1; done <= 3; done++ {
		if _, ok := watched.Load([2]int{done, 3}); !ok {
			t.Errorf("%d of 3 files was not seen", done)
		}
	}
	want := []string{
		"v1.0.0 series=0 files=0 stored=map[fooclusters.infrastructure.cluster.x-k8s.io:v1]",
		"v1.1.0 series=1 files=0 stored=map[fooclusters.infrastructure.cluster.x-k8s.io:v1]",
		"v1.2.0 series=2 files=0 stored=map[fooclusters.infrastructure.cluster.x-k8s.io:v2]",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("got %q", seen)
	}
	seen = nil
	one := releases(map[string]map[string]string{"v1.0.0": {name: widget("FooCluster", "v1", true)}})
	run(t, one, lint.Options{Rules: []*lint.Rule{provider}})
	if !slices.Equal(seen, []string{"v1.0.0 series=0 files=0 stored=map[]"}) {
		t.Errorf("a single version: got %q", seen)
	}
}

func TestKindsOfFileRules(t *testing.T) {
	var seen []string
	rule := &lint.Rule{ID: "TEST005", Kinds: []layouts.FileKind{layouts.Metadata}, Check: func(p *lint.Pass) { seen = append(seen, p.File.Artifact.Name) }}
	run(t, repository(map[string]string{"metadata.yaml": ownMetadata, "cluster-template.yaml": "a: b\n"}), lint.Options{Rules: []*lint.Rule{rule}})
	if !slices.Equal(seen, []string{"metadata.yaml"}) {
		t.Errorf("called for %v", seen)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	r := repository(map[string]string{"cluster-template.yaml": "kind: A\n"})
	broken := errors.New("broken")
	r.Providers[0].Releases[0].Artifacts = append(r.Providers[0].Releases[0].Artifacts,
		repo.NewArtifact("cluster-template-b.yaml", "b", 1, func() (io.ReadCloser, error) { return nil, broken }),
		&repo.Artifact{Name: "metadata.yaml", Path: "metadata.yaml", Size: repo.MaxFileSize + 1})
	r.Config = repo.NewArtifact("clusterctl.yaml", "c", 1, func() (io.ReadCloser, error) { return nil, broken })
	report := run(t, r, lint.Options{Rules: []*lint.Rule{everyNode}})
	if len(report.Failures) != 3 || !errors.Is(report.Failures[0], broken) || len(report.Findings) != 1 || report.Files != 1 {
		t.Errorf("%d files, failures %v, findings %v", report.Files, report.Failures, report.Findings)
	}
}

// TestReportsDoNotDependOnWhichProviderIsReady has providers of different sizes,
// which are checked at the same time, with the same release at all of them.
func TestReportsDoNotDependOnWhichProviderIsReady(t *testing.T) {
	unread := func() *repo.Repository {
		r := &repo.Repository{}
		for i := range 20 {
			id := layouts.Provider{Type: layouts.Infrastructure, Name: fmt.Sprintf("p%02d", i)}
			one := &repo.Release{Provider: id, Version: "v1.0.0", Path: id.Label() + "/v1.0.0"}
			a := repo.BytesArtifact("cluster-template.yaml", []byte(strings.Repeat("a: b # clusterctl-repo:ignore TEST002 why\n", i*7%20+1)))
			a.Path = one.Path + "/" + a.Name
			missing := repo.NewArtifact("cluster-template-b.yaml", "b", 1, func() (io.ReadCloser, error) { return nil, errors.New(id.Name) })
			one.Artifacts = append(one.Artifacts, a, missing)
			r.Providers = append(r.Providers, &repo.Provider{Provider: id, Path: id.Label(), Releases: []*repo.Release{one}})
		}
		return r
	}
	var ignores []string
	comments := &lint.Rule{ID: "TEST007", Scope: lint.ScopeComments, Check: func(p *lint.Pass) {
		for _, i := range p.Ignores {
			if i.Pos.Line == 1 {
				ignores = append(ignores, strings.Split(i.File, "/")[0])
			}
		}
	}}
	failing := &lint.Rule{ID: "TEST008", Scope: lint.ScopeProvider, Check: func(p *lint.Pass) {
		p.Images([]lint.ImageName{{Path: "shared"}, {Path: p.Provider.Label()}})
	}}
	asked := func(names []lint.ImageName) []lint.Image {
		out := make([]lint.Image, len(names))
		for i := range out {
			out[i].Err = errors.New("no answer")
		}
		return out
	}
	report := run(t, unread(), lint.Options{Rules: []*lint.Rule{comments, failing}, Images: asked})
	var want []string
	for i := range 20 {
		label := fmt.Sprintf("infrastructure-p%02d", i)
		if i >= len(ignores) || ignores[i] != label {
			t.Fatalf("the comments are in the order %v", ignores)
		}
		want = append(want, fmt.Sprintf("p%02d", i))
		if i == 0 {
			want = append(want, "the image /shared: cannot be checked: no answer")
		}
		want = append(want, "the image /"+label+": cannot be checked: no answer")
	}
	got := phrase.List(report.Failures, error.Error)
	if !slices.Equal(got, want) {
		t.Errorf("failures:\n%s", strings.Join(got, "\n"))
	}
	if report.Files != 20 || report.Releases != 20 || report.Providers != 20 {
		t.Errorf("counted %d files, %d releases, %d providers", report.Files, report.Releases, report.Providers)
	}
}

func TestLargeReleasesAreAloneInMemory(t *testing.T) {
	r := &repo.Repository{}
	for i := range 12 {
		id := layouts.Provider{Type: layouts.Infrastructure, Name: fmt.Sprintf("p%02d", i)}
		size := int64(5 << 20) // stated, not real
		if i%3 == 0 {
			size = 50 << 20
		}
		a := repo.NewArtifact("cluster-template.yaml", "a", size, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("a: b\n")), nil })
		r.Providers = append(r.Providers, &repo.Provider{Provider: id, Releases: []*repo.Release{{Provider: id, Version: "v1.0.0", Artifacts: []*repo.Artifact{a}}}})
	}
	var underWay atomic.Int32
	rule := &lint.Rule{ID: "TEST002", Scope: lint.ScopeRelease, Check: func(*lint.Pass) {
		if n := underWay.Add(1); n > 1 {
			t.Errorf("%d releases at the same time", n)
		}
		time.Sleep(time.Millisecond) // for the others, if any
		underWay.Add(-1)
	}}
	if report := run(t, r, lint.Options{Rules: []*lint.Rule{rule}}); report.Releases != 12 {
		t.Errorf("%d releases", report.Releases)
	}
}

func TestFindingsHoldNoFiles(t *testing.T) {
	var files []weak.Pointer[lint.File]
	var texts []weak.Pointer[byte]
	each := &lint.Rule{ID: "TEST003", Check: func(p *lint.Pass) {
		files = append(files, weak.Make(p.File))
		texts = append(texts, weak.Make(unsafe.StringData(p.File.Raw.Data)))
		o := p.File.Objects()[0]
		p.Report(lint.On(o, o.Get("spec", "group"), "a value"))
		p.Report(lint.On(o, nil, "an object"))
		p.Report(lint.Spanning(p.File, 0, 10, "a range"))
	}}
	last := &lint.Rule{ID: "TEST004", Scope: lint.ScopeRepository, Check: func(*lint.Pass) {
		runtime.GC()
		for i := range files {
			if files[i].Value() != nil || texts[i].Value() != nil {
				t.Errorf("file %d is still in memory", i)
			}
		}
	}}
	text := widget("FooMachine", "v1", true)
	r := releases(map[string]map[string]string{"v1.0.0": {"infrastructure-components.yaml": text}, "v1.0.1": {"infrastructure-components.yaml": text}})
	if report := run(t, r, lint.Options{Rules: []*lint.Rule{each, last}}); len(report.Findings) != 6 || len(files) != 2 {
		t.Errorf("%d findings in %d files", len(report.Findings), len(files))
	}
}

func TestRepositoryRulesSeeTheConfiguration(t *testing.T) {
	r := repository(nil)
	r.Config = repo.BytesArtifact("clusterctl.yaml", []byte("providers: []\n"))
	seen := ""
	rule := &lint.Rule{ID: "TEST006", Scope: lint.ScopeRepository, Check: func(p *lint.Pass) { seen = string(p.Config.Raw.Data) }}
	if report := run(t, r, lint.Options{Rules: []*lint.Rule{rule}}); seen != "providers: []\n" || report.Files != 1 {
		t.Errorf("%q, %d files", seen, report.Files)
	}
}

func TestACancelledRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lint.Run(ctx, repository(nil), lint.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestComments(t *testing.T) {
	const text = "kind: A # clusterctl-repo:ignore TEST-001 it is known\nb: B # clusterctl-repo:ignore TEST001 and this\nc: C\n"
	var known, ran []string
	comments := &lint.Rule{ID: "TEST007", Severity: lint.Info, Scope: lint.ScopeComments, Check: func(p *lint.Pass) {
		for _, id := range []string{"TEST001", "TEST007", "TEST008", "TEST009"} {
			if p.Known(id) {
				known = append(known, id)
			}
			if p.Ran(id) {
				ran = append(ran, id)
			}
		}
		if len(p.Ignores) != 2 || !p.Ignores[0].Used("TEST001") || p.Ignores[0].Used("TEST002") {
			t.Errorf("comments: %+v", p.Ignores)
		}
	}}
	off := &lint.Rule{ID: "TEST008", Severity: lint.Error, Scope: lint.ScopeRelease, Check: func(*lint.Pass) { t.Error("called") }}
	source := yamldoc.NewFile("infrastructure-foo/v1.0.0/cluster-template.yaml", []byte(text))
	r := run(t, repository(map[string]string{"cluster-template.yaml": text}), lint.Options{
		Rules: []*lint.Rule{everyNode, comments, off}, Severity: map[string]lint.Severity{"TEST008": lint.Off, "TEST001": lint.Error},
		// The same file again: a comment counts once.
		Sources: func() []*yamldoc.File { return []*yamldoc.File{source} },
	})
	if !slices.Equal(known, []string{"TEST001", "TEST007", "TEST008"}) || !slices.Equal(ran, []string{"TEST001", "TEST007"}) {
		t.Errorf("known %v, ran %v", known, ran)
	}
	if len(r.Suppressed) != 2 || len(r.Findings) != 1 || r.Findings[0].Pos.Line != 3 || r.Findings[0].Severity != lint.Error {
		t.Errorf("findings %+v, suppressed %+v", r.Findings, r.Suppressed)
	}
}

func TestCommentsInSources(t *testing.T) {
	source := yamldoc.NewFile("infrastructure-foo/v1.0.0/cluster-template.yaml", []byte("kind: A # clusterctl-repo:ignore TEST001 why\n"))
	r := run(t, repository(map[string]string{"cluster-template.yaml": "kind: A\n"}), lint.Options{
		Rules: []*lint.Rule{everyNode}, Sources: func() []*yamldoc.File { return []*yamldoc.File{source} },
	})
	if len(r.Findings) != 0 || len(r.Suppressed) != 1 {
		t.Errorf("findings %+v", r.Findings)
	}
}

func TestReports(t *testing.T) {
	rule := &lint.Rule{ID: "TEST001", Severity: lint.Error, Fix: "do it"}
	a := &lint.Report{Findings: []lint.Finding{{Rule: rule, Severity: lint.Error, File: "b", Message: "1"}, {Rule: rule, Severity: lint.Warning, File: "a", Message: "2", Fix: "do that"}}, Files: 1, Releases: 2, Providers: 3}
	b := &lint.Report{
		Findings:   []lint.Finding{{Rule: rule, Severity: lint.Info, File: "c", Message: "3"}, {Rule: rule, Severity: lint.Error, File: "b", Message: "1"}},
		Suppressed: []lint.Suppressed{{Finding: lint.Finding{Rule: rule, File: "c"}, Reason: "x"}}, Failures: []error{errors.New("x")},
		Weighed: []lint.Weighed{{File: "d", Kept: 1}}, Files: 10, Releases: 20, Providers: 30,
	}
	a.Join(b)
	if c := a.Count(); c.Errors != 1 || c.Warnings != 1 || c.Infos != 1 {
		t.Errorf("a finding that both have counts once: %+v", c)
	}
	if a.Worst() != lint.Error || (&lint.Report{}).Worst() != lint.Off {
		t.Error("Worst is wrong")
	}
	if a.Findings[0].File != "a" || a.Files != 11 || a.Releases != 22 || a.Providers != 33 || len(a.Suppressed) != 1 || len(a.Failures) != 1 || len(a.Weighed) != 1 {
		t.Errorf("joined: %+v", a)
	}
	if a.Findings[0].Help() != "do that" || a.Findings[1].Help() != "do it" {
		t.Error("Help is wrong")
	}
	a.Rename(func(file string) string { return map[string]string{"a": "z", "b": "b", "c": "c"}[file] })
	if a.Findings[2].File != "z" || a.Findings[2].Fingerprint == "" {
		t.Errorf("renamed: %+v", a.Findings)
	}
	if n := a.Without(map[string]bool{a.Findings[0].Fingerprint: true}); n != 1 || len(a.Findings) != 2 || a.Findings[0].File != "c" {
		t.Errorf("%d taken away, left %+v", n, a.Findings)
	}
}

// TestOrderOfFindings has findings of which each differs in another thing from the next.
func TestOrderOfFindings(t *testing.T) {
	var want []lint.Finding
	for _, id := range []string{"TEST001", "TEST002"} {
		rule := &lint.Rule{ID: id}
		want = append(want, lint.Finding{Rule: rule, File: "a", Message: "m", Object: "o"},
			lint.Finding{Rule: rule, File: "a", Message: "m", Object: "p"},
			lint.Finding{Rule: rule, File: "a", Message: "n"})
	}
	for _, pos := range []yamldoc.Pos{{Line: 1, Column: 2}, {Line: 1, Column: 3}, {Line: 2, Column: 1}} {
		want = append(want, lint.Finding{Rule: want[0].Rule, File: "a", Pos: pos})
	}
	want = append(want, lint.Finding{Rule: want[0].Rule, File: "b"})
	var r lint.Report
	for _, f := range slices.Backward(want) {
		r.Findings = append(r.Findings, f)
	}
	r.Join(&lint.Report{Findings: want})
	for i := range r.Findings {
		r.Findings[i].Fingerprint = ""
	}
	if got, want := fmt.Sprint(r.Findings), fmt.Sprint(want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestWeigh: the configuration in a judged file may lower or raise its findings, but not
// lower errors.
func TestWeigh(t *testing.T) {
	levels := []lint.Severity{lint.Off, lint.Info, lint.Warning, lint.Error}
	rule := &lint.Rule{ID: "TEST001", Scope: lint.ScopeRelease, Check: func(p *lint.Pass) {
		for _, s := range levels[1:] {
			p.Report(lint.Finding{File: s.String()}.As(s))
		}
	}}
	var got []string
	for _, level := range levels {
		own := lint.Own{File: "own", Severity: map[string]lint.Severity{"TEST001": level}}
		r := run(t, repository(nil), lint.Options{Rules: []*lint.Rule{rule}, Own: own})
		for _, f := range r.Findings {
			got = append(got, f.File+" "+f.Severity.String())
		}
		for _, s := range r.Suppressed {
			got = append(got, fmt.Sprintf("%s by %s: %s", s.File, s.By, s.Reason))
		}
		got = append(got, fmt.Sprintf("%+v\n", r.Weighed))
	}
	const want = `error error, info by own: own switches TEST001 off, warning by own: own switches TEST001 off, ` +
		`[{File:own Silenced:2 Lowered:0 Kept:1}]
, error error, info info, warning info, [{File:own Silenced:0 Lowered:1 Kept:1}]
, error error, info warning, warning warning, [{File:own Silenced:0 Lowered:0 Kept:1}]
, error error, info error, warning error, []
`
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestReported is about what a report makes of the findings of a rule.
func TestReported(t *testing.T) {
	const text = "kind: A\nmetadata: {name: ${NAME:=x}}\n"
	var objects []lint.Finding
	check := func(p *lint.Pass) {
		o := p.File.Objects()[0]
		objects = []lint.Finding{lint.On(o, o.Get("metadata", "name"), "x").Meant("y"), lint.On(o, nil, "x").Meant("")}
		p.On(o, o.Get("metadata", "name"), "a")
		p.On(o, o.Get("kind"), "b")
		p.Path("c", "%s", strings.Repeat("é", 1000)+"x"+strings.Repeat("é", 200))
		p.Path("d", "%s", strings.Repeat("d", 2000))
	}
	for _, c := range []struct {
		proof lint.Proof
		level lint.Severity
		want  string
	}{
		{lint.APIServer, lint.Error, "warning a, unless the user sets NAME"},
		{lint.Clusterctl, lint.Error, "error a"},
		{lint.APIServer, lint.Info, "info a"},
	} {
		rule := &lint.Rule{ID: "TEST001", Severity: c.level, Proof: c.proof, Check: check}
		files := map[string]string{"cluster-template.yaml": text}
		var got []string
		for _, f := range run(t, repository(files), lint.Options{Rules: []*lint.Rule{rule}}).Findings {
			got = append(got, f.Severity.String()+" "+f.Message)
		}
		long := c.level.String() + " "
		want := []string{
			long + strings.Repeat("é", 900) + " … " + strings.Repeat("é", 100),
			long + strings.Repeat("d", 2000), long + "b", c.want,
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v\n got %q\nwant %q", c, got, want)
		}
	}
	if objects[0].Fix != "Did you mean y?" || objects[1].Fix != "" || objects[0].Object != "A x" {
		t.Errorf("%+v", objects)
	}
	images := []lint.ImageName{{Host: "h", Path: "p", Reference: "t"}, {Host: "h", Path: "p", Reference: "a:b"}}
	if got := fmt.Sprint(images); got != "[h/p:t h/p@a:b]" {
		t.Error(got)
	}
}

// TestOptions: some rules are only applied if the run has what they ask for.
func TestOptions(t *testing.T) {
	ran := ""
	images := &lint.Rule{ID: "TEST001", Flag: lint.CheckImages, Scope: lint.ScopeProvider, Check: func(p *lint.Pass) {
		ran += fmt.Sprint(p.Images([]lint.ImageName{{Path: "a"}}))
	}}
	kustomizations := &lint.Rule{ID: "TEST002", Scope: lint.ScopeKustomizations, Check: func(p *lint.Pass) {
		ran += fmt.Sprint(len(p.Kustomizations))
	}}
	rules := []*lint.Rule{images, kustomizations}
	if r := run(t, repository(nil), lint.Options{Rules: rules}); ran != "" || len(r.Failures) > 0 {
		t.Errorf("%s without options, failures %v", ran, r.Failures)
	}
	run(t, repository(nil), lint.Options{
		Rules: rules, Kustomizations: make([]*yamldoc.Stream, 1),
		Images: func([]lint.ImageName) []lint.Image { return []lint.Image{{Missing: true}} },
	})
	if ran != "[{true [] <nil>}]1" {
		t.Errorf("got %s", ran)
	}
	family := lint.Family{Kinds: []layouts.FileKind{layouts.Metadata}}
	for _, id := range []string{"B", "C", "A"} {
		family.Add(lint.Rule{ID: id})
	}
	own := family.Add(lint.Rule{ID: "BB", Since: "v0.2.0", Kinds: []layouts.FileKind{layouts.Components}})
	got := phrase.List(family.Rules, func(r *lint.Rule) string { return fmt.Sprint(r.ID, r.Since, r.Kinds, r == own) })
	if want := fmt.Sprintf("Av0.1.0%[1]v Bv0.1.0%[1]v BBv0.2.0%[2]v Cv0.1.0%[1]v",
		fmt.Sprint(family.Kinds, false), fmt.Sprint(own.Kinds, true)); strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestManyTemplates: of many templates, each is checked once, and those with classes are
// known.
func TestManyTemplates(t *testing.T) {
	files := map[string]string{"clusterclass-x.yaml": "kind: ClusterClass\n", "metadata.yaml": "kind: A\n"}
	for i := range 64 {
		files[fmt.Sprintf("cluster-template-%d.yaml", i)] = "kind: Cluster\n"
	}
	files["cluster-template-7.yaml"] = "kind: Cluster\nspec: {topology: {}}\n"
	files["cluster-template-8.yaml"] = "kind: ClusterClass\n"
	files["cluster-template-9.yaml"] = "kind: A\nspec: {topology: {}}\n"
	check := func(p *lint.Pass) { p.Path(p.File.Raw.Name, "%s", p.File.Artifact.Name) }
	var classes []string
	rules := []*lint.Rule{
		{ID: "TEST001", Check: check}, {ID: "TEST002", Check: check},
		{ID: "TEST003", Scope: lint.ScopeRelease, Check: func(p *lint.Pass) {
			classes = phrase.List(p.Release.WithClasses(), func(f *lint.File) string { return f.Artifact.Name })
		}},
	}
	var most atomic.Int64
	watch := func(done, _ int) { most.Store(max(most.Load(), int64(done))) }
	r := run(t, repository(files), lint.Options{Rules: rules, Watch: watch})
	if len(r.Findings) != 2*len(files) || int(most.Load()) != len(files) {
		t.Errorf("%d findings, %d files of %d seen", len(r.Findings), most.Load(), len(files))
	}
	if got := fmt.Sprint(classes); got != "[cluster-template-7.yaml cluster-template-8.yaml clusterclass-x.yaml]" {
		t.Errorf("got %s", got)
	}
}

// TestYields: of two findings about one fault the one that explains it stays, or the
// other one if that is worse. A comment about the first does not bring back the second.
func TestYields(t *testing.T) {
	for _, c := range []struct {
		comment string
		other   lint.Severity
		want    string
	}{
		{"", lint.Warning, "TEST001"}, {"", lint.Info, "TEST001"}, {"", lint.Error, "TEST001 TEST002"},
		{" # clusterctl-repo:ignore TEST001 why", lint.Warning, ""},
	} {
		check := func(p *lint.Pass) {
			p.Path(p.File.Raw.Name, "a file")
			everyNode.Check(p)
		}
		one := &lint.Rule{ID: "TEST001", Severity: lint.Warning, Check: check}
		other := &lint.Rule{ID: "TEST002", Severity: c.other, Check: check, Yields: []string{"TEST001"}}
		var got []string
		files := map[string]string{"cluster-template.yaml": "kind: A" + c.comment + "\n"}
		r := run(t, repository(files), lint.Options{Rules: []*lint.Rule{one, other}})
		for _, f := range r.Findings {
			got = append(got, f.Rule.ID)
		}
		// Those about the file as a whole are two.
		if got := strings.Join(got, " "); got != strings.TrimSpace("TEST001 TEST002 "+c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestUnbuilt(t *testing.T) {
	rule := &lint.Rule{ID: "TEST001", Severity: lint.Error}
	faults := []lint.Fault{{File: "b", Message: "x"}, {File: "a", Pos: yamldoc.Pos{Line: 2}, Message: "y"}}
	for _, c := range []struct {
		severity map[string]lint.Severity
		want     lint.Severity
	}{{nil, lint.Error}, {map[string]lint.Severity{"TEST001": lint.Info}, lint.Info}, {map[string]lint.Severity{"OTHER": lint.Info}, lint.Error}} {
		r := lint.Found(rule, faults, c.severity)
		if len(r.Findings) != 2 || r.Findings[0].File != "a" || r.Findings[0].Pos.Line != 2 || r.Worst() != c.want || r.Findings[0].Fingerprint == "" {
			t.Errorf("%v: %+v", c.severity, r.Findings)
		}
	}
	if r := lint.Found(rule, faults, map[string]lint.Severity{"TEST001": lint.Off}); len(r.Findings) != 0 {
		t.Errorf("off: %+v", r.Findings)
	}
}

func TestSeverityWords(t *testing.T) {
	for _, s := range []lint.Severity{lint.Off, lint.Info, lint.Warning, lint.Error} {
		if got, err := lint.ParseSeverity(s.String()); err != nil || got != s {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	if _, err := lint.ParseSeverity("fatal"); err == nil {
		t.Error("fatal is a severity")
	}
}

func TestReportTakesTheSeverityOfTheFinding(t *testing.T) {
	rule := &lint.Rule{ID: "TEST001", Severity: lint.Error, Scope: lint.ScopeRelease, Check: func(p *lint.Pass) {
		p.Report(lint.Finding{File: "a", Severity: lint.Info})
		p.Report(lint.Finding{File: "b"})
	}}
	r := run(t, repository(nil), lint.Options{Rules: []*lint.Rule{rule}})
	if r.Findings[0].Severity != lint.Info || r.Findings[1].Severity != lint.Error {
		t.Errorf("%+v", r.Findings)
	}
	lower := map[string]lint.Severity{"TEST001": lint.Info}
	if r := run(t, repository(nil), lint.Options{Rules: []*lint.Rule{rule}, Severity: lower}); r.Worst() != lint.Info {
		t.Errorf("lowered: %+v", r.Findings)
	}
}

func TestTraceSeesEveryFinding(t *testing.T) {
	rule := &lint.Rule{ID: "TEST001", Severity: lint.Error, Check: func(p *lint.Pass) {
		p.Node(p.File.Docs().Docs[0], p.File.Docs().Docs[0].Root.Get("a"), "node")
		p.Span(3, 4, "span")
	}}
	var seen []string
	r := run(t, repository(map[string]string{"cluster-template.yaml": "a: b\n"}), lint.Options{Rules: []*lint.Rule{rule},
		Trace: func(f *lint.Finding, d *yamldoc.Document, n *yamldoc.Node, start, end int) {
			seen = append(seen, fmt.Sprint(f.Message, d != nil, n != nil, start, end))
			f.File = "source.yaml"
		}})
	slices.Sort(seen)
	if !slices.Equal(seen, []string{"nodetrue true 0 0", "spanfalse false 3 4"}) || r.Findings[0].File != "source.yaml" {
		t.Errorf("seen %q, findings %+v", seen, r.Findings)
	}
}

func TestReplace(t *testing.T) {
	const text = "a: 'b'\nc: [1]\nd: |\n  text\ne: ${X:=y}\nf: é\n"
	rule := &lint.Rule{ID: "TEST001", Check: func(p *lint.Pass) {
		d := p.File.Docs().Docs[0]
		edit := func(name string) *lint.Edit { return lint.Replace(p.File, d, d.Root.Get(name), "new") }
		for name, want := range map[string]string{"a": "a: new\nc", "f": "f: new\n"} {
			e := edit(name)
			if e == nil {
				t.Errorf("%s cannot be replaced", name)
				continue
			}
			if got := text[:e.Start] + e.Text + text[e.End:]; !strings.Contains(got, want) {
				t.Errorf("%s: got %q", name, got)
			}
		}
		for _, name := range []string{"c", "d", "e", "none"} {
			if e := edit(name); e != nil {
				t.Errorf("%s: got %+v", name, e)
			}
		}
	}}
	if r := run(t, repository(map[string]string{"cluster-template.yaml": text}), lint.Options{Rules: []*lint.Rule{rule}}); len(r.Failures) > 0 {
		t.Error(r.Failures)
	}
}

func TestSourceLinesOfPeopleAndOfMachines(t *testing.T) {
	long := "a: b # " + strings.Repeat("x", 5<<10)
	rule := &lint.Rule{ID: "TEST001", Check: func(p *lint.Pass) {
		if got := lint.SourceLine(p.File, 1); got != "c: d" {
			t.Errorf("line 1: %q", got)
		}
		if got := lint.SourceLine(p.File, 2); got != "" {
			t.Errorf("line 2 has %d bytes", len(got))
		}
		if got := lint.SourceLine(p.File, 3); got != "e: f" {
			t.Errorf("line 3: %q", got)
		}
	}}
	if r := run(t, repository(map[string]string{"cluster-template.yaml": "c: d\n" + long + "\ne: f\n"}), lint.Options{Rules: []*lint.Rule{rule}}); len(r.Failures) > 0 {
		t.Error(r.Failures)
	}
}

func TestNamesOfObjects(t *testing.T) {
	for text, want := range map[string]string{
		"kind: A\nmetadata: {name: b, namespace: c}\n": "A c/b",
		"kind: A\nmetadata: {name: b}\n":               "A b",
		"kind: A\n":                                    "A",
		"metadata: {name: b, namespace: c}\n":          "c/b",
		"x: y\n":                                       "",
	} {
		if got := lint.ObjectName(yamldoc.Parse(yamldoc.NewFile("x", []byte(text))).Docs[0]); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestPlacesOfComments(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1 # clusterctl-repo:ignore X why\n":               "1:6-1:36",
		"é: 1\t# clusterctl-repo:ignore X why\r\n":            "1:6-1:36",
		"# clusterctl-repo:ignore X why\na: 1\n":              "1:1-1:31",
		"a: 1 # x # clusterctl-repo:ignore X why\n":           "1:10-1:40",
		"a: 1# clusterctl-repo:ignore X why\n":                "",
		"a: 1 # see clusterctl-repo:ignore X why\n":           "",
		"a: 1\n  \n   # clusterctl-repo:ignore X why\nb: 2\n": "3:4-3:34",
	} {
		got := ""
		for _, i := range lint.Ignores(yamldoc.NewFile("x", []byte(text))) {
			got = fmt.Sprintf("%d:%d-%d:%d", i.Pos.Line, i.Pos.Column, i.End.Line, i.End.Column)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestManyOfAKind: of many findings of a rule in a file the first are kept and all are
// counted, unless they are to be edited.
func TestManyOfAKind(t *testing.T) {
	rule := &lint.Rule{ID: "TEST007", Severity: lint.Error, Check: func(p *lint.Pass) {
		for i := range len(p.File.Raw.Data) {
			p.Span(i, i+1, "a byte")
		}
	}}
	files := map[string]string{"cluster-template.yaml": strings.Repeat("a", 1500), "cluster-template-x.yaml": "bb"}
	for edits, want := range map[bool]int{false: 1002, true: 1502} {
		r := run(t, repository(files), lint.Options{Rules: []*lint.Rule{rule}, Edits: edits})
		if len(r.Findings) != want || r.Count().Errors != 1502 {
			t.Errorf("edits %t: %d findings kept of %d", edits, len(r.Findings), r.Count().Errors)
		}
		if more := len(r.Rest) == 1 && r.Rest[0].Count == 500 && strings.HasSuffix(r.Rest[0].File, "cluster-template.yaml"); more == edits {
			t.Errorf("edits %t: %+v", edits, r.Rest)
		}
		// What is hidden of those that are kept does not hide the rest.
		known := map[string]bool{}
		for _, f := range r.Findings {
			known[f.Fingerprint] = true
		}
		r.Without(known)
		if worst := r.Worst(); worst == lint.Error == edits {
			t.Errorf("edits %t: the worst of the rest is %s", edits, worst)
		}
	}
}

// TestMerge: what several templates of a release say is one finding, unless it is
// an error; a baseline knows it by any of its places.
func TestMerge(t *testing.T) {
	rule := func(s lint.Severity) *lint.Rule {
		return &lint.Rule{ID: "TEST006", Severity: s, Check: func(p *lint.Pass) {
			if p.File.Kind != layouts.Metadata {
				p.Span(0, 1, "a fault")
			}
		}}
	}
	files := map[string]string{"cluster-template.yaml": "a: b\n", "cluster-template-b.yaml": "a: b\n", "cluster-template-c.yaml": "a: b\n", "infrastructure-components.yaml": "a: b\n"}
	r := run(t, repository(files), lint.Options{Rules: []*lint.Rule{rule(lint.Warning)}})
	if len(r.Findings) != 2 || len(r.Findings[0].Also) != 2 {
		t.Fatalf("%+v", r.Findings)
	}
	if n := r.Without(map[string]bool{"another": true}); n != 0 {
		t.Errorf("%d findings were known", n)
	}
	if n := r.Without(map[string]bool{r.Findings[0].Also[1].Fingerprint: true}); n != 1 || len(r.Findings) != 1 {
		t.Errorf("%d findings were known, %d left", n, len(r.Findings))
	}
	if r := run(t, repository(files), lint.Options{Rules: []*lint.Rule{rule(lint.Error)}}); len(r.Findings) != 4 {
		t.Errorf("%d errors", len(r.Findings))
	}
	delete(files, "cluster-template-c.yaml")
	edits := &lint.Rule{ID: "TEST006", Severity: lint.Info, Check: func(p *lint.Pass) {
		f := lint.Spanning(p.File, 0, 1, "a fault")
		f.Edit = &lint.Edit{}
		p.Report(f)
		f.Way, f.Message = "a", "built"
		p.Report(f)
		f.Way, f.Message, f.Object, f.Edit = "", "own", p.File.Artifact.Name, nil
		p.Report(f)
		p.Path(p.File.Raw.Name, "a file")
	}, Kinds: []layouts.FileKind{layouts.ClusterTemplate}}
	for _, c := range []struct {
		edits bool
		want  string
	}{
		{false, "a file, a fault, built, own, a file, built, own"},
		{true, "a file, a fault (a: b), built (a: b), own, a file, a fault (a: b), built (a: b), own"},
	} {
		r := run(t, repository(files), lint.Options{Rules: []*lint.Rule{edits}, Edits: c.edits})
		got := phrase.List(r.Findings, func(f lint.Finding) string {
			if f.Edit == nil || f.Edit.Linted == "" {
				return f.Message
			}
			return f.Message + " (" + strings.TrimSpace(f.Edit.Linted) + ")"
		})
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestRename: a fingerprint that is made of the name of a file changes with it.
func TestRename(t *testing.T) {
	for name, want := range map[string]string{"e/a": "[true true true]", "d/b": "[true false false]"} {
		r := lint.Report{Suppressed: []lint.Suppressed{{Finding: lint.Finding{Rule: &lint.Rule{}, File: "d/a"}}}}
		for id, rule := range []lint.Rule{{}, {Scope: lint.ScopeComments}, {Scope: lint.ScopeKustomizations}} {
			rule.ID = fmt.Sprint(id)
			r.Findings = append(r.Findings, lint.Finding{
				Rule: &rule, File: "d/a", Fingerprint: "old", Also: []lint.Place{{File: "d/a"}},
			})
		}
		r.Rename(func(string) string { return name })
		r.Join(&lint.Report{})
		kept := phrase.List(r.Findings, func(f lint.Finding) bool { return f.Fingerprint == "old" })
		if fmt.Sprint(kept) != want || r.Findings[0].Also[0].File != name || r.Suppressed[0].File != name {
			t.Errorf("%s: %v, %+v", name, kept, r)
		}
	}
}

// TestFollows: what is known of a joined finding is taken away, and what is left has its own
// severity; with edits, findings that can be mended are not joined.
func TestFollows(t *testing.T) {
	rule := func(id string, s lint.Severity, fix string, edit bool) *lint.Rule {
		return &lint.Rule{ID: id, Severity: s, Check: func(p *lint.Pass) {
			f := lint.Spanning(p.File, 0, 1, "%s", id).Because("a fault")
			if f.Fix = fix; edit {
				f.Edit = &lint.Edit{}
			}
			p.Report(f)
		}}
	}
	rules := []*lint.Rule{rule("TEST001", lint.Info, "mend", false), rule("TEST002", lint.Warning, "", true), rule("TEST003", lint.Error, "", false)}
	joined := func(known ...int) string {
		r := run(t, repository(map[string]string{"cluster-template.yaml": "a"}), lint.Options{Rules: rules})
		if len(r.Findings) != 1 || len(r.Findings[0].Also) != 2 {
			t.Fatalf("%+v", r.Findings)
		}
		all := map[string]string{r.Findings[0].Rule.ID: r.Findings[0].Fingerprint}
		for _, p := range r.Findings[0].Also {
			all[p.Rule.ID] = p.Fingerprint
		}
		hidden := map[string]bool{}
		for _, n := range known {
			hidden[all[rules[n].ID]] = true
		}
		r.Without(hidden)
		return strings.Join(phrase.List(r.Findings, func(f lint.Finding) string {
			return fmt.Sprint(f.Rule.ID, " ", f.Severity, " ", phrase.List(f.Also, func(p lint.Place) string { return p.Rule.ID }))
		}), ", ")
	}
	for _, c := range []struct {
		known []int
		want  string
	}{
		{nil, "TEST001 error [TEST002 TEST003]"},
		{[]int{0}, "TEST003 error [TEST002]"},
		{[]int{2}, "TEST001 warning [TEST002]"},
		{[]int{1, 2}, "TEST001 info []"},
		{[]int{0, 2}, "TEST002 warning []"},
		{[]int{0, 1, 2}, ""},
	} {
		if got := joined(c.known...); got != c.want {
			t.Errorf("without %v: %q, want %q", c.known, got, c.want)
		}
	}
	if r := run(t, repository(map[string]string{"cluster-template.yaml": "a"}), lint.Options{Rules: rules, Edits: true}); len(r.Findings) != 2 {
		t.Errorf("with edits: %+v", r.Findings)
	}
}
