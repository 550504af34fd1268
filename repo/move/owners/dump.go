package owners

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/dump"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Plan is what clusterctl move does with objects, as far as it is known.
type Plan struct {
	*Graph
	// Namespace is the one that is moved; empty for a template and a restore.
	Namespace string
	// Obstacles say why clusterctl would not start or not come to an end, or should not be started.
	Obstacles []Obstacle
	// Gaps say in sentences without a full stop what is missing in the input.
	Gaps []string
	// Needs are what the target must have.
	Needs []Need

	template bool // or else objects that exist
}

// Obstacle is a reason not to start a move.
type Obstacle struct {
	Object *Node  `json:"object" doc:"the object that it is about, as KIND NAMESPACE/NAME"`
	Reason string `json:"reason" doc:"why"`
	Fix    string `json:"fix" doc:"what to do"`
}

// Options say what to move.
type Options struct {
	// Namespace is the one that is moved.
	Namespace string
	// Restore plans clusterctl move --from-directory, which reads all objects.
	Restore bool
	// Installed are definitions of kinds that the dump does not define. It may be nil.
	Installed Types
}

// FromDump plans a move of objects that exist. It is what clusterctl does with them
// (clusterctl: client/cluster/objectgraph.go, Discovery; mover.go, getMoveSequence),
// as far as their definitions are known. The cost grows with the number of objects
// and references.
//
// Objects without a UID get one of their own: an ownerReference leads to them by
// kind and name, in the namespace of its object or in none. Of objects that are
// there twice the first counts.
func FromDump(d *dump.Dump, o Options) *Plan {
	b := &planner{
		Plan: &Plan{Graph: withRoom(len(d.Objects)), Namespace: o.Namespace},
		d:    d, options: o, definitions: definitionsOf(d), types: Either(TypesIn(d), o.Installed), infra: map[string]bool{}, kinds: map[groupKind]bool{},
		byUID: map[string]int{}, byID: map[ID]int{}, nodes: make([]*Node, len(d.Objects)), absent: map[string]*Node{},
	}
	if o.Restore {
		b.Namespace = ""
	}
	b.index()
	b.discover()
	b.classesElsewhere()
	b.owners()
	b.softOwners()
	b.keep()
	b.Resolve()
	if !o.Restore {
		b.collect()
	}
	b.judge()
	b.named()
	if !o.Restore {
		b.hinder()
	}
	b.gaps()
	b.Needs = b.needs()
	return b.Plan
}

// Namespaces returns those with Clusters, or if there are none those with any
// objects, sorted.
func Namespaces(d *dump.Dump) []string {
	clusters, all := map[string]bool{}, map[string]bool{}
	for i := range d.Objects {
		o := &d.Objects[i]
		if o.Namespace == "" {
			continue
		}
		all[o.Namespace] = true
		if _, ok := o.Detail.(*dump.Cluster); ok {
			clusters[o.Namespace] = true
		}
	}
	if len(clusters) > 0 {
		all = clusters
	}
	return slices.Sorted(maps.Keys(all))
}

// planner makes a plan. Objects are known by their index in the dump.
type planner struct {
	*Plan
	d           *dump.Dump
	options     Options
	types       Types
	definitions map[groupKind]*dump.Object
	infra       map[string]bool    // namespaces of infrastructure providers
	inventory   bool               // whether the dump has that of clusterctl
	operator    *dump.Object       // of the Cluster API operator
	kinds       map[groupKind]bool // of which there are objects
	byUID       map[string]int
	byID        map[ID]int
	nodes       []*Node
	absent      map[string]*Node // by UID
}

// TypesIn are the definitions in a dump.
func TypesIn(d *dump.Dump) Types {
	definitions := definitionsOf(d)
	return func(group, kind string) (Type, bool) {
		o := definitions[groupKind{group, kind}]
		if o == nil {
			return Type{}, false
		}
		d := o.Detail.(*dump.Definition)
		return Type{
			Move: has(o, MoveLabel), Hierarchy: has(o, HierarchyLabel), Global: d.Global,
			Unlisted: !has(o, clusterctlLabel) || d.Storage == "",
		}, true
	}
}

// Either asks the first of several that knows a kind.
func Either(all ...Types) Types {
	return func(group, kind string) (Type, bool) {
		for _, types := range all {
			if types == nil {
				continue
			}
			if t, ok := types(group, kind); ok {
				return t, true
			}
		}
		return Type{}, false
	}
}

func definitionsOf(d *dump.Dump) map[groupKind]*dump.Object {
	out := map[groupKind]*dump.Object{}
	for i := range d.Objects {
		o := &d.Objects[i]
		c, ok := o.Detail.(*dump.Definition)
		if !ok {
			continue
		}
		// The file of a release, which has no label yet, may be there too.
		if old := out[groupKind{c.Group, c.Kind}]; old == nil || !has(old, clusterctlLabel) {
			out[groupKind{c.Group, c.Kind}] = o
		}
	}
	return out
}

func has(o *dump.Object, label string) bool { _, ok := o.Label(label); return ok }

func idOf(o *dump.Object) ID {
	return ID{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

func (b *planner) index() {
	for i := range b.d.Objects {
		o := &b.d.Objects[i]
		b.kinds[groupKind{o.Group, o.Kind}] = true
		if p, ok := o.Detail.(*dump.Provider); ok {
			switch {
			case p.Operator:
				b.operator = o
			case p.Type == "InfrastructureProvider":
				b.infra[o.Namespace] = true
			}
			b.inventory = b.inventory || !p.Operator
		}
		if first, ok := b.byUID[o.UID]; o.UID != "" && !ok {
			b.byUID[o.UID] = i
		} else if o.UID != "" && idOf(&b.d.Objects[first]) != idOf(o) {
			b.gap("%s and %s have the same UID, which a cluster never assigns twice", idOf(&b.d.Objects[first]), idOf(o))
		}
		if first, ok := b.byID[idOf(o)]; !ok {
			b.byID[idOf(o)] = i
		} else if b.d.Objects[first].UID != o.UID {
			b.gap("%s appears twice with different UIDs, so that the files were not written at the same time", idOf(o))
		}
	}
}

// mostGaps are listed at most.
const mostGaps = 20

func (b *planner) gap(format string, args ...any) {
	if len(b.Gaps) < mostGaps {
		b.Gaps = append(b.Gaps, fmt.Sprintf(format, args...))
	}
}

// clusterctlGroup is that of the inventory, which is never moved.
const clusterctlGroup = "clusterctl.cluster.x-k8s.io"

// node makes the node of an object and says what its kind and labels mean
// (clusterctl: objectgraph.go, getDiscoveryTypes and objMetaToNode).
func (b *planner) node(o *dump.Object) *Node {
	n := &Node{ID: idOf(o), Global: o.Namespace == ""}
	kind := groupKind{o.Group, o.Kind}
	t, known := b.types(o.Group, o.Kind)
	switch {
	case n.data():
		n.Global = false
	case known:
		n.Global = t.Global
		if t.Unlisted {
			n.Scope = Ignored
		}
	case n.ofKubernetes(), o.Group == clusterctlGroup:
		n.Scope = Ignored
	default:
		n.Scope = undefined
	}
	if b.options.Restore {
		n.observe()
	}
	switch {
	case n.Scope == Ignored, n.Scope == undefined:
	case ours[kind].Hierarchy:
		n.Move, n.Hierarchy = builtIn, builtIn
	case t.Hierarchy && !t.Unlisted:
		n.Move, n.Hierarchy = onType, onType
	case t.Move && !t.Unlisted:
		n.Move = onType
	}
	if n.Scope != Ignored {
		n.mark(o)
	}
	return n
}

// observe makes clusterctl look at an object of a kind that it does not list. It
// then knows nothing of the kind, not even that it is global.
func (n *Node) observe() {
	switch n.Scope {
	case Ignored:
		n.Scope, n.Global = discovered, false
	case undefined:
		n.Scope = unknownScope
	}
}

// mark takes over what an object says itself.
func (n *Node) mark(o *dump.Object) {
	_, block := o.Annotation(BlockMoveAnnotation)
	n.carries(has(o, HierarchyLabel), has(o, MoveLabel), block)
}

// belongs reports whether an object says that it belongs to a Cluster, or is to be moved.
func belongs(o *dump.Object) bool {
	return has(o, clusterNameLabel) || has(o, MoveLabel) || has(o, HierarchyLabel)
}

// discover makes nodes of the objects that clusterctl lists (objectgraph.go,
// Discovery), and of others that may have to do with them.
func (b *planner) discover() {
	for i := range b.d.Objects {
		o := &b.d.Objects[i]
		switch o.Detail.(type) {
		case *dump.Definition, *dump.Provider:
			continue
		}
		n := b.node(o)
		secret := n.Group == "" && n.Kind == "Secret"
		switch related := len(o.Owners) > 0 || belongs(o); {
		case n.Scope == Ignored && !related:
			continue
		case b.options.Restore, n.Global, n.Namespace == b.Namespace, secret && b.infra[n.Namespace]:
		case secret && related && !b.inventory && b.operator == nil:
			n.Scope = undefined
		default:
			continue
		}
		if added, first := b.Add(n); first {
			b.nodes[i] = added
		}
	}
}

// observed visits the objects of a kind that clusterctl has found, or may have.
func observed[D any](b *planner, visit func(n *Node, o *dump.Object, detail *D)) {
	for i, n := range b.nodes {
		if n == nil || !n.perhapsMovable() {
			continue
		}
		if d, ok := b.d.Objects[i].Detail.(*D); ok {
			visit(n, &b.d.Objects[i], d)
		}
	}
}

// contractVersion is the only storage version of Clusters that clusterctl takes
// (client/cluster/inventory.go, CheckCAPIContract).
const contractVersion = "v1beta2"

// classesElsewhere adds the ClusterClasses that Clusters use and that were not
// listed, with their templates (objectgraph.go, Discovery).
func (b *planner) classesElsewhere() {
	if b.options.Restore {
		return
	}
	observed(b, func(n *Node, o *dump.Object, c *dump.Cluster) {
		id := ID{Group: coreGroup, Kind: "ClusterClass", Namespace: cmp.Or(c.ClassNamespace, o.Namespace), Name: c.Class}
		if c.Class == "" || id.Namespace == b.Namespace {
			return
		}
		class := b.fetch(n, id)
		if class == nil {
			return
		}
		if detail, ok := class.Detail.(*dump.Class); ok {
			for _, ref := range detail.Templates {
				b.fetch(b.Find(id), ID{Group: ref.Group, Kind: ref.Kind, Namespace: id.Namespace, Name: ref.Name})
			}
		}
	})
}

// fetch adds an object whatever its kind or namespace, because another names it.
func (b *planner) fetch(by *Node, id ID) *dump.Object {
	i, ok := b.byID[id]
	switch {
	case ok:
	case b.kinds[groupKind{id.Group, id.Kind}]:
		b.obstacle(by, "create "+id.String()+", or remove the reference to it", "it refers to %s, which does not exist, so that clusterctl fails", id)
		return nil
	default:
		b.gap("%s refers to %s, but the dump holds no object of that kind", by, id)
		return nil
	}
	o := &b.d.Objects[i]
	if b.nodes[i] == nil {
		b.nodes[i], _ = b.Add(b.node(o))
	}
	b.nodes[i].observe()
	b.nodes[i].mark(o)
	return o
}

// owners links the nodes to their owners, which clusterctl knows by their UIDs
// (objectgraph.go, processOwnerReferences).
func (b *planner) owners() {
	for i := range b.nodes { // more nodes come at the end of the graph, not here
		n, o := b.nodes[i], &b.d.Objects[i]
		if n == nil {
			continue
		}
		for k := range o.Owners {
			b.Link(&Edge{
				From: b.owner(o, &o.Owners[k]), To: n, By: n, Field: "metadata.ownerReferences." + strconv.Itoa(k),
				Why: whyWritten, Written: true,
			})
		}
	}
}

// owner returns the node that an ownerReference leads to.
func (b *planner) owner(o *dump.Object, r *dump.Owner) *Node {
	if i, ok := b.byUID[r.UID]; ok {
		return b.known(i)
	}
	id := ID{Group: r.Group, Kind: r.Kind, Namespace: o.Namespace, Name: r.Name}
	i, namesake := b.byID[id]
	if !namesake {
		id.Namespace = ""
		i, namesake = b.byID[id]
	}
	if namesake && (r.UID == "" || b.d.Objects[i].UID == "") {
		return b.known(i)
	}
	id.Namespace = ""
	key := cmp.Or(r.UID, o.Namespace+"/"+id.String()+"."+id.Group)
	if b.absent[key] == nil {
		kind := groupKind{r.Group, r.Kind}
		n := b.node(&dump.Object{Group: r.Group, Kind: r.Kind, Name: r.Name})
		n = &Node{ID: id, Scope: n.Scope, Absent: true, Namesake: namesake}
		// A dump with definitions has those of all kinds that clusterctl lists.
		_, defined := b.types(coreGroup, "Cluster")
		defined = !defined || n.Scope != undefined
		n.Missing = n.Scope != Ignored && !b.kinds[kind] && defined && !b.options.Restore
		b.absent[key] = n
		b.Nodes = append(b.Nodes, n) // without its name, which another may have
	}
	return b.absent[key]
}

// known returns the node of an object, which clusterctl need not have listed.
func (b *planner) known(i int) *Node {
	if b.nodes[i] == nil {
		n := b.node(&b.d.Objects[i])
		if n.Scope != Ignored {
			n.Scope = Elsewhere
		}
		b.nodes[i], _ = b.Add(n)
	}
	return b.nodes[i]
}

// softOwners links what clusterctl links by names (objectgraph.go,
// setSoftOwnership).
func (b *planner) softOwners() {
	b.LinkSecrets()
	soft := func(n *Node, kind, namespace, name, field, why string) {
		owner := b.Find(ID{Group: coreGroup, Kind: kind, Namespace: namespace, Name: name})
		if owner != nil && owner.perhapsMovable() {
			b.Link(&Edge{From: owner, To: n, Link: SoftOwner, By: n, Field: field, Why: why})
		}
	}
	observed(b, func(n *Node, o *dump.Object, c *dump.Cluster) {
		soft(n, "ClusterClass", cmp.Or(c.ClassNamespace, o.Namespace), c.Class, "spec.topology", whyClass)
	})
	observed(b, func(n *Node, o *dump.Object, c *dump.Binding) {
		soft(n, "Cluster", o.Namespace, c.Cluster, "spec.clusterName", whyBinding)
	})
}

// keep marks the ClusterClasses that stay for others, with what they own
// (objectgraph.go, setShouldNotDelete).
func (b *planner) keep() {
	if b.options.Restore {
		return
	}
	used := map[string]bool{} // classes of this namespace that Clusters of others use
	for i := range b.d.Objects {
		o := &b.d.Objects[i]
		if c, ok := o.Detail.(*dump.Cluster); ok && o.Namespace != b.Namespace && c.ClassNamespace == b.Namespace {
			used[c.Class] = true
		}
	}
	b.spread(func(n *Node) bool {
		return n.Group == coreGroup && n.Kind == "ClusterClass" && (n.Namespace != b.Namespace || used[n.Name])
	}, func(l link) bool { return l == Owner }, func(n *Node, _ *Edge) bool {
		first := !n.Keep
		n.Keep = true
		return first
	})
}

// collect finds what Kubernetes deletes in the source after the move: the objects
// that have owners, none of which still exists.
func (b *planner) collect() {
	waits := map[*Node]int{} // owners that are still there
	gone := phrase.Only(b.Nodes, func(n *Node) bool {
		return n.Verdict == Moves || n.Absent && !n.Missing && n.Scope == discovered
	})
	for len(gone) > 0 {
		owner := gone[0]
		gone = gone[1:]
		for _, e := range owner.Out {
			n := e.To
			if e.Link != Owner || n.Verdict != Left {
				continue
			}
			if _, seen := waits[n]; !seen {
				for _, in := range n.In {
					if in.Link == Owner {
						waits[n]++
					}
				}
			}
			if waits[n]--; waits[n] == 0 {
				n.Verdict = Deleted
				gone = append(gone, n)
			}
		}
	}
}

// bystanders are groups whose objects do not describe a Cluster.
var bystanders = map[string]bool{certManagerGroup: true, runtimeGroup: true, clusterctlGroup: true}

// judge tells what is lost from what clusterctl leaves where it belongs, such as the
// Secrets of others. What a moved object or a lost one owns is lost if it stays.
func (b *planner) judge() {
	for i, n := range b.nodes {
		if n == nil || n.Verdict.moves() || n.Verdict == Unclear {
			continue
		}
		provider := n.movable() && !n.ofKubernetes() && !bystanders[n.Group]
		n.Lost = n.Verdict == Deleted || n.Wanted || n.Scope != Elsewhere && (provider || belongs(&b.d.Objects[i]))
	}
	b.spreadTo(func(n *Node) bool { return !n.Absent && n.Verdict != Unclear && n.Scope != Elsewhere }, func(n *Node) bool {
		return n.Lost || n.Verdict.moves()
	}, func(l link) bool { return l == Owner }, func(n *Node, e *Edge) bool {
		lost := e != nil && !n.Lost && !n.Verdict.moves()
		n.Lost = n.Lost || lost
		return e == nil || lost
	})
	for _, n := range b.Nodes {
		if n.Cause == Unowned {
			n.Cause = noOwner
		}
	}
}

// named finds what stays behind although an object that is moved names it.
func (b *planner) named() {
	stay := map[string][]int{}
	for i := range b.d.Objects {
		o := &b.d.Objects[i]
		_, definition := o.Detail.(*dump.Definition)
		if n := b.nodes[i]; !definition && (idOf(o).data() || !idOf(o).ofKubernetes()) && (n == nil || n.Verdict == Left && !n.Lost) {
			stay[o.Name] = append(stay[o.Name], i)
		}
	}
	for i, n := range b.nodes {
		if n == nil || !n.Verdict.moves() {
			continue
		}
		for k := range b.d.Objects[i].Names {
			name := &b.d.Objects[i].Names[k]
			for _, to := range stay[name.Text] {
				b.need(n, to, name)
			}
		}
	}
}

// need settles that an object that stays behind is named by one that is moved.
func (b *planner) need(by *Node, to int, name *dump.Name) {
	o := &b.d.Objects[to]
	kind := cmp.Or(name.Kind, o.Kind)
	switch {
	case o.Namespace != "" && o.Namespace != cmp.Or(name.Namespace, by.Namespace) && !(by.Global && b.infra[o.Namespace]),
		kind != o.Kind, name.Kind == "" && !idOf(o).data() && fit(strings.ToLower(kind), strings.ToLower(name.Field)) < 2:
		return
	}
	n := b.known(to)
	if n.Lost {
		return
	}
	n.By = &Edge{From: by, To: n, Link: reference, By: by, Field: name.Field, Why: "it names the object"}
	n.Verdict, n.Lost, n.Cause = Left, true, namedBy
}

func (b *planner) obstacle(n *Node, fix, format string, args ...any) {
	b.Obstacles = append(b.Obstacles, Obstacle{n, fmt.Sprintf(format, args...), fix})
}

const pausedAnnotation = "cluster.x-k8s.io/paused"

// hinder finds why clusterctl would not start, or stop half-way (clusterctl:
// client/cluster/mover.go, move).
func (b *planner) hinder() {
	for i, n := range b.nodes {
		if n == nil || !n.movable() {
			continue
		}
		_, paused := b.d.Objects[i].Annotation(pausedAnnotation)
		c, ok := b.d.Objects[i].Detail.(*dump.Cluster)
		if n.Hierarchy == builtIn && (paused || ok && c.Paused) {
			b.obstacle(n, "resume it", "it is already paused, and clusterctl refuses to start")
		}
		if n.BlockMove && n.Wanted {
			b.obstacle(n, "find out which controller set the annotation, and whether it removes it from paused objects",
				"the annotation %s holds up the move: if it is still there two minutes after clusterctl has paused the Clusters, "+
					"clusterctl fails and leaves them paused", BlockMoveAnnotation)
		}
	}
}

// gaps says what a dump should have and has not.
func (b *planner) gaps() {
	missing := map[string]bool{}
	for _, n := range b.Nodes {
		if n.Missing {
			missing[n.Kind+"."+n.Group] = true
		}
	}
	if len(missing) > 0 {
		b.gap("objects name owners of kinds of which the dump holds no object: %s", phrase.Few(slices.Sorted(maps.Keys(missing)), 8))
	}
	clusters, ids, secrets := 0, false, false
	for i, n := range b.nodes {
		if n != nil {
			ids = ids || b.d.Objects[i].UID != "" || len(b.d.Objects[i].Owners) > 0
			secrets = secrets || n.Kind == "Secret" && n.Group == ""
		}
	}
	observed(b, func(*Node, *dump.Object, *dump.Cluster) { clusters++ })
	switch {
	case clusters == 0 && !b.options.Restore:
		b.gap("no Cluster is among the objects")
	case clusters > 0 && !secrets:
		b.gap("the dump holds no Secret, but every Cluster has some")
	case len(b.Nodes) > 0 && !ids:
		b.gap("no object has a UID or an owner, as if this were a template; name the folder of its release to see the owners that controllers will set")
	}
	switch {
	case b.inventory || b.options.Restore:
	case b.operator != nil:
		b.obstacle(&Node{ID: idOf(b.operator)}, "create Provider objects (clusterctl.cluster.x-k8s.io) for what the operator installed, in both clusters",
			"the Cluster API operator installed the providers, and clusterctl, which does not know its objects, finds no provider: "+
				"it moves without comparing the providers of both clusters and without the Secrets in the namespaces of providers, and refuses to move into such a cluster")
	default:
		b.gap("the dump holds no provider of clusterctl's inventory (providers.clusterctl.cluster.x-k8s.io)")
	}
}
