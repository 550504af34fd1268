package owners

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// taken reads a dump.
func taken(t testing.TB, text string) *snapshot.Snapshot {
	t.Helper()
	s := &snapshot.Snapshot{}
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
	return fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: %s.%s\n  labels: {%s}\nspec:\n  group: %s\n  scope: %s\n  names: {kind: %s, plural: %s}\n  versions: [{name: %s, storage: true}]\n---\n",
		plural, group, labels, group, scope, kind, plural, version)
}

const (
	byClusterctl = `clusterctl.cluster.x-k8s.io: ""`
	ready        = "status: {initialization: {infrastructureProvisioned: true, controlPlaneInitialized: true}, conditions: [{type: ControlPlaneInitialized, status: 'True'}]}\n"
)

// base is a management cluster with a Cluster c that can be moved.
var base = definitionOf("cluster.x-k8s.io", "v1beta2", "Cluster", "Namespaced", byClusterctl) +
	definitionOf("cluster.x-k8s.io", "v1beta2", "Machine", "Namespaced", byClusterctl) +
	definitionOf("cluster.x-k8s.io", "v1beta2", "ClusterClass", "Namespaced", byClusterctl) +
	crdOf("FooMachine", "Namespaced", byClusterctl) +
	crdOf("FooMoved", "Namespaced", byClusterctl+`, clusterctl.cluster.x-k8s.io/move: ""`) +
	crdOf("FooGlobal", "Cluster", byClusterctl) +
	crdOf("FooHidden", "Namespaced", "") +
	existing(core, "Cluster ns/c", "u-c", nil, ready) +
	existing("v1", "Secret ns/c-kubeconfig", "u-k", nil, "")

// planOf plans the move of namespace ns.
func planOf(t testing.TB, text string) *Plan {
	t.Helper()
	return FromSnapshot(taken(t, text), Options{Namespace: "ns"})
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
		{"labelled", x(nil, "  labels: {clusterctl.cluster.x-k8s.io/move: 'false'}\n"), Moves, false, true, "it carries the label", ""},
		{
			"a second owner that is not moved", x(append(byCluster[:1:1], "apps/v1 Deployment d u-d"), "") + existing("apps/v1", "Deployment ns/d", "u-d", nil, ""),
			Left, true, true, "ownerReference 2 points to Deployment ns/d, which is not moved: clusterctl only moves", "remove the ownerReference to Deployment ns/d",
		},
		{
			"a second owner of a kind without the label", x(append(byCluster[:1:1], prov+" FooHidden h u-h"), "") + existing(prov, "FooHidden ns/h", "u-h", nil, ""),
			Left, true, true, "ownerReference 2 points to FooHidden ns/h", "give the definition of FooHidden the label clusterctl.cluster.x-k8s.io",
		},
		{
			"an owner that is gone", x([]string{prov + " FooMachine gone u-gone"}, ""),
			Deleted, true, true, "ownerReference 1 points to FooMachine gone, which does not exist", "remove the ownerReference to FooMachine gone",
		},
		{
			"an owner of an unknown kind that is gone", x([]string{"bar.example.com/v1 Bar gone u-gone"}, ""),
			Left, true, true, "ownerReference 1 points to Bar gone, which does not exist", "remove the ownerReference to Bar gone",
		},
		{
			"an owner that was made anew", x(append(byCluster[:1:1], prov+" FooMachine y u-old"), "") + existing(prov, "FooMachine ns/y", "u-new", byCluster, ""),
			Deleted, true, true, "but with a UID that the FooMachine of that name does not have", "set the UID",
		},
		{
			"an owner without its own UID", x([]string{prov + " FooMachine y u-y"}, "") + existing(prov, "FooMachine ns/y", "", byCluster, ""),
			Moves, false, true, "its owner FooMachine ns/y", "",
		},
		{"a reference without UID", x([]string{core + " Cluster c"}, ""), Moves, false, true, "its owner Cluster ns/c", ""},
		{
			"an owner in another namespace", x([]string{prov + " FooMachine y u-y"}, "") + existing(prov, "FooMachine other/y", "u-y", nil, ""),
			Left, true, true, "ownerReference 1 points to FooMachine other/y, which is not moved: it is not in the namespace that is moved", "remove the ownerReference",
		},
		{
			"an owner that moves alone", x([]string{prov + " FooMoved y u-y"}, "") + existing(prov, "FooMoved ns/y", "u-y", nil, ""),
			Deleted, true, true, "its owner FooMoved ns/y has the label", "use the label clusterctl.cluster.x-k8s.io/move-hierarchy",
		},
		{"a global object", existing(prov, "FooGlobal x", "u-x", nil, ""), Left, true, true, "it has neither", "or create it in the target by hand"},
		{"a labelled global object", existing(prov, "FooGlobal x", "u-x", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\n"), Copied, false, true, "it carries the label", ""},
		{"labelled, in a namespace, of a kind that has none", existing(prov, "FooGlobal ns/x", "u-x", nil, "  labels: {clusterctl.cluster.x-k8s.io/move: ''}\n"), Copied, false, true, "it carries the label", ""},
		{"a Secret of others", existing("v1", "Secret ns/x", "u-x", nil, ""), Left, false, true, "it has neither", ""},
		{"a Secret of the Cluster", existing("v1", "Secret ns/x", "u-x", nil, "  labels: {cluster.x-k8s.io/cluster-name: c}\n"), Left, true, true, "it has neither", "or an owner that is moved"},
		{"a Secret for a resource of the Cluster", existing("v1", "Secret ns/x", "u-x", []string{core + " Cluster c u-c"}, ""), Moves, false, true, "its owner", ""},
		{"what Kubernetes deletes with the Cluster", existing("apps/v1", "Deployment ns/x", "u-x", byCluster, ""), Deleted, true, true, "clusterctl only moves", "create it in the target by other means"},
		{"a kind without its definition", existing("bar.example.com/v1", "Bar ns/x", "u-x", byCluster, ""), Unclear, false, false, "the definition of its kind is missing here", "add the definition of Bar"},
		{
			"owned by a kind without its definition", x([]string{"bar.example.com/v1 Bar b u-b"}, "") + existing("bar.example.com/v1", "Bar ns/b", "u-b", nil, ""),
			Unclear, false, false, "it is not clear what becomes of its owner Bar ns/b", "",
		},
		{"of a Cluster whose class, which would move as well, is not there", existing(core, "Cluster ns/x", "u-x", nil, "spec: {topology: {classRef: {name: gone}}}\n"+ready), Moves, false, true, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(t, base+c.text)
			i := slices.IndexFunc(p.Nodes, func(n *Node) bool { return n.Name == "x" })
			if i < 0 {
				t.Fatal("it has no node")
			}
			n := p.Nodes[i]
			if n.Verdict != c.verdict || n.Lost != c.lost || !strings.Contains(n.Reason(), c.reason) || !strings.Contains(n.Fix(), c.fix) || (c.fix == "") != (n.Fix() == "") && n.Lost {
				t.Errorf("%v, lost %v: %s; to do: %s", n.Verdict, n.Lost, n.Reason(), n.Fix())
			}
			if p.Certain() != c.certain || len(p.Refusals) > 0 {
				t.Errorf("certain %v: %v, %v", p.Certain(), p.Gaps, p.Refusals)
			}
			if p.Harms() != slices.ContainsFunc(p.Nodes, func(n *Node) bool { return n.Lost }) {
				t.Error("harms:", p.Harms())
			}
		})
	}
}

// TestRefusals says why clusterctl would not start.
func TestRefusals(t *testing.T) {
	cluster := func(rest string) string { return existing(core, "Cluster ns/x", "u-x", nil, rest) }
	machine := func(owners []string, rest string) string {
		return existing(core, "Machine ns/x", "u-x", owners, rest)
	}
	for _, c := range []struct {
		name, text string
		step       Step
		want       string
	}{
		{"paused", cluster("spec: {paused: true}\n" + ready), Pause, "Cluster ns/x: it is already paused"},
		{"paused by annotation", cluster("  annotations: {cluster.x-k8s.io/paused: ''}\n" + ready), Pause, "Cluster ns/x: it is already paused"},
		{"a paused class", existing(core, "ClusterClass ns/x", "u-x", nil, "  annotations: {cluster.x-k8s.io/paused: ''}\n"), PauseClasses, "ClusterClass ns/x: it is already paused"},
		{"not provisioned", cluster(""), Provisioning, "Cluster ns/x: its infrastructure is not provisioned"},
		{"no control plane", cluster("status: {initialization: {infrastructureProvisioned: true}}\n"), Provisioning, "Cluster ns/x: its control plane is not initialized"},
		{"a Machine without a node", machine([]string{core + " Cluster c u-c"}, ""), Provisioning, "Machine ns/x: it has no node yet"},
		{"owned by a Cluster that is gone", machine([]string{core + " Cluster gone u-gone"}, "status: {nodeRef: {name: a}}\n"), Provisioning, "Machine ns/x: ownerReference 1 points to Cluster gone, which does not exist; clusterctl fails when it reads that Cluster"},
		{"a class that is not there", cluster("spec: {topology: {classRef: {name: cc, namespace: other}}}\n" + ready), Discovery, "Cluster ns/x: it refers to ClusterClass other/cc, which does not exist"},
		{
			"a template that is not there", cluster("spec: {topology: {classRef: {name: cc, namespace: other}}}\n"+ready) +
				existing(core, "ClusterClass other/cc", "u-cc", nil, "spec: {infrastructure: {templateRef: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooMachine, name: t}}}\n"),
			Discovery, "ClusterClass other/cc: it refers to FooMachine other/t, which does not exist",
		},
		{
			"a version that is not served", strings.ReplaceAll(crdOf("FooOld", "Namespaced", byClusterctl), "storage: true", "storage: true, served: false"),
			Discovery, `CustomResourceDefinition fooolds.foo.cluster.x-k8s.io: objects are stored in version "v1", which is not served`,
		},
		{"an old management cluster", definitionOf("cluster.x-k8s.io", "v1beta1", "Cluster", "Namespaced", byClusterctl), contract, `CustomResourceDefinition clusters.cluster.x-k8s.io: it stores Clusters in version "v1beta1"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(t, base+c.text)
			if len(p.Refusals) != 1 || p.Refusals[0].Step != c.step || !strings.HasPrefix(p.Refusals[0].Node.String()+": "+p.Refusals[0].Reason, c.want) || p.Refusals[0].Fix == "" {
				t.Errorf("%+v", p.Refusals)
			}
			if !p.Harms() {
				t.Error("no harm")
			}
		})
	}
}

// TestWrongKind: clusterctl knows a Cluster by the kind of the first reference to it, and
// moves it for the labels of its own kind.
func TestWrongKind(t *testing.T) {
	p := planOf(t, base+existing(core, "ClusterClass ns/cc", "u-cc", nil, "")+
		existing(core, "Cluster ns/d", "u-d", nil, "spec: {topology: {classRef: {name: cc}}}\n"+ready)+
		existing(core, "Machine ns/m", "u-m", []string{core + " FooCluster d u-d"}, "status: {nodeRef: {name: a}}\n"))
	if len(p.Failures) != 1 || p.Failures[0].Step != Create || p.Failures[0].Node.String() != "Cluster ns/d" || !p.Failures[0].Sometimes {
		t.Errorf("%+v", p.Failures)
	}
	p = planOf(t, base+existing(core, "ClusterClass ns/cc", "u-cc", nil, "")+
		existing(core, "Cluster ns/d", "u-d", nil, "spec: {topology: {classRef: {name: cc}}}\n"+ready)+
		existing(core, "Machine ns/l", "u-l", []string{core + " Cluster d"}, "status: {nodeRef: {name: b}}\n")+
		existing(core, "Machine ns/m", "u-m", []string{core + " FooCluster d u-d"}, "status: {nodeRef: {name: a}}\n"))
	if len(p.Failures) != 0 {
		t.Errorf("after one without a UID: %+v", p.Failures)
	}
}

// TestOverlooked: what clusterctl only fetches for a Cluster, or only waits for because
// of one, depends on chance if it may know that Cluster by a wrong kind.
func TestOverlooked(t *testing.T) {
	const unready = "    clusterctl.cluster.x-k8s.io/block-move: \"\"\n"
	// A template that is the class itself must not lead round in circles.
	const itself = "spec: {infrastructure: {templateRef: {apiVersion: cluster.x-k8s.io/v1beta2, kind: ClusterClass, name: cc}}}\n"
	p := planOf(t, base+existing(core, "ClusterClass other/cc", "u-cc", nil, "  annotations:\n    cluster.x-k8s.io/paused: \"\"\n"+unready+itself)+
		existing(core, "Cluster ns/d", "u-d", nil, "spec: {topology: {classRef: {name: cc, namespace: other}}}\n"+ready)+
		existing(core, "Machine ns/m", "u-m", []string{core + " FooCluster d u-d"}, "status: {nodeRef: {name: a}}\n"))
	for _, f := range slices.Concat(p.Refusals, p.Failures) {
		if !f.Sometimes {
			t.Errorf("certain: %+v", f)
		}
	}
	if len(p.Refusals) != 1 || len(p.Failures) != 2 {
		t.Errorf("%+v, %+v", p.Refusals, p.Failures)
	}
	// The template is fetched after the class, so it does not matter how it calls it.
	p = planOf(t, base+crdOf("FooTemplate", "Namespaced", byClusterctl)+
		existing(core, "ClusterClass other/cc", "u-cc", nil, "spec: {infrastructure: {templateRef: {apiVersion: foo.cluster.x-k8s.io/v1, kind: FooTemplate, name: t}}}\n")+
		existing("foo.cluster.x-k8s.io/v1", "FooTemplate other/t", "u-t", []string{"cluster.x-k8s.io/v0 ClusterClass cc u-cc"}, "")+
		existing(core, "Cluster ns/d", "u-d", nil, "spec: {topology: {classRef: {name: cc, namespace: other}}}\n"+ready))
	if len(p.Refusals)+len(p.Failures) > 0 {
		t.Errorf("%+v, %+v", p.Refusals, p.Failures)
	}
}

// TestLeftWithSecret: a class that a Secret owns waits for it, so it stays behind with a
// Secret that clusterctl knows by a version other than v1.
func TestLeftWithSecret(t *testing.T) {
	p := planOf(t, base+existing("v1", "Secret ns/c-etcd", "u-etcd", nil, "")+
		existing("v1", "Secret ns/c-ca", "u-ca", []string{"v0 Secret c-etcd u-etcd"}, "")+
		existing(core, "ClusterClass ns/cc", "u-cc", []string{"v1 Secret c-ca u-ca"}, ""))
	if len(p.Failures) != 2 || p.Failures[0].Step != ResumeClasses || p.Failures[0].Node.String() != "ClusterClass ns/cc" || p.Failures[0].Sometimes || p.Failures[1].Step != After {
		t.Errorf("%+v", p.Failures)
	}
}

// TestGaps demands that what is missing or contradicts itself is said.
func TestGaps(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "the snapshot holds no object"},
		{"no Cluster", existing("v1", "Secret ns/s", "u", nil, ""), "no Cluster is among the moved objects"},
		{"no Secret", strings.ReplaceAll(base, "kind: Secret", "kind: ConfigMap"), "the snapshot holds no Secret"},
		{"no definitions", existing(core, "Cluster ns/c", "u", nil, ready) + existing(prov, "FooMachine ns/m", "v", nil, ""), "Cluster.cluster.x-k8s.io and FooMachine.foo.cluster.x-k8s.io"},
		{"a reference to nothing", base + existing(core, "Cluster ns/d", "u-d", nil, "spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMachine, name: f}}\n"+ready), "1 FooMachine.foo.cluster.x-k8s.io"},
		{"one UID for two", base + existing(prov, "FooMachine ns/a", "u-1", nil, "") + existing(prov, "FooMachine ns/b", "u-1", nil, ""), "FooMachine ns/a and FooMachine ns/b have the same UID"},
		{"two UIDs for one", base + existing(prov, "FooMachine ns/a", "u-1", nil, "") + existing(prov, "FooMachine ns/a", "u-2", nil, ""), "FooMachine ns/a appears twice with different UIDs"},
		{"an owner with two UIDs", base + existing(prov, "FooMachine ns/d", "u-d1", nil, "") +
			existing(prov, "FooMachine ns/d", "u-d2", []string{core + " Cluster wrong u-c"}, "") +
			existing(prov, "FooMachine ns/y", "u-y", []string{prov + " FooMachine d u-d2"}, "") +
			existing(prov, "FooMachine ns/z", "u-z", []string{core + " Cluster wrong u-c"}, ""), "FooMachine ns/d appears twice with different UIDs"},
		{"a template", existing(core, "Cluster ns/c", "", nil, ready), "as if this were a template"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(t, c.text)
			p.Runbook() // must not panic on faults without an edge
			if p.Certain() || !strings.Contains(strings.Join(p.Gaps, "\n"), c.want) {
				t.Errorf("certain %v: %q", p.Certain(), p.Gaps)
			}
		})
	}
	if p := planOf(t, base); !p.Certain() || p.Harms() {
		t.Error(p.Gaps, p.Refusals)
	}
	if p := planOf(t, base+base); !p.Certain() || p.Harms() || p.Repeated == 0 {
		t.Error("twice:", p.Gaps, p.Refusals, p.Repeated)
	}
}

// TestClassElsewhere follows a Cluster to the class of another namespace and to its
// templates, of whatever kind: they are copied, with what they own.
func TestClassElsewhere(t *testing.T) {
	p := planOf(t, base+
		existing(core, "Cluster ns/d", "u-d", nil, "spec: {topology: {classRef: {name: cc, namespace: other}}}\n"+ready)+
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
	order := p.Order()
	if len(order) != 3 || order[2][0].Name != "b" {
		t.Error(order)
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

// TestRestore plans move --from-directory.
func TestRestore(t *testing.T) {
	s := taken(t, existing(core, "Cluster ns/c", "u-c", nil, "spec: {paused: true}\n")+
		existing("v1", "Secret ns/c-ca", "u-ca", nil, "")+
		existing(prov, "FooMachine ns/m", "u-m", []string{core + " Cluster c u-c"}, "  deletionTimestamp: '2026-01-01T00:00:00Z'\n")+
		existing(prov, "FooMoved ns/l", "u-l", nil, ""))
	p := FromSnapshot(s, Options{Restore: true})
	got := phrase.List(p.Nodes, func(n *Node) string { return n.Name + " " + n.Verdict.String() })
	if !slices.Equal(got, []string{"c moves", "c-ca moves", "m moves", "l unclear"}) || len(p.Refusals)+len(p.Failures)+len(p.Gaps) > 0 {
		t.Error(got, p.Refusals, p.Failures, p.Gaps)
	}
}

// TestRefusalsInOrder: refusals of earlier steps come first, and those of steps that
// move --from-directory does not have are left out.
func TestRefusalsInOrder(t *testing.T) {
	s := taken(t, strings.ReplaceAll(crdOf("FooOld", "Namespaced", byClusterctl), "storage: true", "storage: true, served: false")+
		definitionOf("cluster.x-k8s.io", "v1beta1", "Cluster", "Namespaced", byClusterctl))
	for restore, want := range map[bool][]Step{false: {contract, Discovery}, true: {contract}} {
		got := phrase.List(FromSnapshot(s, Options{All: true, Restore: restore}).Refusals, func(r Fault) Step { return r.Step })
		if !slices.Equal(got, want) {
			t.Errorf("restore %v: refusals of the steps %v, want %v", restore, got, want)
		}
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

// FuzzFromSnapshot makes sure that every object of any text gets a verdict.
func FuzzFromSnapshot(f *testing.F) {
	f.Add(base)
	f.Add(existing(core, "Machine ns/a", "u", []string{core + " Machine a u", core + " Cluster c v"}, "") + existing(prov, "Foo b", "", []string{prov + " Foo b"}, ""))
	f.Add(existing(core, "Cluster ns/a", "u", []string{core + " ClusterClass a v"}, "spec: {topology: {classRef: {name: a}}}\n") + existing(core, "ClusterClass ns/a", "v", []string{core + " Cluster a u"}, ""))
	f.Add(existing("apiextensions.k8s.io/v1", "CustomResourceDefinition x", "u", nil, "spec: {}\n") + existing("a/v1", "X y", "u", []string{"a/v1 X x u"}, "") + existing("v1", "Secret ca", "", nil, ""))
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range []Options{{Namespace: "ns"}, {All: true}, {Restore: true}, {Namespace: "ns", Complete: true}} {
			s := &snapshot.Snapshot{}
			given.NoError(t, s.Read(t.Context(), "dump", strings.NewReader(text)))
			p := FromSnapshot(s, o)
			for _, n := range p.Nodes {
				if n.Reason() == "" || len(n.Path()) == 0 {
					t.Errorf("%s: %v, %d", n, n.Verdict, n.Cause)
				}
				_ = n.Fix()
			}
			for _, r := range p.Refusals {
				if r.Node == nil || r.Reason == "" || r.Fix == "" {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}

// fleet is a snapshot of n objects: Clusters with Machines and what these own.
func fleet(n int) *snapshot.Snapshot {
	s := &snapshot.Snapshot{}
	add := func(group, kind, name string, detail any, owner *snapshot.Object) *snapshot.Object {
		o := snapshot.Object{Group: group, Version: "v1", Kind: kind, Namespace: "ns", Name: name, UID: "u-" + kind + "-" + name, Detail: detail}
		if owner != nil {
			o.Owners = []snapshot.Owner{{Group: owner.Group, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}}
		}
		s.Objects = append(s.Objects, o)
		return &o
	}
	var cluster *snapshot.Object
	for i := 0; len(s.Objects) < n; i++ {
		name := fmt.Sprint(i)
		if i%100 == 0 {
			cluster = add("cluster.x-k8s.io", "Cluster", name, &snapshot.Cluster{Provisioned: true, Initialized: true}, nil)
			add("", "Secret", name+"-kubeconfig", nil, nil)
		}
		machine := add("cluster.x-k8s.io", "Machine", name, &snapshot.Machine{HasNode: true}, cluster)
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
		FromSnapshot(s, Options{Namespace: "ns"})
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := work(3000), work(30000); large > 13*small {
		t.Errorf("%d bytes for 3,000 objects, %d for 30,000", small, large)
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000, 1000000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := fleet(n)
			b.ReportAllocs()
			for b.Loop() {
				FromSnapshot(s, Options{Namespace: "ns"})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/object")
		})
	}
}

// TestTarget names what a move does with what is in the target already, and with a
// dump that lacks some of the source.
func TestTarget(t *testing.T) {
	identity := crdOf("FooIdentity", "Cluster", byClusterctl+`, clusterctl.cluster.x-k8s.io/move-hierarchy: ""`)
	provider := existing("clusterctl.cluster.x-k8s.io/v1alpha3", "Provider foo-system/infrastructure-foo", "u-p", nil, "type: InfrastructureProvider\nproviderName: foo\nversion: v1.0.0\n")
	source := base + provider + identity + existing(prov, "FooIdentity id", "u-id", nil, "") +
		existing("v1", "Secret foo-system/id", "u-s", []string{prov + " FooIdentity id u-id"}, "")
	newer := strings.Replace(source, "v1.0.0", "v1.1.0", 1)
	target := definitionOf("cluster.x-k8s.io", "v1beta2", "Cluster", "Namespaced", byClusterctl) + identity + provider
	for _, c := range []struct {
		name, source, target, want string
		outcome                    Outcome
		restore                    bool
	}{
		{"nothing there", source, target, "", Safe, false},
		{"a newer provider", newer, target, "the target has v1.0.0, which is older than v1.1.0 in the source", Refuses, false},
		{"a newer provider of a backup", newer, target, "", Safe, true},
		{"the identity without its Secret", source, target + existing(prov, "FooIdentity id", "other", nil, ""), "the UID that its owner FooIdentity id has in the source", hurts, false},
		{
			"both", source, target + existing(prov, "FooIdentity id", "other", nil, "") + existing("v1", "Secret foo-system/id", "more", nil, ""), "", Safe, false,
		},
		{
			"another scope", base + provider + existing(prov, "FooMoved ns/m", "u-m", nil, ""), target + crdOf("FooMoved", "Cluster", byClusterctl),
			"FooMoved has no namespaces in the target, but has namespaces in the source", Fails, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := FromSnapshot(taken(t, c.source), Options{Namespace: "ns", Complete: true, Target: taken(t, c.target), Restore: c.restore})
			text := strings.Join(phrase.List(append(p.Failures, p.Refusals...), func(f Fault) string { return f.Reason }), "\n")
			if c.want == "" && text != "" || !strings.Contains(text, c.want) {
				t.Errorf("%q, want %q", text, c.want)
			}
			if c.want != "" && p.Outcome() != c.outcome {
				t.Errorf("%v, want %v: %v", p.Outcome(), c.outcome, p.Refusals)
			}
		})
	}
}

// TestMissingMachines: that a dump holds no Machine does not mean that there is none.
func TestMissingMachines(t *testing.T) {
	text := base + existing(prov, "FooMachine ns/m", "u-m", []string{core + " Machine m u-machine"}, "")
	p := planOf(t, text)
	n := p.Find(ID{Group: "foo.cluster.x-k8s.io", Kind: "FooMachine", Namespace: "ns", Name: "m"})
	if p.Outcome() != Unsure || n.Verdict != Unclear || !strings.Contains(strings.Join(p.Gaps, "\n"), "no Machine") {
		t.Error(p.Outcome(), n.Verdict, n.Reason(), p.Gaps, p.Refusals)
	}
	machine := existing(core, "Machine ns/x", "u-x", []string{core + " Cluster c u-c"}, "status: {nodeRef: {name: node1}}\n")
	if p := planOf(t, text+machine); p.Outcome() != Refuses {
		t.Error("with another Machine:", p.Outcome(), p.Gaps)
	}
}

// TestVariable: a plain variable of a class may name a credential.
func TestVariable(t *testing.T) {
	cluster := existing(core, "Cluster ns/d", "u-d", nil, "spec: {topology: {classRef: {name: k}, version: v1, variables: [{name: credentials, value: my-secret}]}}\n"+ready)
	p := planOf(t, base+existing(core, "ClusterClass ns/k", "u-k", nil, "")+cluster+existing("v1", "Secret ns/my-secret", "u-s", nil, "type: Opaque\n"))
	n := p.Find(ID{Kind: "Secret", Namespace: "ns", Name: "my-secret"})
	if n.Verdict != Unclear || n.Cause != mayBeNamed || p.Outcome() != Unsure {
		t.Error(n.Verdict, n.Reason(), p.Outcome(), p.Refusals)
	}
}
