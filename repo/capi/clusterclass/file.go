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
	a := r.Artifact(layouts.ClusterClassFile(class))
	if a == nil {
		a = FileWith(r, func(o *manifest.Object) bool { return o.Is(Group, Kind) && o.Name == class })
	}
	if a == nil {
		return "", false
	}
	return a.Name, true
}

// FileWith is the first template or class of a release that has an object; nil if none has.
func FileWith(r *repo.Release, holds func(*manifest.Object) bool) *repo.Artifact {
	for _, a := range r.Artifacts {
		if kind := a.Kind(); kind == layouts.ClusterTemplate || kind == layouts.ClusterClass {
			if f, err := manifest.Read(a, kind); err == nil && slices.ContainsFunc(f.Objects(), holds) {
				return a
			}
		}
	}
	return nil
}
