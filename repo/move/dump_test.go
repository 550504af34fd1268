package move

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// taken reads a dump.
func taken(t testing.TB, text string) *Dump {
	t.Helper()
	s := &Dump{}
	given.NoError(t, s.Read(t.Context(), "dump", strings.NewReader(text)))
	if len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	return s
}

// existing writes an object that exists: the API, KIND NS/NAME, its UID, its
// owners, each as KIND NAME UID, and more metadata.
func existing(api, id, uid string, owners []string, rest string) string {
	kind, name, _ := strings.Cut(id, " ")
	ns, name, ok := strings.Cut(name, "/")
	if !ok {
		ns, name = "", ns
	}
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %q\n", api, kind, name)
	if ns != "" {
		fmt.Fprintf(&b, "  namespace: %s\n", ns)
	}
	if uid != "" {
		fmt.Fprintf(&b, "  uid: %s\n", uid)
	}
	if len(owners) > 0 {
		b.WriteString("  ownerReferences:\n")
	}
	for _, o := range owners {
		f := strings.Fields(o)
		fmt.Fprintf(&b, "  - {apiVersion: %s, kind: %s, name: %q", f[0], f[1], f[2])
		if len(f) > 3 {
			fmt.Fprintf(&b, ", uid: %s", f[3])
		}
		b.WriteString("}\n")
	}
	return b.String() + rest + "---\n"
}

// crdOf writes the definition of a kind of foo.
func crdOf(kind, scope, labels string) string {
	return definitionOf("foo.cluster.x-k8s.io", "v1", kind, scope, labels)
}

func definitionOf(group, version, kind, scope, labels string) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: %s.%s\n  labels: {%s}\nspec:\n  group: %s\n  scope: %s\n  names: {kind: %s, plural: %s}\n  versions: [{name: %s, storage: true, served: true}]\n---\n",
		plural, group, labels, group, scope, kind, plural, version)
}

const (
	byClusterctl = `clusterctl.cluster.x-k8s.io: ""`
)

// inventory is that of clusterctl.
var inventory = existing("clusterctl.cluster.x-k8s.io/v1alpha3", "Provider foo-system/infrastructure-foo", "u-p", nil,
	"type: InfrastructureProvider\nproviderName: foo\nversion: v1.0.0\n")

// base is a management cluster with a Cluster c that can be moved.
var base = definitionOf("cluster.x-k8s.io", "v1beta2", "Cluster", "Namespaced", byClusterctl) +
	definitionOf("cluster.x-k8s.io", "v1beta2", "Machine", "Namespaced", byClusterctl) +
	definitionOf("cluster.x-k8s.io", "v1beta2", "ClusterClass", "Namespaced", byClusterctl) +
	crdOf("FooMachine", "Namespaced", byClusterctl) +
	crdOf("FooMoved", "Namespaced", byClusterctl+`, clusterctl.cluster.x-k8s.io/move: ""`) +
	crdOf("FooGlobal", "Cluster", byClusterctl) +
	crdOf("FooHidden", "Namespaced", "") +
	inventory +
	existing(core, "Cluster ns/c", "u-c", nil, "") +
	existing("v1", "Secret ns/c-kubeconfig", "u-k", nil, "")

// planOf plans the move of namespace ns.
func planOf(t testing.TB, text string) *Plan {
	t.Helper()
	return FromDump(taken(t, text), Options{Namespace: "ns"})
}

func TestPlan(t *testing.T) {
	byCluster := []string{core + " Cluster c u-c"}
	x := func(owners []string, rest string) string {
		return existing(prov, "FooMachine ns/x", "u-x", owners, rest)
	}
	for _, c := range []struct {
		name, text    string
		verdict       Verdict
		lost, certain bool
		reason, fix   string
	}{
		{"owned", x(byCluster, ""), Moves, false, true, "it moves with its owner Cluster ns/c", ""},
		{"not owned", x(nil, ""), Left, true, true, "it has neither an owner nor a label", "give it the label"},
		{
			"labelled", x(nil, "  labels: {clusterctl.cluster.x-k8s.io/move: 'false'}\n"), Moves, false, true,
			"it carries the label", "",
		},
		{
			"a second owner that is not moved",
			x(append(byCluster[:1:1], "apps/v1 Deployment d u-d"), "") + existing("apps/v1", "Deployment ns/d", "u-d", nil, ""),
			Left, true, true, "ownerReference 2 points to Deployment ns/d, which is not moved: clusterctl only moves",
			"remove the ownerReference to Deployment ns/d",
		},
		{
			"a second owner of a kind without the label",
			x(append(byCluster[:1:1], prov+" FooHidden h u-h"), "") + existing(prov, "FooHidden ns/h", "u-h", nil, ""),
			Left, true, true, "ownerReference 2 points to FooHidden ns/h",
			"give the definition of FooHidden the label clusterctl.cluster.x-k8s.io",
		},
		{
			"an owner that is gone", x([]string{prov + " FooMachine gone u-gone"}, ""),
			Left, true, true, "ownerReference 1 points to FooMachine gone, which does not exist",
			"remove the ownerReference to FooMachine gone",
		},
		{
			"an owner of a kind that the dump does not hold", x([]string{"bar.example.com/v1 Bar b u-b"}, ""),
			Unclear, false, false, "ownerReference 1 points to Bar b, and the input holds no object of that kind",
			"add the objects of kind Bar.bar.example.com and its definition to the dump",
		},
		{
			"an owner of a kind of Kubernetes that the dump does not hold", x([]string{"v1 ConfigMap b u-b"}, ""),
			Unclear, false, false, "ownerReference 1 points to ConfigMap b, and the input holds no object of that kind",
			"add the objects of kind ConfigMap to the dump",
		},
		{
			"an owner that was made anew",
			x(append(byCluster[:1:1], prov+" FooMachine y u-old"), "") +
				existing(prov, "FooMachine ns/y", "u-new", byCluster, ""),
			Left, true, true, "but with a UID that the FooMachine of that name does not have", "set the UID",
		},
		{
			"an owner without its own UID",
			x([]string{prov + " FooMachine y u-y"}, "") + existing(prov, "FooMachine ns/y", "", byCluster, ""),
			Unclear, false, false, "points to FooMachine y, and the input does not hold the UIDs", "with every metadata.uid",
		},
		{
			"a reference without UID", x([]string{core + " Cluster c"}, ""), Unclear, false, false,
			"points to Cluster c, and the input does not hold the UIDs", "with every metadata.uid",
		},
		{
			"one to a kind that stays in any case",
			x([]string{prov + " FooHidden h"}, "") + existing(prov, "FooHidden ns/h", "u-h", nil, ""), Left, true, true,
			"ownerReference 1 points to FooHidden ns/h", "give the definition of FooHidden the label",
		},
		{
			"of a kind without the versions of its definition",
			strings.ReplaceAll(crdOf("FooCut", "Namespaced", byClusterctl), "storage: true", "storage: false") +
				existing(prov, "FooCut ns/x", "u-x", byCluster, ""), Unclear, false, false, "or without the versions", "--with",
		},
		{
			"of a kind that is not served as it is stored",
			strings.ReplaceAll(crdOf("FooCut", "Namespaced", byClusterctl), "served: true", "served: false") +
				existing(prov, "FooCut ns/x", "u-x", byCluster, ""), Left, true, true, "does not serve the version", "serve that version of FooCut",
		},
		{"of a kind that others installed", existing(prov, "FooHidden ns/x", "u-x", nil, ""), Left, true, true, "does not carry", "as clusterctl init does, and the object the label"},
		{
			"of a Cluster whose class is elsewhere, and not in the dump",
			existing(core, "Cluster ns/x", "u-x", nil, "spec: {topology: {classRef: {name: cc, namespace: other}}}\n"), Unclear,
			false, false, "its owner is ClusterClass other/cc, and the input holds no object", "add the objects",
		},
		{
			"that names a Secret of which the dump shows nothing",
			existing(prov, "FooMachine ns/x", "u-x", byCluster, "spec: {credentialsRef: {kind: Secret, name: s, namespace: far}}\n"),
			Moves, false, false, "", "",
		},
		{
			"of a kind that others installed, which is named",
			definitionOf("bar.example.com", "v1", "Image", "Namespaced", "") +
				existing(prov, "FooMachine ns/m", "u-m", byCluster, "spec: {imageRef: {name: x}}\n") +
				existing("bar.example.com/v1", "Image ns/x", "u-x", nil, ""),
			Left, true, true, "FooMachine ns/m needs it (spec.imageRef.name), but the definition of its kind does not carry",
			"the label clusterctl.cluster.x-k8s.io, and the object the label",
		},
		{
			"that names one of which the dump shows nothing, by its field",
			existing(prov, "FooMachine ns/x", "u-x", byCluster, "spec: {fooHiddenRef: {name: h}}\n"), Moves, false, false, "", "",
		},
		{
			"that names one of a group that the dump does not define",
			existing(prov, "FooMachine ns/x", "u-x", byCluster, "spec: {imageRef: {apiVersion: bar.example.com/v1, kind: Image, name: i}}\n"),
			Moves, false, false, "", "",
		},
		{
			"that names a cluster-wide one without its group",
			existing(core, "Cluster ns/x", "u-x", nil, "spec: {topology: {variables: [{value: {kind: FooGlobal, name: g}}]}}\n") +
				existing(prov, "FooGlobal g", "u-g", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\n"), Moves, false, true, "", "",
		},
		{
			"that names a kind of which it shows nothing",
			existing(prov, "FooMachine ns/x", "u-x", byCluster, "spec: {identityRef: {kind: FooGlobal, name: s}}\n"),
			Moves, false, false, "", "",
		},
		{
			"that names what is not there",
			existing(prov, "FooMachine ns/x", "u-x", byCluster, "spec: {credentialsRef: {kind: Secret, name: s}, zoneRef: {kind: Zone, name: z}}\n"),
			Moves, false, true, "", "",
		},
		{
			"a Secret that a cluster-wide object names where the operator installed its provider",
			existing("operator.cluster.x-k8s.io/v1alpha2", "InfrastructureProvider bar-system/bar", "u-o", nil, "") +
				existing(prov, "FooGlobal g", "u-g", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\nspec: {secretRef: {name: x}}\n") +
				existing("v1", "Secret bar-system/x", "u-x", nil, ""),
			Left, true, true, "FooGlobal g needs it", "create it in namespace bar-system",
		},
		{
			"an owner in another namespace",
			x([]string{prov + " FooMachine y u-y"}, "") + existing(prov, "FooMachine other/y", "u-y", nil, ""),
			Left, true, true,
			"ownerReference 1 points to FooMachine other/y, which is not moved: it is not in the namespace that is moved",
			"remove the ownerReference",
		},
		{
			"an owner that moves alone",
			x([]string{prov + " FooMoved y u-y"}, "") + existing(prov, "FooMoved ns/y", "u-y", nil, ""),
			Left, true, true, "its owner FooMoved ns/y has the label",
			"use the label clusterctl.cluster.x-k8s.io/move-hierarchy",
		},
		{
			"a global object", existing(prov, "FooGlobal x", "u-x", nil, ""), Left, true, true, "it has neither",
			"or create it in the target by hand",
		},
		{
			"a labelled global object",
			existing(prov, "FooGlobal x", "u-x", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\n"), Copied, false,
			true, "it carries the label", "",
		},
		{
			"labelled, in a namespace, of a kind that has none",
			existing(prov, "FooGlobal ns/x", "u-x", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\n"), Copied,
			false, true, "it carries the label", "",
		},
		{"a Secret of others", existing("v1", "Secret ns/x", "u-x", nil, ""), Left, false, true, "it has neither", ""},
		{
			"a Secret of the Cluster",
			existing("v1", "Secret ns/x", "u-x", nil, "  labels: {cluster.x-k8s.io/cluster-name: c}\n"), Left, true, true,
			"it has neither", "or an owner that is moved",
		},
		{
			"a Secret for a resource of the Cluster",
			existing("v1", "Secret ns/x", "u-x", []string{core + " Cluster c u-c"}, ""), Moves, false, true, "its owner", "",
		},
		{
			"what Kubernetes deletes with the Cluster", existing("apps/v1", "Deployment ns/x", "u-x", byCluster, ""), Left,
			true, true, "clusterctl only moves", "create it in the target by other means",
		},
		{
			"a kind without its definition", existing("bar.example.com/v1", "Bar ns/x", "u-x", byCluster, ""), Unclear,
			false, false, "the definition of its kind is not in the input", "name the release that defines Bar",
		},
		{
			"owned by a kind without its definition",
			x([]string{"bar.example.com/v1 Bar b u-b"}, "") + existing("bar.example.com/v1", "Bar ns/b", "u-b", nil, ""),
			Unclear, false, false, "it is not clear what becomes of its owner Bar ns/b", "",
		},
		{
			"a label on an object whose kind has none",
			existing(prov, "FooHidden ns/x", "u-x", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\n"),
			Left, true, true, "the definition of its kind does not carry the label clusterctl.cluster.x-k8s.io,",
			"give the definition of FooHidden the label",
		},
		{
			"a label on an object of an unknown kind",
			existing("bar.example.com/v1", "Bar ns/x", "u-x", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\n"),
			Unclear, false, false, "the definition of its kind is not in the input", "--with",
		},
		{
			"named by what moves",
			existing(prov, "FooMachine ns/m", "u-m", byCluster, "spec: {identityRef: {name: x}}\n") +
				existing("v1", "Secret ns/x", "u-x", nil, ""),
			Left, true, true, "FooMachine ns/m needs it (spec.identityRef.name)", "or create it in the target before the move",
		},
		{
			"of another kind than the one that is named", existing(prov, "FooMachine ns/m", "u-m", byCluster, "spec: {fooRef: {kind: Secret, name: x}}\n") +
				existing("v1", "ConfigMap ns/x", "u-x", nil, ""), Left, false, true, "it has neither", "",
		},
		{
			"a Secret of a provider",
			existing("v1", "Secret foo-system/x", "u-x", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\n"),
			Moves, false, true, "it carries the label", "",
		},
		{
			"an owner of a kind of which there is none",
			crdOf("FooNone", "Namespaced", byClusterctl) + x([]string{prov + " FooNone n u-n"}, ""),
			Unclear, false, false, "ownerReference 1 points to FooNone n, and the input holds no object", "add the objects",
		},
		{
			"of a Cluster that refers to what is not there",
			existing(core, "Cluster ns/x", "u-x", nil, "spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooCluster, name: f}}\n"),
			Moves, false, false, "", "",
		},
		{
			"of a Cluster whose class, which would move as well, is not there",
			existing(core, "ClusterClass ns/cc", "u-cc", nil, "") +
				existing(core, "Cluster ns/x", "u-x", nil, "spec: {topology: {classRef: {name: gone}}}\n"), Moves, false, false,
			"", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(t, base+c.text)
			i := slices.IndexFunc(p.Nodes, func(n *Node) bool { return n.Name == "x" })
			if i < 0 {
				t.Fatal("it has no node")
			}
			n := p.Nodes[i]
			if n.Verdict != c.verdict || n.Lost != c.lost || !strings.Contains(n.Reason(), c.reason) ||
				!strings.Contains(n.Fix(), c.fix) || (c.fix == "") != (n.Fix() == "") && n.Lost {
				t.Errorf("%v, lost %v: %s; to do: %s", n.Verdict, n.Lost, n.Reason(), n.Fix())
			}
			want := Answers()[0]
			switch {
			case slices.ContainsFunc(p.Nodes, func(n *Node) bool { return n.Lost }):
				want = Answers()[1]
			case !c.certain:
				want = NotKnown
			}
			if got, _ := Conclude([]*Plan{p}, true); got != want {
				t.Errorf("got %s, want %s: %v", got, want, p.Remarks)
			}
		})
	}
}

// TestClassElsewhere follows a Cluster to the class of another namespace and to its
// templates, of whatever kind.
func TestClassElsewhere(t *testing.T) {
	p := planOf(t, base+
		existing(core, "Cluster ns/d", "u-d", nil, "spec: {topology: {classRef: {name: cc, namespace: other}}}\n")+
		existing(core, "ClusterClass other/cc", "u-cc", nil, "spec: {infrastructure: {templateRef: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooHidden, name: t}}, controlPlane: {templateRef: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooHidden, name: s}}}\n")+
		existing(prov, "FooHidden other/t", "u-t", []string{core + " ClusterClass cc u-cc"}, "")+
		existing(prov, "FooHidden other/s", "u-s", nil, "  labels: {clusterctl.cluster.x-k8s.io/move-hierarchy: ''}\n")+
		existing(prov, "FooHidden other/u", "u-u", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\n"))
	got := map[string]string{}
	for _, n := range p.Nodes {
		got[n.Name] = n.Verdict.String()
	}
	for name, want := range map[string]string{"d": "moves", "cc": "copied", "t": "copied", "s": "moves", "u": ""} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// TestPath follows the owners.
func TestPath(t *testing.T) {
	names := func(p *Plan, name string) string {
		var out []string
		for _, n := range p.Nodes {
			if n.Name == name {
				for _, on := range n.Path() {
					out = append(out, on.Name)
				}
			}
		}
		return strings.Join(out, " ")
	}
	p := planOf(t, base+
		existing(prov, "FooMachine ns/a", "u-a", []string{core + " Cluster c u-c"}, "")+
		existing(prov, "FooMachine ns/b", "u-b", []string{prov + " FooMachine a u-a"}, "")+
		existing(prov, "FooMachine ns/l", "u-l", nil, "")+
		existing(prov, "FooMachine ns/m", "u-m", []string{prov + " FooMachine l u-l"}, "")+
		existing(prov, "FooMachine ns/r", "u-r", []string{prov + " FooMachine s u-s"}, "")+
		existing(prov, "FooMachine ns/s", "u-s", []string{prov + " FooMachine r u-r"}, ""))
	for name, want := range map[string]string{"c": "c", "b": "c a b", "l": "l", "m": "l m", "r": "r", "s": "s"} {
		if got := names(p, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestRemarks says what is missing or in the way.
func TestRemarks(t *testing.T) {
	operator := existing("operator.cluster.x-k8s.io/v1alpha2", "InfrastructureProvider foo-system/foo", "u-o", nil, "spec: {version: v1.0.0}\n")
	bare := strings.ReplaceAll(base, inventory, "")
	for _, c := range []struct{ name, text, answer, want string }{
		{"nothing", "", "not known", "no Cluster is among the objects"},
		{"what others installed", strings.ReplaceAll(base, byClusterctl, "a: b"), "stays", ""},
		{"no namespace", base + existing(prov, "FooMachine m", "u-m", nil, ""), "not known", "FooMachine m has no namespace"},
		{"no Secret", strings.ReplaceAll(base, "kind: Secret", "kind: ConfigMap"), "not known", "the dump holds no Secret"},
		{
			"two UIDs for one", base + existing(core, "Cluster ns/c", "u-2", nil, ""), "not known",
			"Cluster ns/c appears twice with different UIDs",
		},
		{
			"a template", existing(core, "Cluster ns/c", "", nil, "") + existing("v1", "Secret ns/s", "", nil, ""),
			"not known", "as if this were a template",
		},
		{"no inventory", bare, "not known", "the dump holds no provider of clusterctl's inventory"},
		{"the operator", bare + operator, "stays", "the Cluster API operator installed the providers"},
		{"the operator beside clusterctl", base + operator, "moves", ""},
		{
			"a class that is not there",
			base + existing(core, "Cluster ns/d", "u-d", nil, "spec: {topology: {classRef: {name: cc, namespace: other}}}\n"),
			"not known", "Cluster ns/d refers to ClusterClass other/cc, which is not there",
		},
		{
			"blocked",
			base + existing(core, "Cluster ns/d", "u-d", nil, "  annotations: {clusterctl.cluster.x-k8s.io/block-move: ''}\n"),
			"stays", "block-move holds up the move",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(t, c.text)
			text := strings.Join(phrase.List(p.Remarks, func(r Remark) string { return r.Reason }), "\n")
			if answer, _ := Conclude([]*Plan{p}, true); answer != c.answer || !strings.Contains(text, c.want) ||
				c.want == "" && text != "" {
				t.Errorf("%s: %q", answer, text)
			}
		})
	}
	secret := existing("v1", "Secret elsewhere/x", "u-x", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\n")
	for text, want := range map[string]string{bare + secret: "not known", bare + operator + secret: "", base + secret: ""} {
		n := planOf(t, text).Find(ID{Kind: "Secret", Namespace: "elsewhere", Name: "x"})
		if got := ""; n != nil && n.Answer() != want || n == nil && want != got {
			t.Errorf("a Secret that may be a provider's: %v, want %q", n, want)
		}
	}
}

// TestNeeds compares a move with what the target has.
func TestNeeds(t *testing.T) {
	source := base +
		crdOf("FooPool", "Namespaced", byClusterctl+`, cluster.x-k8s.io/provider: infrastructure-foo, cluster.x-k8s.io/v1beta2: v1`) +
		definitionOf("cluster.x-k8s.io", "v1beta2", "MachinePool", "Namespaced", byClusterctl) +
		existing(core, "ClusterClass ns/cc", "u-cc", nil, "spec: {patches: [{external: {generatePatchesExtension: a.b}}]}\n") +
		existing(core, "Cluster ns/d", "u-d", nil, "spec: {topology: {classRef: {name: cc}}}\n") +
		existing(core, "MachinePool ns/p", "u-mp", []string{core + " Cluster c u-c"}, "spec: {template: {spec: {taints: [{key: a}]}}}\n") +
		existing(prov, "FooPool ns/p", "u-fp", []string{core + " Cluster c u-c"}, "") +
		definitionOf(controlPlaneGroup, "v1beta2", "KubeadmControlPlaneTemplate", "Namespaced", byClusterctl) +
		existing(controlPlaneGroup+"/v1beta2", "KubeadmControlPlaneTemplate ns/t", "u-t", []string{core + " ClusterClass cc u-cc"},
			"spec: {template: {spec: {kubeadmConfigSpec: {format: ignition}}}}\n")
	manager := func(args string) string {
		return existing("apps/v1", "Deployment capi-system/capi-controller-manager", "u-m", nil, "spec: {template: {spec: {containers: [{args: ["+args+"]}]}}}\n")
	}
	whole := source + manager(`"--feature-gates=ClusterTopology=true,RuntimeSDK=true"`)
	for _, c := range []struct{ name, target, need, status, found string }{
		{"all", whole, "infrastructure-foo v1.0.0 or newer, contract v1beta2", "met", "v1.0.0"},
		{"all", whole, "the API foo.cluster.x-k8s.io/v1", "met", ""},
		{"all", whole, "namespace ns", "met", ""},
		{"all", whole, "the feature gate ClusterTopology of cluster-api", "met", ""},
		{"all", whole, "the feature gate RuntimeSDK of cluster-api", "met", ""},
		{"on by default", whole, "the feature gate MachinePool of cluster-api", "met", ""},
		{
			"off", source + manager(`"--feature-gates", "MachinePool=false"`), "the feature gate MachinePool of cluster-api",
			"missing", "has --feature-gates=MachinePool=false",
		},
		{
			"all of a stage", source + manager(`"--feature-gates=AllAlpha=true"`), "the feature gate ClusterTopology of cluster-api",
			"met", "",
		},
		{
			"in a variable", source + manager(`"--feature-gates=$(GATES)"`), "the feature gate ClusterTopology of cluster-api",
			"not known", "do not tell all gates",
		},
		{
			"in a script", source + manager(`sh, -c, "exec /manager ${ARGS}"`), "the feature gate MachinePool of cluster-api",
			"not known", "do not tell all gates",
		},
		{
			"in an argument of another name", source + manager(`"--namespace=$(NS)"`), "the feature gate MachinePool of cluster-api",
			"met", "",
		},
		{
			"beside a Deployment of the provider", source + strings.ReplaceAll(manager(""), `name: "capi-controller-manager"`, "name: other\n  labels: {cluster.x-k8s.io/provider: cluster-api}") +
				manager(`"--feature-gates=MachinePool=false"`), "the feature gate MachinePool of cluster-api", "missing", "",
		},
		{
			"in one of two", source + manager("") + strings.ReplaceAll(manager(`"--feature-gates=MachinePool=false"`), "capi-system", "b"),
			"the feature gate MachinePool of cluster-api", "not known", "differ",
		},
		{"taints", whole, "the feature gate MachineTaintPropagation of cluster-api", "missing", "off by default"},
		{
			"of another provider", whole, "the feature gate ClusterTopology of control-plane-kubeadm", "not known",
			"does not hold the Deployment capi-kubeadm-control-plane-controller-manager",
		},
		{
			"of another provider", whole, "the feature gate KubeadmBootstrapFormatIgnition of control-plane-kubeadm", "not known", "",
		},
		{
			"no contract", strings.ReplaceAll(whole, "cluster.x-k8s.io/v1beta2: v1", ""),
			"infrastructure-foo v1.0.0 or newer, contract v1beta2", "missing", "the definition of FooPool carries no contract",
		},
		{
			"an older contract", strings.ReplaceAll(whole, "cluster.x-k8s.io/v1beta2: v1", "cluster.x-k8s.io/v1beta1: v1"),
			"infrastructure-foo v1.0.0 or newer, contract v1beta2", "missing", "only carries contract v1beta1",
		},
		{
			"off by default", source + manager(""), "the feature gate ClusterTopology of cluster-api", "missing",
			"does not set it",
		},
		{
			"no Deployment", source, "the feature gate ClusterTopology of cluster-api", "not known",
			"does not hold the Deployment",
		},
		{
			"an older provider", strings.ReplaceAll(whole, "v1.0.0", "v0.9.0"),
			"infrastructure-foo v1.0.0 or newer, contract v1beta2", "missing", "v0.9.0, which is older",
		},
		{
			"no provider", strings.ReplaceAll(whole, inventory, ""), "infrastructure-foo v1.0.0 or newer, contract v1beta2",
			"not known", "no provider",
		},
		{
			"another provider", strings.ReplaceAll(whole, "providerName: foo", "providerName: bar"),
			"infrastructure-foo v1.0.0 or newer, contract v1beta2", "missing", "",
		},
		{
			"the operator",
			strings.ReplaceAll(whole, inventory, existing("operator.cluster.x-k8s.io/v1alpha2", "InfrastructureProvider foo-system/foo", "u-o", nil, "spec: {version: v1.0.0}\n")),
			"infrastructure-foo v1.0.0 or newer, contract v1beta2", "missing", "refuses to move",
		},
		{"no definitions", inventory, "infrastructure-foo v1.0.0 or newer, contract v1beta2", "not known", "holds no definition"},
		{"no definitions", inventory, "the API foo.cluster.x-k8s.io/v1", "not known", "holds no definition"},
		{"one definition less", base, "the API foo.cluster.x-k8s.io/v1", "missing", "does not define FooPool"},
		{
			"another version", strings.ReplaceAll(whole, "name: v1,", "name: v2,"), "the API foo.cluster.x-k8s.io/v1",
			"missing", "only serves FooPool in v2",
		},
		{
			"another scope", strings.ReplaceAll(whole, "scope: Namespaced", "scope: Cluster"),
			"the API foo.cluster.x-k8s.io/v1", "missing", "cluster-wide in one",
		},
	} {
		p := planOf(t, source)
		Check([]*Plan{p}, taken(t, c.target))
		i := slices.IndexFunc(p.Needs, func(n Need) bool { return n.What == c.need })
		if i < 0 {
			t.Fatalf("%q is not among %v", c.need, p.Needs)
		}
		if n := p.Needs[i]; n.Status != c.status || !strings.Contains(n.Found, c.found) || n.Why == "" {
			t.Errorf("%s: %s: %s: %s", c.name, n.What, n.Status, n.Found)
		}
	}
}

// TestRestore plans move --from-directory: the definitions are those of the target.
func TestRestore(t *testing.T) {
	saved := taken(t, existing(core, "Cluster ns/c", "u-c", nil, "")+existing("v1", "Secret ns/c-ca", "u-ca", nil, "")+existing(prov, "FooMoved ns/l", "u-l", nil, ""))
	for want, types := range map[string]Types{"not known, not known, not known": nil, "moves, moves, moves": TypesIn(taken(t, base))} {
		p := FromDump(saved, Options{Restore: true, Installed: types})
		got := strings.Join(phrase.List(p.Nodes, (*Node).Answer), ", ")
		if got != want || len(p.Remarks) > 0 {
			t.Errorf("got %s, want %s: %v", got, want, p.Remarks)
		}
	}
}

// TestNamespaces names what can be moved.
func TestNamespaces(t *testing.T) {
	s := taken(t, base+existing(core, "Cluster a/c", "u-2", nil, "")+existing("v1", "Secret z/c", "u-3", nil, "")+
		existing(core, "Machine z/m", "u-4", nil, ""))
	if got := Namespaces(s); !slices.Equal(got, []string{"a", "ns"}) {
		t.Error(got)
	}
	s = taken(t, existing(prov, "Cluster yy/z", "u-3", nil, "")+existing(prov, "FooGlobal g", "", nil, ""))
	if got := Namespaces(s); !slices.Equal(got, []string{"yy"}) {
		t.Error(got)
	}
}

// TestDefinitionOfTheCluster: a definition in the cluster counts before one in a
// release's file, whichever comes first.
func TestDefinitionOfTheCluster(t *testing.T) {
	file, live := crdOf("FooNew", "Namespaced", ""), crdOf("FooNew", "Namespaced", byClusterctl+`, clusterctl.cluster.x-k8s.io/move: ""`)
	for _, both := range []string{file + live, live + file} {
		p := planOf(t, base+both+existing(prov, "FooNew ns/n", "u-n", nil, ""))
		i := slices.IndexFunc(p.Nodes, func(n *Node) bool { return n.Kind == "FooNew" })
		if i < 0 || p.Nodes[i].Verdict != Moves {
			t.Errorf("it does not move: %d of %v", i, p.Nodes)
		}
	}
}

// FuzzFromDump makes sure that every object of any text gets a verdict.
func FuzzFromDump(f *testing.F) {
	f.Add(base)
	f.Add(existing(core, "Machine ns/a", "u", []string{core + " Machine a u", core + " Cluster c v"}, "") + existing(prov, "Foo b", "", []string{prov + " Foo b"}, ""))
	f.Add(existing(core, "Cluster ns/a", "u", []string{core + " ClusterClass a v"}, "spec: {topology: {classRef: {name: a}}}\n") + existing(core, "ClusterClass ns/a", "v", []string{core + " Cluster a u"}, ""))
	f.Add(existing("apiextensions.k8s.io/v1", "CustomResourceDefinition x", "u", nil, "spec: {}\n") + existing("a/v1", "X y", "u", []string{"a/v1 X x u"}, "") + existing("v1", "Secret ca", "", nil, ""))
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range []Options{{Namespace: "ns"}, {Restore: true}} {
			s := &Dump{}
			given.NoError(t, s.Read(t.Context(), "dump", strings.NewReader(text)))
			p := FromDump(s, o)
			for _, n := range p.Nodes {
				if n.Reason() == "" || len(n.Path()) == 0 {
					t.Errorf("%s: %v, %d", n, n.Verdict, n.Cause)
				}
				_ = n.Fix()
			}
		}
	})
}

// fleet is a dump of n objects: Clusters with Machines and what these own.
func fleet(n int) *Dump {
	s := &Dump{}
	add := func(group, kind, name string, detail any, owner *Object) *Object {
		o := Object{Group: group, Version: "v1", Kind: kind, Namespace: "ns", Name: name, UID: "u-" + kind + "-" + name, Detail: detail}
		if owner != nil {
			o.Owners = []OwnerReference{{Ref: Ref{Group: owner.Group, Kind: owner.Kind, Name: owner.Name}, UID: owner.UID}}
		}
		s.Objects = append(s.Objects, o)
		return &o
	}
	var cluster *Object
	for i := 0; len(s.Objects) < n; i++ {
		name := fmt.Sprint(i)
		if i%100 == 0 {
			cluster = add("cluster.x-k8s.io", "Cluster", name, &Cluster{}, nil)
			add("", "Secret", name+"-kubeconfig", nil, nil)
		}
		machine := add("cluster.x-k8s.io", "Machine", name, nil, cluster)
		add("foo.cluster.x-k8s.io", "FooMachine", name, nil, machine)
		add("", "Secret", name, nil, nil)
	}
	return s
}

// TestPlanIsLinear demands that ten times the objects take no more than ten times
// the work, measured in bytes, which do not depend on the machine.
func TestPlanIsLinear(t *testing.T) {
	work := func(n int) uint64 {
		s := fleet(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		FromDump(s, Options{Namespace: "ns"})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := work(3000), work(30000); large > 13*small {
		t.Errorf("%d bytes for 3,000 objects, %d for 30,000", small, large)
	}
}
