package owners

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
)

// answer is what is known of a question.
type answer uint8

const (
	unknown answer = iota
	no
	yes
)

// served reports whether the source serves a version of a kind.
func (b *planner) served(group, kind, version string) answer {
	if (ID{Group: group, Kind: kind}).data() {
		return truth(version == "v1")
	}
	d := b.definitions[groupKind{group, kind}]
	switch {
	case d != nil:
		return truth(d.Detail.(*snapshot.Definition).Serves(version))
	case b.options.Restore && b.target != nil:
		return b.target.served(group, kind, version)
	case len(b.definitions) > 0 && !kubernetesGroups[group] && !b.options.Restore && b.options.Complete:
		return no // there are definitions, and none of this kind
	}
	return unknown
}

func truth(b bool) answer {
	if b {
		return yes
	}
	return no
}

// servedVersions lists the versions of a kind for people.
func (b *planner) servedVersions(group, kind string) string {
	if d := b.definitions[groupKind{group, kind}]; d != nil {
		if list := d.Detail.(*snapshot.Definition).Served; len(list) > 0 {
			return strings.Join(list, ", ")
		}
	}
	return "its kind has none"
}

// inspect returns the node of an owner, and remembers those that a reference does not
// name as they are. Clusterctl knows an object by the first ownerReference to it if it
// lists the object with that earlier, and then reads it by the version, kind and name in
// there (clusterctl: client/cluster/objectgraph.go, ownerToVirtualNode).
func (b *planner) inspect(n *Node, i int32, r *snapshot.Owner) *Node {
	owner := b.known(i)
	if n.movable() && !b.asIs(&b.s.Objects[i], r) {
		b.odd[i] = true
	}
	return owner
}

// asIs reports whether reading what a reference names gives the object.
func (b *planner) asIs(o *snapshot.Object, r *snapshot.Owner) bool {
	return o.Kind == r.Kind && o.Group == r.Group && o.Name == r.Name &&
		(o.Version == r.Version || b.served(r.Group, r.Kind, r.Version) != no)
}

// alias is another identity that clusterctl may know an object by.
type alias struct {
	*snapshot.Owner
	by   *Node  // whose reference it is
	edge *Edge  // that reference
	list string // the kind that is listed
	cure
	fix string
	// always is set if it does not depend on the order of kinds.
	always bool
}

// fault is what happens because of the alias.
func (a alias) fault(step Step, n *Node, format string, args ...any) Fault {
	return Fault{Step: step, Node: n, Reason: fmt.Sprintf(format, args...), Fix: a.fix, Sometimes: !a.always, cure: a.cure}
}

// identify reports what follows from references that do not name their owner as it
// is.
func (b *planner) identify() {
	if len(b.odd) == 0 {
		return
	}
	aliases := map[int32][]alias{}
	for i, n := range b.nodes {
		if n == nil || !n.movable() {
			continue
		}
		o := &b.s.Objects[i]
		seen := map[int32]bool{}
		for k := range o.Owners {
			r := &o.Owners[k]
			owner, ok := b.byUID[r.UID]
			if !ok {
				owner, ok = b.ownerByName(o, r)
			}
			if ok && b.odd[owner] && b.nodes[owner] != n && !seen[owner] {
				seen[owner] = true
				edge := n.first(func(e *Edge) bool { return e.Written && e.From == b.nodes[owner] })
				aliases[owner] = append(aliases[owner], alias{Owner: r, by: n, edge: edge, list: n.Kind + "." + n.Group})
			}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(aliases)) {
		b.judge(i, b.first(i, aliases[i]))
	}
}

// ownerByName finds the owner of a reference without a UID, or of an object
// without one.
func (b *planner) ownerByName(o *snapshot.Object, r *snapshot.Owner) (int32, bool) {
	for _, ns := range []string{o.Namespace, ""} {
		if i, ok := b.lookup(ID{Group: r.Group, Kind: r.Kind, Namespace: ns, Name: r.Name}); ok {
			return i, r.UID == "" || b.s.Objects[i].UID == ""
		}
	}
	return 0, false
}

// first keeps of each list the reference that clusterctl meets first, and none that
// it meets after the object itself.
func (b *planner) first(i int32, all []alias) []alias {
	owner := b.nodes[i]
	own := owner.Kind + "." + owner.Group
	if b.options.Restore {
		// The files are read in the order of their names, as the snapshot is.
		x := slices.MinFunc(all, func(x, y alias) int { return cmp.Compare(b.indexOf(x.by), b.indexOf(y.by)) })
		if b.indexOf(x.by) > i {
			return nil
		}
		x.always = true
		return []alias{x}
	}
	listed := owner.movable() && b.listed(owner) && len(b.external[owner]) == 0 // fetched because another names it
	// What is fetched comes after what is listed, and after the only one that names it.
	late := func(a alias) bool {
		by := b.external[a.by]
		return len(by) > 0 && (listed || !slices.ContainsFunc(by, func(n *Node) bool { return n != owner }) ||
			slices.ContainsFunc(all, func(x alias) bool { return len(b.external[x.by]) == 0 }))
	}
	best := map[string]alias{}
	for _, a := range all {
		if late(a) {
			continue
		}
		if old, ok := best[a.list]; !ok || b.earlier(a.by, old.by) {
			best[a.list] = a
		}
	}
	same, ok := best[own]
	before := ok && (!listed || b.earlier(same.by, owner))
	if ok && !before {
		delete(best, own)
	}
	var out []alias
	for _, list := range slices.Sorted(maps.Keys(best)) {
		a := best[list]
		a.always = len(best) == 1 && (!listed || before)
		out = append(out, a)
	}
	return out
}

func (b *planner) indexOf(n *Node) int32 {
	i, _ := b.lookup(n.ID)
	return i
}

// earlier reports whether the server lists one object of a kind before another. The
// Secrets in the namespaces of providers come last.
func (b *planner) earlier(x, y *Node) bool {
	return cmp.Or(
		cmp.Compare(truth(x.Namespace != b.Namespace), truth(y.Namespace != b.Namespace)),
		cmp.Compare(x.Namespace, y.Namespace),
		cmp.Compare(x.Name, y.Name)) < 0
}

// judge reports what happens if clusterctl knows an object by an alias. The list may
// hold references that name the object as it is.
func (b *planner) judge(i int32, all []alias) {
	n, o := b.nodes[i], &b.s.Objects[i]
	if !n.movable() {
		b.judgeUnlisted(n, all)
		return
	}
	for _, a := range all {
		if b.asIs(o, a.Owner) {
			continue
		}
		id, right := ID{Group: a.Group, Kind: a.Kind, Namespace: o.Namespace, Name: a.Name}, apiVersion(o.Group, o.Version)
		a.fix = fmt.Sprintf("correct the ownerReference of %s to %s: apiVersion %s, kind %s, name %s",
			a.by, n, right, o.Kind, o.Name)
		a.cure = cure{a.edge, right, o.Kind, o.Name}
		if id == n.ID {
			a.fix = fmt.Sprintf("set the apiVersion of the ownerReference of %s to %s to %s", a.by, n, right)
			a.cure = cure{at: a.edge, version: right}
		}
		ends := b.misread(i, id, a)
		if otherwise(n, id, a) {
			b.overlooked(n, ends)
			if ends == never {
				b.astray(n, a)
			}
		}
	}
}

// judgeUnlisted reports what happens if an object is never listed, so that clusterctl
// only knows the reference that it meets first.
func (b *planner) judgeUnlisted(n *Node, all []alias) {
	kindOf := func(a alias) groupKind { return groupKind{a.Group, a.Kind} }
	for i, a := range all {
		same := func(x alias) bool { return kindOf(x) == kindOf(a) }
		if slices.IndexFunc(all, same) == i {
			b.unreadable(n, kindOf(a), a.edge, slices.ContainsFunc(all, func(x alias) bool { return !same(x) }))
		}
	}
}

// misread reports what clusterctl fails to read if it knows an object by an alias,
// and returns the step in which that ends the move, or never.
func (b *planner) misread(i int32, id ID, a alias) Step {
	n := b.nodes[i]
	where, when, version := a.by.String()+", "+a.edge.at(), "", apiVersion(a.Group, a.Version)
	if !a.always {
		when = fmt.Sprintf(" if it lists the kind %s before %s, which varies between runs", a.by.Kind, n.Kind)
	}
	if step := b.mistaken(n, id); step != never {
		b.Refusals = append(b.Refusals, a.fault(step, n,
			"%s refers to it as %s; clusterctl fails to read that%s", where, id, when))
		return step
	}
	soft := n.first(func(e *Edge) bool { return e.Link == SoftOwner })
	// Under another kind clusterctl does not see what it belongs to without an
	// ownerReference: it leaves it behind, or moves it in spite of a cycle. What a label
	// marks is still moved: clusterctl reads the labels of the listed object and its kind.
	owner := func(want func(*Node) bool) bool {
		return n.first(func(e *Edge) bool { return e.Link == Owner && want(e.From) }) != nil
	}
	loose := soft != nil && otherwise(n, id, a)
	left := loose && n.Move == Unmarked && n.Hierarchy == Unmarked && !owner((*Node).takesAlong)
	moves := n.Verdict.moves()
	if !n.Wanted || !moves && (!loose || left || owner(func(o *Node) bool { return !o.Verdict.moves() })) {
		return never // because it is not read
	}
	if left {
		b.Failures = append(b.Failures, a.fault(After, n,
			"%s refers to it as %s %s, so clusterctl does not see that it belongs to %s, and leaves it behind%s",
			where, version, id, soft.From, when))
		n.below(func(to *Node) bool {
			if always, seen := b.behind[to]; seen && (always || !a.always) || !to.Verdict.moves() {
				return false
			}
			b.behind[to] = a.always
			b.resumed(a.fault(Resume, to, "it waits for its owner %s, which clusterctl leaves behind%s", n, when))
			return true
		})
		return never
	}
	other, exists := b.lookup(id)
	switch {
	case b.served(a.Group, a.Kind, a.Version) == no:
		b.Failures = append(b.Failures, a.fault(Create, n,
			"%s refers to it as %s %s, a version that is not served; clusterctl fails to read it by that name%s",
			where, version, a.Kind, when))
		return Create
	case !exists:
		b.Failures = append(b.Failures, a.fault(Create, n,
			"%s refers to it as %s %s %s, which does not exist; clusterctl fails to read it by that name%s",
			where, version, a.Kind, a.Name, when))
		return Create
	case other != i:
		b.Failures = append(b.Failures, a.fault(After, n,
			"%s refers to it as %s, so clusterctl moves that object instead%s", where, id, when))
	}
	return never
}

// otherwise reports whether clusterctl does not know by an alias what an object is. Of
// Secrets it compares the version too (objectgraph.go, getSecrets).
func otherwise(n *Node, id ID, a alias) bool {
	return id != n.ID || n.Group == "" && n.Kind == "Secret" && a.Version != "v1"
}

// takesAlong reports whether clusterctl moves what the node owns.
func (n *Node) takesAlong() bool {
	return n.Verdict.moves() && (n.Cause == root || n.Cause == ownedCause)
}

// overlooked notes that clusterctl may take an object for another one, and then does
// not look at it as it does at Clusters, ClusterClasses and Machines. A move that
// the other name ends in one step only comes to later ones under the right name.
// Refusals because of an ownerReference stay: it is read under any name. What only
// a Cluster names in another namespace is not even fetched then.
func (b *planner) overlooked(n *Node, ends Step) {
	for i := range b.Refusals {
		if r := &b.Refusals[i]; (r.Node == n && r.at == nil || b.fetchedFor(r.Node, n)) && r.Step >= Discovery && r.Step < ends {
			r.Sometimes = true
		}
	}
	for i := range b.Failures {
		f := &b.Failures[i]
		looked := f.Node == n && (f.Step == Resume || f.Step == ResumeClasses || f.Step == Ready && ends == never)
		if (looked || b.fetchedFor(f.Node, n)) && f.Step < ends {
			f.Sometimes = true
		}
	}
}

// astray reports what arrives or not if clusterctl takes an object for another one, and
// so does not look for what belongs to it by name: it leaves behind what only that object
// makes it fetch, and moves what waits for the object.
func (b *planner) astray(n *Node, a alias) {
	harm := func(to *Node, what string) {
		b.Failures = append(b.Failures, a.fault(After, to, "%s, %s refers to %s as %s %s, so clusterctl %s",
			a.by, a.edge.at(), n, apiVersion(a.Group, a.Version), a.Kind, what))
	}
	for _, to := range slices.SortedFunc(maps.Keys(b.external), func(x, y *Node) int { return cmp.Compare(x.String(), y.String()) }) {
		if to.Verdict.moves() && b.fetchedFor(to, n) {
			harm(to, "does not see that it is needed, and leaves it behind")
		}
	}
	for _, e := range n.Out {
		to := e.To
		if e.Link != SoftOwner || n.Verdict.moves() || !to.Wanted || to.Verdict.moves() {
			continue
		}
		harm(to, "moves it without that owner")
		for i := range b.Failures {
			if f := &b.Failures[i]; f.Node == to && (f.Step == Resume || f.Step == ResumeClasses) {
				f.Sometimes = true
			}
		}
	}
}

// fetchedFor reports whether clusterctl only fetches a node because of another one.
func (b *planner) fetchedFor(n, other *Node) bool {
	seen := map[*Node]bool{other: true}
	var only func(n *Node) bool
	only = func(n *Node) bool {
		for _, by := range b.external[n] {
			if seen[by] {
				continue // classes may name each other
			}
			seen[by] = true
			if !only(by) {
				return false
			}
		}
		return len(b.external[n]) > 0
	}
	return only(n)
}

// mistaken returns the step before the move begins in which clusterctl fails to read
// an object that it treats as one of another kind or name, or never.
func (b *planner) mistaken(n *Node, id ID) Step {
	binding := id.Kind == "ClusterResourceSetBinding"
	if id.Group != map[bool]string{false: coreGroup, true: addonsGroup}[binding] || b.options.Restore {
		return never
	}
	_, exists := b.lookup(id)
	step := Provisioning
	switch same := id.Kind == n.Kind && id.Group == n.Group; {
	case !same && (id.Kind == "Cluster" || binding):
		step, exists = Discovery, false
	case id.Kind == "Cluster", id.Kind == "Machine":
	case id.Kind == "ClusterClass":
		step = PauseClasses
	default:
		return never
	}
	if exists {
		return never
	}
	return step
}

// at names the ownerReference of an edge. An object that came twice, with different
// UIDs, may have references without an edge.
func (e *Edge) at() string {
	if e == nil {
		return "an ownerReference"
	}
	return "metadata.ownerReferences[" + strings.TrimPrefix(e.Field, "metadata.ownerReferences.") + "]"
}

// apiVersion joins a group and a version.
func apiVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}
