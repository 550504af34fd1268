package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// TestOwn takes the templates and classes out of each release: with the release beside them,
// they are judged as in it.
func TestOwn(t *testing.T) {
	r := given.Value(folder.Open(t.Context(), share.Corpus(t, "releases")))(t)
	judged := 0
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			dir := t.TempDir()
			in := map[string]bool{}
			for _, a := range release.Artifacts {
				if kind := a.Kind(); kind == layouts.ClusterTemplate || kind == layouts.ClusterClass {
					in[a.Name] = true
					given.NoError(t, os.WriteFile(filepath.Join(dir, a.Name), given.Value(a.Bytes())(t), 0o600))
				}
			}
			if len(in) == 0 {
				continue
			}
			findings := func(r *repo.Repository, with ...*repo.Release) map[string]bool {
				out := map[string]bool{}
				result := given.Value(check.Repository(t.Context(), r, true, check.Options{With: with}))(t)
				for _, f := range result.Report.Findings {
					if name := filepath.Base(f.File); in[name] && f.Rule.ID != "TPL002" && !f.Rule.Release {
						out[fmt.Sprintf("%s:%d:%d %s %s", name, f.Pos.Line, f.Pos.Column, f.Severity, f.Rule.ID)] = true
					}
				}
				return out
			}
			want := findings(&repo.Repository{Providers: []*repo.Provider{{Provider: p.Provider, Path: p.Path, Releases: []*repo.Release{release}}}})
			got := findings(given.Value(transform.Own(t.Context(), dir, transform.Options{}))(t).Repository, release)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: out of the release (+) and in it (-):\n%s", release.Path, diff)
			}
			judged += len(want)
		}
	}
	if judged < 50 {
		t.Errorf("only %d findings", judged)
	}
}
