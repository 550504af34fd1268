package corpus

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	"github.com/clusterctl-repo/clusterctl-repo/transform/likeness"
)

// TestLike makes the files of every release again, without an edit and without the
// configurations of this folder.
func TestLike(t *testing.T) {
	corpus := filepath.Dir(share.Corpus(t, "sources"))
	of := share.Of(3, 1)
	for i, source := range slices.Sorted(maps.Keys(releases)) {
		if i%of != of/2 {
			continue // make test traces others
		}
		each := releases[source]
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			var r likeness.Releases
			for _, at := range each {
				label, version, _ := strings.Cut(at, "/")
				there := given.Value(folder.Open(t.Context(), filepath.Join(corpus, "releases", label)))(t)
				for _, release := range there.Providers[0].Releases {
					if release.Version == version {
						release.Provider = given.Value(layouts.ParseLabel(label))(t)
						r.Each = append(r.Each, release)
					}
				}
			}
			if len(r.Each) != len(each) {
				t.Fatalf("%d releases of %s", len(r.Each), each)
			}
			p := given.Value(likeness.Like(t.Context(), filepath.Join(corpus, "sources", source), r, likeness.Options{}))(t)
			if p.Problem != nil || len(p.Counts.Unexplained) > 0 {
				t.Errorf("%v\n%s", p.Problem, p.Counts.Summary(each[0]))
			}
		})
	}
}
