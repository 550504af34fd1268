package move

import (
	"fmt"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// definitions are those that clusterctl installs with a release, with the contracts
// that their labels name.
func definitions(r *repo.Release) (known Types, carried contracts) {
	types, carried := map[groupKind]Type{}, contracts{}
	for _, d := range crd.In(manifest.Components(r)) {
		kind := groupKind{d.Group, d.Kind}
		t := TypeOf(d)
		if v := d.Storage(); v != nil && !v.Served {
			t.unlisted = unserved
		}
		types[kind] = t
		for _, label := range d.Object.Get("metadata", "labels").Fields() {
			carried.add(kind, label.Name)
		}
	}
	return func(group, kind string) (Type, bool) {
		t, ok := types[groupKind{group, kind}]
		return t, ok
	}, carried
}

// TypesOf are the definitions that clusterctl installs with a release.
func TypesOf(r *repo.Release) Types {
	known, _ := definitions(r)
	return known
}

// EachTemplate plans the move of what each template and ClusterClass of a release
// makes, with the classes that it uses. With are further definitions; it may be nil.
// The plan of what cannot be read is nil.
func EachTemplate(r *repo.Release, with Types, visit func(a *repo.Artifact, plan *Plan)) {
	types, carried := definitions(r)
	known, kindOf := Either(types, with), r.Kinds()
	var files map[clusterclass.ID][]*repo.Artifact
	if r.Own {
		files = clusterclass.Files(r)
	}
	for _, a := range r.Artifacts {
		kind := kindOf(a)
		if kind != layouts.ClusterTemplate && kind != layouts.ClusterClass {
			continue
		}
		f, err := manifest.Read(a, kind)
		if err != nil || !f.Healthy() {
			visit(a, nil)
			continue
		}
		objects := f.Objects()
		var ambiguous []string
		for _, class := range Classes(objects) {
			c := r.Artifact(layouts.ClusterClassFile(class))
			if all := files[clusterclass.ClassID(class)]; c == nil && len(all) > 0 {
				c = all[max(slices.Index(all, a), 0)]
				if c != a && len(all) > 1 {
					ambiguous = append(ambiguous, class)
				}
			}
			if c != nil && c != a {
				if f, err := manifest.Read(c, layouts.ClusterClass); err == nil {
					objects = slices.Concat(objects, f.Objects())
				}
			}
		}
		g := Template(objects, known)
		p := &Plan{Graph: g, Needs: templateNeeds(r, carried, g), template: true}
		for _, class := range ambiguous {
			p.Remarks = append(p.Remarks, Remark{Reason: fmt.Sprintf("ClusterClass %s is in several files: %s", class,
				phrase.Few(phrase.List(files[clusterclass.ClassID(class)], func(a *repo.Artifact) string { return a.Name }), 3))})
		}
		for _, o := range objects {
			if o.Kind == "" || o.Name == "" {
				p.Remarks = append(p.Remarks, Remark{Reason: fmt.Sprintf(
					"document %d of %s has no kind or no name, so that it is not in this plan", o.Doc.Index, o.File.Artifact.Name)})
			}
		}
		visit(a, p)
	}
}
