package templates

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var moveRules = &lint.Family{Prefix: "MOVE", Title: "Owners: what clusterctl move would do"}

// typesOf are the definitions of a release.
func typesOf(r *lint.Release) move.Types {
	return func(group, kind string) (move.Type, bool) {
		if c := r.CRD(group, kind); c != nil {
			return move.TypeOf(c), true
		}
		return move.Type{}, false
	}
}

// graph returns the owners of the objects in the current file and in the
// ClusterClasses that it uses. It is nil if the file cannot be read as a whole,
// because an owner might be in the rest.
func graph(p *lint.Pass) *move.Graph {
	if !p.File.Healthy() {
		return nil
	}
	objects := p.File.Objects()
	for _, class := range move.Classes(objects) {
		if f := p.Release.ClassFile(p.File, class); f != nil && f != p.File {
			objects = slices.Concat(objects, f.Objects())
		}
	}
	return move.Template(objects, typesOf(p.Release))
}

// withOwners returns the graph if an object of the file names an owner, which is
// rare.
func withOwners(p *lint.Pass) *move.Graph {
	if slices.ContainsFunc(p.File.Objects(), func(o *manifest.Object) bool {
		return o.Get("metadata", "ownerReferences") != nil
	}) {
		return graph(p)
	}
	return nil
}

// written visits the objects of the current file that have a cause because of an
// ownerReference that they carry.
func written(p *lint.Pass, cause move.Cause, visit func(*move.Node)) {
	g := withOwners(p)
	if g == nil {
		return
	}
	for _, n := range g.Nodes {
		if n.Object != nil && n.Object.File == p.File && n.Cause == cause && n.By.Written {
			visit(n)
		}
	}
}

var _ = moveRules.Add(lint.Rule{
	ID: "MOVE001", Name: "owner-left", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "An ownerReference must name an object that clusterctl moves",
	Source: "clusterctl client/cluster/mover.go, getMoveSequence; kubernetes-sigs/cluster-api issue 8387",
	Why:    `Machines are no longer managed after "clusterctl move": it moves an object only after all its owners, and silently leaves this one behind with everything it owns.`,
	Fix:    "Remove the ownerReference, or label the owner with clusterctl.cluster.x-k8s.io/move-hierarchy if clusterctl knows its kind.",
	Kinds:  rendered, Check: func(p *lint.Pass) {
		written(p, move.OwnerLeft, func(n *move.Node) {
			message := "clusterctl move leaves this " + n.Kind + " behind"
			if below := n.Below(); below > 0 {
				message += fmt.Sprintf(", with %d objects that it owns", below)
			}
			p.On(n.Object, n.By.At, "%s: %s", message, n.Reason())
		})
	},
})

var _ = moveRules.Add(lint.Rule{
	ID: "MOVE003", Name: "not-moved", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Every object of a template must have an owner or a move label",
	Source: "clusterctl provider contract, sections OwnerReferences chain and Move; clusterctl client/cluster/objectgraph.go, getMoveNodes",
	Why:    `"clusterctl move" silently leaves the object in the old management cluster, and controllers in the new one do not find it.`,
	Fix:    "Add the label clusterctl.cluster.x-k8s.io/move, or let a controller of the provider set an owner that is moved.",
	Kinds:  rendered, Check: unowned,
})

func unowned(p *lint.Pass) {
	g := graph(p)
	if g == nil || !slices.ContainsFunc(g.Nodes, func(n *move.Node) bool { return n.Object != nil && n.Hierarchy != move.Unmarked }) {
		return // without a Cluster and a class nothing is moved (TPL018, CC024)
	}
	var broken []objectRef // which TPL007 reports
	dangling(p, func(r objectRef, _ []*manifest.Object, _ *lint.Index) { broken = append(broken, r) })
	var others []*move.Node // that nothing can move
	circle := false
	for _, n := range g.Nodes {
		if n.Object == nil || n.Object.File != p.File || n.Verdict != move.Left {
			continue
		}
		switch reason(n).Cause {
		case move.NotDiscovered:
			if n.Object.Kind != "Namespace" { // which clusterctl creates in the target (TPL005)
				others = append(others, n)
			}
		case move.Unowned, move.NotOwned, move.ReferrerLeft:
			if reason(n).Cause == move.ReferrerLeft { // objects that only name each other
				if circle {
					continue
				}
				circle = true
			}
			if name := n.Object.Get("metadata", "name"); !guessed(p, n.Object, name) {
				f := lint.On(n.Object, name, "clusterctl move leaves this %s behind: %s", n.Kind, n.Reason())
				own := contract.OfClusterAPI(n.Group) || p.Release.CRD(n.Group, n.Kind) != nil // whose groups may have any name
				if !own || n.Global || reason(n).Cause == move.NotOwned {
					f.Severity = lint.Warning // the contract is about objects of providers, and what they own by name
				}
				first := cmp.Or(reason(n).Object, n.Object)
				if reason(n).Cause == move.Unowned {
					f = f.Because("owner of " + first.Name + " in " + p.File.Raw.Name) // two templates of one owner
				}
				p.Report(f.Because(view.Named(first)).Perhaps(slices.Concat(meaning(first, broken), view.Meaning(first), slotsFor(p.File, first))...))
			}
		}
	}
	if len(others) == 0 {
		return
	}
	names := phrase.List(others, (*move.Node).String)
	first := others[0].Object
	f := lint.At(p.File, first.Doc, first.Get("metadata", "name"),
		"clusterctl move leaves behind objects that run in the management cluster, %s: it only considers Secrets, ConfigMaps and kinds of providers", phrase.Few(names, 3)).As(lint.Warning)
	f.Fix = "Document how they get to the target cluster, or let a ClusterResourceSet install them in the workload cluster."
	p.Report(f)
}

// meaning are the causes of the findings about broken references that may mean an object.
func meaning(o *manifest.Object, broken []objectRef) (out []string) {
	for _, same := range []func(r objectRef) bool{
		func(r objectRef) bool { return r.name.Text() == o.Name },
		func(r objectRef) bool { return r.kind == o.Kind },
	} {
		for _, r := range broken {
			if same(r) {
				out = append(out, view.Reference(r.object, r.node))
			}
		}
	}
	return out
}

// slots are the fields that refer to objects of a group, templates or not, by the kind that has them.
var slots = []struct {
	suffix, group, path string
	template            bool
}{
	{view.ClusterKind, "infrastructure.", "spec.infrastructureRef", false},
	{view.ClusterKind, "controlplane.", "spec.controlPlaneRef", false},
	{"ControlPlane", "infrastructure.", "spec.machineTemplate.spec.infrastructureRef", true},
	{"ControlPlane", "infrastructure.", "spec.machineTemplate.infrastructureRef", true},
	{"MachineDeployment", "bootstrap.", "spec.template.spec.bootstrap.configRef", true},
	{"MachineDeployment", "infrastructure.", "spec.template.spec.infrastructureRef", true},
	{"MachinePool", "bootstrap.", "spec.template.spec.bootstrap.configRef", false},
	{"MachinePool", "infrastructure.", "spec.template.spec.infrastructureRef", false},
}

// slotsFor are the causes of findings about fields that are missing, and would refer to an
// object, or from it to its Cluster: those of objects with its name come first.
func slotsFor(f *lint.File, o *manifest.Object) []string {
	out := []string{view.FieldOf(o, "spec.clusterName")}
	for _, other := range f.Objects() {
		for _, s := range slots {
			switch path := strings.Split(s.path, "."); {
			case !strings.HasSuffix(other.Kind, s.suffix), !strings.HasPrefix(o.Group, s.group), !contract.OfClusterAPI(other.Group),
				s.template != strings.HasSuffix(o.Kind, contract.Suffix), other.Get(path...) != nil:
			case other.Name == o.Name:
				out = slices.Insert(out, 0, view.FieldOf(other, s.path))
			default:
				out = append(out, view.FieldOf(other, s.path))
			}
		}
	}
	return out
}

// reason returns the node whose cause is behind that of n, if n is only named by
// objects that stay behind.
func reason(n *move.Node) *move.Node {
	for range 100 { // objects may name each other in circles
		if n.Cause != move.ReferrerLeft {
			return n
		}
		next := n.By.By
		if next.Cause == move.Unowned || next.Cause == move.NotOwned {
			return next
		}
		n = next
	}
	return n
}

// guessed reports whether a name is up to the user, so that it may be the one that
// another object has from another variable.
func guessed(p *lint.Pass, o *manifest.Object, name *yamldoc.Node) bool {
	ref, ok := p.File.Variable(o.Doc, name)
	return ok && !p.File.IsOption(ref.Name)
}

// moveLabels are the labels for clusterctl move.
var moveLabels = []string{move.MoveLabel, move.HierarchyLabel}

// sayingNo are values of labels that are meant to switch something off.
var sayingNo = []string{"false", "no", "off", "0", "disabled"}

var _ = moveRules.Add(lint.Rule{
	ID: "MOVE004", Name: "owner-moves-alone", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "An object that owns others should have the label move-hierarchy",
	Source: "clusterctl client/cluster/objectgraph.go, setTenants",
	Why:    `"clusterctl move" silently leaves the owned objects behind and deletes them with their owner: the label clusterctl.cluster.x-k8s.io/move only covers the object itself.`,
	Fix:    "Use the label clusterctl.cluster.x-k8s.io/move-hierarchy.",
	Kinds:  rendered, Check: func(p *lint.Pass) {
		written(p, move.OwnerAlone, func(n *move.Node) {
			p.On(n.Object, n.By.At, "clusterctl move leaves this %s behind: %s", n.Kind, n.Reason())
		})
	},
})

var _ = moveRules.Add(lint.Rule{
	ID: "MOVE006", Name: "label-value-ignored", Severity: lint.Info, Proof: lint.Clusterctl,
	Title:  `Move labels have no value such as "false"`,
	Source: "clusterctl client/cluster/objectgraph.go, objMetaToNode and getDiscoveryTypes",
	Why:    "clusterctl moves the object regardless of the value, because only the presence of the label counts.",
	Fix:    "Remove the label.",
	Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		labels := o.Get("metadata", "labels")
		for _, label := range moveLabels {
			if value := labels.Get(label); value != nil && slices.Contains(sayingNo, strings.ToLower(value.Text())) {
				p.On(o, value, "the label %s moves the %s regardless of its value", label, moved(o))
			}
		}
	}),
})

// moved says what a label on an object moves.
func moved(o *manifest.Object) string {
	if o.Is(crd.Group, crd.Kind) {
		return "objects of this kind"
	}
	return o.Kind
}

var _ = moveRules.Add(lint.Rule{
	ID: "MOVE007", Name: "label-without-effect", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Move labels should only be on objects that clusterctl considers",
	Source: "clusterctl client/cluster/objectgraph.go, Discovery",
	Why:    "The object is not moved: clusterctl only considers kinds of providers in the namespace of the Clusters, and Secrets in the namespaces of infrastructure providers.",
	Fix:    "Remove the label, and document how the object gets to the target cluster.",
	Kinds:  []layouts.FileKind{layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass}, Check: labelWithoutEffect,
})

func labelWithoutEffect(p *lint.Pass) {
	components := p.File.Kind == layouts.Components
	for _, o := range p.File.Objects() {
		labels := o.Get("metadata", "labels")
		if labels == nil || o.Is(crd.Group, crd.Kind) {
			continue
		}
		for _, label := range moveLabels {
			at := labels.Get(label)
			if at == nil {
				continue
			}
			scope := move.ScopeOf(o.Group, o.Kind, typesOf(p.Release))
			definition := p.Release.CRD(o.Group, o.Kind)
			switch {
			case scope == move.Ignored:
				p.On(o, at, "the label %s has no effect on kind %s: clusterctl only considers Secrets, ConfigMaps and kinds of providers", label, o.Kind)
			case definition == nil && move.Foreign(o.Group, o.Kind) && p.Release.Own: // stays open
			case definition == nil && move.Foreign(o.Group, o.Kind):
				p.Report(lint.On(o, at, "whether the label %s moves this %s is not known: clusterctl only considers kinds whose CRD has the label clusterctl.cluster.x-k8s.io, and the release does not define %s",
					label, o.Kind, o.Kind).As(lint.Info).Without(crd.Kind + " "))
			case !components:
			case o.Group == "" && o.Kind == "Secret" && p.Release.Provider.Type == layouts.Infrastructure:
			case o.Group == "" && o.Kind == "Secret":
				p.On(o, at, "the label %s has no effect on this Secret: clusterctl only considers namespaces of infrastructure providers and Clusters", label)
			case o.Group == "" && o.Kind == "ConfigMap", definition != nil && definition.Scope == "Namespaced":
				p.On(o, at, "the label %s has no effect on this %s: clusterctl only considers the namespace of the Clusters", label, o.Kind)
			}
		}
	}
}

var _ = moveRules.Add(lint.Rule{
	ID: "MOVE008", Name: "block-move", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Published objects must not have the annotation that blocks a move",
	Source: "clusterctl provider contract, section Move; clusterctl client/cluster/mover.go, waitReadyForMove",
	Why:    `"clusterctl move" pauses the Clusters, waits about two minutes for the annotation to disappear, and fails.`,
	Fix:    "Remove the annotation. A controller that needs time sets it at run time, and removes it when the Cluster is paused.",
	Kinds:  rendered, Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		at := o.Get("metadata", "annotations", move.BlockMoveAnnotation)
		if at == nil || move.ScopeOf(o.Group, o.Kind, typesOf(p.Release)) == move.Ignored {
			return
		}
		f := lint.At(p.File, o.Doc, at, "the annotation %s blocks every clusterctl move of this %s until it is removed",
			move.BlockMoveAnnotation, o.Kind)
		if move.Foreign(o.Group, o.Kind) {
			f.Severity = lint.Warning // the controller of the provider may do that
		}
		p.Report(f)
	}),
})

var _ = moveRules.Add(lint.Rule{
	ID: "MOVE010", Name: "owner-cycle", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Ownership must not form a cycle",
	Source: "clusterctl client/cluster/mover.go, getMoveSequence",
	Why:    `"clusterctl move" silently leaves all these objects behind, with everything they own, because each waits for another.`,
	Fix:    "Remove the ownerReference of an object that moves without it, such as one with a move label.",
	Kinds:  rendered, Check: func(p *lint.Pass) {
		seen := map[*move.Node]bool{}
		written(p, move.Cycle, func(first *move.Node) {
			if seen[first] {
				return
			}
			names := []string{first.String()}
			for n := first; !seen[n]; n = n.By.From {
				seen[n] = true
				names = append(names, n.By.From.String())
			}
			p.On(first.Object, first.By.At, "the owners form a cycle: %s", strings.Join(names, ", owned by "))
		})
	},
})

var _ = moveRules.Add(lint.Rule{
	ID: "MOVE011", Name: "identity-hierarchy", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Cluster-wide identities should move with their credentials",
	Source: "clusterctl provider contract, section Move; clusterctl client/cluster/objectgraph.go, getDiscoveryTypes",
	Why:    `Clusters that use the identity cannot reconcile in the target cluster: a Cluster cannot own a cluster-wide object, so "clusterctl move" leaves the identity and its Secret behind.`,
	Fix:    "Label the CustomResourceDefinition with clusterctl.cluster.x-k8s.io/move-hierarchy.",
	Kinds:  []layouts.FileKind{layouts.Components}, Check: identityHierarchy,
})

func identityHierarchy(p *lint.Pass) {
	for _, c := range p.Release.CRDs() {
		if c.Object.File != p.File || c.Scope != "Cluster" {
			continue
		}
		switch t := move.TypeOf(c); {
		case t.Hierarchy:
		case !strings.HasSuffix(c.Kind, "Identity"):
			if t.Move {
				p.Report(lint.On(c.Object, c.Object.Get("metadata", "labels", move.MoveLabel),
					"clusterctl move copies %s objects, and leaves the originals in the source for the user to remove", c.Kind).As(lint.Info))
			}
		case t.Move:
			p.On(c.Object, c.Object.Get("metadata", "labels", move.MoveLabel),
				"clusterctl move takes %s objects, but leaves the Secrets that they own behind", c.Kind)
		default:
			p.On(c.Object, c.Object.Get("metadata", "name"), "clusterctl move leaves %s objects behind", c.Kind)
		}
	}
}
