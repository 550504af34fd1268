package rules_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

func TestTable(t *testing.T) {
	id := regexp.MustCompile(`^[A-Z]+[0-9]{3}$`)
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	names := map[string]string{}
	before := ""
	for _, r := range rules.Catalogue {
		if !id.MatchString(r.ID) || r.ID <= before {
			t.Errorf("%s: not the form of an ID, or out of order", r.ID)
		}
		before = r.ID
		if !slices.ContainsFunc(rules.Families, func(f *lint.Family) bool { return slices.Contains(f.Rules, r) }) {
			t.Errorf("%s: belongs to no family", r.ID)
		}
		if !name.MatchString(r.Name) || names[r.Name] != "" {
			t.Errorf("%s: name %q is no slug or belongs to %s", r.ID, r.Name, names[r.Name])
		}
		names[r.Name] = r.ID
		for field, text := range map[string]string{"Title": r.Title, "Since": r.Since, "Source": r.Source, "Why": r.Why, "Fix": r.Fix} {
			if text == "" || strings.TrimSpace(text) != text {
				t.Errorf("%s: %s is empty or has blanks around it", r.ID, field)
			}
			if sentence := field == "Why" || field == "Fix"; strings.HasSuffix(text, ".") != sentence {
				t.Errorf("%s: %s ends wrongly: %q", r.ID, field, text)
			}
		}
		live := r.Check == nil
		if r.Severity == lint.Off || live != (r.Command != "") || live != (r.Example != "") {
			t.Errorf("%s: severity %s; check, command or example do not belong to the scope", r.ID, r.Severity)
		}
		if version, err := layouts.ParseVersion(r.Since); err != nil || version.String() != r.Since {
			t.Errorf("%s: since %q", r.ID, r.Since)
		}
		switch r.Proof {
		case lint.Clusterctl, lint.APIServer, lint.Contract, lint.Practice:
		default:
			t.Errorf("%s: proof %q", r.ID, r.Proof)
		}
		// What these compare with is the proof: the last release, and the checksums of this one.
		if r.Severity == lint.Error && r.Proof == lint.Practice && !live && r.Flag == "" && r.ID != "REPO023" && r.ID != "REPO024" {
			t.Errorf("%s: an error needs more proof than practice", r.ID)
		}
	}
}

func TestByID(t *testing.T) {
	for _, id := range []string{"META006", "meta006", "META-006", "meta-006"} {
		if r := rules.ByID(id); r == nil || r.Name != "series-missing" {
			t.Errorf("ByID(%q) = %v", id, r)
		}
	}
	for _, id := range []string{"", "META", "META999", "ZZZ001", "series-missing"} {
		if r := rules.ByID(id); r != nil {
			t.Errorf("ByID(%q) = %s", id, r.ID)
		}
	}
	for id, want := range map[string]string{
		"META06": "META006", "series-missing": "META006", "serie-missing": "META006", "YML001": "YAML001", "quite something else": "", "": "",
	} {
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		if got := rules.DidYouMean(id); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", id, got, want)
		}
	}
}

// lintFiles applies all rules. File names are relative to the repository.
func lintFiles(t testing.TB, files examples.Files) []lint.Finding {
	t.Helper()
	return given.Value(examples.Findings(context.Background(), files))(t)
}

var found sync.Map // by ID

// badFindings are those of a bad example, which several tests ask for.
func badFindings(t testing.TB, e *examples.Example) []lint.Finding {
	t.Helper()
	once, _ := found.LoadOrStore(e.ID, sync.OnceValues(func() ([]lint.Finding, error) {
		return examples.Findings(context.Background(), e.Bad)
	}))
	return given.Value(once.(func() ([]lint.Finding, error))())(t)
}

// series is metadata.yaml of a release v1.0.0.
const series = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: [{major: 1, minor: 0, contract: v1beta2}]\n"

// inRelease applies all rules to files of infrastructure-foo v1.0.0, whose components are a
// Namespace unless they are given, and returns the findings of some rules.
func inRelease(t testing.TB, files map[string]string, ids ...string) []lint.Finding {
	t.Helper()
	const dir = "infrastructure-foo/v1.0.0/"
	text := map[string]string{dir + "infrastructure-components.yaml": fooNamespace, dir + "metadata.yaml": series}
	for name, data := range files {
		text[dir+name] = data
	}
	return slices.DeleteFunc(spread(lintFiles(t, examples.Files{Text: text})), func(f lint.Finding) bool { return !slices.Contains(ids, f.Rule.ID) })
}

// lintRelease applies some rules to files of foo v1.0.0, which need not be whole.
func lintRelease(t testing.TB, o lint.Options, files map[string]string) []lint.Finding {
	t.Helper()
	id := layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}
	release := &repo.Release{Provider: id, Version: "v1.0.0"}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		release.Artifacts = append(release.Artifacts, repo.BytesArtifact(name, []byte(files[name])))
	}
	report, err := lint.Run(t.Context(), &repo.Repository{Providers: []*repo.Provider{{Provider: id, Releases: []*repo.Release{release}}}}, o)
	if err != nil || len(report.Failures) > 0 {
		t.Fatal(err, report.Failures)
	}
	return report.Findings
}

// said joins what findings say.
func said(findings []lint.Finding) string {
	return strings.Join(phrase.List(findings, func(f lint.Finding) string { return f.Message }), "; ")
}

// spread lists what follows from faults as findings of their own.
func spread(findings []lint.Finding) (out []lint.Finding) {
	for _, f := range findings {
		out = append(out, f)
		for _, p := range f.Also {
			if p.Rule != nil {
				f.Rule, f.File, f.Pos, f.Message = p.Rule, p.File, p.Pos, p.Message
				out = append(out, f)
			}
		}
	}
	return out
}

func show(f lint.Finding) string {
	return fmt.Sprintf("%s:%d:%d: %s: %s %s", f.File, f.Pos.Line, f.Pos.Column, f.Severity, f.Rule.ID, f.Message)
}

// TestExamples demands that the bad example of every rule gives the findings it
// says and no other, in words of the style of the catalogue, and the good one none at all.
// Warnings and infos of other families do not count if both have them: examples are small,
// and no whole providers.
func TestExamples(t *testing.T) {
	for _, r := range rules.All {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			e := given.Value(examples.Load(r.ID))(t)
			byProgram := r.Proof == lint.Clusterctl || r.Proof == lint.APIServer || e.Oracle.Verdict == examples.GenerationRefuses
			if e.Prose == "" || (e.Oracle.Verdict != "") != byProgram {
				t.Errorf("prose %q, oracle %q for proof %q", e.Prose, e.Oracle.Verdict, r.Proof)
			}
			if !slices.ContainsFunc(e.Wants, func(w examples.Want) bool { return w.Rule == r.ID }) {
				t.Error("the example expects no finding of its rule")
			}
			if e.Source {
				return // see TestSourceExamples of the program, which can build it
			}
			findings, count := slices.Clone(badFindings(t, e)), map[string]int{}
			for _, f := range findings {
				count[f.Rule.ID]++
				for _, text := range []string{f.Message, f.Fix} {
					if why := phrasing(text); why != "" && f.Rule.ID != "REPO012" { // the words of clusterctl
						t.Errorf("%s %s: %q", f.Rule.ID, why, text)
					}
				}
			}
			missing, findings, _ := e.Compare(findings)
			for _, w := range missing {
				t.Errorf("bad: missing %s:%d %s %q", w.Path, w.Line, w.Rule, w.Message)
			}
			counts := func(f lint.Finding) bool {
				if id := f.Rule.ID; id == "COMP020" || id == "COMP039" || id == "TPL018" { // about whole providers and templates
					return id == r.ID
				}
				return f.Severity == lint.Error || rules.FamilyOf(f.Rule.ID) == rules.FamilyOf(r.ID)
			}
			for _, f := range findings {
				if counts(f) {
					t.Errorf("bad: unexpected %s", show(f))
				}
			}
			for _, f := range lintFiles(t, e.Good) {
				if count[f.Rule.ID]--; counts(f) || count[f.Rule.ID] < 0 && f.Severity < lint.Error {
					t.Errorf("good: unexpected %s", show(f))
				}
			}
		})
	}
}

func TestExamplesHaveRules(t *testing.T) {
	ids := examples.IDs()
	for _, id := range ids {
		if rules.ByID(id) == nil {
			t.Errorf("example %s belongs to no rule", id)
		}
	}
	if len(ids) != len(rules.All) {
		t.Errorf("%d examples for %d rules", len(ids), len(rules.All))
	}
}

// TestCorpus demands that the defects of real releases that people found in other
// ways are found; -v shows all findings. docs/corpus-findings.md lists every
// error, with who confirms it.
func TestCorpus(t *testing.T) {
	defects := map[string]string{ // by rule and the end of the path
		"CP006 control-plane-k0sproject-k0smotron/v2.1.0/control-plane-components.yaml":   "labelled for v1beta2, with the reference of v1beta1",
		"IC004 infrastructure-kubevirt/v0.11.0/infrastructure-components.yaml":            "failure domains are a list, and v1beta1 has a mapping",
		"PA013 infrastructure-azure/v1.26.0/cluster-template-clusterclass-rke2.yaml":      "patches use variables that the class does not define",
		"CC021 infrastructure-linode/v0.10.0/clusterclass-kubeadm.yaml":                   "fields of v1beta1 in a class of v1beta2",
		"TPL009 infrastructure-linode/v0.10.0/cluster-template-clusterclass-kubeadm.yaml": "the class of v1beta1 in a Cluster of v1beta2",
		"TPL010 infrastructure-aws/v2.11.0/cluster-template-simple-clusterclass.yaml":     "the class has no file",
		"TPL015 infrastructure-kubevirt/v0.11.0/cluster-template-lb-talos.yaml":           "a field that the definition requires is missing",
		"VAR006 infrastructure-nutanix/v1.10.0/cluster-template-csi3.yaml":                "an address with nothing between its colons",
		"WH003 infrastructure-aws/v2.11.0/infrastructure-components.yaml":                 "webhooks for resources in the singular never fire",
		"COMP013 infrastructure-kubekey/v4.0.0/infrastructure-components.yaml":            "no container manager",
	}
	r := given.Value(folder.Open(context.Background(), share.Corpus(t, "releases")))(t)
	report := given.Value(lint.Run(context.Background(), r, lint.Options{Rules: rules.All}))(t)
	for _, err := range report.Failures {
		t.Error(err)
	}
	count := map[string]int{}
	for _, f := range report.Findings {
		count[f.Rule.ID]++
		parts := strings.Split(filepath.ToSlash(f.File), "/")
		delete(defects, f.Rule.ID+" "+strings.Join(parts[max(0, len(parts)-3):], "/"))
		t.Log(show(f))
	}
	for place, why := range defects {
		t.Errorf("not found: %s: %s", place, why)
	}
	t.Log(count)
}

// TestBrokenDocuments breaks the documents of real components, one at a time: what cannot be
// read is never called missing, so that only the document itself is reported.
func TestBrokenDocuments(t *testing.T) {
	share.SkipInRace(t)
	whole := given.Value(folder.Open(context.Background(), share.Corpus(t, "releases")))(t)
	every := share.Of(3, 1)
	n := 0
	// of the first object, which is another one if that is broken
	first := []string{"COMP020", "META017"}
	for _, p := range whole.Providers {
		r := p.Releases[len(p.Releases)-1]
		components := r.Components()
		text := given.Value(components.Text())(t)
		found := func(text string) map[string]bool {
			of := *r
			of.Artifacts = append(phrase.Only(r.Artifacts, func(a *repo.Artifact) bool { return a != components }),
				repo.NewArtifact(components.Name, components.Path, int64(len(text)), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }).As(components.Kind()))
			of.Sort()
			report := given.Value(lint.Run(context.Background(), &repo.Repository{Providers: []*repo.Provider{{Provider: p.Provider, Path: p.Path, Releases: []*repo.Release{&of}}}}, lint.Options{Rules: rules.All}))(t)
			out := map[string]bool{}
			for _, f := range report.Findings {
				out[f.Rule.ID+" "+f.Object] = true
				for _, also := range f.Also {
					if also.Rule != nil {
						out[also.Rule.ID+" "] = true
					}
				}
			}
			return out
		}
		sound := found(text)
		documents := strings.Split(text, "\n---\n")
		for i := range documents {
			if n++; n%every != 0 {
				continue
			}
			broken := slices.Clone(documents)
			broken[i] += "\nbad: : x"
			for what := range found(strings.Join(broken, "\n---\n")) {
				if rule, _, _ := strings.Cut(what, " "); !sound[what] && !sound[rule+" "] && rule != "YAML001" && !slices.Contains(first, rule) {
					t.Errorf("%s: %s, if this document is broken:\n%.300s", p.Label(), what, documents[i])
				}
			}
		}
	}
}
