package dump

import "fmt"

// Dump is what files hold of a management cluster.
type Dump struct {
	Objects []Object
	// Problems say what could not be read, so that objects may be missing; More
	// counts those that were too many to keep.
	Problems []error
	More     int
	// Saved counts the objects in files that are named as clusterctl move
	// --to-directory names them.
	Saved int

	words map[string]string // each text once
}

// mostProblems are kept at most.
const mostProblems = 20

// problem notes what could not be read.
func (d *Dump) problem(name string, err error) {
	if len(d.Problems) == mostProblems {
		d.More++
		return
	}
	d.Problems = append(d.Problems, fmt.Errorf("%s: %w", name, err))
}

// Object is what is kept of an object.
type Object struct {
	Group, Version, Kind, Namespace, Name string
	// UID is empty if the dump does not tell.
	UID string
	// Labels and Annotations are those of Cluster API.
	Labels, Annotations map[string]string
	// Deleting is set if somebody has deleted the object, which waits for its end.
	Deleting bool
	Owners   []Owner
	// Names are the texts in spec that name other objects, as its fields are called.
	Names []Name
	// Detail is what else a move depends on: a *Definition, *Cluster, *Class,
	// *Binding, *Provider or *Manager, or nil.
	Detail any
}

// Label and Annotation return what the object carries.
func (o *Object) Label(key string) (value string, ok bool) { value, ok = o.Labels[key]; return }

// Annotation is Label for annotations.
func (o *Object) Annotation(key string) (value string, ok bool) {
	value, ok = o.Annotations[key]
	return
}

// Ref names an object; the namespace depends on where it stands.
type Ref struct{ Group, Version, Kind, Name string }

// Owner is an entry of metadata.ownerReferences.
type Owner struct {
	Ref
	UID string
}

// Name is a text in a field of references.
type Name struct {
	// Field is where it stands, without the numbers of list items.
	Field, Text string
	// Kind and Namespace stand beside it; they may be empty.
	Kind, Namespace string
}

// Definition is a CustomResourceDefinition.
type Definition struct {
	Group, Kind string
	// Storage is the version in which objects are stored.
	Storage string
	Served  []string
	// Global is set if the kind has no namespaces.
	Global bool
}

// Cluster is what a move needs of a Cluster.
type Cluster struct {
	// Managed is set if it has a topology; Class and ClassNamespace are those of it.
	Managed               bool
	Class, ClassNamespace string
	Paused                bool
}

// Class is what a move needs of a ClusterClass: the templates that it refers to and
// the ExtensionConfigs that its patches call.
type Class struct {
	Templates  []Ref
	Extensions []string
}

// Binding names the Cluster of a ClusterResourceSetBinding.
type Binding struct{ Cluster string }

// Provider is an entry of clusterctl's inventory, or an object of the operator.
type Provider struct {
	// Type is as in the inventory, such as InfrastructureProvider.
	Type, Name, Version string
	// Operator is set for what only the operator knows.
	Operator bool
}

// Manager is a Deployment whose containers get arguments with feature gates.
type Manager struct{ Gates map[string]bool }
