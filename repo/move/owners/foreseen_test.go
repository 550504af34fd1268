package owners

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

var update = flag.Bool("update", false, "write the golden file")

// told is what people are told about a plan, with the commands before the move or the whole runbook.
func told(p *Plan, whole bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "namespace %q, %s, certain %v, elsewhere %d, repeated %d: %s\n",
		p.Namespace, p.Outcome(), p.Certain(), p.Elsewhere, p.Repeated, p.Conclusion())
	for i, step := range p.Order() {
		list := phrase.List(step, func(n *Node) string { return fmt.Sprint(n.Verdict, " ", n) })
		fmt.Fprintf(&b, "%d. %s\n", i, strings.Join(list, ", "))
	}
	for _, n := range p.Nodes {
		if !n.Verdict.moves() {
			fmt.Fprintf(&b, "%s %s, lost %v: %s; %s\n", n.Verdict, n, n.Lost, n.Reason(), n.Fix())
		}
	}
	for i, list := range [][]Fault{p.Refusals, p.Failures, p.Notes} {
		for _, f := range list {
			fmt.Fprintf(&b, "%s %s, sometimes %v: %s: %s; %s\n", []string{"refusal", "failure", "note"}[i], f.Step,
				f.Sometimes,
				f.Node, f.Reason, f.Fix)
		}
	}
	for _, gap := range p.Gaps {
		fmt.Fprintln(&b, "gap:", gap)
	}
	for i, s := range p.Runbook().Sections {
		if !whole && i > 0 {
			break
		}
		if whole {
			fmt.Fprintf(&b, "# %s\n%s\n", s.Title, s.Text)
		}
		for _, t := range s.Tasks {
			if whole {
				fmt.Fprintln(&b, "-", t.Text)
			}
			for _, c := range t.Commands {
				fmt.Fprintln(&b, "$", c)
			}
		}
	}
	return b.String()
}

// TestForeseen compares all that is said about management clusters in which many things
// are wrong with testdata/foreseen.txt.
func TestForeseen(t *testing.T) {
	const (
		v0       = "cluster.x-k8s.io/v0 "
		bar      = "bar.example.com/v1 "
		deployed = "apps/v1 Deployment gone u-gone"
		node     = "status: {nodeRef: {name: a}}\n"
		block    = "  annotations: {clusterctl.cluster.x-k8s.io/block-move: ''}\n"
		paused   = "  annotations: {cluster.x-k8s.io/paused: ''}\n"
		identity = "clusterctl.cluster.x-k8s.io/move-hierarchy: ''"
	)
	foo := func(id string, owners ...string) string {
		return existing(prov, "FooMachine "+id, "u-"+id[strings.Index(id, "/")+1:], owners, "")
	}
	cluster := func(id, spec string, owners ...string) string {
		return existing(core, "Cluster "+id, "u-"+id[strings.Index(id, "/")+1:], owners, spec+ready)
	}
	class := func(id, rest string, owners ...string) string {
		return existing(core, "ClusterClass "+id, "u-"+id[strings.Index(id, "/")+1:], owners, rest)
	}
	secret := func(id string, owners ...string) string { return existing("v1", "Secret "+id, "", owners, "") }
	of := func(kind, name string) string { return core + " " + kind + " " + name + " u-" + name }
	uses := func(class, namespace string) string {
		return "spec: {topology: {classRef: {name: " + class + ", namespace: " + namespace + "}}}\n"
	}
	ref := func(rest string) string { return "spec: {infrastructure: {templateRef: {" + rest + "}}}\n" }
	provider := func(name, kind, version string) string {
		return existing("clusterctl.cluster.x-k8s.io/v1alpha3", "Provider "+name+"-system/"+name,
			"u-"+name+kind+version, nil,
			"type: "+kind+"\nproviderName: "+name+"\nversion: "+version+"\n")
	}
	infra := provider("foo", "InfrastructureProvider", "v1.0.0")
	extension := func(name, status string) string {
		return existing("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig "+name, "u-"+name, nil,
			"status: {"+status+"}\n")
	}
	discovered := func(status, rest string) string {
		return "conditions: [{type: Discovered, status: '" + status + "', message: " + rest + "}]"
	}
	calls := func(handlers ...string) string {
		return "spec: {patches: [{external: {generateExtension: " +
			strings.Join(handlers, "}}, {external: {generateExtension: ") + "}}]}\n"
	}
	namespaces := existing("v1", "Namespace ns", "u-ns", nil, "")
	binding := func(name string, owners ...string) string {
		return existing(addons, "ClusterResourceSetBinding ns/"+name, "u-"+name, owners, "spec: {clusterName: c}\n") +
			secret("ns/of-"+name, bar+"Foo "+name+" u-"+name)
	}
	labelled := existing(prov, "FooMachine ns/h", "u-h", nil, "  labels: {"+identity+"}\n")
	// Names of owners that are not theirs, and what clusterctl makes of them.
	aliases := cluster("ns/d1", "") + foo("ns/x1", v0+"Cluster d1 u-d1", bar+"Cluster d1 u-d1") +
		cluster("ns/d2", "") + foo("ns/x2", core+" Cluster other u-d2") +
		cluster("ns/d3", uses("cc", "other")) + foo("ns/x3", core+" Cluster c u-d3") +
		class("other/cc", ref("apiVersion: foo.cluster.x-k8s.io/v1, kind: FooHidden, name: t")) +
		existing(prov, "FooHidden other/t", "u-t", nil, "") +
		foo("ns/o4", of("Cluster", "c")) + secret("ns/x4", core+" Machine o4 u-o4") +
		foo("ns/o5", of("Cluster", "c")) + secret("ns/x5", core+" ClusterClass o5 u-o5") +
		foo("ns/o6", of("Cluster", "c")) + secret("ns/x6", core+" Cluster o6 u-o6") +
		foo("ns/o7", of("Cluster", "c")) + secret("ns/x7", addons+" ClusterResourceSetBinding o7 u-o7") +
		class("ns/o8", "") + secret("ns/x8", core+" ClusterClass wrong u-o8") +
		foo("ns/o9", of("Cluster", "c")) + secret("ns/x9", bar+"FooMachine o9 u-o9") +
		foo("ns/oa", of("Cluster", "c")) + foo("ns/zz", prov+" FooMachine wrong u-oa") +
		foo("ns/yy", prov+" FooMachine wrong u-oa", prov+" FooMachine oa u-oa") +
		foo("ns/ob", of("Cluster", "c")) + foo("ns/aa", prov+" FooMachine wrong u-ob") +
		foo("ns/ab", bar+"FooMachine wrong u-ob") +
		existing("apps/v1", "Deployment ns/aa", "", []string{bar + "Early wrong u-ob"}, "") +
		foo("ns/oc", of("Cluster", "c")) + secret("ns/xc", bar+"Foo oc u-oc") +
		existing("v1", "ConfigMap ns/xc", "u-mc", []string{bar + "Bar oc u-oc", bar + "Again oc u-oc"}, "") +
		cluster("ns/od", "") + foo("ns/xd", v0+"Cluster od") +
		existing(core, "Cluster ns/oe", "", nil, ready) + foo("ns/xe", v0+"Cluster oe u-oe") +
		cluster("ns/of", "") + foo("ns/xf", v0+"Cluster of u-gone") + secret("ns/xg", v0+"Machine u-nothing")
	var all []string
	for _, c := range []struct {
		name, text, target string
		options            Options
		whole              bool
	}{
		{name: "aliases", text: base + aliases},
		{name: "aliases, restored", text: aliases + base, options: Options{Restore: true}},
		{name: "aliases, all and complete", text: base + aliases, options: Options{All: true, Complete: true}},
		{name: "aliases that stay or belong", text: base +
			class("ns/kk", "", deployed) + cluster("ns/e", uses("kk", "''")) +
			foo("ns/x", core+" ClusterClass l u-kk") + class("ns/l", "") +
			cluster("ns/f", uses("kk", "''"), prov+" FooMachine x u-x") + foo("ns/y", core+" Cluster c u-f") +
			secret("ns/c-etcd") + secret("ns/c-ca", "v0 Secret c-etcd u-c-etcd") +
			foo("ns/z", "v1 Secret c-ca u-c-ca") +
			class("ns/mm", "", prov+" FooMachine z u-z") +
			cluster("ns/g", uses("mm", "ns"), "v1 Secret c-ca u-c-ca") +
			secret("ns/c-sa", of("Cluster", "c"), "apps/v1 Deployment d u-d") +
			secret("ns/c-proxy", "v0 Secret c-sa u-c-sa")},
		{name: "aliases of bindings", text: base + labelled + existing(prov, "FooMoved ns/l", "u-l", nil, "") +
			binding("b1") + binding("b2", of("Cluster", "c")) + binding("b3", prov+" FooMoved l u-l") +
			binding("b4", prov+" FooMachine h u-h")},
		{name: "aliases of what is not listed", text: base + cluster("other/yy", "") + class("other/kk", "") +
			foo("ns/a", v0+"Cluster yy u-yy") + secret("ns/b", bar+"Cluster yy u-yy") +
			foo("ns/ca", v0+"ClusterClass kk u-kk") +
			existing("v1", "ConfigMap ns/d", "u-d", []string{core + " Machine gone u-gone"}, "") +
			existing(prov, "FooHidden ns/h", "u-h", nil, "") +
			foo("ns/i", core+" FooHidden h u-h"), options: Options{Complete: true}},
		{name: "paused under another name", text: base +
			class("other/kk", paused+ref("apiVersion: foo.cluster.x-k8s.io/v1, kind: FooMoved, name: gone")) +
			existing(core, "Cluster ns/d", "u-d", nil, block+uses("kk", "other")+"status: {}\n") +
			foo("ns/x", v0+"Cluster d u-d") +
			existing(core, "Cluster ns/e", "u-e", nil, paused+uses("kk", "other")+"status: {}\n") +
			foo("ns/y", core+" Cluster wrong u-e") +
			existing(core, "Machine ns/m", "u-m", []string{core + " Cluster c u-e"}, "") +
			foo("ns/z", core+" Cluster c u-m")},
		{name: "causes", text: base + infra + crdOf("FooIdentity", "Cluster", byClusterctl+", "+identity) +
			class("ns/kk", calls("a.x")) + cluster("ns/d", uses("kk", "ns"), of("Cluster", "missing"), deployed) +
			cluster("other/e", uses("kk", "ns")) + foo("ns/own", of("ClusterClass", "kk")) +
			existing(core, "Cluster ns/busy", "u-busy", nil,
				"status: {conditions: [{type: RollingOut, status: 'True'}]}\n") +
			existing(core, "Cluster ns/cp", "u-cp", nil,
				"spec: {controlPlaneRef: {apiGroup: a.b, kind: K, name: k}}\n"+
					"status: {initialization: {infrastructureProvisioned: true}, "+
					"conditions: [{type: ControlPlaneInitialized, status: 'True'}]}\n") +
			existing(core, "Machine ns/m", "u-m", []string{of("Cluster", "c")},
				"spec: {bootstrap: {configRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMoved, name: lacking}}}\n") +
			existing(addons, "ClusterResourceSetBinding ns/b", "u-b", nil, "spec: {clusterName: c}\n") +
			existing(prov, "FooMachine ns/dying", "u-dying", []string{of("Cluster", "c")},
				"  deletionTimestamp: '2026-01-01T00:00:00Z'\n"+block+
					"spec: {a: {secretRef: {kind: Secret, name: s}}, b: {ref: {kind: ConfigMap, name: c-kubeconfig}}, "+
					"c: {name: t, namespace: other}, d: {name: u, namespace: ns}, "+
					"e: [may, odd name], f: may, g: {name: mixed}, "+
					"h: {name: hid}}\n") +
			existing(prov, "FooIdentity id", "u-id", nil,
				"spec: {secretRef: {name: t}, more: {name: s}, pool: {name: w}}\n") +
			existing(prov, "FooHidden ns/hid", "u-hid", nil, "") + secret("ns/s") + secret("ns/t") +
			secret("other/t") + secret("foo-system/t") + secret("ns/u") + secret("other/u") + secret("ns/may") +
			existing("v1", "ConfigMap ns/mixed", "u-mixed", nil, "") +
			existing("v1", "ConfigMap foo-system/w", "u-w", nil, "") +
			secret("ns/alone", prov+" FooMoved l u-l") + existing(prov, "FooMoved ns/l", "u-l", nil, "") +
			foo("ns/q q", prov+" FooMachine r u-r") +
			foo("ns/r", "foo.cluster.x-k8s.io/v1 FooMachine q u-q q") + existing(prov, "FooMachine ns/lonely", "u-lonely", nil, "spec: {secretRef: {name: idle}}\n") + secret("ns/idle") +
			foo("ns/global", prov+" FooGlobal glob") + existing(prov, "FooGlobal glob", "", nil, "") +
			foo("ns/below", prov+" FooMachine lonely u-lonely") +
			existing("apps/v1", "Deployment ns/gone", "u-gone", nil, "") +
			existing("apps/v1", "Deployment ns/idle", "u-idle", nil, "") +
			foo("ns/deep", prov+" FooMachine gone u-not") +
			existing("apps/v1", "ReplicaSet ns/deeper", "u-deeper", []string{prov + " FooMachine deep u-deep"},
				"") +
			existing("cert-manager.io/v1", "Issuer ns/i", "u-i", nil, "") +
			existing("cert-manager.io/v1", "ClusterIssuer ci", "u-ci", nil, "") +
			existing("clusterctl.cluster.x-k8s.io/v1alpha3", "Metadata ns/md", "u-md", nil, "") +
			existing(bar[:18], "Bar bar", "u-bar", []string{deployed}, "")},
		{name: "gaps", text: existing(core, "Cluster ns/c", "", nil, ready) +
			existing(core, "Machine ns/m", "", nil,
				"spec: {infrastructureRef: {apiGroup: foo.cluster.x-k8s.io, kind: FooMachine, name: lacking}}\n"+node) +
			existing("v1", "Secret ns/c-ca", "", nil, "") + existing("v1", "Secret ns/c-ca", "", nil, "") +
			existing("a.b/v1", "I x", "", nil, "") + existing("a.b/v1", "H x", "", nil, "") +
			existing("a.b/v1", "G x", "", nil, "") + existing("a.b/v1", "F x", "", nil, "") +
			existing("a.b/v1", "E x", "", nil, "") + existing("a.b/v1", "D x", "", nil, "") +
			existing("a.b/v1", "C x", "", nil, "")},
		{name: "restored", text: existing(prov, "FooMachine ns/m", "u-m", []string{of("Cluster", "gone")}, "") +
			class("ns/kk", "", of("ClusterClass", "lost")) +
			foo("ns/n", of("ClusterClass", "lost")) + foo("ns/o", core+" Machine gone u-gone") +
			existing(core, "Cluster ns/d", "u-d", nil, block+uses("kk", "ns")) +
			crdOf("FooHidden", "Cluster", "") + existing(prov, "FooHidden h", "u-h", nil, "") +
			existing(prov, "FooMachine g", "u-g", nil, "  deletionTimestamp: '2026-01-01T00:00:00Z'\n"),
			options: Options{Restore: true}, whole: true},
		{name: "all", text: base + cluster("ns/d d", uses("cc", "other")) +
			class("other/cc", ref("apiVersion: foo.cluster.x-k8s.io/v0, kind: FooHidden, name: t")) +
			cluster("other/e", uses("cc", "''")) +
			foo("other/m", of("Cluster", "e")), options: Options{All: true}, whole: true},
		{name: "classes elsewhere", text: base + cluster("ns/d", uses("a", "other")) +
			cluster("ns/e", uses("a", "other")) + cluster("ns/f", uses("b", "other")) +
			cluster("ns/g", uses("b", "other")) + cluster("ns/h", "") +
			class("other/a", ref("apiVersion: foo.cluster.x-k8s.io/v1, kind: FooMachine, name: t")) +
			class("other/b", ref("apiVersion: cluster.x-k8s.io/v1beta2, kind: ClusterClass, name: a")) +
			foo("other/t") + foo("ns/x", core+" Cluster h u-d") + foo("ns/y", core+" Cluster h u-f")},
		{name: "not served", text: base +
			strings.ReplaceAll(crdOf("FooOld", "Namespaced", byClusterctl), "storage: true",
				"served: false, storage: true") + cluster("ns/d", uses("a", "other")) +
			cluster("ns/e", uses("b", "other")) +
			class("other/a", ref("apiVersion: foo.cluster.x-k8s.io/v0, kind: FooMachine, name: t")) +
			class("other/b", ref("apiVersion: foo.cluster.x-k8s.io/v1, kind: FooOld, name: t"))},
		{name: "target without anything, complete", text: base +
			infra, target: namespaces, options: Options{TargetComplete: true}},
		{name: "target without anything", text: base +
			infra, target: existing("v1", "Namespace zz", "u-zz", nil, "")},
		{name: "target, providers", text: base + infra + provider("odd", "CoreProvider", "v1") +
			provider("bar", "CoreProvider", "v1.2.0") + provider("bad", "CoreProvider", "v1.0.0") +
			provider("new", "CoreProvider", "v1.0.0") +
			crdOf("FooNew", "Namespaced", byClusterctl+`, clusterctl.cluster.x-k8s.io/move: ''`) +
			existing(prov, "FooNew ns/n", "u-fn", nil, "") + foo("ns/m", of("Cluster", "c")) +
			foo("ns/n", of("Cluster", "c")) + existing(prov, "FooMoved ns/m", "u-mm", nil, ""),
			target: definitionOf("cluster.x-k8s.io", "v1beta1", "Cluster", "Namespaced", byClusterctl) +
				provider("foo", "CoreProvider", "v1.0.0") + provider("bar", "CoreProvider", "v1.0.0") +
				provider("bar", "CoreProvider", "v1.1.0") + provider("bar", "CoreProvider", "v1.0.1") +
				provider("bad", "CoreProvider", "x") + provider("bad", "CoreProvider", "v0.1.0") +
				provider("new", "CoreProvider", "v2.0.0") +
				strings.ReplaceAll(crdOf("FooMachine", "Namespaced", byClusterctl), "name: v1,", "name: v2,") +
				strings.ReplaceAll(crdOf("FooMoved", "Namespaced", ""), "storage: true", "served: false") +
				existing("v1", "Namespace ns", "u-ns", nil, "  deletionTimestamp: '2026-01-01T00:00:00Z'\n"), whole: true},
		{name: "target, objects", text: base + infra + crdOf("FooIdentity", "Cluster", byClusterctl+", "+identity) +
			crdOf("FooShared", "Cluster", byClusterctl+", "+identity) +
			class("ns/same", "") + class("ns/new",
			calls("a.none", "b.mute", "c.loud", "d.there", "e.there", "f.odd", "g.comes")) +
			foo("ns/m", of("Cluster", "c")) +
			existing("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig comes", "u-comes", nil,
				"  labels: {"+MoveLabel+": ''}\n") +
			existing(prov, "FooIdentity id", "u-id", nil, "") + existing(prov, "FooIdentity two", "u-two", nil, "") +
			secret("foo-system/a", prov+" FooIdentity id u-id", prov+" FooIdentity two u-two") +
			secret("foo-system/b", prov+" FooIdentity two u-two", prov+" FooIdentity id u-id") +
			secret("foo-system/s", prov+" FooIdentity id u-id") + secret("foo-system/t", "v1 Secret s u-s") +
			secret("foo-system/u", "v1 Secret t u-t") + secret("foo-system/v", "v1 Secret a u-a") +
			cluster("ns/d", uses("shared", "other")) + class("other/shared", "") +
			foo("other/o", of("ClusterClass", "shared")),
			target: base + namespaces + existing(core, "Cluster ns/c", "new", nil, "spec: {paused: true}\n") +
				class("ns/same", "") + class("ns/new", "") + existing(prov, "FooMachine ns/m", "u", nil, "") +
				cluster("z/u", uses("new", "ns")) + cluster("ns/t", uses("new", "''")) +
				cluster("yy/t", uses("new", "''")) + cluster("ns/v", uses("old", "ns")) +
				existing(prov, "FooIdentity id", "u-id2", nil, "") + class("other/shared", "") +
				extension("mute", discovered("False", "''")) + extension("loud", discovered("False", "no route")) +
				extension("there", discovered("True", "''")+", handlers: [{name: d}, {name: x}]") +
				existing("runtime.cluster.x-k8s.io/v1", "Odd odd", "u-odd", nil, ""),
			options: Options{TargetComplete: true}},
		{name: "target of a restore", text: foo("ns/x", v0+"Cluster d u-d") + foo("ns/y", bar+"Cluster d u-d") +
			cluster("ns/d", "") + existing(prov, "FooMachine ns/m", "u-m", []string{of("Cluster", "d")}, ""),
			target: base + existing(prov, "Namespace zz", "u-zz", nil, "") +
				existing(prov, "FooMachine ns/m", "u-m", nil, ""), options: Options{Restore: true}},
	} {
		if c.options.Namespace = "ns"; c.target != "" {
			c.options.Target = taken(t, c.target)
		}
		all = append(all, "== "+c.name+"\n"+told(FromSnapshot(taken(t, c.text), c.options), c.whole))
	}
	if *update {
		given.File(t, "testdata/foreseen.txt", strings.Join(all, ""))
	}
	golden := strings.SplitAfter(string(given.Read(t, "testdata/foreseen.txt")), "\n")
	for i, line := range strings.SplitAfter(strings.Join(all, ""), "\n") {
		if i >= len(golden) || line != golden[i] {
			t.Fatalf("line %d: got %q, want %q", i+1, line, golden[min(i, len(golden)-1)])
		}
	}
}
