package owners

import (
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
)

// parser reads each file of a release once.
type parser struct {
	kindOf func(*repo.Artifact) layouts.FileKind
	parsed map[string]*manifest.File
	// contracts are those of the definitions.
	contracts []string
}

func newParser(r *repo.Release) *parser {
	return &parser{kindOf: r.Kinds(), parsed: map[string]*manifest.File{}}
}

// file returns a file, or nil if there is none or it cannot be read.
func (p *parser) file(a *repo.Artifact) *manifest.File {
	if a != nil && p.parsed[a.Name] == nil {
		data, err := a.Bytes()
		if err != nil {
			return nil
		}
		p.parsed[a.Name] = manifest.New(a, p.kindOf(a), data)
	}
	if a == nil {
		return nil
	}
	return p.parsed[a.Name]
}

// definitions adds those of the components.
func (p *parser) definitions(r *repo.Release, types map[groupKind]Type) {
	if f := p.file(r.Components()); f != nil {
		for _, o := range f.Objects() {
			if d := crd.Of(o); d != nil {
				types[groupKind{d.Group, d.Kind}] = TypeOf(d)
				for _, label := range o.Get("metadata", "labels").Fields() {
					p.contracts = contractsOf(p.contracts, label.Name)
				}
			}
		}
	}
}

func typesIn(types map[groupKind]Type) Types {
	return func(group, kind string) (Type, bool) {
		t, ok := types[groupKind{group, kind}]
		return t, ok
	}
}

// TypesOf are the definitions that clusterctl installs with releases.
func TypesOf(releases []*repo.Release) Types {
	types := map[groupKind]Type{}
	for _, r := range releases {
		newParser(r).definitions(r, types)
	}
	return typesIn(types)
}

// EachTemplate plans the move of what each template and ClusterClass of a release
// makes, with the classes that it uses. With are the definitions of other
// releases; it may be nil. The plan of what cannot be read is nil.
func EachTemplate(r *repo.Release, with Types, visit func(a *repo.Artifact, plan *Plan)) {
	p := newParser(r)
	types := map[groupKind]Type{}
	p.definitions(r, types)
	known := Either(typesIn(types), with)
	for _, a := range r.Artifacts {
		kind := p.kindOf(a)
		if kind != layouts.ClusterTemplate && kind != layouts.ClusterClass {
			continue
		}
		f := p.file(a)
		if f == nil || !f.Healthy() {
			visit(a, nil)
			continue
		}
		objects := f.Objects()
		for _, class := range Classes(objects) {
			if c := r.Artifact(layouts.ClusterClassFile(class)); c != a {
				if f := p.file(c); f != nil {
					objects = append(objects[:len(objects):len(objects)], f.Objects()...)
				}
			}
		}
		g := Template(objects, known)
		visit(a, &Plan{Graph: g, Needs: templateNeeds(r, p.contracts, g), template: true})
	}
}
