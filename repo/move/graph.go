package move

import (
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// ID names an object in any version of its API.
type ID struct {
	Group     string `json:"group" doc:"the API group; empty for the core group"`
	Kind      string `json:"kind" doc:"the kind"`
	Namespace string `json:"namespace,omitempty" doc:"the namespace; absent for cluster-wide objects, and where a template names none"`
	Name      string `json:"name" doc:"the name"`
}

// String is the kind and name, with the namespace if there is one.
func (id ID) String() string {
	if id.Namespace != "" {
		return id.Kind + " " + id.Namespace + "/" + id.Name
	}
	return id.Kind + " " + id.Name
}

// mark is where a label for clusterctl move comes from. Only its presence counts,
// its value does not.
type mark uint8

const (
	Unmarked mark = iota
	// onObject: the object carries the label.
	onObject
	// onType: the CustomResourceDefinition carries the label.
	onType
	// builtIn: clusterctl treats the kind as if its definition carried the label.
	builtIn
)

// scope says what clusterctl does with the objects of a kind.
type scope uint8

const (
	// discovered: clusterctl looks at the objects.
	discovered scope = iota
	// Ignored: clusterctl does not look at them, whatever labels they carry.
	Ignored
	// undefined: the definition of the kind is not at hand, and so nobody knows
	// whether clusterctl looks at the objects.
	undefined
	// Elsewhere: the object is in a namespace that is not moved.
	Elsewhere
)

type Node struct {
	ID
	// Object is nil for an object that is not at hand.
	Object *manifest.Object
	Scope  scope
	// Move is the label that moves the object alone, Hierarchy the one that moves
	// it with all that it owns.
	Move, Hierarchy mark
	// Global is set if the kind has no namespaces.
	Global bool
	// BlockMove is set if the annotation holds up every move.
	BlockMove bool
	// Absent is set for an object that is named as an owner but is not there, and
	// Namesake if instead of it there is one of the same name with another UID, or
	// one may be it that has none.
	Absent, Namesake bool
	// Missing is set for one that may well exist: the dump holds none of its kind, or
	// not the UIDs that would tell a namesake from it.
	Missing bool
	// In are the edges to the node, Out those from it.
	In, Out []*Edge

	// Verdict and Cause are set by Resolve.
	Verdict Verdict
	Cause   Cause
	// By is the edge that the cause is about, or nil.
	By *Edge
	// Wanted is set if clusterctl wants to move the object, which it only does if
	// it moves all its owners.
	Wanted bool
	// Lost is set if the move harms who uses the object: it belongs to a Cluster
	// or to a provider, and stays behind.
	Lost bool

	unlisted string // see Type
	*state          // only while Resolve runs
}

// MarshalText names the object.
func (n *Node) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// link says what an edge means.
type link uint8

const (
	// Owner: From is or will be in the ownerReferences of To.
	Owner link = iota
	// SoftOwner: clusterctl treats From as an owner of To because of names.
	SoftOwner
	// MayOwn: controllers that are not known here may make From an owner of To.
	MayOwn
	// reference: From names To, and no controller makes an owner of it.
	reference
)

// binds reports whether clusterctl follows the link.
func (l link) binds() bool { return l <= SoftOwner }

// Edge leads from an owner to what it owns.
type Edge struct {
	From, To *Node
	Link     link
	// By is the object whose field made the edge, Field the path of that field
	// and At its value. They are not set if no field did.
	By    *Node
	Field string
	At    *yamldoc.Node
	// Why says in a sentence without a full stop who sets the owner, or why
	// nobody does.
	Why string
	// Written is set for an ownerReference that the object itself carries.
	Written bool
}

// Graph is a set of objects with their edges. Use New.
type Graph struct {
	// Nodes are in the order in which they were added.
	Nodes []*Node

	byID   map[ID]*Node
	linked map[[2]*Node]link // the strongest link between two nodes
}

// New returns a graph without nodes.
func New() *Graph { return withRoom(0) }

func withRoom(nodes int) *Graph {
	return &Graph{Nodes: make([]*Node, 0, nodes), byID: make(map[ID]*Node, nodes), linked: make(map[[2]*Node]link, nodes)}
}

// Add adds a node. If there is one of that identity it is returned instead, and
// added is false.
func (g *Graph) Add(n *Node) (node *Node, added bool) {
	if old := g.byID[n.ID]; old != nil {
		return old, false
	}
	g.byID[n.ID] = n
	g.Nodes = append(g.Nodes, n)
	return n, true
}

// Find returns the node of an identity, or nil.
func (g *Graph) Find(id ID) *Node { return g.byID[id] }

// Link adds an edge, unless its nodes are linked as strongly already. It ignores
// edges from a node to itself that are not written.
func (g *Graph) Link(e *Edge) {
	if e.From == e.To && !e.Written {
		return
	}
	key := [2]*Node{e.From, e.To}
	if old, ok := g.linked[key]; ok && old <= e.Link {
		return
	}
	g.linked[key] = e.Link
	e.From.Out = append(e.From.Out, e)
	e.To.In = append(e.To.In, e)
}

// place says where an edge comes from: "Machine x, spec.infrastructureRef".
func (e *Edge) place() string {
	if e.By == nil {
		return ""
	}
	if e.Field == "" {
		return e.By.String()
	}
	return e.By.String() + ", " + e.Field
}

// Below counts the objects that the node owns, directly or through others, and
// that have to wait for it.
func (n *Node) Below() int {
	seen := map[*Node]bool{n: true}
	n.below(func(to *Node) bool {
		first := !seen[to]
		seen[to] = true
		return first
	})
	return len(seen) - 1
}

// below visits the objects that have to wait for the node. It goes on from those of
// which visit reports true.
func (n *Node) below(visit func(*Node) bool) {
	for queue := []*Node{n}; len(queue) > 0; queue = queue[1:] {
		for _, e := range queue[0].Out {
			if e.Link.binds() && visit(e.To) {
				queue = append(queue, e.To)
			}
		}
	}
}

// Classes returns the names of the ClusterClasses that the Clusters among the
// objects use.
func Classes(objects []*manifest.Object) []string {
	var out []string
	for _, o := range objects {
		if !o.Is("cluster.x-k8s.io", "Cluster") {
			continue
		}
		if class := clusterclass.Named(o); class != "" && !slices.Contains(out, class) {
			out = append(out, class)
		}
	}
	return out
}
