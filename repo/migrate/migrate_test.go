package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func options() Options { return Options{Contract: table.To("v1beta2")} }

// said are the levels and messages of findings.
func said(r *Result) string {
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(f.Level.String() + " " + f.Message + "\n")
	}
	return b.String()
}

func TestText(t *testing.T) {
	const cluster = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\n"
	const now = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\n"
	for _, row := range []struct {
		name, old, want string
		says            string // in the findings
	}{
		{"nothing to do", "apiVersion: v1\nkind: Secret\n", "apiVersion: v1\nkind: Secret\n", ""},
		{"already there", now + "spec:\n  topology:\n    class: old\n", now + "spec:\n  topology:\n    class: old\n", ""},
		{
			"comments and order", cluster + "spec:\n  # which\n  topology: # t\n    version: v1 # v\n\n    # the class\n    class: 'a' # c\n    # end\n",
			now + "spec:\n  # which\n  topology: # t\n    version: v1 # v\n\n    # the class\n    classRef:\n      name: 'a' # c\n    # end\n", "",
		},
		{"flow style", cluster + "spec: {topology: {'class': a, version: v1}}\n", now + "spec: {topology: {classRef: {'name': a}, version: v1}}\n", ""},
		{"JSON", `{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "spec": {"topology": {"class": "a"}}}` + "\n", `{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "spec": {"topology": {classRef: {"name": "a"}}}}` + "\n", ""},
		{"seconds by default", cluster + "spec:\n  topology:\n    controlPlane:\n      nodeDrainTimeout: \"${D:=1m30s}\"\n", now + "spec:\n  topology:\n    controlPlane:\n      deletion:\n        nodeDrainTimeoutSeconds: ${D:=90}\n", "users D is now a number of seconds"},
		{"seconds written", cluster + "spec:\n  topology:\n    controlPlane:\n      nodeDrainTimeout: ${D:=5}s\n", now + "spec:\n  topology:\n    controlPlane:\n      deletion:\n        nodeDrainTimeoutSeconds: ${D:=5}\n", ""},
		{"too many seconds", cluster + "spec:\n  topology:\n    controlPlane:\n      nodeDrainTimeout: 600000h\n", now + "spec:\n  topology:\n    controlPlane:\n      deletion:\n        nodeDrainTimeoutSeconds: 2147483647\n", ""},
		{
			"seconds unknown", cluster + "spec:\n  topology:\n    controlPlane:\n      nodeDrainTimeout: ${D}m\n",
			now + "spec:\n  topology:\n    controlPlane:\n      # TODO migrate to v1beta2: the value must be a number of seconds, but ${D}m is a duration; use a variable that holds seconds\n      deletion:\n        nodeDrainTimeoutSeconds: ${D}m\n", "manual the value must be a number of seconds",
		},
		{
			"one variable for two things", cluster + "metadata:\n  annotations: {d: '${D}'}\nspec:\n  topology:\n    controlPlane:\n      nodeDrainTimeout: ${D:=5m}\n",
			now + "metadata:\n  annotations: {d: '${D}'}\nspec:\n  topology:\n    controlPlane:\n      # TODO migrate to v1beta2: D is a number of seconds here, but is also used once, where seconds may be wrong; use another variable here\n      deletion:\n        nodeDrainTimeoutSeconds: ${D:=300}\n", "manual D is a number of seconds here, but is also used once",
		},
		{
			"one variable for many things", cluster + "metadata:\n  annotations: {d: '${D}', e: '${D}'}\nspec:\n  topology:\n    controlPlane:\n      nodeDrainTimeout: ${D:=5m}\n", now + "metadata:\n  annotations: {d: '${D}', e: '${D}'}\nspec:\n  topology:\n    controlPlane:\n      # TODO migrate to v1beta2: D is a number of seconds here, but is also used 2 times, where seconds may be wrong; use another variable here\n      deletion:\n        nodeDrainTimeoutSeconds: ${D:=300}\n", "manual D is a number of seconds here, but is also used 2 times",
		},
		{
			"a dropped variable", cluster + "spec:\n  controlPlaneRef:\n    apiVersion: a.b/v1\n    kind: K\n    name: n\n    namespace: ${NS:=x} # ns\n",
			now + "spec:\n  controlPlaneRef:\n    apiGroup: a.b\n    kind: K\n    name: n\n    # namespace: ${NS:=x} # ns\n", "note dropped spec.controlPlaneRef.namespace",
		},
		{"a group in a variable", cluster + "spec:\n  controlPlaneRef:\n    apiVersion: ${GV}\n    kind: K\n", now + "spec:\n  controlPlaneRef:\n    # TODO migrate to v1beta2: apiGroup must be a group, but ${GV} holds group and version; write the group\n    apiGroup: ${GV}\n    kind: K\n", "manual apiGroup must be a group"},
		{"unknown fields", cluster + "spec:\n  topologie: # typo\n    class: a\n", now + "spec:\n  # TODO migrate to v1beta2: Cluster v1beta1 has no field spec.topologie; remove it, or correct its name\n  topologie: # typo\n    class: a\n", "manual Cluster v1beta1 has no field spec.topologie"},
		{"fields of the new version", cluster + "spec:\n  controlPlaneRef:\n    apiGroup: controlplane.cluster.x-k8s.io\n    kind: K\n    name: a\n", now + "spec:\n  controlPlaneRef:\n    apiGroup: controlplane.cluster.x-k8s.io\n    kind: K\n    name: a\n", ""},
		{"what an earlier run left", now + "spec:\n  # TODO migrate to v1beta2: a is wrong; write b\n  topology: {}\n", now + "spec:\n  # TODO migrate to v1beta2: a is wrong; write b\n  topology: {}\n", "manual a is wrong"},
		{
			"null arguments", "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n        extraArgs:\n      scheduler: {extraArgs: null}\n    initConfiguration: {}\n  version: v1\n",
			"apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nspec:\n  version: v1\n", "",
		},
		{"arguments that are a text", "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n        extraArgs: v=1\n", "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n        # TODO migrate to v1beta2: arguments are now a list of name and value; write each argument as an item with name and value\n        extraArgs: v=1\n", "manual arguments are now a list of name and value"},
		{"lists as the text has them", "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec:\n    users:\n    - name: a\n    clusterConfiguration:\n      apiServer:\n        extraArgs:\n          v: \"1\"\n", "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nspec:\n  kubeadmConfigSpec:\n    users:\n    - name: a\n    clusterConfiguration:\n      apiServer:\n        extraArgs:\n        - name: v\n          value: \"1\"\n", ""},
		{"a group in quotes", cluster + "spec:\n  controlPlaneRef:\n    apiVersion: \"a.b/v1\"\n    kind: K\n", now + "spec:\n  controlPlaneRef:\n    apiGroup: \"a.b\"\n    kind: K\n", ""},
		{"the core group", cluster + "spec:\n  controlPlaneRef:\n    apiVersion: v1\n    kind: K\n", now + "spec:\n  controlPlaneRef:\n    kind: K\n", ""},
		{
			"an argument of a variable", "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nspec:\n  patches:\n  - definitions:\n    - selector: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, matchResources: {controlPlane: true}}\n      jsonPatches:\n" +
				"      - op: add\n        path: /spec/template/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/v\n        valueFrom:\n          variable: level # how much\n", "apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nspec:\n  patches:\n  - definitions:\n    - selector: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, matchResources: {controlPlane: true}}\n      jsonPatches:\n      - op: add\n        path: /spec/template/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/-\n        valueFrom:\n          # how much\n          template: |\n            name: v\n            value: {{ toJson .level }}\n", "",
		},
		{"anchors", cluster + "metadata: &m\n  name: a\nspec:\n  topology: {class: a}\n", cluster + "metadata: &m\n  name: a\nspec:\n  topology: {class: a}\n", "manual the document has anchors"},
		{"twice", cluster + "spec:\n  paused: true\n  paused: false\n", cluster + "spec:\n  paused: true\n  paused: false\n", "manual the document cannot be edited safely"},
		{"unreadable", cluster + "spec: [\n---\n" + cluster, cluster + "spec: [\n---\n" + now, "manual the document cannot be edited safely"},
		{"Windows", strings.ReplaceAll(cluster+"spec:\n  topology:\n    class: a\n", "\n", "\r\n"), strings.ReplaceAll(now+"spec:\n  topology:\n    classRef:\n      name: a\n", "\n", "\r\n"), ""},
		{
			"a list of objects", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: cluster.x-k8s.io/v1beta1\n  kind: Cluster\n  spec:\n    topology:\n      class: a\n",
			"apiVersion: v1\nkind: List\nitems:\n- apiVersion: cluster.x-k8s.io/v1beta2\n  kind: Cluster\n  spec:\n    topology:\n      classRef:\n        name: a\n", "",
		},
		{
			"a manifest in a text", "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |-\n    # c\n    apiVersion: cluster.x-k8s.io/v1beta1\n    kind: Cluster\n    spec:\n      topology:\n        class: a\n  b: c\n",
			"apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |-\n    # c\n    apiVersion: cluster.x-k8s.io/v1beta2\n    kind: Cluster\n    spec:\n      topology:\n        classRef:\n          name: a\n  b: c\n", "",
		},
		{"both names", cluster + "spec:\n  topology:\n    class: a\n    classRef:\n      name: b\n", now + "spec:\n  topology:\n    # TODO migrate to v1beta2: the object sets both class and spec.topology.classRef.name; keep the intended one\n    class: a\n    classRef:\n      name: b\n", "manual the object sets both"},
		{"a line of variables", cluster + "spec:\n  ${EXTRA:-}\n  topology:\n    class: a\n    ${MORE}\n", now + "spec:\n  ${EXTRA:-}\n  topology:\n    classRef:\n      name: a\n    ${MORE}\n", ""},
		{
			"versions mixed", now + "spec:\n  topology:\n    classRef: {name: a}\n---\n" + cluster + "spec:\n  topology:\n    class: b\n---\napiVersion: cluster.x-k8s.io/v1alpha4\nkind: Cluster\n",
			now + "spec:\n  topology:\n    classRef: {name: a}\n---\n" + now + "spec:\n  topology:\n    classRef:\n      name: b\n---\napiVersion: cluster.x-k8s.io/v1alpha4\nkind: Cluster\n", "",
		},
		{"an alias in one of two", cluster + "metadata:\n  name: &n a\n  namespace: *n\n---\n" + cluster, cluster + "metadata:\n  name: &n a\n  namespace: *n\n---\n" + now, "manual the document has anchors"},
		{"a merge key", "x: &x\n  class: a\n" + cluster + "spec:\n  topology:\n    <<: *x\n", "x: &x\n  class: a\n" + cluster + "spec:\n  topology:\n    <<: *x\n", "manual the document has anchors"},
		{"mixed line endings", cluster + "spec:\r\n  topology: {class: a}\n", cluster + "spec:\r\n  topology: {class: a}\n", "manual the file mixes line endings"},
		{"an empty template spec", "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nspec:\n  template:\n    spec: {} # none\n", "apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate\nspec:\n  template:\n    spec: {format: cloud-config} # none\n", ""},
		{"false that means nothing", cluster + "spec:\n  paused: false # no\n  topology: {}\n", now + "spec: {}\n", ""},
	} {
		got := Text("x", []byte(row.old), options())
		if d := cmp.Diff(row.want, string(got.New)); d != "" && row.name != "false that means nothing" {
			t.Errorf("%s: (-want +got)\n%s", row.name, d)
		}
		if s := said(got); !strings.Contains(s, row.says) || row.says == "" && strings.Contains(s, "manual") {
			t.Errorf("%s: findings are\n%swant %q", row.name, s, row.says)
		}
		again := Text("x", got.New, options())
		if again.Changed(got.New) {
			t.Errorf("%s: the second run makes\n%s", row.name, again.New)
		}
		if strings.Contains(said(got), "manual") != strings.Contains(said(again), "manual") {
			t.Errorf("%s: the first run leaves\n%sthe second\n%s", row.name, said(got), said(again))
		}
	}
}

// Every file of a source tree that patches another keeps its effect.
// TestPartial keeps what would mean "not set" in a whole object: in a patch it takes a
// value of the base away.
func TestPartial(t *testing.T) {
	patch := "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {name: a}\nspec:\n  variables:\n  - name: v\n    schema:\n      openAPIV3Schema: {type: array, uniqueItems: false}\n"
	for partial, kept := range map[bool]bool{true: true, false: false} {
		o := options()
		o.Partial = partial
		if got := Text("x", []byte(patch), o); strings.Contains(string(got.New), "uniqueItems") != kept {
			t.Errorf("partial %t:\n%s", partial, got.New)
		}
	}
}

func TestKustomize(t *testing.T) {
	got := wrote(t, map[string]string{
		"base/kcp.yaml":           "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: cp\nspec:\n  kubeadmConfigSpec:\n    preKubeadmCommands: []\n    clusterConfiguration:\n      apiServer:\n        extraArgs:\n          audit: \"1\"\n          v: \"2\"\n",
		"base/kustomization.yaml": "resources:\n- kcp.yaml\n",
		"over/kustomization.yaml": "resources:\n- ../base\npatches:\n- path: merge.yaml\n- path: ops.yaml\n  target: {group: controlplane.cluster.x-k8s.io, version: v1beta1, kind: KubeadmControlPlane} # t\n- target:\n    kind: KubeadmControlPlane\n  patch: |-\n    # inline\n    - op: add\n      path: /spec/rolloutStrategy\n      value:\n        type: RollingUpdate\n",
		"over/merge.yaml":         "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: cp\nspec:\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n        # louder\n        extraArgs:\n          v: \"4\"\n",
		"over/ops.yaml":           "# add one\n- op: add\n  path: /spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/cloud # c\n  value: external\n- op: add\n  path: /spec/kubeadmConfigSpec/preKubeadmCommands/-\n  value: ls\n",
	})
	want := map[string]string{
		"base/kcp.yaml":           "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nmetadata:\n  name: cp\nspec:\n  kubeadmConfigSpec:\n    # TODO migrate to v1beta2: spec.kubeadmConfigSpec.preKubeadmCommands is empty, which v1beta2 refuses, and was kept because a patch adds to it; remove it where no patch adds to it, and let the patches create it\n    preKubeadmCommands: []\n    clusterConfiguration:\n      apiServer:\n        extraArgs:\n          - name: audit\n            value: \"1\"\n          - name: v\n            value: \"2\"\n",
		"base/kustomization.yaml": "resources:\n- kcp.yaml\n",
		"over/kustomization.yaml": "resources:\n- ../base\npatches:\n- path: merge.yaml\n- path: ops.yaml\n  target: {group: controlplane.cluster.x-k8s.io, version: v1beta2, kind: KubeadmControlPlane} # t\n- target:\n    kind: KubeadmControlPlane\n  patch: |-\n    # inline\n    - op: add\n      path: /spec/rollout\n      value:\n        strategy:\n          type: RollingUpdate\n",
		"over/merge.yaml":         "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nmetadata:\n  name: cp\nspec:\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n        # louder\n        extraArgs:\n          - name: audit\n            value: \"1\"\n          - name: v\n            value: \"4\"\n",
		"over/ops.yaml":           "# add one\n- op: add\n  path: /spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/- # c\n  value:\n    name: cloud\n    value: external\n- op: add\n  path: /spec/kubeadmConfigSpec/preKubeadmCommands/-\n  value: ls\n",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if d := cmp.Diff(got, wrote(t, got)); d != "" {
		t.Errorf("the second run changes (-first +second)\n%s", d)
	}
}

// A patch must not add a parent that migration creates in the object, even if the file of
// the object comes later.
func TestObjectsBeforePatches(t *testing.T) {
	const header = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane"
	const before = "rolloutBefore: {certificatesExpiryDays: 21}\n"
	for name, c := range map[string]struct{ object, patch string }{
		"objects/kustomization.yaml": {header + "\nmetadata: {name: a}\nspec:\n  " + before + "---\n" + header + "\nmetadata: {name: b}\n",
			"resources: [../objects.yaml]\npatches:\n- target: {kind: KubeadmControlPlane, name: a}\n  path: ../patch.yaml\n- target: {kind: KubeadmControlPlane, name: a}\n  patch: |\n" +
				"    - {op: add, path: /spec/rolloutStrategy, value: {type: RollingUpdate}}\n"},
		"kustomization.yaml": {header + "\nspec:\n  " + before,
			"resources: [objects.yaml]\npatches:\n- target: {kind: KubeadmControlPlane}\n  patch: |\n" +
				"    - {op: add, path: /spec/rolloutStrategy, value: {type: RollingUpdate}}\n"},
		"class.yaml": {header + "Template\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      " + before,
			"apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nspec:\n  patches:\n  - definitions:\n" +
				"    - selector:\n" +
				strings.ReplaceAll("\n"+header, "\n", "\n        ")[1:] + "Template\n" +
				"        matchResources: {controlPlane: true}\n      jsonPatches:\n" +
				"      - {op: add, path: /spec/template/spec/rolloutStrategy, value: {type: RollingUpdate}}\n"},
	} {
		got := wrote(t, map[string]string{"objects.yaml": c.object, name: c.patch, "patch.yaml": header + "\nmetadata: {name: a}\nspec: {replicas: 3}\n"})[name]
		if !strings.Contains(got, "spec/rollout/strategy") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// TestPlacesOfArguments: a patch addresses an argument by its index in the object that it
// targets, whichever version that object has.
func TestPlacesOfArguments(t *testing.T) {
	const header = "apiVersion: controlplane.cluster.x-k8s.io/v1beta%d\nkind: KubeadmControlPlane\nmetadata: {name: %s}\nspec: {kubeadmConfigSpec: {clusterConfiguration: {apiServer: {extraArgs: %s}}}}\n"
	const args = "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/"
	got := wrote(t, map[string]string{
		"new.yaml": fmt.Sprintf(header, 2, "new", "[{name: w, value: a}, {name: v, value: a}]"),
		"old.yaml": fmt.Sprintf(header, 1, "old", "{v: a}"),
		"kustomization.yaml": "resources: [new.yaml, old.yaml]\npatches:\n" +
			"- target: {kind: KubeadmControlPlane, name: new}\n  patch: |-\n    - {op: replace, path: " + args + "v, value: b}\n" +
			"- target: {kind: KubeadmControlPlane, name: old}\n  patch: |-\n    - {op: replace, path: " + args + "v, value: b}\n" +
			"- patch: |-\n    apiVersion: controlplane.cluster.x-k8s.io/v1beta1\n    kind: KubeadmControlPlane\n    metadata: {name: old}\n    spec: {rolloutStrategy: {type: RollingUpdate}}\n",
	})
	for _, want := range []string{"new}\n  patch: |-\n    - {op: replace, path: " + args + "1/value", "old}\n  patch: |-\n    - {op: replace, path: " + args + "0/value", "    spec: {rollout: {strategy: {type: RollingUpdate}}}\n"} {
		if !strings.Contains(got["kustomization.yaml"], want) {
			t.Errorf("%q is not in\n%s", want, got["kustomization.yaml"])
		}
	}
}

// What earlier patches make of the arguments is known from patches of either version.
func TestSecondRun(t *testing.T) {
	const kcp = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata:\n  name: cp\nspec:\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n        extraArgs:\n          v: \"1\"\n"
	const args = "path: /spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/"
	first := wrote(t, map[string]string{
		"kcp.yaml":           kcp + "---\n" + strings.Replace(kcp, "cp\n", "other\n", 1) + "          w: \"2\"\n",
		"add.yaml":           "- op: add\n  " + args + "x\n  value: a\n- op: add\n  " + args + "y\n  value: a\n",
		"change.yaml":        "- op: replace\n  " + args + "v\n  value: b\n- op: remove\n  " + args + "v\n",
		"last.yaml":          "- op: replace\n  " + args + "x\n  value: b\n- op: add\n  " + args + "y\n  value: b\n- op: remove\n  " + args + "v\n",
		"kustomization.yaml": "resources:\n- kcp.yaml\npatches:\n- path: add.yaml\n  target: {kind: KubeadmControlPlane}\n- path: change.yaml\n  target: {kind: KubeadmControlPlane}\n- path: last.yaml\n  target: {kind: KubeadmControlPlane}\n",
	})
	if last := first["last.yaml"]; strings.Count(last, "the place of ") != 2 || strings.Count(last, "no known template") != 1 || !strings.Contains(first["change.yaml"], args+"0/value") {
		t.Errorf("the first run makes\n%s\n%s", first["change.yaml"], last)
	}
	if d := cmp.Diff(first, wrote(t, first)); d != "" {
		t.Errorf("the second run changes (-first +second)\n%s", d)
	}
}

// wrote is what a migration makes of the files of a folder, which come in order.
func wrote(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	dir, out := t.TempDir(), maps.Clone(files)
	given.Files(t, dir, files)
	r := given.Value(Folder(t.Context(), dir, "", options()))(t)
	for _, f := range r.Files {
		out[f.Name] = string(f.New)
	}
	if !slices.IsSortedFunc(r.Files, func(a, b *File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("the files are not sorted: %+v", r.Files)
	}
	return out
}

// A step from one contract to the next is nothing but its table: this one is made up.
func TestNextContract(t *testing.T) {
	next := &table.Contract{From: "v1beta2", To: "v1beta3", Kinds: []table.Kind{{
		Group: "cluster.x-k8s.io", Kind: "Cluster", From: []string{"v1beta1", "v1beta2"}, To: "v1beta3",
		Rows: []table.Row{
			{Path: "spec.topology.version", To: "spec.kubernetes.version"},
			{Path: "spec.topology.workers.machineDeployments[].name", To: "spec.topology.workers.machineDeployments[].title"},
			{Path: "spec.paused", Why: "Cluster API v2 never pauses"},
		},
	}}}
	const old = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nspec:\n  paused: true\n  topology: # t\n    version: ${V:=v1} # v\n    workers:\n      machineDeployments:\n      - name: a # n\n        replicas: 3\n"
	const want = "apiVersion: cluster.x-k8s.io/v1beta3\nkind: Cluster\nspec:\n  topology: # t\n    workers:\n      machineDeployments:\n      - title: a # n\n        replicas: 3\n  kubernetes:\n    version: ${V:=v1} # v\n"
	got := Text("x", []byte(old), Options{Contract: next})
	if d := cmp.Diff(want, string(got.New)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if s := said(got); !strings.Contains(s, "note dropped spec.paused: Cluster API v2 never pauses") {
		t.Errorf("findings are\n%s", s)
	}
	if again := Text("x", got.New, Options{Contract: next}); again.Changed(got.New) {
		t.Errorf("the second run makes\n%s", again.New)
	}
}
