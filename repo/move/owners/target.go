package owners

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// target is the management cluster to which objects are moved.
type target struct {
	s           *snapshot.Snapshot
	complete    bool
	definitions map[groupKind]*snapshot.Definition
	objects     map[ID]*snapshot.Object
	providers   []*snapshot.Object
	namespaces  bool // whether Namespaces are in the snapshot
	doomed      map[*Node]bool
}

func newTarget(s *snapshot.Snapshot, complete bool) *target {
	t := &target{s: s, complete: complete, definitions: map[groupKind]*snapshot.Definition{}, objects: map[ID]*snapshot.Object{}, doomed: map[*Node]bool{}}
	for i := range s.Objects {
		o := &s.Objects[i]
		t.objects[idOf(o)] = o
		switch d := o.Detail.(type) {
		case *snapshot.Definition:
			t.definitions[groupKind{d.Group, d.Kind}] = d
		case *snapshot.Provider:
			t.providers = append(t.providers, o)
		}
		t.namespaces = t.namespaces || o.Group == "" && o.Kind == "Namespace"
	}
	return t
}

// served reports whether the target serves a version of a kind.
func (t *target) served(group, kind, version string) answer {
	d := t.definitions[groupKind{group, kind}]
	switch {
	case d != nil:
		return truth(d.Serves(version))
	case kubernetesGroups[group], len(t.definitions) == 0:
		return unknown
	}
	return no
}

// compare reports what the target refuses or lacks.
func (b *planner) compare() {
	t := b.target
	if t == nil {
		return
	}
	b.targetContract(t)
	if !b.Restore {
		b.targetProviders(t)
	}
	b.targetKinds(t)
	b.targetNamespaces(t)
	b.targetObjects(t)
	b.targetExtensions(t)
}

// targetContract checks the storage version of Clusters (clusterctl:
// client/cluster/inventory.go, CheckCAPIContract).
func (b *planner) targetContract(t *target) {
	n := &Node{ID: ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "clusters." + coreGroup}}
	switch d := t.definitions[groupKind{coreGroup, "Cluster"}]; {
	case d != nil && d.Storage != contractVersion:
		b.refusal(contract, n, "upgrade Cluster API in the target first", "the target stores Clusters in version %q, but clusterctl v1.14 only moves to clusters that store %s", d.Storage, contractVersion)
	case d == nil && t.complete:
		b.refusal(contract, n, "run clusterctl init in the target first",
			"the target does not have this definition, so it is not a management cluster")
	case d == nil:
		b.gap("the target's definitions (CRDs) are missing, so its API versions cannot be compared")
	}
}

// targetProviders checks that the target has each provider, in no older version
// (clusterctl: client/cluster/mover.go, checkTargetProviders).
func (b *planner) targetProviders(t *target) {
	if len(t.providers) == 0 && !t.complete {
		b.gap("the target's providers (providers.clusterctl.cluster.x-k8s.io) are missing, so their versions cannot be compared")
		return
	}
	for i := range b.s.Objects {
		o := &b.s.Objects[i]
		p, ok := o.Detail.(*snapshot.Provider)
		if !ok {
			continue
		}
		n := &Node{ID: idOf(o)}
		want, err := version(p.Version)
		if err != nil {
			b.refusal(providers, n, "correct the field version of "+n.String(), "clusterctl cannot read its version %q",
				p.Version)
			continue
		}
		var newest *semver.Version
		for _, other := range t.providers {
			q := other.Detail.(*snapshot.Provider)
			if q.Type != p.Type || q.Name != p.Name {
				continue
			}
			v, err := version(q.Version)
			if err != nil {
				b.refusal(providers, n, "correct the field version in the target",
					"clusterctl cannot read its version %q in the target", q.Version)
				newest = want
				break
			}
			if newest == nil || newest.LessThan(v) {
				newest = v
			}
		}
		switch {
		case newest == nil:
			b.refusal(providers, n, "install it in the target with clusterctl init", "the target does not have this provider")
		case newest.LessThan(want):
			b.refusal(providers, n, fmt.Sprintf("upgrade it in the target to %s or newer", p.Version),
				"the target has v%s, which is older than %s in the source", newest, p.Version)
		}
	}
}

// version reads a version as clusterctl does, which wants all three parts.
func version(text string) (*semver.Version, error) {
	return semver.StrictNewVersion(strings.TrimPrefix(text, "v"))
}

// moving visits the objects that are made in the target, in their order.
func (b *planner) moving(visit func(n *Node, o *snapshot.Object)) {
	for i, n := range b.nodes {
		if n != nil && n.Verdict.moves() {
			visit(n, &b.s.Objects[i])
		}
	}
}

// targetKinds checks that the target serves what is made there.
func (b *planner) targetKinds(t *target) {
	type key struct{ group, kind, version string }
	count := map[key]int{}
	first := map[key]*Node{}
	var order []key
	b.moving(func(n *Node, o *snapshot.Object) {
		if n.data() {
			return
		}
		k := key{o.Group, o.Kind, o.Version}
		if count[k]++; count[k] == 1 {
			first[k] = n
			order = append(order, k)
		}
	})
	for _, k := range order {
		if d := t.definitions[groupKind{k.group, k.kind}]; d != nil && d.Global != (first[k].Namespace == "") {
			scope := map[bool]string{false: "has namespaces", true: "has no namespaces"}
			b.failure(Create, first[k],
				"install the version of the provider in the target that defines "+k.kind+" as the source does",
				"%s %s in the target, but %s in the source, so it cannot be created", k.kind, scope[d.Global], scope[!d.Global])
			continue
		}
		if t.served(k.group, k.kind, k.version) != no {
			continue
		}
		reason := fmt.Sprintf("the target does not serve %s %s", apiVersion(k.group, k.version), k.kind)
		if d := t.definitions[groupKind{k.group, k.kind}]; d != nil && len(d.Served) > 0 {
			reason += ", only " + strings.Join(d.Served, ", ")
		}
		if n := count[k]; n > 1 {
			reason += fmt.Sprintf("; %d objects of the move need it", n)
		}
		b.failure(Create, first[k], "install or upgrade the provider in the target that defines "+k.kind, "%s", reason)
	}
}

// targetNamespaces checks that objects can be made in their namespaces. Those that
// are missing clusterctl creates.
func (b *planner) targetNamespaces(t *target) {
	done := map[string]bool{}
	b.moving(func(n *Node, _ *snapshot.Object) {
		if n.Namespace == "" || done[n.Namespace] {
			return
		}
		done[n.Namespace] = true
		o := t.objects[ID{Kind: "Namespace", Name: n.Namespace}]
		switch {
		case o != nil && o.Has(snapshot.Deleting):
			b.failure(Create, n, "wait until the namespace is gone",
				"the namespace %s in the target is being deleted, so nothing can be created there", n.Namespace)
		case o == nil && (t.namespaces || t.complete):
			b.note(Create, &Node{ID: ID{Kind: "Namespace", Name: n.Namespace}}, "create it before the move if it needs any",
				"it does not exist in the target; clusterctl creates it without labels, annotations or quotas")
		}
	})
}

// targetObjects reports what exists already: clusterctl updates it, and leaves
// global objects with what they own as they are (mover.go, createTargetObject).
func (b *planner) targetObjects(t *target) {
	b.moving(func(n *Node, o *snapshot.Object) {
		there := t.objects[n.ID]
		if there == nil {
			b.orphan(t, n)
			return
		}
		class, isClass := o.Detail.(*snapshot.Class)
		other, _ := there.Detail.(*snapshot.Class)
		differs := isClass && other != nil && class.Digest != other.Digest
		switch {
		case b.Restore, n.Verdict == Copied && !n.Keep:
			b.note(Create, n, "compare the two, and delete the one in the target if it must be replaced",
				"it already exists in the target; clusterctl keeps that one as it is, whatever it contains")
		case differs:
			b.failure(After, n, "rename one of the two, or make them identical before the move",
				"a different ClusterClass of this name exists in the target; it is overwritten, and all Clusters there that use it change%s", users(t, n))
		case isClass && other != nil:
			b.note(Create, n, "nothing, if it is meant to be shared",
				"the same ClusterClass exists in the target and is updated")
		default:
			state := ""
			if _, ok := there.Detail.(*snapshot.Cluster); ok && isPaused(there) {
				state = "; it is paused, as after a move that failed"
			}
			b.failure(After, n, "delete or rename the one in the target, unless an earlier move left it there",
				"an object of this name already exists in the target and is overwritten%s", state)
		}
	})
}

// orphan reports an object that is made in the target for owners of which clusterctl
// keeps those that are there. It does not learn their UIDs, and so writes those of the
// source, which Kubernetes treats as owners that are gone (mover.go,
// createTargetObject and buildOwnerChain).
func (b *planner) orphan(t *target, n *Node) {
	if b.Restore || !b.doomed(t, n) {
		return
	}
	owner := n.first(func(e *Edge) bool { return e.Link == Owner }).From
	b.failure(After, n, "delete the global object that owns it in the target before the move, or create this object in the target again after the move, owned by the object that is there",
		"Kubernetes deletes it in the target, because it names the UID that its owner %s has in the source", owner)
}

// doomed reports whether all owners of an object are kept as they are in the target,
// or doomed themselves.
func (b *planner) doomed(t *target, n *Node) bool {
	if t.doomed[n] {
		return true
	}
	all := false
	for _, e := range n.In {
		if e.Link != Owner {
			continue
		}
		kept := e.From.Verdict == Copied && !e.From.Keep
		if all = t.objects[e.From.ID] != nil && kept || t.objects[e.From.ID] == nil && b.doomed(t, e.From); !all {
			break
		}
	}
	if all {
		t.doomed[n] = true
	}
	return all
}

func users(t *target, class *Node) string {
	var names []string
	for i := range t.s.Objects {
		o := &t.s.Objects[i]
		if c, ok := o.Detail.(*snapshot.Cluster); ok && c.Class == class.Name &&
			cmp.Or(c.ClassNamespace, o.Namespace) == class.Namespace {
			names = append(names, o.Namespace+"/"+o.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return ": " + phrase.Few(names, 8)
}

// targetExtensions checks that the ClusterClasses that are moved find the handlers
// that they call.
func (b *planner) targetExtensions(t *target) {
	observed(b, func(n *Node, _ *snapshot.Object, c *snapshot.Class) {
		if !n.Verdict.moves() {
			return
		}
		for _, handler := range c.Extensions {
			_, name, _ := strings.Cut(handler, ".")
			o := t.objects[ID{Group: runtimeGroup, Kind: "ExtensionConfig", Name: name}]
			hurts := func(fix, format string, args ...any) {
				b.failure(After, n, fix, "it calls %s, but %s; its Clusters cannot be reconciled", handler,
					fmt.Sprintf(format, args...))
			}
			var config *snapshot.Extension
			if o != nil {
				config, _ = o.Detail.(*snapshot.Extension)
			}
			moves := b.Find(ID{Group: runtimeGroup, Kind: "ExtensionConfig", Name: name})
			switch {
			case o == nil && moves != nil && moves.Verdict.moves():
			case o == nil:
				hurts(fmt.Sprintf("install the extension in the target and create the ExtensionConfig %s before the move", name),
					"the target has no ExtensionConfig %s", name)
			case config == nil:
			case !config.Discovered:
				why := ""
				if config.Message != "" {
					why = ": " + config.Message
				}
				hurts("make the extension reachable from the target, until the condition Discovered is True",
					"Cluster API in the target cannot reach ExtensionConfig %s (Discovered is not True%s)", name, why)
			case !slices.Contains(config.Handlers, handler) && !slices.Contains(config.Handlers, strings.TrimSuffix(handler, "."+name)):
				hurts("install the version of the extension that has this handler",
					"ExtensionConfig %s in the target does not list that handler", name)
			}
		}
	})
}
