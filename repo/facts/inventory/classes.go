package inventory

import (
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// class is a ClusterClass that a template names.
type class struct {
	// file is where clusterctl looks for it; "" if the name is up to the user.
	file string
	// refs are the expressions in the name.
	refs []*vars.Ref
}

// classNames says where a Cluster names its class, by API version (clusterctl:
// client/clusterclass.go, clusterClassNamesFromTemplate).
var classNames = map[string][]string{
	"cluster.x-k8s.io/v1beta2": {"classRef", "name"},
	"cluster.x-k8s.io/v1beta1": {"class"},
}

// classesOf returns the ClusterClasses that clusterctl pulls in with a
// template. A variable in the name is taken for its default.
func classesOf(s *source) []*class {
	if s.kind != layouts.ClusterTemplate {
		return nil
	}
	return phrase.Some(s.docs.Docs, func(d *yamldoc.Document) *class { return s.in(d).class })
}

// class returns the one that the object in a document of a template names, or nil.
func (s *source) class(d *yamldoc.Document) *class {
	path, ok := classNames[d.Root.Get("apiVersion").Str()]
	if !ok || d.Root.Get("kind").Str() != "Cluster" {
		return nil
	}
	name := d.Root.Get("spec", "topology").Get(path...)
	if name == nil {
		return nil
	}
	refs := phrase.List(s.within(s.span(d, name)), func(i int) *vars.Ref { return &s.template.Refs()[i] })
	c := &class{refs: refs}
	if _, open := s.open(d, name); !open {
		c.file = layouts.ClusterClassFile(name.Str())
	}
	return c
}
