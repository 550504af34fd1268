package clusterclass

import (
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// ID is what one object is called.
type ID struct{ Group, Kind, Name string }

// ClassID is that of a ClusterClass.
func ClassID(name string) ID { return ID{Group, Kind, name} }

// Files lists the templates and classes of a release by the objects that they hold.
func Files(r *repo.Release) map[ID][]*repo.Artifact {
	out := map[ID][]*repo.Artifact{}
	for _, a := range r.Artifacts {
		kind := a.Kind()
		if kind != layouts.ClusterTemplate && kind != layouts.ClusterClass {
			continue
		}
		f, err := manifest.Read(a, kind)
		if err != nil {
			continue
		}
		for _, o := range f.Objects() {
			id := ID{o.Group, o.Kind, o.Name}
			if all := out[id]; !slices.Contains(all, a) {
				out[id] = append(all, a)
			}
		}
	}
	return out
}
