package record

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Labels, annotations and groups of Cluster API.
const (
	ClusterLabel     = "cluster.x-k8s.io/cluster-name"
	pausedAnnotation = "cluster.x-k8s.io/paused"
	IPAMGroup        = "ipam.cluster.x-k8s.io"
	coreGroup        = "cluster.x-k8s.io"
)

// Object is one of the cluster, from its first version to its end.
type Object[M any] struct {
	FullName
	UID string
	// Tag is the role or the core kind; see World.Tag.
	Tag string

	Cur      Value
	Writers  []Writer
	Proof    Proof
	Version  uint64
	Born     time.Time // of the first version
	Deleting time.Time
	Gone     bool
	replaced bool // by another one of the same name, without having been seen to go

	Cluster   string // namespace/name
	Owners    []Owner
	Annotated time.Time // paused by the annotation since
	Acked     time.Time // shows Paused=True since

	// Seen is what the reader remembers of earlier versions.
	Seen M
}

// FullName identifies an object among those that exist at the same time.
type FullName struct{ Group, Kind, Namespace, Name string }

// Proof is a version of an object.
type Proof struct {
	ResourceVersion string
	At              time.Time
	File            string
	Line            int
}

// Owner is an owner reference.
type Owner struct {
	APIVersion, Kind, Name, UID string
	Controller, Block           bool
}

// OwnersOf reads the owner references of an object.
func OwnersOf(v Value) []Owner {
	var out []Owner
	for r := range v.Get("metadata", "ownerReferences").Items() {
		out = append(out, Owner{r.Get("apiVersion").Str(), r.Get("kind").Str(), r.Get("name").Str(), r.Get("uid").Str(), r.Get("controller").True(), r.Get("blockOwnerDeletion").True()})
	}
	return out
}

// ControllerOf is the owner that controls, if one does.
func ControllerOf(list []Owner) Owner {
	for _, r := range list {
		if r.Controller {
			return r
		}
	}
	return Owner{}
}

func nameOf(e *Event) FullName {
	meta := e.Object.Get("metadata")
	return FullName{e.Group(), e.Kind(), meta.Get("namespace").Str(), meta.Get("name").Str()}
}

// uidOf is the UID of an object, or its full name if a recording leaves UIDs out.
func uidOf(e *Event) string {
	n := nameOf(e)
	return cmp.Or(e.Object.Get("metadata", "uid").Str(), strings.Join([]string{n.Group, n.Kind, n.Namespace, n.Name}, "/"))
}

// String is "Kind namespace/name", or "Kind name" without a namespace.
func (n FullName) String() string {
	if n.Namespace == "" {
		return n.Kind + " " + n.Name
	}
	return n.Kind + " " + n.Namespace + "/" + n.Name
}

// Get follows keys of the last version.
func (o *Object[M]) Get(keys ...string) Value { return o.Cur.Get(keys...) }

// Label is the value of a label of the last version.
func (o *Object[M]) Label(key string) string { return o.Cur.Label(key) }

// Alive reports whether the object is known, and not gone.
func (o *Object[M]) Alive() bool { return o != nil && !o.Gone }

// IsDeleting reports whether the object has been deleted, even if it is gone.
func (o *Object[M]) IsDeleting() bool { return !o.Deleting.IsZero() }

// OwnedBy reports whether an owner reference has the kind.
func (o *Object[M]) OwnedBy(kind string) bool {
	return slices.ContainsFunc(o.Owners, func(r Owner) bool { return r.Kind == kind })
}
