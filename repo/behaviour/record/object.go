package record

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// The names that Cluster API gives what is read here.
const (
	ClusterLabel     = "cluster.x-k8s.io/cluster-name"
	pausedAnnotation = "cluster.x-k8s.io/paused"
	IPAMGroup        = "ipam.cluster.x-k8s.io"
	coreGroup        = "cluster.x-k8s.io"
)

// Object is one of the cluster, from its first version to its end.
type Object[M any] struct {
	key
	UID string
	// Tag is the role or the core kind; see TagOf.
	Tag string

	Cur     Value
	Writers []Writer
	Proof   Proof
	Version uint64
	Born    time.Time // of the first version
	// Watched says that the first version was seen when it was made.
	Watched  bool
	ByUser   bool // made by a person or the driver
	Deleting time.Time
	Gone     bool
	replaced bool // by another one of the same name, without having been seen to go

	Cluster   string // namespace/name
	Owners    []Owner
	Annotated time.Time // paused by the annotation since
	Acked     time.Time // shows Paused=True since
	Resumed   time.Time
	Wiped     time.Time

	// Seen is what the reader remembers of earlier versions.
	Seen M
}

// key is the full name of an object.
type key struct{ Group, Kind, Namespace, Name string }

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

func keyOf(e *Event) key {
	meta := e.Object.Get("metadata")
	return key{e.Group(), e.Kind(), meta.Get("namespace").Str(), meta.Get("name").Str()}
}

// uidOf is the UID of an object, or its full name if a recording leaves UIDs out.
func uidOf(e *Event) string {
	n := keyOf(e)
	return cmp.Or(e.Object.Get("metadata", "uid").Str(), strings.Join([]string{n.Group, n.Kind, n.Namespace, n.Name}, "/"))
}

// Proof of the version that the event tells.
func (e *Event) Proof() Proof {
	return Proof{e.Object.Get("metadata", "resourceVersion").Str(), e.At, e.File, e.Line}
}

func (k key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
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
