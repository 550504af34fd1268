package move

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Plan is what clusterctl move does with objects, as far as it is known.
type Plan struct {
	*Graph
	// Remarks are about the move as a whole.
	Remarks []Remark
	// Needs are what the target must have.
	Needs []Need

	template bool // or else objects that exist
}

// Remark says what is in the way of a move, or what is missing to tell.
type Remark struct {
	// Object is nil for what is missing.
	Object *Node  `json:"object,omitempty" doc:"the object that is in the way, as KIND NAMESPACE/NAME; absent for something that the input lacks"`
	Reason string `json:"reason" doc:"what is in the way or missing"`
	Fix    string `json:"fix,omitempty" doc:"what to do; absent if there is nothing more to say"`
}

type Options struct {
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
// clusterctl knows owners by their UIDs. Where one is missing, an owner of that kind
// and name, in the namespace of its object or in none, may be the one or not. Of
// objects that are there twice the first counts.
func FromDump(d *Dump, o Options) *Plan {
	b := &planner{
		Plan: &Plan{Graph: withRoom(len(d.Objects))}, d: d, options: o,
		definitions: definitionsOf(d), types: Either(TypesIn(d), o.Installed),
		infra: map[string]bool{}, kinds: map[groupKind]bool{}, nameless: map[groupKind]bool{},
		seen: map[ID]bool{}, defined: map[string][]groupKind{},
		byUID: make(map[string]int, len(d.Objects)), byID: make(map[ID]int, len(d.Objects)),
		nodes: make([]*Node, len(d.Objects)), absent: map[string]*Node{},
	}
	b.index()
	b.discover()
	b.classesElsewhere()
	b.owners()
	b.softOwners()
	b.Resolve()
	b.keep()
	b.judge()
	b.names()
	b.remarks()
	b.Needs = b.needs()
	return b.Plan
}

// Namespaces returns those with Clusters, or if there are none those with any
// objects, sorted.
func Namespaces(d *Dump) []string {
	clusters, all := map[string]bool{}, map[string]bool{}
	for i := range d.Objects {
		o := &d.Objects[i]
		if o.Namespace == "" {
			continue
		}
		all[o.Namespace] = true
		if _, ok := o.Detail.(*Cluster); ok {
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
	d           *Dump
	options     Options
	types       Types
	definitions map[groupKind]*Object
	infra       map[string]bool        // namespaces of infrastructure providers, and whether clusterctl knows
	inventory   bool                   // whether the dump has that of clusterctl
	operator    *Object                // of the Cluster API operator
	kinds       map[groupKind]bool     // of which there are objects
	nameless    map[groupKind]bool     // of which some have no UID
	seen        map[ID]bool            // kinds by namespace, without names
	defined     map[string][]groupKind // kinds with a definition, by their names in lower case
	byUID       map[string]int
	byID        map[ID]int
	nodes       []*Node
	absent      map[string]*Node // by UID, or by name
}

func TypesIn(d *Dump) Types {
	definitions := definitionsOf(d)
	return func(group, kind string) (Type, bool) {
		o := definitions[groupKind{group, kind}]
		if o == nil {
			return Type{}, false
		}
		d := o.Detail.(*Definition)
		t := Type{Move: o.Has(MoveLabel), Hierarchy: o.Has(HierarchyLabel), Global: d.Global}
		switch {
		case !o.Has(clusterctlLabel):
			t.unlisted = unlabelled
		case !slices.Contains(d.Served, d.Storage):
			t.unlisted = unserved
		}
		return t, t.unlisted == unlabelled || d.Storage != "" // or else only a part of it is there
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

func definitionsOf(d *Dump) map[groupKind]*Object {
	out := map[groupKind]*Object{}
	for i := range d.Objects {
		o := &d.Objects[i]
		c, ok := o.Detail.(*Definition)
		if !ok {
			continue
		}
		// The file of a release, which has no label yet, may be there too.
		if old := out[groupKind{c.Group, c.Kind}]; old == nil || !old.Has(clusterctlLabel) {
			out[groupKind{c.Group, c.Kind}] = o
		}
	}
	return out
}

func idOf(o *Object) ID {
	return ID{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

func (b *planner) index() {
	for kind := range b.definitions {
		word := strings.ToLower(kind.kind)
		b.defined[word] = append(b.defined[word], kind)
	}
	for i := range b.d.Objects {
		o := &b.d.Objects[i]
		b.kinds[groupKind{o.Group, o.Kind}] = true
		b.seen[ID{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace}] = true
		if o.UID == "" {
			b.nameless[groupKind{o.Group, o.Kind}] = true
		}
		if p, ok := o.Detail.(*Provider); ok {
			b.inventory = b.inventory || !p.Operator
			if p.Operator {
				b.operator = o
			}
			if strings.HasPrefix(p.Label, "infrastructure-") {
				b.infra[o.Namespace] = b.infra[o.Namespace] || !p.Operator
			}
		}
		if first, ok := b.byID[idOf(o)]; !ok {
			b.byID[idOf(o)] = i
		} else if b.d.Objects[first].UID != o.UID {
			b.lacks("%s appears twice with different UIDs, so that the files were not written at the same time", idOf(o))
		}
		if _, ok := b.byUID[o.UID]; o.UID != "" && !ok {
			b.byUID[o.UID] = i
		}
	}
}

// lacks notes what is missing in the input.
func (b *planner) lacks(format string, args ...any) {
	const most = 20
	if len(b.Remarks) < most {
		b.Remarks = append(b.Remarks, Remark{Reason: fmt.Sprintf(format, args...)})
	}
}

// clusterctlGroup is that of the inventory, which is never moved.
const clusterctlGroup = "clusterctl.cluster.x-k8s.io"

// node makes the node of an object and says what its kind and labels mean
// (clusterctl: objectgraph.go, getDiscoveryTypes and objMetaToNode).
func (b *planner) node(o *Object) *Node {
	n := &Node{ID: idOf(o), Global: o.Namespace == ""}
	kind := groupKind{o.Group, o.Kind}
	t, known := b.types(o.Group, o.Kind)
	switch {
	case n.data():
		n.Global = false
	case known:
		n.Global, n.unlisted = t.Global, t.unlisted
		if t.unlisted != "" {
			n.Scope = Ignored
		}
	case n.ofKubernetes(), o.Group == clusterctlGroup:
		n.Scope = Ignored
	default:
		n.Scope = undefined
	}
	switch { // which only counts if clusterctl looks at the kind
	case n.Scope == undefined:
	case ours[kind].Hierarchy:
		n.Move, n.Hierarchy = builtIn, builtIn
	case t.Hierarchy:
		n.Move, n.Hierarchy = onType, onType
	case t.Move:
		n.Move = onType
	}
	n.mark(o)
	return n
}

// mark takes over what an object says itself.
func (n *Node) mark(o *Object) {
	_, block := o.Annotations[BlockMoveAnnotation]
	n.carries(o.Has(HierarchyLabel), o.Has(MoveLabel), block)
}

// belongs reports whether an object says that it belongs to a Cluster, or is to be moved.
func belongs(o *Object) bool {
	return o.Has(clusterNameLabel) || o.Has(MoveLabel) || o.Has(HierarchyLabel)
}

// discover makes nodes of the objects that clusterctl lists (objectgraph.go,
// Discovery), and of others that may have to do with them.
func (b *planner) discover() {
	for i := range b.d.Objects {
		o := &b.d.Objects[i]
		switch o.Detail.(type) {
		case *Definition, *Provider:
			continue
		}
		n := b.node(o)
		secret := n.Group == "" && n.Kind == "Secret"
		switch related := len(o.Owners) > 0 || belongs(o) || b.ofProvider(n); {
		case n.Scope == Ignored && !related:
			continue
		case n.Namespace == "" && !n.Global && !b.options.Restore:
			b.lacks("%s has no namespace, although its kind has them", n)
			continue
		case b.options.Restore, n.Global, n.Namespace == b.options.Namespace, secret && b.infra[n.Namespace]:
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
func observed[D any](b *planner, visit func(n *Node, o *Object, detail *D)) {
	for i, n := range b.nodes {
		if n == nil || !n.perhapsMovable() {
			continue
		}
		if d, ok := b.d.Objects[i].Detail.(*D); ok {
			visit(n, &b.d.Objects[i], d)
		}
	}
}

// classesElsewhere adds the ClusterClasses that Clusters use and that were not
// listed, with their templates (objectgraph.go, Discovery).
func (b *planner) classesElsewhere() {
	observed(b, func(n *Node, o *Object, c *Cluster) {
		id := ID{Group: coreGroup, Kind: "ClusterClass", Namespace: cmp.Or(c.ClassNamespace, o.Namespace), Name: c.Class}
		if b.options.Restore || c.Class == "" || id.Namespace == b.options.Namespace {
			return
		}
		class := b.fetch(n, id)
		if class == nil {
			return
		}
		for _, name := range class.Names {
			field, v1beta2 := strings.CutSuffix(name.Field, ".templateRef.name")
			if v1beta2 && !strings.Contains(field, ".healthCheck.") || strings.HasSuffix(field, ".ref.name") {
				b.fetch(b.Find(id), ID{Group: name.Group, Kind: name.Kind, Namespace: id.Namespace, Name: name.Name})
			}
		}
	})
}

// fetch adds an object whatever its kind or namespace, because another names it.
// Then clusterctl does not even know that its kind is global.
func (b *planner) fetch(by *Node, id ID) *Object {
	i, ok := b.byID[id]
	if !ok {
		b.lacks("%s refers to %s, which is not there; without it clusterctl fails", by, id)
		return nil
	}
	o := &b.d.Objects[i]
	if b.nodes[i] == nil {
		b.nodes[i], _ = b.Add(b.node(o))
	}
	if n := b.nodes[i]; n.Scope == Ignored {
		*n = Node{ID: n.ID} // whatever the definition says
		n.mark(o)
	}
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

func (b *planner) owner(o *Object, r *OwnerReference) *Node {
	if i, ok := b.byUID[r.UID]; ok {
		return b.known(i)
	}
	id := ID{Group: r.Group, Kind: r.Kind, Namespace: o.Namespace, Name: r.Name}
	i, namesake := b.byID[id]
	if !namesake {
		id.Namespace = ""
		i, namesake = b.byID[id]
	}
	nameless := r.UID == "" || b.nameless[groupKind{r.Group, r.Kind}]
	if nameless && namesake && !b.known(i).perhapsMovable() {
		return b.known(i) // whichever it is
	}
	id.Namespace = ""
	return b.without(cmp.Or(r.UID, o.Namespace+"/"+id.String()+"."+id.Group), func() *Node {
		scope := b.node(&Object{Group: r.Group, Kind: r.Kind, Name: r.Name}).Scope
		there := b.kinds[groupKind{r.Group, r.Kind}] || b.options.Restore
		return &Node{ID: id, Scope: scope, Namesake: namesake || nameless, Missing: scope != Ignored && (nameless || !there)}
	})
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
	b.LinkSecrets(b.named)
	soft := func(n *Node, id ID, field, why string) {
		owner := b.named(id)
		if owner != nil && owner.perhapsMovable() {
			b.Link(&Edge{From: owner, To: n, Link: SoftOwner, By: n, Field: field, Why: why})
		}
	}
	observed(b, func(n *Node, o *Object, c *Cluster) {
		id := ID{Group: coreGroup, Kind: "ClusterClass", Namespace: cmp.Or(c.ClassNamespace, o.Namespace), Name: c.Class}
		if c.Class == "" {
			return
		}
		if b.Find(id) == nil {
			b.lacks("%s uses %s, which is not there", n, id)
		}
		soft(n, id, "spec.topology", whyClass)
	})
	observed(b, func(n *Node, o *Object, c *Binding) {
		if id := (ID{Group: coreGroup, Kind: "Cluster", Namespace: o.Namespace, Name: c.Cluster}); id.Name != "" {
			soft(n, id, "spec.clusterName", whyBinding)
		}
	})
}

// named returns the Cluster or ClusterClass that a name leads to. One that the dump
// does not hold may well exist if it holds none at all, or it is in another namespace.
func (b *planner) named(id ID) *Node {
	n := b.Find(id)
	gone := b.kinds[groupKind{id.Group, id.Kind}]
	if id.Namespace != b.options.Namespace {
		gone = id.Kind == "Cluster" // which clusterctl does not list there
	}
	if n != nil || gone || b.options.Restore {
		return n
	}
	return b.without(id.String(), func() *Node { return &Node{ID: id, Missing: true} })
}

// without returns the node of an object that is only named. It has no entry by its
// name, which another may have.
func (b *planner) without(key string, node func() *Node) *Node {
	if b.absent[key] == nil {
		b.absent[key] = node()
		b.absent[key].Absent = true
		b.Nodes = append(b.Nodes, b.absent[key])
	}
	return b.absent[key]
}

// keep finds the ClusterClasses that clusterctl does not delete in the source, with
// what they own, because other namespaces have or use them (objectgraph.go,
// setShouldNotDelete).
func (b *planner) keep() {
	used, seen := map[string]bool{}, map[*Node]bool{}
	for i := range b.d.Objects {
		o := &b.d.Objects[i]
		if c, ok := o.Detail.(*Cluster); ok && o.Namespace != b.options.Namespace && c.ClassNamespace == b.options.Namespace {
			used[c.Class] = true
		}
	}
	b.spreadTo(func(n *Node) bool { return n.Verdict.moves() && !seen[n] }, func(n *Node) bool {
		class := n.Group == coreGroup && n.Kind == "ClusterClass" && !b.options.Restore
		return class && (n.Namespace != b.options.Namespace || used[n.Name])
	}, func(l link) bool { return l == Owner }, func(n *Node, _ *Edge) bool {
		n.Verdict, seen[n] = Copied, true
		return true
	})
}

// bystanders are groups whose objects do not describe a Cluster.
var bystanders = map[string]bool{certManagerGroup: true, runtimeGroup: true, clusterctlGroup: true}

// ofProvider reports whether an object is one of Cluster API or of a provider, which
// clusterctl need not have installed.
func (b *planner) ofProvider(n *Node) bool {
	switch {
	case n.ofKubernetes(), bystanders[n.Group]:
		return false
	case n.movable(), n.Group == coreGroup, strings.HasSuffix(n.Group, "."+coreGroup):
		return true
	}
	c := b.definitions[groupKind{n.Group, n.Kind}]
	return c != nil && c.Has(providerLabel)
}

// judge tells what is lost from what clusterctl leaves where it belongs, such as the
// Secrets of others. What a moved object or a lost one owns is lost if it stays.
func (b *planner) judge() {
	stays := func(n *Node) bool { return n.Verdict == Left && !n.Absent && n.Scope != Elsewhere }
	b.spreadTo(func(*Node) bool { return true }, func(n *Node) bool {
		i, ok := b.byID[n.ID]
		n.Lost = stays(n) && (n.Wanted || b.ofProvider(n) || ok && belongs(&b.d.Objects[i]))
		return n.Lost || n.Verdict.moves()
	}, func(l link) bool { return l == Owner }, func(n *Node, e *Edge) bool {
		further := e == nil || stays(n) && !n.Lost
		n.Lost = n.Lost || stays(n)
		return further
	})
	for _, n := range b.Nodes {
		if n.Cause == Unowned {
			n.Cause = noOwner
		}
	}
}

// names finds what stays behind although an object that is moved names it.
func (b *planner) names() {
	stay := map[string][]int{}
	for i := range b.d.Objects {
		o := &b.d.Objects[i]
		_, definition := o.Detail.(*Definition)
		n, of := b.nodes[i], !idOf(o).ofKubernetes() || idOf(o).data()
		if of && !definition && (n == nil || n.Verdict == Left && !n.Lost) {
			stay[o.Name] = append(stay[o.Name], i)
		}
	}
	unknown := map[string]bool{}
	for i, n := range b.nodes {
		if n == nil || !n.Verdict.moves() {
			continue
		}
		for k := range b.d.Objects[i].Names {
			name := &b.d.Objects[i].Names[k]
			if kind := b.unseen(n, name); kind != "" {
				unknown[kind] = true
			}
			for _, to := range stay[name.Name] {
				b.need(n, to, name)
			}
		}
	}
	if len(unknown) > 0 {
		kinds := phrase.Few(slices.Sorted(maps.Keys(unknown)), 8)
		b.lacks("objects that move refer to others that are not there, of the kinds %s", kinds)
	}
}

// kindsOf are those that a name may be of: the one that stands next to it, or the one
// after which its field is called. There are none for kinds of Kubernetes, which always
// stay, and none if neither tells one.
func (b *planner) kindsOf(name *Name) []groupKind {
	field := strings.ToLower(strings.TrimSuffix(name.Field, ".name"))
	field = field[strings.LastIndexByte(field, '.')+1:]
	switch {
	case name.Group != "" && kubernetesGroups[name.Group]:
		return nil
	case name.Group != "":
		return []groupKind{{name.Group, name.Kind}}
	case name.Kind == "Secret", name.Kind == "" && strings.Contains(field, "secret"):
		return []groupKind{{"", "Secret"}}
	case name.Kind == "ConfigMap", name.Kind == "" && strings.Contains(field, "configmap"):
		return []groupKind{{"", "ConfigMap"}}
	case name.Kind == "":
		return b.defined[fieldWord(field)]
	}
	return b.defined[strings.ToLower(name.Kind)]
}

// unseen returns the kind of the object that is named, if the dump does not hold it and
// it may exist: it holds no object of the kind in that namespace, or an object of
// Cluster API, which cannot do without it, refers to it.
func (b *planner) unseen(by *Node, name *Name) string {
	kinds := b.kindsOf(name)
	namespaces := []string{"", cmp.Or(name.Namespace, by.Namespace)}
	if by.Global && name.Namespace == "" {
		namespaces = slices.AppendSeq(namespaces, maps.Keys(b.infra))
	}
	seen := by.Group != coreGroup || name.Group == ""
	for _, kind := range kinds {
		for _, namespace := range namespaces {
			if _, ok := b.byID[ID{kind.group, kind.kind, namespace, name.Name}]; ok {
				return ""
			}
			if seen && b.seen[ID{Group: kind.group, Kind: kind.kind, Namespace: namespace}] {
				return ""
			}
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return kinds[0].kind
}

// need settles that an object that stays behind is named by one that is moved.
func (b *planner) need(by *Node, to int, name *Name) {
	o := &b.d.Objects[to]
	kind := cmp.Or(name.Kind, o.Kind)
	_, home := b.infra[o.Namespace]
	home = home && by.Global && name.Namespace == ""
	switch {
	case o.Namespace != "" && o.Namespace != cmp.Or(name.Namespace, by.Namespace) && !home,
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

// remarks says what is in the way of the move (clusterctl:
// client/cluster/mover.go, move), and what a dump should have and has not.
func (b *planner) remarks() {
	hinder := func(n *Node, reason, fix string) { b.Remarks = append(b.Remarks, Remark{n, reason, fix}) }
	clusters, ids, secrets := false, false, false
	for i, n := range b.nodes {
		if n == nil {
			continue
		}
		if n.BlockMove && n.Wanted {
			hinder(n, "the annotation "+BlockMoveAnnotation+" holds up the move: if it is still there two minutes after "+
				"clusterctl has paused the Clusters, clusterctl fails and leaves them paused",
				"find out which controller set the annotation, and whether it removes it from paused objects")
		}
		o := &b.d.Objects[i]
		ids = ids || o.UID != "" || len(o.Owners) > 0
		secrets = secrets || n.Kind == "Secret" && n.Group == ""
		_, cluster := o.Detail.(*Cluster)
		clusters = clusters || cluster
	}
	switch {
	case !clusters && !b.options.Restore:
		b.lacks("no Cluster is among the objects")
	case clusters && !secrets:
		b.lacks("the dump holds no Secret, but every Cluster has some")
	case !ids:
		b.lacks("no object has a UID or an owner, as if this were a template; " +
			"name the folder of its release to see the owners that controllers will set")
	}
	if o := b.definitions[groupKind{coreGroup, "Cluster"}]; o != nil && !b.options.Restore {
		if d := o.Detail.(*Definition); d.Storage != contractVersion && d.Storage != "" {
			hinder(&Node{ID: idOf(o)}, fmt.Sprintf("it stores Clusters in version %q, and clusterctl v1.14 only moves between clusters that store %s",
				d.Storage, contractVersion), "upgrade Cluster API first, or use the clusterctl of its version")
		}
	}
	switch {
	case b.inventory || b.options.Restore:
	case b.operator != nil:
		hinder(&Node{ID: idOf(b.operator)}, "the Cluster API operator installed the providers, and clusterctl does not know "+
			"its objects: from here it moves without comparing the providers of both clusters and without the Secrets in "+
			"their namespaces, and from a cluster with its inventory it refuses to move into such a one",
			"create objects of clusterctl's inventory (kind Provider) for what the operator installed, in both clusters")
	default:
		b.lacks("the dump holds no provider of clusterctl's inventory (providers.clusterctl.cluster.x-k8s.io)")
	}
}
