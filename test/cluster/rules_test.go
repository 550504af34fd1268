package cluster

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// unfit are good examples that the server refuses all the same, with the reason.
var unfit = map[string]string{}

// TestRuleExamples lets the API server prove the rules that say it does, and takes
// the good examples of all rules at their word: it accepts them.
func TestRuleExamples(t *testing.T) {
	for _, rule := range rules.All {
		t.Run(rule.ID, func(t *testing.T) {
			e := given.Value(examples.Load(rule.ID))(t)
			t.Run("good", func(t *testing.T) { goodExample(t, e) })
			if rule.Proof == lint.APIServer {
				t.Run("bad", func(t *testing.T) { badExample(t, e) })
			}
		})
	}
}

func goodExample(t *testing.T, e *examples.Example) {
	var refused []refusal
	for _, r := range releases(t, e.Good) {
		for _, refusals := range applyExample(t, r, append(e.GoodEnv, e.Env...)) {
			refused = append(refused, refusals...)
		}
	}
	pattern := regexp.MustCompile(e.Oracle.Pattern)
	proved := verdictOn(e.Oracle.Verdict) != nil
	count := 0
	for _, r := range refused {
		if r.known && !r.open || proved && pattern.MatchString(r.err.Error()) {
			count++
			if unfit[e.ID] == "" {
				t.Errorf("refused: %s", r)
			}
		}
	}
	if reason := unfit[e.ID]; reason != "" && count == 0 {
		t.Errorf("accepted, though it is listed as unfit: %s", reason)
	}
}

func badExample(t *testing.T, e *examples.Example) {
	switch e.Oracle.Verdict {
	case examples.Unproved:
		if strings.TrimSpace(e.Oracle.Pattern) == "" {
			t.Error("no reason why the API server cannot show it")
		}
		return
	case examples.AdmissionRefuses, examples.GenerationRefuses: // test/oracle calls that code without a server
		return
	}
	counts := verdictOn(e.Oracle.Verdict)
	if counts == nil {
		t.Fatalf("verdict %q is none of the API server", e.Oracle.Verdict)
	}
	pattern := regexp.MustCompile(e.Oracle.Pattern)
	shown := false
	var refused []string
	for _, r := range releases(t, e.Bad) {
		for kind, refusals := range applyExample(t, r, e.Env) {
			for _, refusal := range refusals {
				refused = append(refused, refusal.String())
				shown = shown || counts(kind) && !refusal.open && pattern.MatchString(refusal.err.Error())
			}
		}
	}
	if !shown {
		t.Errorf("nothing is refused with %q, but:\n%s", pattern, strings.Join(refused, "\n"))
	}
}

// verdictOn tells in which files an object must be refused for a verdict; nil if
// it is not about the API server.
func verdictOn(v examples.Verdict) func(layouts.FileKind) bool {
	switch v {
	case examples.APIServerRefuses:
		return func(k layouts.FileKind) bool { return k == layouts.Components }
	case examples.APIServerTemplateRefuses:
		return func(k layouts.FileKind) bool { return k != layouts.Components }
	}
	return nil
}

// releases writes an example to a folder and reads it as a repository.
func releases(t *testing.T, files examples.Files) []*repo.Release {
	t.Helper()
	dir := t.TempDir()
	given.NoError(t, files.Write(dir))
	r, err := folder.Open(t.Context(), dir)
	var none *folder.NotRepositoryError
	if errors.As(err, &none) {
		return nil // an example about names of folders
	}
	given.NoError(t, err)
	var out []*repo.Release
	for _, p := range r.Providers {
		out = append(out, p.Releases...)
	}
	return out
}

// applyExample applies the files of a release, each template to a cluster that has
// the components. It returns what is refused, by the kind of the file.
func applyExample(t *testing.T, r *repo.Release, env []string) map[layouts.FileKind][]refusal {
	t.Helper()
	library := given.Value(core())(t)
	out := map[layouts.FileKind][]refusal{}
	s := session(t)
	defer end(t, s)
	for _, p := range parts(t, r) {
		v := plausible(p.required)
		for _, entry := range env {
			name, value, _ := strings.Cut(entry, "=")
			v[name] = strings.ReplaceAll(value, `\n`, "\n")
		}
		objs, err := p.render(v)
		if err != nil {
			t.Logf("%s: clusterctl refuses it: %v", p, err)
			continue
		}
		if p.kind == layouts.Components {
			out[p.kind] = append(out[p.kind], send(t, s, objs, p.by())...)
			continue
		}
		inner := s.Inside(library)
		out[p.kind] = append(out[p.kind], send(t, inner, objs, p.by())...)
		end(t, inner)
	}
	return out
}
