package rules_test

import (
	"context"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// FuzzRules feeds any text to all rules: none may fail, and every finding must
// lie in the file.
func FuzzRules(f *testing.F) {
	for i, r := range rules.All {
		if i%share.Of(3, 1) != 0 {
			continue
		}
		e := given.Value(examples.Load(r.ID))(f)
		for _, text := range e.Bad.Text {
			if len(text) < 10_000 {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		id := layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}
		release := &repo.Release{Provider: id, Version: "v1.0.0", Path: "infrastructure-foo/v1.0.0"}
		for _, name := range []string{"cluster-template.yaml", "clusterclass-a.yaml", "infrastructure-components.yaml", layouts.MetadataFile} {
			release.Artifacts = append(release.Artifacts, repo.BytesArtifact(name, []byte(text)))
		}
		r := &repo.Repository{
			Config:    repo.BytesArtifact("clusterctl.yaml", []byte(text)),
			Providers: []*repo.Provider{{Provider: id, Releases: []*repo.Release{release}}},
		}
		report, err := lint.Run(context.Background(), r, lint.Options{Rules: rules.All, Select: []string{lint.SelectAll}})
		given.NoError(t, err)
		for _, err := range report.Failures {
			t.Error(err)
		}
		lines := strings.Count(text, "\n") + 1
		for _, f := range report.Findings {
			if f.Message == "" || f.Pos.Line > lines || !f.Pos.IsZero() && f.Pos.Column < 1 {
				t.Errorf("%s %+v-%+v %q in a text of %d lines", f.Rule.ID, f.Pos, f.End, f.Message, lines)
			}
		}
	})
}
