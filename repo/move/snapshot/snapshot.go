package snapshot

import "slices"

// mark is a set of labels, annotations and fields; only their presence counts.
type mark uint8

// The marks.
const (
	// Clusterctl is the label clusterctl.cluster.x-k8s.io.
	Clusterctl mark = 1 << iota
	// Move is the label clusterctl.cluster.x-k8s.io/move.
	Move
	// MoveHierarchy is the label clusterctl.cluster.x-k8s.io/move-hierarchy.
	MoveHierarchy
	// BlockMove is the annotation clusterctl.cluster.x-k8s.io/block-move.
	BlockMove
	// Paused is the annotation cluster.x-k8s.io/paused.
	Paused
	// Deleting is metadata.deletionTimestamp.
	Deleting
)

// Object is an object that exists.
type Object struct {
	Group, Version, Kind, Namespace, Name string
	// UID is empty if the dump does not have it.
	UID   string
	Marks mark
	// Cluster is the value of the label cluster.x-k8s.io/cluster-name.
	Cluster string
	Owners  []Owner
	// Names are the texts outside of metadata and status that may name other
	// objects.
	Names []name
	// Detail is what else a move depends on: a *Definition, *Cluster, *Class,
	// *Machine, *Binding, *Provider or *Extension, or nil.
	Detail any
}

// Has reports whether the object carries a mark.
func (o *Object) Has(m mark) bool { return o.Marks&m != 0 }

// Owner is an entry of metadata.ownerReferences.
type Owner struct{ Group, Version, Kind, Name, UID string }

// Ref names an object in a namespace that the context tells.
type Ref struct{ Group, Version, Kind, Name string }

// Definition is what a CustomResourceDefinition says. Its labels are the Marks of
// the object.
type Definition struct {
	Group, Kind, Plural string
	// Storage is the version in which objects are stored, empty if none is.
	Storage string
	// Unserved is set if the server does not serve that version.
	Unserved bool
	// Served are the versions that the server serves.
	Served []string
	// Global is set if the kind has no namespaces.
	Global bool
}

// Cluster is a Cluster of Cluster API, in any version, as clusterctl sees it in
// v1beta2.
type Cluster struct {
	// Class and ClassNamespace are those of the ClusterClass in its topology. The
	// namespace may be empty.
	Class, ClassNamespace string
	// Paused is spec.paused.
	Paused bool
	// Provisioned is status.initialization.infrastructureProvisioned,
	// ControlPlaneInitialized the field next to it, and Initialized the condition
	// ControlPlaneInitialized.
	Provisioned, ControlPlaneInitialized, Initialized bool
	// Refs are infrastructureRef and controlPlaneRef as far as they are set.
	Refs []Ref
	// HasControlPlane is set if there is a controlPlaneRef.
	HasControlPlane bool
	// Busy are the conditions that say that work is under way, such as RollingOut.
	Busy []string
}

// Class is a ClusterClass.
type Class struct {
	// Templates are those that it refers to. In v1beta2 they are all in its
	// namespace.
	Templates []Ref
	// Extensions are the handlers that its patches and upgrades call, as
	// HANDLER.EXTENSIONCONFIG.
	Extensions []string
	// Digest is that of the spec. Equal specs have equal digests.
	Digest uint64
}

// Machine is a Machine of Cluster API.
type Machine struct {
	// HasNode is set if status.nodeRef is.
	HasNode bool
	// Refs are bootstrap.configRef and infrastructureRef as far as they are set.
	Refs []Ref
}

// Binding is a ClusterResourceSetBinding.
type Binding struct{ Cluster string }

// Provider is an entry of clusterctl's inventory.
type Provider struct {
	Type    string `json:"type"`
	Name    string `json:"providerName"`
	Version string `json:"version"`
}

// Extension is an ExtensionConfig.
type Extension struct {
	// Discovered is the condition Discovered, and Message what it says.
	Discovered bool
	Message    string
	// Handlers are the names in its status.
	Handlers []string
}

// Serves reports whether the server serves a version of the kind.
func (d *Definition) Serves(version string) bool { return slices.Contains(d.Served, version) }

// Snapshot is what was read.
type Snapshot struct {
	Objects []Object
	// Problems say what could not be read, with the file and line. A snapshot
	// with problems is not complete.
	Problems []error
	// MoreProblems counts those that were too many to keep.
	MoreProblems int
	// Saved counts the objects in files of the name that clusterctl move
	// --to-directory gives them.
	Saved int

	texts map[string]string
	// fields are the places of names.
	fields fieldTable
}

// mostProblems are kept.
const mostProblems = 100

// Problem adds something that could not be read.
func (s *Snapshot) Problem(err error) {
	if len(s.Problems) < mostProblems {
		s.Problems = append(s.Problems, err)
		return
	}
	s.MoreProblems++
}

// Incomplete reports whether something could not be read.
func (s *Snapshot) Incomplete() bool { return len(s.Problems) > 0 }

// add takes an object over. Texts that many objects share are kept once.
func (s *Snapshot) add(o Object) {
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	for _, text := range []*string{&o.Group, &o.Version, &o.Kind, &o.Namespace, &o.Cluster} {
		*text = s.text(*text)
	}
	for i := range o.Owners {
		r := &o.Owners[i]
		r.Group, r.Version, r.Kind, r.Name, r.UID = s.text(r.Group), s.text(r.Version), s.text(r.Kind), s.text(r.Name), s.text(r.UID)
	}
	s.Objects = append(s.Objects, o)
}

func (s *Snapshot) text(t string) string {
	if t == "" {
		return ""
	}
	if old, ok := s.texts[t]; ok {
		return old
	}
	if len(s.texts) < mostTexts {
		s.texts[t] = t
	}
	return t
}

// mostTexts are remembered. Those that many objects share come early.
const mostTexts = 1 << 16

// String is the kind and name, with the namespace if there is one.
func (o *Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}
