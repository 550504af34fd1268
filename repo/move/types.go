package move

import "github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"

// Type is what the definition of a kind says about its objects.
type Type struct {
	// Move and Hierarchy tell whether the definition carries the labels.
	Move, Hierarchy bool
	// Global is set if the kind has no namespaces.
	Global bool
	// unlisted says why clusterctl does not list the objects, such as that the definition
	// lacks the label by which it finds kinds, which it sets on what it installs.
	unlisted string
}

// Types tells what is known of a kind; known is false if its definition is not at
// hand. It is not asked about kinds of Cluster API and Kubernetes themselves.
type Types func(group, kind string) (t Type, known bool)

// TypeOf reads the labels of a definition, and its scope.
func TypeOf(c *crd.CRD) Type {
	_, move := c.Object.Label(MoveLabel)
	_, hierarchy := c.Object.Label(HierarchyLabel)
	return Type{Move: move, Hierarchy: hierarchy, Global: c.Scope == "Cluster"}
}

// Groups of Cluster API and of what comes with it.
const (
	coreGroup         = "cluster.x-k8s.io"
	addonsGroup       = "addons.cluster.x-k8s.io"
	bootstrapGroup    = "bootstrap.cluster.x-k8s.io"
	controlPlaneGroup = "controlplane.cluster.x-k8s.io"
	runtimeGroup      = "runtime.cluster.x-k8s.io"
	certManagerGroup  = "cert-manager.io"
)

type groupKind struct{ group, kind string }

// ours are the kinds whose controllers are known to this package: what they own
// is in the tables of this package, and they own nothing else. None of their
// definitions carries a label; those with a hierarchy are built into clusterctl
// (objectgraph.go, getDiscoveryTypes). The definitions of cert-manager are
// discovered if clusterctl installed it.
var ours = map[groupKind]Type{
	{coreGroup, "Cluster"}:                             {Hierarchy: true},
	{coreGroup, "ClusterClass"}:                        {Hierarchy: true},
	{coreGroup, "Machine"}:                             {},
	{coreGroup, "MachineSet"}:                          {},
	{coreGroup, "MachineDeployment"}:                   {},
	{coreGroup, "MachinePool"}:                         {},
	{coreGroup, "MachineHealthCheck"}:                  {},
	{coreGroup, "MachineDrainRule"}:                    {},
	{addonsGroup, "ClusterResourceSet"}:                {Hierarchy: true},
	{addonsGroup, "ClusterResourceSetBinding"}:         {},
	{bootstrapGroup, "KubeadmConfig"}:                  {},
	{bootstrapGroup, "KubeadmConfigTemplate"}:          {},
	{controlPlaneGroup, "KubeadmControlPlane"}:         {},
	{controlPlaneGroup, "KubeadmControlPlaneTemplate"}: {},
	{runtimeGroup, "ExtensionConfig"}:                  {Global: true},
	{certManagerGroup, "Certificate"}:                  {},
	{certManagerGroup, "Issuer"}:                       {},
	{certManagerGroup, "ClusterIssuer"}:                {Global: true},
}

// kubernetesGroups are those of Kubernetes itself. Definitions may have names that
// end in k8s.io too.
var kubernetesGroups = map[string]bool{
	"": true, "apps": true, "autoscaling": true, "batch": true, "extensions": true, "policy": true,
	"admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true,
	"authentication.k8s.io": true, "authorization.k8s.io": true, "certificates.k8s.io": true,
	"coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true,
	"flowcontrol.apiserver.k8s.io": true, "internal.apiserver.k8s.io": true, "networking.k8s.io": true,
	"node.k8s.io": true, "rbac.authorization.k8s.io": true, "resource.k8s.io": true,
	"scheduling.k8s.io": true, "storage.k8s.io": true, "storagemigration.k8s.io": true,
}

// data reports whether an object is a Secret or ConfigMap, the only kinds of
// Kubernetes that clusterctl looks at.
func (id ID) data() bool { return id.Group == "" && (id.Kind == "Secret" || id.Kind == "ConfigMap") }

// ofKubernetes reports whether the kind is one of Kubernetes itself.
func (id ID) ofKubernetes() bool { return kubernetesGroups[id.Group] }

// ours reports whether the controllers of the kind are known.
func (id ID) ours() bool {
	_, ok := ours[groupKind{id.Group, id.Kind}]
	return ok
}

// foreign reports whether controllers that are not known look after the kind.
func (id ID) foreign() bool { return !id.ours() && !id.ofKubernetes() }

// metadata are the labels and annotations of an object.
type metadata interface {
	Label(key string) (value string, ok bool)
	Annotation(key string) (value string, ok bool)
}

// NewNode returns the node of an object, with what its kind and its labels say
// (clusterctl: client/cluster/objectgraph.go, objMetaToNode). Types may be nil.
func NewNode(id ID, m metadata, types Types) *Node {
	n := &Node{ID: id}
	n.classify(types)
	if n.Scope == Ignored {
		return n
	}
	_, hierarchy := m.Label(HierarchyLabel)
	_, move := m.Label(MoveLabel)
	_, block := m.Annotation(BlockMoveAnnotation)
	n.carries(hierarchy, move, block)
	if n.Group == certManagerGroup && (hierarchy || move) {
		n.Scope = undefined // others may have installed it
	}
	return n
}

// carries says which labels and annotation the object itself has.
func (n *Node) carries(hierarchy, move, block bool) {
	if hierarchy && n.Hierarchy == Unmarked {
		n.Hierarchy = onObject
	}
	if move && n.Move == Unmarked {
		n.Move = onObject
	}
	n.BlockMove = block
}

// classify fills in what the kind of a node says.
func (n *Node) classify(types Types) {
	t, known := ours[groupKind{n.Group, n.Kind}]
	mark := builtIn
	switch {
	case n.data():
		return
	case known:
	case n.ofKubernetes():
		n.Scope = Ignored
		return
	default:
		if types != nil {
			t, known = types(n.Group, n.Kind)
		}
		if !known {
			n.Scope = undefined
			return
		}
		mark = onType
	}
	n.Global = t.Global
	if n.unlisted = t.unlisted; t.unlisted != "" {
		n.Scope = Ignored
		return
	}
	if t.Hierarchy { // which implies the other one
		n.Move, n.Hierarchy = mark, mark
	} else if t.Move {
		n.Move = mark
	}
}

// ScopeOf says what clusterctl does with the objects of a kind. Types may be nil.
func ScopeOf(group, kind string, types Types) scope {
	n := Node{ID: ID{Group: group, Kind: kind}}
	n.classify(types)
	return n.Scope
}

// Foreign reports whether a kind belongs to a provider, whose controllers this
// package does not know.
func Foreign(group, kind string) bool { return ID{Group: group, Kind: kind}.foreign() }
