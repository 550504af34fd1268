package owners

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Plan is what clusterctl move would do with the objects of a management cluster.
type Plan struct {
	*Graph
	// Namespace is the one that is moved; it is empty if all are, which only
	// clusterctl's library can do.
	Namespace string
	// Restore is set for what clusterctl move --to-directory wrote: the plan is
	// that of move --from-directory, and nothing is deleted.
	Restore bool
	// Refusals say why clusterctl would not start, in the order in which it looks:
	// it reports those of the first step that has any. Nothing is changed then.
	Refusals []Fault
	// Failures say what would go wrong once it has begun, in the order of its
	// steps.
	Failures []Fault
	// Notes say what is worth knowing and harms nothing.
	Notes []Fault
	// Gaps say in sentences without a full stop what is missing, so that the
	// plan is not certain.
	Gaps []string
	// Elsewhere counts the objects in other namespaces, Repeated those that were
	// there more than once.
	Elsewhere, Repeated int
}

// Step is when something goes wrong in a move.
type Step uint8

// The steps, in their order (clusterctl: client/cluster/mover.go, Move).
const (
	// contract: before anything else.
	contract Step = iota
	// providers: has the target those of the source, and none older?
	providers
	// Discovery: while the objects are listed.
	Discovery
	// Provisioning: are Clusters and Machines complete? Not with --dry-run.
	Provisioning
	// Pause: is no Cluster paused already?
	Pause
	// PauseClasses: and no ClusterClass?
	PauseClasses
	// Ready: does nothing hold up the move? All Clusters and ClusterClasses are
	// paused by then. Only if objects are moved to another cluster.
	Ready
	// Create: the objects are made in the target.
	Create
	// deletion: they are deleted in the source.
	deletion
	// ResumeClasses: the ClusterClasses in the target are resumed.
	ResumeClasses
	// Resume: and the Clusters.
	Resume
	// After: the move has ended without an error.
	After
)

// never is later than every step.
const never = After + 1

// Fault is something that goes wrong in a move, or that is worth knowing about it.
type Fault struct {
	Step Step `json:"step" doc:"the step of clusterctl move"`
	// Node is the object that it is about.
	Node *Node `json:"object" doc:"the object, as KIND NAMESPACE/NAME"`
	// Reason and Fix are sentences without a full stop.
	Reason string `json:"reason" doc:"why"`
	Fix    string `json:"fix" doc:"what to do"`
	// Sometimes is set if it depends on the order in which clusterctl happens to
	// list the kinds, which is another one in each run.
	Sometimes bool `json:"sometimes" doc:"it depends on the order in which clusterctl happens to read objects"`
	cure
}

// Hurts reports whether the move ends without an error, and does harm.
func (f *Fault) Hurts() bool { return f.Step == After }

// cure says how a command corrects an ownerReference: it sets the apiVersion, and
// kind and name too if kind is set, or removes the reference if version is empty.
type cure struct {
	at                  *Edge
	version, kind, name string
}

// Options say what to move.
type Options struct {
	// Namespace is the one that is moved. All moves all namespaces.
	Namespace string
	All       bool
	// Restore plans move --from-directory.
	Restore bool
	// Complete tells that a snapshot is all that there is, so that what is named
	// and not in it does not exist.
	Complete bool
	// Target is the management cluster to which objects are moved; nil if it is
	// not known. TargetComplete is Complete for it.
	Target         *snapshot.Snapshot
	TargetComplete bool
}

// FromSnapshot plans a move. It is what clusterctl does with the same objects
// (clusterctl: client/cluster/objectgraph.go, mover.go), as far as their
// definitions are in the snapshot. The cost grows with the number of objects and
// references.
//
// Objects without a UID get one of their own: an ownerReference leads to them by
// kind and name, in the namespace of its object or in none. Of objects that are
// there twice the first counts.
func FromSnapshot(s *snapshot.Snapshot, o Options) *Plan {
	b := &planner{
		Plan: &Plan{Graph: withRoom(len(s.Objects)), Namespace: o.Namespace, Restore: o.Restore},
		s:    s, options: o,
		definitions: map[groupKind]*snapshot.Object{},
		infra:       map[string]bool{},
		byUID:       make(map[string]int32, len(s.Objects)),
		nodes:       make([]*Node, len(s.Objects)),
		absent:      map[string]*Node{},
		external:    map[*Node][]*Node{},
		undefined:   map[string]bool{},
		behind:      map[*Node]bool{},
		odd:         map[int32]bool{},
	}
	if b.options.All = o.All || o.Restore; b.options.All {
		b.Namespace = ""
	}
	b.index()
	if o.Target != nil {
		b.target = newTarget(o.Target, o.TargetComplete)
	}
	b.discover()
	b.classesElsewhere()
	b.owners()
	b.softOwners()
	b.keep()
	b.Resolve()
	if !o.Restore {
		b.collect()
	}
	b.settleLosses()
	b.named()
	b.refuse()
	b.fail()
	b.identify()
	b.compare()
	b.gaps()
	for _, list := range [][]Fault{b.Refusals, b.Failures} {
		slices.SortStableFunc(list, func(x, y Fault) int { return cmp.Compare(x.Step, y.Step) })
	}
	return b.Plan
}

// Namespaces returns those with Clusters, or if there are none those with any
// objects, sorted.
func Namespaces(s *snapshot.Snapshot) []string {
	clusters, all := map[string]bool{}, map[string]bool{}
	for i := range s.Objects {
		o := &s.Objects[i]
		if o.Namespace == "" {
			continue
		}
		all[o.Namespace] = true
		if o.Group == coreGroup && o.Kind == "Cluster" {
			clusters[o.Namespace] = true
		}
	}
	if len(clusters) > 0 {
		all = clusters
	}
	return slices.Sorted(maps.Keys(all))
}

// planner makes a plan. Objects are known by their index in the snapshot.
type planner struct {
	*Plan
	s           *snapshot.Snapshot
	options     Options
	definitions map[groupKind]*snapshot.Object
	infra       map[string]bool // namespaces of infrastructure providers
	byUID       map[string]int32
	byName      map[ID]int32 // see lookup
	nodes       []*Node
	absent      map[string]*Node
	undefined   map[string]bool // kinds without a definition, as KIND.GROUP
	secrets     bool
	machines    bool // whether the snapshot has any
	missing     int  // owners that it should have
	// external are the nodes that clusterctl does not list, but fetches because
	// others name them, with those others.
	external map[*Node][]*Node
	// target is nil if the target is not known.
	target *target
	// odd are the ownerReferences that do not name their owner as it is, by the
	// index of the owner.
	odd map[int32]bool
	// behind are the nodes that wait for one that clusterctl leaves behind because of
	// a wrong reference, and whether in each run.
	behind map[*Node]bool
}

func idOf(o *snapshot.Object) ID {
	return ID{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// index finds the definitions, the providers and the UIDs.
func (b *planner) index() {
	for i := range b.s.Objects {
		o := &b.s.Objects[i]
		switch d := o.Detail.(type) {
		case *snapshot.Definition:
			kind := groupKind{d.Group, d.Kind}
			if old := b.definitions[kind]; old == nil || !old.Has(snapshot.Clusterctl) { // the file of a release may be there too
				b.definitions[kind] = o
			}
			if d.Group == coreGroup && d.Kind == "Cluster" && d.Storage != contractVersion {
				b.refusal(contract, &Node{ID: idOf(o)}, "upgrade Cluster API, or use the clusterctl of its version",
					"it stores Clusters in version %q, but clusterctl v1.14 only moves between clusters that store %s", d.Storage, contractVersion)
			}
			if o.Has(snapshot.Clusterctl) && d.Unserved && !b.options.Restore {
				b.refusal(Discovery, &Node{ID: idOf(o)},
					fmt.Sprintf("set served: true for version %s, or change the storage version", d.Storage),
					"objects are stored in version %q, which is not served, so clusterctl fails to list them", d.Storage)
			}
		case *snapshot.Provider:
			if d.Type == "InfrastructureProvider" {
				b.infra[o.Namespace] = true
			}
		}
		b.machines = b.machines || o.Group == coreGroup && o.Kind == "Machine"
		if o.UID == "" {
			continue
		}
		first, ok := b.byUID[o.UID]
		switch {
		case !ok:
			b.byUID[o.UID] = int32(i)
		case idOf(&b.s.Objects[first]) == idOf(o):
			b.Repeated++
		default:
			b.gap("%s and %s have the same UID; a cluster never assigns one twice", &b.s.Objects[first], o)
		}
	}
}

// contractVersion is the only storage version of Clusters that clusterctl takes
// (client/cluster/inventory.go, CheckCAPIContract).
const contractVersion = "v1beta2"

// mostGaps are listed at most.
const mostGaps = 20

func (b *planner) refusal(step Step, n *Node, fix, format string, args ...any) {
	b.Refusals = append(b.Refusals, Fault{Step: step, Node: n, Reason: fmt.Sprintf(format, args...), Fix: fix})
}

func (b *planner) gap(format string, args ...any) {
	if len(b.Gaps) < mostGaps {
		b.Gaps = append(b.Gaps, fmt.Sprintf(format, args...))
	}
}

// node makes the node of an object and says what its kind and labels mean
// (clusterctl: objectgraph.go, getDiscoveryTypes and objMetaToNode).
func (b *planner) node(o *snapshot.Object) *Node {
	n := &Node{ID: idOf(o), Global: o.Namespace == ""}
	kind := groupKind{o.Group, o.Kind}
	known, isOurs := ours[kind]
	definition := b.definitions[kind]
	switch {
	case n.data():
		n.Global = false
	case definition != nil:
		d := definition.Detail.(*snapshot.Definition)
		n.Global = d.Global
		if !definition.Has(snapshot.Clusterctl) || d.Storage == "" {
			n.Scope = Ignored
			if b.options.Restore { // clusterctl looks at all that was written
				n.observe()
			}
			break
		}
		switch {
		case isOurs && known.Hierarchy:
			n.Move, n.Hierarchy = builtIn, builtIn
		case definition.Has(snapshot.MoveHierarchy):
			n.Move, n.Hierarchy = onType, onType
		case definition.Has(snapshot.Move):
			n.Move = onType
		}
	case isOurs:
		n.Global = known.Global
		if known.Hierarchy {
			n.Move, n.Hierarchy = builtIn, builtIn
		}
	case n.ofKubernetes(), o.Group == clusterctlGroup:
		n.Scope = Ignored
	case b.options.Restore:
		n.Scope = unknownScope
	default:
		n.Scope = undefined
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
func (n *Node) mark(o *snapshot.Object) {
	n.carries(o.Has(snapshot.MoveHierarchy), o.Has(snapshot.Move), o.Has(snapshot.BlockMove))
}

// clusterctlGroup is that of the inventory, which is never moved.
const clusterctlGroup = "clusterctl.cluster.x-k8s.io"

// listed reports whether clusterctl lists an object (objectgraph.go, Discovery).
func (b *planner) listed(n *Node) bool {
	return b.options.All || n.Global || n.Namespace == b.options.Namespace ||
		n.Group == "" && n.Kind == "Secret" && b.infra[n.Namespace]
}

// discover makes nodes of the objects that clusterctl lists, and of others that
// have owners and may be deleted with them.
func (b *planner) discover() {
	for i := range b.s.Objects {
		o := &b.s.Objects[i]
		switch o.Detail.(type) {
		case *snapshot.Definition, *snapshot.Provider:
			continue
		}
		if o.UID != "" && b.byUID[o.UID] != int32(i) && idOf(&b.s.Objects[b.byUID[o.UID]]) == idOf(o) {
			continue // there twice
		}
		n := b.node(o)
		if !b.listed(n) {
			b.Elsewhere++
			continue
		}
		if !n.data() && n.Scope != Ignored && b.definitions[groupKind{n.Group, n.Kind}] == nil {
			b.undefined[n.Kind+"."+n.Group] = true
		}
		if n.Group == "" && n.Kind == "Secret" {
			b.secrets = true
		}
		if n.Scope == Ignored && len(o.Owners) == 0 {
			continue
		}
		b.take(int32(i), n)
	}
}

// take adds the node of an object.
func (b *planner) take(i int32, n *Node) {
	if _, added := b.Add(n); added {
		b.nodes[i] = n
		return
	}
	if o := &b.s.Objects[i]; o.UID == "" {
		b.Repeated++
	} else {
		b.gap("%s appears twice with different UIDs, so the files were not taken at the same time", o)
	}
}

// lookup finds an object by its name.
func (b *planner) lookup(id ID) (int32, bool) {
	if b.byName == nil {
		b.byName = make(map[ID]int32, len(b.s.Objects))
		for i := range b.s.Objects {
			id := idOf(&b.s.Objects[i])
			if _, ok := b.byName[id]; !ok {
				b.byName[id] = int32(i)
			}
		}
	}
	i, ok := b.byName[id]
	return i, ok
}

// observed visits the objects of a kind that clusterctl has found.
func observed[D any](b *planner, visit func(n *Node, o *snapshot.Object, detail *D)) {
	for i, n := range b.nodes {
		if n == nil || !n.movable() {
			continue
		}
		o := &b.s.Objects[i]
		if d, ok := o.Detail.(*D); ok {
			visit(n, o, d)
		}
	}
}

// classesElsewhere adds the ClusterClasses that Clusters use and that were not
// listed, with their templates (objectgraph.go, Discovery).
func (b *planner) classesElsewhere() {
	if b.options.Restore {
		return
	}
	done := map[ID]bool{}
	observed(b, func(n *Node, o *snapshot.Object, c *snapshot.Cluster) {
		id := ID{Group: coreGroup, Kind: "ClusterClass", Namespace: cmp.Or(c.ClassNamespace, o.Namespace), Name: c.Class}
		if c.Class == "" || id.Namespace == b.Namespace {
			return
		}
		if done[id] {
			if class := b.Find(id); len(b.external[class]) > 0 {
				b.external[class] = append(b.external[class], n)
			}
			return
		}
		done[id] = true
		class := b.fetch(n, id, contractVersion)
		if class == nil {
			return
		}
		detail, ok := class.Detail.(*snapshot.Class)
		if !ok {
			return
		}
		for _, ref := range detail.Templates {
			b.fetch(b.Find(id), ID{Group: ref.Group, Kind: ref.Kind, Namespace: id.Namespace, Name: ref.Name}, ref.Version)
		}
	})
}

// fetch adds an object whatever its kind or namespace, because another names it in
// a version of its API.
func (b *planner) fetch(by *Node, id ID, version string) *snapshot.Object {
	if b.served(id.Group, id.Kind, version) == no {
		b.refusal(Discovery, by,
			fmt.Sprintf("change the reference to a version that is served (%s)", b.servedVersions(id.Group, id.Kind)),
			"it refers to %s in version %q, which is not served, so clusterctl fails to read it", id, version)
		return nil
	}
	i, ok := b.lookup(id)
	if !ok {
		b.refusal(Discovery, by, "create "+id.String()+", or remove the reference to it",
			"it refers to %s, which does not exist", id)
		return nil
	}
	o := &b.s.Objects[i]
	n := b.nodes[i]
	if n == nil {
		n = b.node(o)
		if !b.listed(n) {
			b.Elsewhere--
		}
		b.take(i, n)
		b.external[n] = []*Node{by}
	} else if n.Scope == Ignored || len(b.external[n]) > 0 {
		b.external[n] = append(b.external[n], by)
	}
	n.observe()
	n.mark(o)
	return o
}

// owners links the nodes to their owners, which clusterctl knows by their UIDs
// (objectgraph.go, processOwnerReferences).
func (b *planner) owners() {
	for i := range b.nodes { // more nodes come at the end of the graph, not here
		n, o := b.nodes[i], &b.s.Objects[i]
		if n == nil {
			continue
		}
		for k := range o.Owners {
			b.Link(&Edge{From: b.owner(n, o, &o.Owners[k]), To: n, By: n, Field: "metadata.ownerReferences." + strconv.Itoa(k), Why: whyWritten, Written: true, uid: o.Owners[k].UID})
		}
	}
}

// owner returns the node that an ownerReference leads to.
func (b *planner) owner(n *Node, o *snapshot.Object, r *snapshot.Owner) *Node {
	if i, ok := b.byUID[r.UID]; ok {
		return b.inspect(n, i, r)
	}
	id := ID{Group: r.Group, Kind: r.Kind, Namespace: o.Namespace, Name: r.Name}
	i, namesake := b.lookup(id)
	if !namesake {
		id.Namespace = ""
		i, namesake = b.lookup(id)
	}
	if namesake && (r.UID == "" || b.s.Objects[i].UID == "") {
		return b.inspect(n, i, r)
	}
	key := strings.Join([]string{r.UID, r.Group, r.Kind, o.Namespace, r.Name}, "/")
	absent := b.absent[key]
	if absent == nil {
		id.Namespace = ""
		absent = &Node{ID: id, Absent: true, Namesake: namesake}
		absent.Scope = b.node(&snapshot.Object{Group: r.Group, Kind: r.Kind, Name: r.Name}).Scope
		if r.Group == coreGroup && r.Kind == "Machine" && !b.options.Complete && !b.Restore && !b.machines {
			absent.Missing, absent.Namespace = true, o.Namespace
			if b.missing++; b.missing == 1 {
				b.gap("the snapshot holds no Machine, but it holds objects that Machines own")
			}
		}
		b.absent[key] = absent
		b.Nodes = append(b.Nodes, absent) // without its name, which another may have
	}
	return absent
}

// known returns the node of an object, which clusterctl need not have listed.
func (b *planner) known(i int32) *Node {
	if b.nodes[i] == nil {
		o := &b.s.Objects[i]
		n := b.node(o)
		if n.Scope != Ignored && !b.listed(n) {
			n.Scope = Elsewhere
		}
		n, _ = b.Add(n)
		b.nodes[i] = n
	}
	return b.nodes[i]
}

// softOwners links what clusterctl links by names (objectgraph.go,
// setSoftOwnership).
func (b *planner) softOwners() {
	b.LinkSecrets()
	soft := func(n *Node, kind, namespace, name, field, why string) {
		owner := b.Find(ID{Group: coreGroup, Kind: kind, Namespace: namespace, Name: name})
		if owner != nil && owner.movable() {
			b.Link(&Edge{From: owner, To: n, Link: SoftOwner, By: n, Field: field, Why: why})
		}
	}
	observed(b, func(n *Node, o *snapshot.Object, c *snapshot.Cluster) {
		soft(n, "ClusterClass", cmp.Or(c.ClassNamespace, o.Namespace), c.Class, "spec.topology", whyClass)
	})
	observed(b, func(n *Node, o *snapshot.Object, c *snapshot.Binding) {
		soft(n, "Cluster", o.Namespace, c.Cluster, "spec.clusterName", whyBinding)
	})
}

// keep marks the ClusterClasses that stay for others, with what they own
// (objectgraph.go, setShouldNotDelete).
func (b *planner) keep() {
	if b.options.All {
		return
	}
	used := map[string]bool{} // classes of this namespace that Clusters of others use
	for i := range b.s.Objects {
		if c, ok := b.s.Objects[i].Detail.(*snapshot.Cluster); ok &&
			b.s.Objects[i].Namespace != b.Namespace && c.ClassNamespace == b.Namespace {
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
		// Of a kind that clusterctl does not list the snapshot need not have all.
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

// settleLosses tells what harms from what clusterctl leaves where it belongs, such
// as the Secrets of others.
func (b *planner) settleLosses() {
	for _, n := range b.Nodes {
		if n.Cause == Unowned {
			n.Cause = noOwner
		}
		provider := !n.ofKubernetes() && !bystanders[n.Group]
		n.Lost = n.Verdict == Deleted ||
			n.Verdict == Left && n.movable() && (n.Wanted || provider)
	}
	for i, n := range b.nodes {
		if n != nil && n.movable() && n.Verdict == Left && b.s.Objects[i].Cluster != "" {
			n.Lost = true
		}
	}
}

// refuse finds why clusterctl would not start.
func (b *planner) refuse() {
	// Clusters that it only knows as owners it cannot read.
	for _, n := range b.Nodes {
		if n.Group != coreGroup || n.movable() || n.Missing || n.Scope == undefined {
			continue
		}
		if i, ok := b.lookup(n.ID); ok && b.odd[i] {
			continue // judged by what references call it
		}
		b.unreadable(n, groupKind{n.Group, n.Kind}, first(n.Out, func(e *Edge) bool { return e.Link == Owner && e.To.movable() }), false)
	}
	if b.Restore {
		return
	}
	observed(b, func(n *Node, o *snapshot.Object, c *snapshot.Cluster) {
		switch {
		case !c.Provisioned:
			b.refusal(Provisioning, n, "wait until status.initialization.infrastructureProvisioned is true",
				"its infrastructure is not provisioned")
		case !c.Initialized, c.HasControlPlane && !c.ControlPlaneInitialized:
			b.refusal(Provisioning, n, "wait until the condition ControlPlaneInitialized is True",
				"its control plane is not initialized")
		}
		if c.Paused || o.Has(snapshot.Paused) {
			b.refusal(Pause, n, "resume it: remove spec.paused and the annotation "+pausedAnnotation, "it is already paused")
		}
	})
	observed(b, func(n *Node, _ *snapshot.Object, m *snapshot.Machine) {
		if !m.HasNode {
			b.refusal(Provisioning, n, "wait until status.nodeRef is set, or delete the Machine", "it has no node yet")
		}
	})
	observed(b, func(n *Node, o *snapshot.Object, _ *snapshot.Class) {
		if o.Has(snapshot.Paused) {
			b.refusal(PauseClasses, n, "remove the annotation "+pausedAnnotation, "it is already paused")
		}
	})
}

// unreadable reports an owner that clusterctl only knows by an ownerReference, and
// tries to read because of the kind in there.
func (b *planner) unreadable(owner *Node, kind groupKind, e *Edge, sometimes bool) {
	if e == nil || kind.group != coreGroup {
		return
	}
	reason := fmt.Sprintf("%s; clusterctl fails when it reads that %s", e.points(), kind.kind)
	if sometimes {
		reason += " if it lists this object before others that refer to the owner, which varies between runs"
	}
	steps := map[string]Step{"Machine": Provisioning, "Cluster": Provisioning, "ClusterClass": PauseClasses}
	if b.Restore {
		steps = map[string]Step{"Cluster": Resume, "ClusterClass": ResumeClasses}
	}
	step, ok := steps[kind.kind]
	switch {
	case !ok:
	case b.Restore:
		b.Failures = append(b.Failures, Fault{Step: step, Node: e.To, Reason: reason, Fix: e.fix(), Sometimes: sometimes})
	default:
		b.Refusals = append(b.Refusals, Fault{Step: step, Node: e.To, Reason: reason, Fix: cmp.Or(e.fix(), "remove the ownerReference to "+owner.String()), Sometimes: sometimes, cure: cure{at: e}})
	}
}

const pausedAnnotation = "cluster.x-k8s.io/paused"

// gaps says what a snapshot should have and has not.
func (b *planner) gaps() {
	if len(b.undefined) > 0 && !b.Restore {
		kinds := slices.Sorted(maps.Keys(b.undefined))
		b.gap("the definitions (CRDs) of these kinds are missing, and their labels decide what moves: %s",
			phrase.Few(kinds, 8))
	}
	if b.options.Complete {
		return
	}
	clusters := 0
	missing := map[string]int{}
	check := func(o *snapshot.Object, refs []snapshot.Ref) {
		for _, r := range refs {
			if b.Find(ID{Group: r.Group, Kind: r.Kind, Namespace: o.Namespace, Name: r.Name}) == nil {
				missing[r.Kind+"."+r.Group]++
			}
		}
	}
	observed(b, func(_ *Node, o *snapshot.Object, c *snapshot.Cluster) { clusters++; check(o, c.Refs) })
	observed(b, func(_ *Node, o *snapshot.Object, m *snapshot.Machine) { check(o, m.Refs) })
	var names []string
	for kind, number := range missing {
		names = append(names, fmt.Sprintf("%d %s", number, kind))
	}
	slices.Sort(names)
	if len(names) > 0 {
		b.gap("Clusters and Machines refer to objects that are missing: %s", phrase.Few(names, 8))
	}
	switch {
	case len(b.nodes) == 0:
		b.gap("the snapshot holds no object")
	case clusters == 0 && !b.Restore:
		b.gap("no Cluster is among the moved objects")
	case clusters > 0 && !b.secrets:
		b.gap("the snapshot holds no Secret, but every Cluster has some")
	}
	if owned := slices.ContainsFunc(b.s.Objects, func(o snapshot.Object) bool { return o.UID != "" || len(o.Owners) > 0 }); !owned && len(b.nodes) > 0 {
		b.gap("no object has a UID or an owner, as if this were a template; name the folder of its release to see the owners that controllers will set")
	}
}

// Certain reports whether nothing was missing to judge.
func (p *Plan) Certain() bool {
	return len(p.Gaps) == 0 && !slices.ContainsFunc(p.Nodes, func(n *Node) bool { return n.Verdict == Unclear })
}

// Order returns the objects that are made in the target, step by step. All of a
// step are made before the first one of the next; they are deleted in the source
// the other way round.
func (g *Graph) Order() [][]*Node {
	var out [][]*Node
	for _, n := range g.Nodes {
		if !n.Verdict.moves() {
			continue
		}
		for len(out) <= n.Layer {
			out = append(out, nil)
		}
		out[n.Layer] = append(out[n.Layer], n)
	}
	return out
}
