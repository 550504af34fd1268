package owners

import (
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// EachTemplate visits the templates and ClusterClasses of a release, each with the
// classes that it uses. The graph of what cannot be read is nil.
func EachTemplate(r *repo.Release, visit func(a *repo.Artifact, kind layouts.FileKind, graph *Graph)) {
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
	types := map[[2]string]Type{}
	if c := r.Components(); c != nil {
		if f := file(c); f != nil {
			for _, o := range f.Objects() {
				if d := crd.Of(o); d != nil {
					types[[2]string{d.Group, d.Kind}] = TypeOf(d)
				}
			}
		}
	}
	known := func(group, kind string) (Type, bool) {
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
		for _, class := range Classes(objects) {
			if c := r.Artifact(layouts.ClusterClassFile(class)); c != nil && c != a {
				if f := file(c); f != nil {
					objects = append(objects[:len(objects):len(objects)], f.Objects()...)
				}
			}
		}
		visit(a, kind, Template(objects, known))
	}
}
