package move

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

func parse(text string) []*manifest.Object {
	return manifest.New(repo.BytesArtifact("template.yaml", nil), layouts.Asset, []byte(text)).Objects()
}

// foo are the kinds of a provider.
func foo(group, kind string) (Type, bool) {
	t, ok := map[string]Type{
		"FooCluster": {}, "FooMachine": {}, "FooMachineTemplate": {}, "FooClusterTemplate": {}, "FooPool": {}, "FooMachinePool": {},
		"FooMoved":        {Move: true},
		"FooIdentity":     {Hierarchy: true, Global: true},
		"FooGlobal":       {Global: true},
		"FooBootstrap":    {},
		"FooControlPlane": {},
	}[kind]
	return t, ok && group == "foo.cluster.x-k8s.io"
}

// object writes an object in short: KIND NAME and what follows the metadata.
func object(api, kind, name, rest string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n%s---\n", api, kind, name, rest)
}

const (
	core   = "cluster.x-k8s.io/v1beta2"
	old    = "cluster.x-k8s.io/v1beta1"
	addons = "addons.cluster.x-k8s.io/v1beta2"
	prov   = "foo.cluster.x-k8s.io/v1"
)

var theCluster = object(core, "Cluster", "c", "spec: {paused: false}\n")

// TestTemplate derives the owners of one object, named x, from each kind of
// reference.
func TestTemplate(t *testing.T) {
	label := func(l string) string { return "  labels: {" + l + ": \"\"}\n" }
	secret := func(rest string) string { return object("v1", "Secret", "x", rest) }
	byVariable := func(more string) string {
		return object(core, "ClusterClass", "cc", "spec: {variables: [{name: v, schema: {openAPIV3Schema: {type: string, "+more+"}}}], patches: [{name: p, definitions: [{jsonPatches: [{op: add, path: /spec/a, valueFrom: {variable: v}}]}]}]}\n")
	}
	md := func(api, field string) string {
		return object(api, "MachineDeployment", "md", "spec: {clusterName: c, template: {spec: "+field+"}}\n")
	}
	for _, c := range []struct {
		name, text string
		verdict    Verdict
		cause      Cause
		reason     string // a part of it
	}{
		// The core controllers.
		{
			"infrastructureRef, v1beta2", object(core, "Cluster", "c", "spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooCluster, name: x}}\n") + object(prov, "FooCluster", "x", ""),
			Moves, ownedCause, "its owner Cluster c: the Cluster controller",
		},
		{
			"infrastructureRef, v1beta1", object(old, "Cluster", "c", "spec: {infrastructureRef: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooCluster, name: x}}\n") + object(prov, "FooCluster", "x", ""),
			Moves, ownedCause, "Cluster c",
		},
		{
			"infrastructureRef of another group", object(core, "Cluster", "c", "spec: {infrastructureRef: {apiGroup: bar.cluster.x-k8s.io, kind: FooCluster, name: x}}\n") + object(prov, "FooCluster", "x", ""),
			Left, Unowned, "nothing refers to it",
		},
		{
			"controlPlaneRef", object(core, "Cluster", "c", "spec: {controlPlaneRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooControlPlane, name: x}}\n") + object(prov, "FooControlPlane", "x", ""),
			Moves, ownedCause, "Cluster c",
		},
		{
			"Machine, bootstrap", theCluster + object(core, "Machine", "m", "spec: {clusterName: c, bootstrap: {configRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooBootstrap, name: x}}}\n") + object(prov, "FooBootstrap", "x", ""),
			Moves, ownedCause, "its owner Machine m",
		},
		{
			"Machine, infrastructure", theCluster + object(core, "Machine", "m", "spec: {clusterName: c, infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMachine, name: x}}\n") + object(prov, "FooMachine", "x", ""),
			Moves, ownedCause, "its owner Machine m",
		},
		{
			"Machine, data secret", theCluster + object(core, "Machine", "m", "spec: {clusterName: c, bootstrap: {dataSecretName: x}}\n") + secret(""),
			Left, NotOwned, "Machine m refers to it in spec.bootstrap.dataSecretName, but no controller",
		},
		{
			"MachineDeployment, template", theCluster + md(core, "{infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMachineTemplate, name: x}}") + object(prov, "FooMachineTemplate", "x", ""),
			Moves, ownedCause, "its owner Cluster c: the MachineDeployment controller",
		},
		{
			"MachineDeployment, bootstrap template", theCluster + md(old, "{bootstrap: {configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: x}}}") + object("bootstrap.cluster.x-k8s.io/v1beta1", "KubeadmConfigTemplate", "x", ""),
			Moves, ownedCause, "Cluster c",
		},
		{
			"MachineDeployment, no template", theCluster + md(core, "{bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: x}}}") + object("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", "x", ""),
			Left, NotOwned, "MachineDeployment md refers to it in spec.template.spec.bootstrap.configRef, but no controller",
		},
		{
			"MachineSet", theCluster + object(core, "MachineSet", "ms", "spec: {clusterName: c, template: {spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMachineTemplate, name: x}}}}\n") + object(prov, "FooMachineTemplate", "x", ""),
			Moves, ownedCause, "MachineSet controller",
		},
		{
			"MachinePool, infrastructure", theCluster + object(core, "MachinePool", "mp", "spec: {clusterName: c, template: {spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMachinePool, name: x}}}}\n") + object(prov, "FooMachinePool", "x", ""),
			Moves, ownedCause, "its owner MachinePool mp",
		},
		{
			"MachinePool, bootstrap", theCluster + object(core, "MachinePool", "mp", "spec: {clusterName: c, template: {spec: {bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfig, name: x}}}}}\n") + object("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", "x", ""),
			Moves, ownedCause, "its owner MachinePool mp",
		},
		{"MachineHealthCheck", theCluster + object(core, "MachineHealthCheck", "x", "spec: {clusterName: c}\n"), Moves, ownedCause, "Cluster c"},
		{"Cluster that is only named", object(core, "MachineDeployment", "x", "spec: {clusterName: elsewhere}\n"), Moves, ownedCause, "Cluster elsewhere"},
		{
			"remediation template", theCluster + object(core, "MachineHealthCheck", "h", "spec: {clusterName: c, remediation: {templateRef: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooMachineTemplate, name: x}}}\n") + object(prov, "FooMachineTemplate", "x", ""),
			Unclear, mayBeOwned, "MachineHealthCheck h may become its owner because of MachineHealthCheck h, spec.remediation.templateRef",
		},
		{"drain rule", theCluster + object(core, "MachineDrainRule", "x", "spec: {}\n"), Left, Unowned, ""},
		{"ExtensionConfig", theCluster + object("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", "x", ""), Left, Unowned, ""},

		// The control plane.
		{
			"KubeadmControlPlane, v1beta1", object(old, "Cluster", "c", "spec: {controlPlaneRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, name: k}}\n") +
				object("controlplane.cluster.x-k8s.io/v1beta1", "KubeadmControlPlane", "k", "spec: {machineTemplate: {infrastructureRef: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooMachineTemplate, name: x}}}\n") + object(prov, "FooMachineTemplate", "x", ""),
			Moves, ownedCause, "its owner Cluster c: the KubeadmControlPlane controller",
		},
		{
			"KubeadmControlPlane, v1beta2", object(core, "Cluster", "c", "spec: {controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: k}}\n") +
				object("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", "k", "spec: {machineTemplate: {spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMachineTemplate, name: x}}}}\n") + object(prov, "FooMachineTemplate", "x", ""),
			Moves, ownedCause, "Cluster c",
		},
		{
			"another control plane", object(core, "Cluster", "c", "spec: {controlPlaneRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooControlPlane, name: k}}\n") +
				object(prov, "FooControlPlane", "k", "spec: {machineTemplate: {infrastructureRef: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooMachineTemplate, name: x}}}\n") + object(prov, "FooMachineTemplate", "x", ""),
			Unclear, mayBeOwned, "FooControlPlane k may become its owner",
		},
		{
			"files of kubeadm", object(core, "Cluster", "c", "spec: {controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: k}}\n") +
				object("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", "k", "spec: {kubeadmConfigSpec: {files: [{contentFrom: {secret: {name: x, key: k}}}]}}\n") + secret(""),
			Left, NotOwned, "KubeadmControlPlane k refers to it in spec.kubeadmConfigSpec.files.0.contentFrom.secret",
		},

		// Classes.
		{
			"class, v1beta2", object(core, "ClusterClass", "cc", "spec: {workers: {machineDeployments: [{}, {infrastructure: {templateRef: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooMachineTemplate, name: x}}}]}}\n") + object(prov, "FooMachineTemplate", "x", ""),
			Moves, ownedCause, "its owner ClusterClass cc",
		},
		{
			"class, v1beta1", object(old, "ClusterClass", "cc", "spec: {workers: {machinePools: [{template: {bootstrap: {ref: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooMachineTemplate, name: x}}}}]}}\n") + object(prov, "FooMachineTemplate", "x", ""),
			Moves, ownedCause, "its owner ClusterClass cc",
		},
		{
			"template that the class does not use", object(core, "ClusterClass", "cc", "spec: {infrastructure: {templateRef: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooClusterTemplate, name: y}}}\n") + object(prov, "FooClusterTemplate", "x", ""),
			Left, Unowned, "nothing refers to it",
		},
		{
			"secret for a topology", object(core, "Cluster", "c", "spec: {topology: {classRef: {name: cc}, version: v1.34.0}}\n") + secret(""),
			Unclear, mayBeOwned, "Cluster c, spec.topology: patches and templates of the ClusterClass decide",
		},
		{
			"variable of a topology", object(core, "Cluster", "c", "spec: {topology: {classRef: {name: cc}, variables: [{name: v, value: {secret: {name: x}}}]}}\n") + secret(""),
			Unclear, mayBeOwned, "spec.topology.variables.0.value.secret",
		},
		{
			"value of a variable that a patch writes", object(core, "Cluster", "c", "spec: {topology: {classRef: {name: cc}, variables: [{name: v, value: x}]}}\n") + byVariable("") + secret(""),
			Unclear, mayBeOwned, "Cluster c, spec.topology: patches and templates of the ClusterClass decide",
		},
		{
			"default of a variable that a patch writes", object(core, "Cluster", "c", "spec: {topology: {classRef: {name: cc}}}\n") + byVariable("default: x") + secret(""),
			Unclear, mayBeOwned, "Cluster c, spec.topology: patches and templates of the ClusterClass decide",
		},
		{
			"another value of a variable", object(core, "Cluster", "c", "spec: {topology: {classRef: {name: cc}}}\n") + byVariable("default: y") + secret(""),
			Left, Unowned, "nothing refers to it",
		},
		{
			"a class takes its Clusters with it", object(core, "ClusterClass", "cc", "  ownerReferences: [{apiVersion: fleet/v1, kind: Bundle, name: b, uid: u}]\nspec: {}\n") + object(old, "Cluster", "x", "spec: {topology: {class: cc}}\n"),
			Left, OwnerLeft, "its owner ClusterClass cc is not moved",
		},

		// ClusterResourceSets.
		{
			"resource", object(core, "Cluster", "c", "  labels: {cni: a}\n") + object(addons, "ClusterResourceSet", "r", "spec: {clusterSelector: {matchLabels: {cni: a}}, resources: [{kind: ConfigMap, name: absent}, {kind: ConfigMap, name: x}]}\n") + object("v1", "ConfigMap", "x", ""),
			Moves, ownedCause, "its owner ClusterResourceSet r",
		},
		{
			"resource, expression", object(core, "Cluster", "c", "  labels: {cni: a}\n") + object(addons, "ClusterResourceSet", "r", "spec: {clusterSelector: {matchExpressions: [{key: cni, operator: In, values: [b, a]}, {key: z, operator: DoesNotExist}]}, resources: [{kind: ConfigMap, name: x}]}\n") + object("v1", "ConfigMap", "x", ""),
			Moves, ownedCause, "its owner ClusterResourceSet r",
		},
		{
			"resource, no match yet", theCluster + object(addons, "ClusterResourceSet", "r", "spec: {clusterSelector: {matchLabels: {cni: a}}, resources: [{kind: ConfigMap, name: x}]}\n") + object("v1", "ConfigMap", "x", ""),
			Unclear, mayBeOwned, "as soon as its selector matches a Cluster",
		},
		{
			"resource, empty selector", theCluster + object(addons, "ClusterResourceSet", "r", "spec: {clusterSelector: {matchLabels: {}}, resources: [{kind: ConfigMap, name: x}]}\n") + object("v1", "ConfigMap", "x", ""),
			Left, NotOwned, "an empty selector selects no Cluster",
		},
		{
			"resource, Secret", object(core, "Cluster", "c", "  labels: {cni: a}\n") + object(addons, "ClusterResourceSet", "r", "spec: {clusterSelector: {matchLabels: {cni: a}}, resources: [{kind: Secret, name: x}]}\n") + secret("type: addons.cluster.x-k8s.io/resource-set\n"),
			Moves, ownedCause, "its owner ClusterResourceSet r",
		},
		{
			"resource, Secret of another type", object(core, "Cluster", "c", "  labels: {cni: a}\n") + object(addons, "ClusterResourceSet", "r", "spec: {clusterSelector: {matchLabels: {cni: a}}, resources: [{kind: Secret, name: x}]}\n") + secret(""),
			Left, NotOwned, "refuses Secrets that are not of type",
		},
		{"binding", theCluster + object(addons, "ClusterResourceSetBinding", "x", "spec: {clusterName: c}\n"), Moves, ownedCause, "clusterctl treats the Cluster"},

		// Secrets by name.
		{"certificate", object(core, "Cluster", "a-b", "") + strings.ReplaceAll(secret(""), "name: x", "name: a-b-ca"), Moves, ownedCause, "a Secret with that name"},
		{"etcd client", theCluster + strings.ReplaceAll(secret(""), "name: x", "name: c-apiserver-etcd-client"), Moves, ownedCause, "a Secret with that name"},
		{"other secret", theCluster + strings.ReplaceAll(secret(""), "name: x", "name: c-cloud"), Left, Unowned, ""},
		{
			"certificate with an owner of its own", theCluster + strings.ReplaceAll(secret("  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: d, uid: u}]\n"), "name: x", "name: c-ca") + object("apps/v1", "Deployment", "d", ""),
			Left, OwnerLeft, "ownerReference 1 points to Deployment d, which is not moved: clusterctl only moves",
		},

		// Labels.
		{"label", theCluster + secret(label(MoveLabel)), Moves, marked, "it carries the label"},
		{"hierarchy label", theCluster + secret(label(HierarchyLabel)), Moves, root, "it carries the label"},
		{"label on the type", theCluster + object(prov, "FooMoved", "x", ""), Moves, marked, "the definition of its kind carries the label"},
		{"hierarchy on a global type", theCluster + object(prov, "FooIdentity", "x", ""), Copied, root, "the definition of its kind carries the label"},
		{"global type without a label", theCluster + object(prov, "FooGlobal", "x", ""), Left, Unowned, ""},
		{"label on what nobody looks at", theCluster + object("apps/v1", "Deployment", "x", label(MoveLabel)), Left, NotDiscovered, "clusterctl only moves"},
		{"of a moved type that moves alone", theCluster + object(prov, "FooMoved", "m", "spec: {secretRef: {name: x}}\n") + secret(""), Left, OwnerAlone, "FooMoved m has the label"},

		// Providers.
		{
			"credentials", object(core, "Cluster", "c", "spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooCluster, name: f}}\n") + object(prov, "FooCluster", "f", "spec: {identityRef: {kind: Secret, name: x}}\n") + secret(""),
			Unclear, mayBeOwned, "FooCluster f may become its owner because of FooCluster f, spec.identityRef",
		},
		{
			"credentials by name", object(core, "Cluster", "c", "spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooCluster, name: f}}\n") + object(prov, "FooCluster", "f", "spec: {credentials: {secretName: x}}\n") + secret(""),
			Unclear, mayBeOwned, "spec.credentials.secretName",
		},
		{
			"credentials under any name", object(core, "Cluster", "c", "spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooCluster, name: f}}\n") + object(prov, "FooCluster", "f", "spec: {login: [x]}\n") + secret(""),
			Unclear, mayBeOwned, "spec.login.0",
		},
		{"names its Cluster", theCluster + object(prov, "FooPool", "x", "spec: {clusterName: c}\n"), Unclear, mayBeOwned, "Cluster c may become its owner because of FooPool x, spec.clusterName"},
		{"label of its Cluster", theCluster + object(prov, "FooPool", "x", "  labels: {cluster.x-k8s.io/cluster-name: c}\n"), Unclear, mayBeOwned, "select it by the label of the Cluster"},
		{"label of the Cluster on a Secret", theCluster + secret("  labels: {cluster.x-k8s.io/cluster-name: c}\n"), Left, Unowned, ""},
		{"nobody names it", theCluster + object(prov, "FooPool", "x", "spec: {pool: default}\n"), Left, Unowned, "nothing refers to it"},
		{"what that names", theCluster + object(prov, "FooPool", "p", "spec: {sshKeyRef: {name: x}}\n") + secret(""), Left, ReferrerLeft, "only FooPool p refers to it"},
		{"another provider", theCluster + object("bar.cluster.x-k8s.io/v1", "BarThing", "x", ""), Unclear, mayBeIgnored, "clusterctl only lists the objects if"},
		{"used by a Deployment", theCluster + object("apps/v1", "Deployment", "d", "spec: {template: {spec: {volumes: [{name: v, configMap: {name: x}}]}}}\n") + object("v1", "ConfigMap", "x", ""), Left, ReferrerLeft, "only Deployment d refers to it"},
		{"a label on another provider", theCluster + object("bar.cluster.x-k8s.io/v1", "BarThing", "x", label(MoveLabel)), Unclear, mayBeIgnored, ""},
		{"a label on a certificate", theCluster + object("cert-manager.io/v1", "Certificate", "x", label(MoveLabel)), Unclear, mayBeIgnored, ""},
		{"certificate of cert-manager", theCluster + object("cert-manager.io/v1", "Certificate", "x", ""), Left, Unowned, ""},

		{
			"names its Cluster, used by a Deployment",
			theCluster + object(prov, "FooPool", "x", "spec: {clusterName: c}\n") +
				object("apps/v1", "Deployment", "d", "spec: {poolRef: {kind: FooPool, name: x}}\n"),
			Unclear, mayBeOwned, "Cluster c may become its owner",
		},
		{"a Namespace", object(prov, "FooMoved", "x", "") + object("v1", "Namespace", "x", ""), Moves, marked, ""},
		{"a Namespace of a provider", object("bar.io/v1", "Namespace", "x", ""), Unclear, mayBeIgnored, ""},

		// Owners that the object names itself.
		{
			"a Cluster that only an owner names",
			secret("  ownerReferences: [{apiVersion: " + core + ", kind: Cluster, name: c}]\n"),
			Moves, ownedCause, "its owner Cluster c",
		},
		{
			"a Cluster of others", secret("  ownerReferences: [{apiVersion: fleet/v1, kind: Cluster, name: c}]\n"),
			Left, OwnerLeft, "Cluster c, which does not exist",
		},
		{
			"a Machine that is not there",
			secret("  ownerReferences: [{apiVersion: " + core + ", kind: Machine, name: m}]\n"),
			Left, OwnerLeft, "Machine m, which does not exist",
		},
		{"owner that is not there", theCluster + secret("  ownerReferences: [{apiVersion: fleet/v1, kind: Bundle, name: b, uid: u}]\n"), Left, OwnerLeft, "ownerReference 1 points to Bundle b, which does not exist"},
		{"owner that is there", theCluster + secret("  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: c, uid: u}]\n"), Moves, ownedCause, "its ownerReferences name that owner"},
		{"itself", theCluster + secret("  labels: {"+MoveLabel+": a}\n  ownerReferences: [{apiVersion: v1, kind: Secret, name: x, uid: u}]\n"), Left, Cycle, "waits for its owner Secret x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := Template(parse(c.text), foo)
			var found *Node
			for _, n := range g.Nodes {
				if n.Name == "x" || strings.HasPrefix(n.Name, "a-b-") || strings.HasPrefix(n.Name, "c-") {
					found = n
				}
			}
			if found == nil {
				t.Fatal("not in the graph")
			}
			if found.Verdict != c.verdict || found.Cause != c.cause ||
				found.Lost != (c.verdict == Left && found.Object != nil) || !strings.Contains(found.Reason(), c.reason) {
				t.Errorf("%v, cause %d: %s", found.Verdict, found.Cause, found.Reason())
			}
		})
	}
}

func TestPathsAndEdges(t *testing.T) {
	g := Template(parse(object(core, "ClusterClass", "cc", "spec: {}\n")+
		object(core, "Cluster", "c", "spec: {topology: {classRef: {name: cc}}}\n")+
		object(core, "Machine", "m", "spec: {clusterName: c, infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMachine, name: f}}\n")+
		object(prov, "FooMachine", "f", "")), foo)
	n := g.Find(ID{Group: "foo.cluster.x-k8s.io", Kind: "FooMachine", Name: "f"})
	if len(n.Path()) != 3 || g.Nodes[0].Below() != 3 {
		t.Errorf("path %v, below %d", n.Path(), g.Nodes[0].Below())
	}
	var edges []string
	for _, n := range g.Nodes {
		for _, e := range n.Out {
			edges = append(edges, fmt.Sprintf("%s %v %s (%s)", n.Name, e.Link == Owner, e.To.Name, e.Field))
		}
	}
	if want := []string{"cc false c (spec.topology.classRef.name)", "c true m (spec.clusterName)", "m true f (spec.infrastructureRef)"}; !slices.Equal(edges, want) {
		t.Errorf("%q", edges)
	}
}

// TestOddTemplates makes sure that nothing in a template breaks the graph.
func TestOddTemplates(t *testing.T) {
	for _, text := range []string{
		"", "a: 1\n", "- a\n", "kind: Cluster\n", "kind: 5\nmetadata: {name: 7}\n",
		object(core, "Cluster", "c", "spec: a\n"), object(core, "Cluster", "c", "spec: {infrastructureRef: [a], topology: {class: [x]}}\n"),
		object(addons, "ClusterResourceSet", "r", "spec: {clusterSelector: {matchLabels: [a], matchExpressions: [a, {operator: 5}]}, resources: {a: b}}\n") + theCluster,
		object("v1", "Secret", "s", "  ownerReferences: [a, {}, {kind: X}]\n") + theCluster,
		theCluster + theCluster, object(core, "Cluster", "c", "spec: {clusterName: c}\n"),
		object(core, "Machine", "m", "spec: {clusterName: 5}\n"),
		object(prov, "FooPool", "p", "spec: &a {x: [p, [p], {name: p}]}\nother: *a\n"),
	} {
		for _, types := range []Types{nil, foo} {
			g := Template(parse(text), types)
			for _, n := range g.Nodes {
				if n.Reason() == "" {
					t.Errorf("%q: %s has no reason", text, n)
				}
			}
		}
	}
}

// FuzzTemplate makes sure that every object of any text gets a verdict.
func FuzzTemplate(f *testing.F) {
	f.Add(theCluster + object("v1", "Secret", "c-ca", "  ownerReferences: [{apiVersion: v1, kind: Secret, name: c-ca, uid: u}]\n"))
	f.Add(object(core, "ClusterClass", "cc", "spec: {workers: {machineDeployments: [{infrastructure: {templateRef: {kind: A, name: cc}}}]}}\n"))
	f.Fuzz(func(t *testing.T, text string) {
		g := Template(parse(text), nil)
		for _, n := range g.Nodes {
			if n.Reason() == "" || len(n.Path()) > len(g.Nodes) {
				t.Errorf("%s: %v, %d", n, n.Verdict, n.Cause)
			}
		}
	})
}

// TestOrder makes sure that the order of objects does not matter.
func TestOrder(t *testing.T) {
	objects := parse(object(core, "Cluster", "c", "spec: {controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: k}}\n") +
		object("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", "k", "spec: {machineTemplate: {spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMachineTemplate, name: t}}}}\n") +
		object(prov, "FooMachineTemplate", "t", "spec: {poolRef: {name: p}}\n") + object(prov, "FooPool", "p", "") + object("v1", "Secret", "c-ca", "") + object("v1", "Secret", "s", ""))
	state := func(objects []*manifest.Object) []string {
		out := phrase.List(Template(objects, foo).Nodes, func(n *Node) string { return fmt.Sprint(n, n.Verdict, n.Reason()) })
		slices.Sort(out)
		return out
	}
	want := state(objects)
	slices.Reverse(objects)
	if got := state(objects); !slices.Equal(got, want) {
		t.Errorf("%q\n%q", got, want)
	}
}

// large is a template with n objects: chains, names that many share, and owners
// that go round in circles.
func large(n int) []*manifest.Object {
	var text strings.Builder
	text.WriteString(theCluster)
	for i := range n / 4 {
		text.WriteString(object(core, "Machine", fmt.Sprintf("m%d", i), fmt.Sprintf("spec: {clusterName: c, infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMachine, name: f%d}}\n", i)))
		text.WriteString(object(prov, "FooMachine", fmt.Sprintf("f%d", i), fmt.Sprintf("spec: {clusterName: c, secretRef: {name: s%d}}\n", i)))
		text.WriteString(object(prov, fmt.Sprintf("Kind%d", i), "same", "spec: {otherRef: {name: same}}\n"))
		text.WriteString(object("v1", "Secret", fmt.Sprintf("s%d", i), fmt.Sprintf("  ownerReferences: [{apiVersion: v1, kind: Secret, name: s%d, uid: u}]\n", (i+1)%(n/4))))
	}
	return parse(text.String())
}

func BenchmarkTemplate(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		objects := large(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Template(objects, foo)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/object")
		})
	}
}
