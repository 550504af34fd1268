package cli

import (
	"fmt"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// most pictures of a release: that of the default template, and those of others
// in which something is left behind.
const mostPictures = 5

// pictures draws the owners in the templates of a repository.
func pictures(r *repo.Repository) []report.Picture {
	var out []report.Picture
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			number := 0
			eachGraph(release, func(a *repo.Artifact, kind layouts.FileKind, graph *owners.Graph) {
				if graph == nil || kind != layouts.ClusterTemplate || number == mostPictures || a.Name != layouts.TemplateFile("") && !graph.Leaves() {
					return
				}
				number++
				out = append(out, report.Picture{Title: fmt.Sprintf("%s %s: owners in %s", release.Provider.Label(), release.Version, a.Name), Graph: report.Owners(graph)})
			})
		}
	}
	return out
}

// eachGraph visits the templates and ClusterClasses of a release, each with the
// classes that it uses. The graph of what cannot be read is nil.
func eachGraph(r *repo.Release, visit func(a *repo.Artifact, kind layouts.FileKind, graph *owners.Graph)) {
	kindOf := r.Kinds()
	parsed := map[string]*manifest.File{}
	file := func(a *repo.Artifact) *manifest.File {
		if parsed[a.Name] == nil {
			data, err := a.Bytes()
			if err != nil {
				return nil
			}
			parsed[a.Name] = manifest.New(a, kindOf(a), data)
		}
		return parsed[a.Name]
	}
	types := map[[2]string]owners.Type{}
	if c := r.Components(); c != nil {
		if f := file(c); f != nil {
			for _, o := range f.Objects() {
				if d := crd.Of(o); d != nil {
					types[[2]string{d.Group, d.Kind}] = owners.TypeOf(d)
				}
			}
		}
	}
	known := func(group, kind string) (owners.Type, bool) {
		t, ok := types[[2]string{group, kind}]
		return t, ok
	}
	for _, a := range r.Artifacts {
		kind := kindOf(a)
		if kind != layouts.ClusterTemplate && kind != layouts.ClusterClass {
			continue
		}
		f := file(a)
		if f == nil || !f.Healthy() {
			visit(a, kind, nil)
			continue
		}
		objects := f.Objects()
		for _, class := range owners.Classes(objects) {
			if c := r.Artifact(layouts.ClusterClassFile(class)); c != nil && c != a {
				if f := file(c); f != nil {
					objects = append(objects[:len(objects):len(objects)], f.Objects()...)
				}
			}
		}
		visit(a, kind, owners.Template(objects, known))
	}
}
