package lint_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// repository holds one release with the given files.
func repository(files map[string]string) *repo.Repository {
	return releases(map[string]map[string]string{"v1.0.0": files})
}

func run(t *testing.T, r *repo.Repository, opts lint.Options) *lint.Report {
	t.Helper()
	return given.Value(lint.Run(context.Background(), r, opts))(t)
}

// everyNode reports every scalar of every document.
var everyNode = &lint.Rule{ID: "TEST001", Severity: lint.Warning, Check: func(p *lint.Pass) {
	if p.File.Docs() == nil {
		return
	}
	for _, d := range p.File.Docs().Docs {
		d.Root.Walk(func(path yamldoc.Path, n *yamldoc.Node) bool {
			if n.Kind != yamldoc.Map && n.Kind != yamldoc.List {
				_, variable := p.File.Variable(d, n)
				p.Node(d, n, "%s is %q, from a variable: %v", path, n.Text(), variable)
			}
			return true
		})
	}
}}

const template = "kind: Cluster\nmetadata:\n  name: ${CLUSTER_NAME}\n  labels: {a: \"x-${B:=dé}\", c: $$, d: plain}\n---\nkind: Other\nspec: ${REQUIRED}\nlast: é\n"

func TestFindingsPointIntoTheRawFile(t *testing.T) {
	var got []string
	for _, f := range run(t, repository(map[string]string{"cluster-template.yaml": template}), lint.Options{Rules: []*lint.Rule{everyNode}}).Findings {
		got = append(got, fmt.Sprintf("%d:%d-%d:%d %s %s", f.Pos.Line, f.Pos.Column, f.End.Line, f.End.Column, f.Object, f.Message))
	}
	want := []string{
		`1:7-1:14 Cluster my-cluster kind is "Cluster", from a variable: false`,
		`3:9-3:24 Cluster my-cluster metadata.name is "my-cluster", from a variable: true`,
		`4:15-4:53 Cluster my-cluster metadata.labels.a is "x-dé", from a variable: true`,
		`4:32-4:53 Cluster my-cluster metadata.labels.c is "$", from a variable: false`,
		`4:39-4:53 Cluster my-cluster metadata.labels.d is "plain", from a variable: false`,
		`6:7-6:12 Other kind is "Other", from a variable: false`,
		`7:7-7:18 Other spec is "${REQUIRED}", from a variable: true`,
		`8:7-8:8 Other last is "é", from a variable: false`,
	}
	for i := range max(len(got), len(want)) {
		g, w := "", ""
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		// The ends behind substituted text are those of the line.
		if g[:strings.IndexByte(g, '-')] != w[:strings.IndexByte(w, '-')] || g[strings.IndexByte(g, ' '):] != w[strings.IndexByte(w, ' '):] {
			t.Errorf("finding %d:\n got %s\nwant %s", i, g, w)
		}
	}
}

// TestLongTexts: long lines and messages are cut, but keep what the finding is about.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("x", 9000)
	rule := &lint.Rule{ID: "TEST001", Severity: lint.Warning, Check: func(p *lint.Pass) {
		p.Span(9001, 9002, "here")
		p.Report(lint.Finding{File: p.File.Raw.Name, Message: "a" + long + "z", Object: "Secret " + long})
	}}
	found := run(t, repository(map[string]string{"cluster-template.yaml": "#" + long + "!" + long + "\n"}), lint.Options{Rules: []*lint.Rule{rule}}).Findings
	if f := found[0]; len(f.Message) > 2100 || len(f.Object) > 2100 || f.Message[0] != 'a' || !strings.HasSuffix(f.Message, "xz") {
		t.Errorf("%s of %s", f.Message, f.Object)
	}
	if f := found[1]; len(f.Source) > 200 || f.Source[f.Pos.Column-f.SourceColumn] != '!' {
		t.Errorf("column %d in %q from %d", f.Pos.Column, f.Source, f.SourceColumn)
	}
}

func TestBlockVariablesAreLeftOut(t *testing.T) {
	const text = "spec:\n  a: 1\n${EXTRA}\n  b: 2\n"
	r := run(t, repository(map[string]string{"cluster-template.yaml": text}), lint.Options{Rules: []*lint.Rule{everyNode}})
	if len(r.Findings) != 2 || r.Findings[1].Pos.Line != 4 {
		t.Errorf("%+v", r.Findings)
	}
}

func TestFindingsAreTheSameAtAnyParallelism(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("cluster-template-%d.yaml", i)] = template
	}
	var first string
	for _, procs := range []int{1, 2, 8} {
		old := runtime.GOMAXPROCS(procs)
		r := run(t, repository(files), lint.Options{Rules: []*lint.Rule{everyNode, everyNode}})
		runtime.GOMAXPROCS(old)
		text := fmt.Sprintf("%+v", r.Findings)
		if first == "" {
			first = text
		}
		if text != first {
			t.Errorf("GOMAXPROCS=%d: other findings", procs)
		}
		if len(r.Findings) != 8 || len(r.Findings[0].Also) != 19 {
			t.Errorf("%d findings: the rule that ran twice must not report twice, and the same of 20 templates is one", len(r.Findings))
		}
	}
}

func TestRulesThatPanicDoNotHideOthers(t *testing.T) {
	bad := &lint.Rule{ID: "TEST000", Scope: lint.ScopeRelease, Check: func(*lint.Pass) { panic("oops") }}
	good := &lint.Rule{ID: "TEST002", Severity: lint.Error, Scope: lint.ScopeRelease, Check: func(p *lint.Pass) { p.Path(p.Release.Path, "seen") }}
	r := run(t, repository(nil), lint.Options{Rules: []*lint.Rule{bad, good}})
	if len(r.Findings) != 1 || len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Error(), "TEST000") {
		t.Errorf("findings %v, failures %v", r.Findings, r.Failures)
	}
}
