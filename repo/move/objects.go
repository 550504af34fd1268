package move

import (
	"fmt"
	"slices"
)

// Dump is what files hold of a management cluster.
type Dump struct {
	Objects []Object
	// Problems say what could not be read, so that objects may be missing.
	Problems []error
	// Saved counts the objects in files that are named as clusterctl move
	// --to-directory names them.
	Saved int
}

// Exist reports whether the objects are those of a cluster, which gives each a UID.
func (d *Dump) Exist() bool {
	return slices.ContainsFunc(d.Objects, func(o Object) bool { return o.UID != "" })
}

// mostProblems are kept at most, and a word on the others.
const mostProblems = 20

// problem notes what could not be read.
func (d *Dump) problem(name string, err error) {
	switch n := len(d.Problems); {
	case n < mostProblems:
		d.Problems = append(d.Problems, fmt.Errorf("%s: %w", name, err))
	case n == mostProblems:
		d.Problems = append(d.Problems, fmt.Errorf("and more like these in %s", name))
	}
}

// Object is what is kept of an object.
type Object struct {
	Group, Version, Kind, Namespace, Name string
	// UID is empty if the dump does not tell.
	UID string
	// Labels and Annotations are those of Cluster API.
	Labels, Annotations map[string]string
	Owners              []OwnerReference
	// Names are the names in spec, by what its fields are called.
	Names []Name
	// Detail is what else a move depends on: a *Definition, *Cluster, *Binding,
	// *Provider or *Manager, or nil.
	Detail any

	gates []*gate // without which a webhook refuses it
}

func (o *Object) Has(label string) bool { _, ok := o.Labels[label]; return ok }

// Ref names an object; the namespace depends on where it stands.
type Ref struct{ Group, Kind, Name string }

// OwnerReference is an entry of metadata.ownerReferences.
type OwnerReference struct {
	Ref
	UID string
}

// Name is the name in a field of references. What else stands next to it may be empty.
type Name struct {
	Ref
	Field, Namespace string
}

// Definition is a CustomResourceDefinition. Storage is the version in which objects
// are stored, empty if the dump does not tell, and Global is set if they have no
// namespaces.
type Definition struct {
	Group, Kind, Storage string
	Served               []string
	Global               bool
}

// Cluster is a Cluster; Class and ClassNamespace are those of its topology.
type Cluster struct{ Class, ClassNamespace string }

// Binding names the Cluster of a ClusterResourceSetBinding.
type Binding struct{ Cluster string }

// Provider is an entry of clusterctl's inventory, or an object of the operator.
// Label is such as infrastructure-foo.
type Provider struct {
	Label, Version string
	Operator       bool // only the operator knows it
}

// Manager is a Deployment with the feature gates in its arguments. Unread is set if
// there may be others, such as in a variable.
type Manager struct {
	Gates  map[string]bool
	Unread bool
}
