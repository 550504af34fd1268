package examples_test

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestLint lints every example on its own, and all of them as one repository:
// who copies an example should not begin with an excuse.
func TestLint(t *testing.T) {
	all := &repo.Repository{}
	for folder := range examples {
		alone := &repo.Repository{}
		for _, r := range build(t, folder) {
			alone.Providers = append(alone.Providers, &repo.Provider{Provider: r.Provider, Releases: []*repo.Release{r}})
		}
		all.Providers = append(all.Providers, alone.Providers...)
		t.Run(folder, func(t *testing.T) { findings(t, alone) })
	}
	slices.SortFunc(all.Providers, func(a, b *repo.Provider) int { return cmp.Compare(a.Label(), b.Label()) })
	t.Run("all", func(t *testing.T) { findings(t, all) })
}

func findings(t *testing.T, r *repo.Repository) {
	t.Helper()
	report := given.Value(lint.Run(context.Background(), r, lint.Options{Rules: rules.All, Partial: true}))(t)
	for _, err := range report.Failures {
		t.Error(err)
	}
	for _, f := range report.Findings {
		say := t.Errorf
		if f.Severity == lint.Info {
			say = t.Logf
		}
		say("%s:%d:%d: %s %s: %s: %s", f.File, f.Pos.Line, f.Pos.Column, f.Severity, f.Rule.ID, f.Object, f.Message)
	}
	if report.Files == 0 {
		t.Error("no file was linted")
	}
}
