package cluster

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/cluster/apply"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// excused are objects of real providers that the server refuses and lint does not
// report, with the reason. The key is the file and the object.
var excused = map[string]string{
	"infrastructure-azure/v1.26.0/cluster-template-edgezone.yaml AzureCluster my-cluster": "the variable of the zone type has one valid value, and others need others",
}

// agreement counts what the server and lint say about real providers.
type agreement struct {
	parts, objects, confirmed int
	// What is refused: all, with a finding, depending on values, on webhooks,
	// or on the version of another provider.
	refused, reported, byValue, open, foreign int
	kinds                                     map[string]int  // that nothing defines
	used                                      map[string]bool // of excused
}

// TestCorpus applies real providers and their templates. What the server refuses
// lint reports, and the other way round: what lint says that the server refuses,
// it does.
func TestCorpus(t *testing.T) {
	r := given.Value(folder.Open(t.Context(), share.Corpus(t, "releases")))(t)
	report := given.Value(lint.Run(t.Context(), r, lint.Options{Rules: rules.All}))(t)
	for _, err := range report.Failures {
		t.Error(err)
	}
	findings := map[string][]lint.Finding{}
	for _, f := range report.Findings {
		findings[f.File] = append(findings[f.File], f)
		for _, p := range f.Also {
			same := f
			same.File, same.Pos = p.File, p.Pos
			findings[p.File] = append(findings[p.File], same)
		}
	}
	a := &agreement{kinds: map[string]int{}, used: map[string]bool{}}
	all := everyDefinition(t, r)
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			t.Run(p.Label()+"/"+release.Version, func(t *testing.T) { a.release(t, release, all, findings) })
		}
	}
	t.Logf("%d files, %d objects; kinds that nothing defines: %v", a.parts, a.objects, a.kinds)
	t.Logf("%d refused: %d reported by lint, %d depend on values, %d on webhooks, %d on another provider, %d excused; %d errors of lint confirmed",
		a.refused, a.reported, a.byValue, a.open, a.foreign, len(a.used), a.confirmed)
}

// everyDefinition is a library for templates, which use the kinds of several
// providers.
func everyDefinition(t *testing.T, r *repo.Repository) *apply.Library {
	t.Helper()
	library := given.Value(core())(t)
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			for _, part := range parts(t, release) {
				if part.kind != layouts.Components {
					continue
				}
				if objs, err := part.render(plausible(part.required)); err == nil {
					library = library.With(objs...)
				}
			}
		}
	}
	return library
}

func (a *agreement) release(t *testing.T, r *repo.Release, all *apply.Library, findings map[string][]lint.Finding) {
	s := session(t)
	defer end(t, s)
	for _, p := range parts(t, r) {
		if p.kind == layouts.Components {
			a.part(t, s, s, p, findings[p.file.Name])
			continue
		}
		inner := s.Inside(all)
		a.part(t, s, inner, p, findings[p.file.Name])
		end(t, inner)
	}
}

// part compares the verdicts on one file, applied to s. The release is what the
// provider itself defines, with Cluster API.
func (a *agreement) part(t *testing.T, release, s *apply.Session, p part, findings []lint.Finding) {
	t.Helper()
	objs, err := p.render(plausible(p.required))
	if err != nil {
		t.Logf("%s: clusterctl refuses it: %v", p, err)
		return
	}
	a.parts++
	a.objects += len(objs)
	refused := map[string]bool{}
	for _, r := range send(t, s, objs, p.by()) {
		name := nameOf(&r.object)
		gk := r.object.GroupVersionKind().GroupKind()
		if !r.known && p.kind != layouts.Components {
			a.kinds[gk.String()]++
			continue
		}
		refused[name] = true
		a.refused++
		key := p.String() + " " + name
		switch {
		case slices.ContainsFunc(findings, func(f lint.Finding) bool { return p.reports(f) && about(f, &r.object) }):
			a.reported++
			t.Logf("%s: reported: %s", p, r)
		case r.open:
			a.open++
			t.Logf("%s: depends on a webhook: %s", p, r)
		case !release.Knows(gk):
			a.foreign++
			t.Logf("%s: depends on another provider: %s", p, r)
		case dependsOnValues(t, s, p, r):
			a.byValue++
			t.Logf("%s: depends on values: %s", p, r)
		case excused[key] != "":
			a.used[key] = true
		default:
			t.Errorf("lint does not report it: %s: %s", key, r.err)
		}
	}
	for key := range excused {
		if strings.HasPrefix(key, p.String()+" ") && !a.used[key] {
			t.Errorf("excused, but accepted or reported by now: %s", key)
		}
	}
	for _, f := range findings {
		if f.Severity != lint.Error || f.Rule.Proof != lint.APIServer || !provedHere(f.Rule) {
			continue
		}
		if !slices.ContainsFunc(objs, func(o unstructured.Unstructured) bool { return about(f, &o) && refused[nameOf(&o)] }) {
			t.Errorf("%s:%d: lint reports an error that the server does not: %s %s", f.File, f.Pos.Line, f.Rule.ID, f.Message)
			continue
		}
		a.confirmed++
	}
}

// provedHere reports whether it is the server itself that refuses, not a webhook
// of Cluster API.
func provedHere(r *lint.Rule) bool {
	e, err := examples.Load(r.ID)
	return err != nil || e.Oracle.Verdict != examples.AdmissionRefuses
}

// reports says which findings may stand for a refusal: an error that was proven,
// and in templates, which people change before they use them, any warning too.
func (p part) reports(f lint.Finding) bool {
	if p.kind == layouts.Components {
		return f.Severity == lint.Error && (f.Rule.Proof == lint.APIServer || f.Rule.Proof == lint.Clusterctl)
	}
	return f.Severity >= lint.Warning
}

// about reports whether a finding names an object. The namespace does not count,
// since clusterctl changes it, and a variable in the name has some value.
func about(f lint.Finding, o *unstructured.Unstructured) bool {
	kind, name, _ := strings.Cut(f.Object, " ")
	parts := regexp.MustCompile(`\$\{[^}]*\}`).Split(name[strings.LastIndex(name, "/")+1:], -1)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return kind == o.GetKind() && regexp.MustCompile("^"+strings.Join(parts, ".*")+"$").MatchString(o.GetName())
}

// dependsOnValues reports whether the server accepts the object with other values
// of variables, so that it is not the file that is wrong.
func dependsOnValues(t *testing.T, s *apply.Session, p part, r refusal) bool {
	t.Helper()
	if len(p.required) == 0 {
		return false
	}
	for _, value := range []string{"1", "true", "a", "", "10", "2Gi", "10.0.0.0/24", "10.0.0.1", "v1.34.0", "c2FtcGxl", "{}", "[]", "a: b", "https://example.com", "arn:aws:iam::123456789012:role/a"} {
		objs, err := p.render(same(value, p.required))
		if err != nil || len(objs) <= r.index || objs[r.index].GroupVersionKind() != r.object.GroupVersionKind() {
			continue
		}
		if s.Create(t.Context(), &objs[r.index], p.by()) == nil {
			return true
		}
	}
	return false
}
