package clusterclass

import (
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// FileIn names the file of a release that has a ClusterClass: the one that clusterctl
// requests, or the first that holds it.
func FileIn(r *repo.Release, class string) (string, bool) {
	if file := layouts.ClusterClassFile(class); r.Artifact(file) != nil {
		return file, true
	}
	for _, a := range r.Artifacts {
		if kind := a.Kind(); kind != layouts.ClusterTemplate && kind != layouts.ClusterClass {
			continue
		}
		data, err := a.Text()
		if err == nil && slices.ContainsFunc(manifest.New(a, a.Kind(), data).Objects(), func(o *manifest.Object) bool {
			return o.Is(Group, Kind) && o.Name == class
		}) {
			return a.Name, true
		}
	}
	return "", false
}
