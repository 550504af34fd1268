package move

import (
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// The labels and the annotation that clusterctl move looks for (clusterctl:
// api/v1alpha3/labels.go and annotations.go).
const (
	MoveLabel           = "clusterctl.cluster.x-k8s.io/move"
	HierarchyLabel      = "clusterctl.cluster.x-k8s.io/move-hierarchy"
	BlockMoveAnnotation = "clusterctl.cluster.x-k8s.io/block-move"
)

// purposes end the names of Secrets that clusterctl treats as those of a Cluster
// (util/secret, ParseSecretName).
var purposes = []string{"-kubeconfig", "-ca", "-etcd", "-sa", "-proxy", "-apiserver-etcd-client"}

// LinkSecrets links the Secrets without an owner to the Clusters that their names
// tell, and find finds. The owners must have been linked before (clusterctl:
// client/cluster/objectgraph.go, setSoftOwnership).
func (g *Graph) LinkSecrets(find func(ID) *Node) {
	for _, n := range g.Nodes {
		if n.Group != "" || n.Kind != "Secret" || n.first(func(e *Edge) bool { return e.Link == Owner }) != nil {
			continue
		}
		for _, purpose := range purposes {
			name, ok := strings.CutSuffix(n.Name, purpose)
			if !ok {
				continue
			}
			c := find(ID{Group: coreGroup, Kind: "Cluster", Namespace: n.Namespace, Name: name})
			if c != nil && c.perhapsMovable() {
				g.Link(&Edge{
					From: c, To: n, Link: SoftOwner, By: n, Field: "metadata.name",
					Why: "clusterctl treats a Secret with that name as one of the Cluster's",
				})
			}
			break
		}
	}
}

// Verdict says what becomes of an object.
type Verdict uint8

const (
	// Left: the object stays behind. If its owners are deleted, so is it.
	Left Verdict = iota
	// Unclear: it depends on something that is not at hand.
	Unclear
	// Copied: the object is made in the target and stays in the source.
	Copied
	// Moves: the object is made in the target and deleted in the source.
	Moves
)

var verdictNames = [...]string{"left", "unclear", "copied", "moves"}

// String returns a word for pictures and JSON.
func (v Verdict) String() string { return verdictNames[v] }

// moves reports whether the object arrives in the target.
func (v Verdict) moves() bool { return v == Moves || v == Copied }

// Cause says why a verdict is what it is.
type Cause uint8

// The causes. Node.By is the edge that they are about.
const (
	// Unowned: nothing names the object.
	Unowned Cause = iota
	// NotOwned: objects name it, but no controller makes them its owners.
	NotOwned
	// ReferrerLeft: only objects that stay behind name it.
	ReferrerLeft
	// OwnerLeft: an owner stays behind.
	OwnerLeft
	// OwnerAlone: its owner is moved, but without what it owns.
	OwnerAlone
	// Cycle: the object owns itself through others.
	Cycle
	// NotDiscovered: clusterctl does not look at objects of the kind.
	NotDiscovered
	// notThere: the object is only named.
	notThere
	// mayBeOwned: controllers that are not known may set an owner that moves.
	mayBeOwned
	// marked: a label moves the object.
	marked
	// root: a label, or its kind, moves the object with all that it owns.
	root
	// ownedCause: an owner that moves takes it along.
	ownedCause
	// noOwner: the object exists without an owner and without a label.
	noOwner
	// mayBeIgnored: the definition of the kind, which is not at hand, may lack the
	// label without which clusterctl does not look at the objects, and may carry one
	// that moves them.
	mayBeIgnored
	// otherNamespace: the object is in a namespace that is not moved.
	otherNamespace
	// namedBy: an object that moves names it, and nothing makes it move too.
	namedBy
)

// state is what Resolve needs to know of a node.
type state struct {
	tenant, possible, global bool
	placed                   bool  // in the order of the move
	perhaps                  bool  // in that order if all that may be is so
	pending                  int   // owners that are not placed
	via, may                 *Edge // how tenant and possible got here
	walk                     int   // of the search for cycles
}

// Resolve sets the verdict of every node. On a graph without MayOwn edges and
// nodes of an unknown kind it is exactly what clusterctl does (clusterctl:
// client/cluster/objectgraph.go, setTenants; mover.go, getMoveSequence). Its cost
// grows with the number of nodes and edges.
func (g *Graph) Resolve() {
	states := make([]state, len(g.Nodes))
	for i, n := range g.Nodes {
		n.state = &states[i]
	}
	// Who belongs to a root, and who may.
	g.spread(func(n *Node) bool { return n.Hierarchy != Unmarked }, link.binds, func(n *Node, e *Edge) bool {
		first := !n.tenant
		if first {
			n.tenant, n.via = true, e
		}
		return first
	})
	g.spread(func(n *Node) bool { return n.Hierarchy != Unmarked && n.Global }, link.binds, func(n *Node, _ *Edge) bool {
		first := !n.global
		n.global = true
		return first
	})
	uncertain := func(n *Node) bool { return n.tenant || n.Missing || n.Scope == undefined }
	mayBind := func(l link) bool { return l != reference }
	g.spreadTo((*Node).perhapsMovable, uncertain, mayBind, func(n *Node, e *Edge) bool {
		first := !n.possible
		if first {
			n.possible, n.may = true, e
		}
		return first
	})

	// Who has all owners in place.
	g.sequence((*Node).wanted, func(n *Node) {
		n.placed = true
	})
	g.sequence(func(n *Node) bool { return n.wanted() || n.perhapsMovable() && n.possible }, func(n *Node) { n.perhaps = true })

	for _, n := range g.Nodes {
		n.settle()
	}
	g.findCycles()
	for _, n := range g.Nodes {
		n.state = nil
	}
}

// movable reports whether clusterctl looks at the object.
func (n *Node) movable() bool { return n.Scope == discovered && !n.Absent }

// perhapsMovable reports whether it may do so.
func (n *Node) perhapsMovable() bool {
	return n.movable() || n.Missing || n.Scope == undefined && !n.Absent
}

// wanted reports whether the object is to be moved, if its owners are.
func (n *Node) wanted() bool { return n.movable() && (n.tenant || n.Move != Unmarked) }

// settle gives a node its verdict and the reason.
func (n *Node) settle() {
	n.By, n.Wanted = nil, n.wanted()
	switch {
	case n.placed:
		n.Verdict = Moves
		if n.Global || n.global {
			n.Verdict = Copied
		}
		switch {
		case n.Hierarchy != Unmarked:
			n.Cause = root
		case n.tenant:
			n.Cause, n.By = ownedCause, n.via
		default:
			n.Cause = marked
		}
	case n.Missing:
		n.Verdict, n.Cause = Unclear, notThere
	case n.perhaps:
		n.Verdict, n.Cause, n.By = Unclear, mayBeOwned, n.may
		if n.By == nil {
			n.By = n.first(func(e *Edge) bool { return e.Link.binds() && !e.From.placed })
		}
		if n.Scope == undefined {
			n.Cause, n.By = mayBeIgnored, nil
		}
	default:
		n.Verdict = Left
		n.Cause, n.By = n.blame()
	}
}

// blame says why a node stays behind.
func (n *Node) blame() (Cause, *Edge) {
	switch {
	case n.Absent:
		return notThere, nil
	case n.Scope == Ignored:
		return NotDiscovered, nil
	case n.Scope == Elsewhere:
		return otherNamespace, nil
	}
	// An owner that is not to be moved says more than one that waits.
	if e := n.first(func(e *Edge) bool { return e.Link.binds() && !e.From.perhaps && !e.From.wanted() }); e != nil {
		return OwnerLeft, e
	}
	if e := n.first(func(e *Edge) bool { return e.Link.binds() && !e.From.perhaps }); e != nil {
		return OwnerLeft, e
	}
	if e := n.first(func(e *Edge) bool { return e.Link != reference && e.From.perhaps }); e != nil {
		return OwnerAlone, e
	}
	if e := n.first(func(e *Edge) bool { return e.by().perhaps }); e != nil {
		return NotOwned, e
	}
	if len(n.In) > 0 {
		return ReferrerLeft, n.In[0]
	}
	return Unowned, nil
}

// first returns the first edge to the node for which want holds, or nil.
func (n *Node) first(want func(*Edge) bool) *Edge {
	return phrase.First(n.In, want)
}

// spread visits the roots and whatever can be reached from them through the links
// that are followed. Visit gets the edge that led to the node, nil for a root,
// and returns whether to continue from there.
func (g *Graph) spread(root func(*Node) bool, follow func(link) bool, visit func(*Node, *Edge) bool) {
	g.spreadTo((*Node).movable, root, follow, visit)
}

// spreadTo only visits members.
func (g *Graph) spreadTo(member, root func(*Node) bool, follow func(link) bool, visit func(*Node, *Edge) bool) {
	var queue []*Node
	for _, n := range g.Nodes {
		if member(n) && root(n) && visit(n, nil) {
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, e := range n.Out {
			if follow(e.Link) && member(e.To) && visit(e.To, e) {
				queue = append(queue, e.To)
			}
		}
	}
}

// sequence places the members whose owners are all placed.
func (g *Graph) sequence(member func(*Node) bool, place func(*Node)) {
	var queue []*Node
	for _, n := range g.Nodes {
		n.pending = 0
		for _, e := range n.In {
			if e.Link.binds() {
				n.pending++
			}
		}
		if n.pending == 0 && member(n) {
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		place(n)
		for _, e := range n.Out {
			if !e.Link.binds() {
				continue
			}
			e.To.pending--
			if e.To.pending == 0 && member(e.To) {
				queue = append(queue, e.To)
			}
		}
	}
}

// findCycles tells the nodes that wait for themselves from those that wait for
// others. It follows one owner of each node, so that of cycles that share nodes
// one is found.
func (g *Graph) findCycles() {
	for i, n := range g.Nodes {
		walk := i + 1
		for n.Cause == OwnerLeft && n.walk == 0 {
			n.walk = walk
			n = n.By.From
		}
		for n.walk == walk && n.Cause == OwnerLeft { // came back to this very walk
			n.Cause = Cycle
			n = n.By.From
		}
	}
}
