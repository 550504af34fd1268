package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// definition is a CRD with labels as flow YAML and a schema of spec and status.
func definition(group, kind, labels, spec, status string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: x, labels: {%s}}
spec:
  group: %s
  names: {kind: %s}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%s}}, status: {type: object, properties: {%s}}}}}
`, labels, group, kind, spec, status)
}

func definitions(t *testing.T, texts ...string) []*crd.CRD {
	t.Helper()
	file := manifest.New(repo.BytesArtifact("components.yaml", nil), layouts.Components, []byte(strings.Join(texts, "---")))
	out := phrase.List(file.Objects(), crd.Of)
	if len(out) != len(texts) {
		t.Fatalf("%d definitions of %d", len(out), len(texts))
	}
	return out
}

func TestRoles(t *testing.T) {
	const (
		infra    = "infrastructure.cluster.x-k8s.io"
		own      = "infrastructure.example.com"
		label    = "cluster.x-k8s.io/v1beta1: v1"
		endpoint = "controlPlaneEndpoint: {type: object}"
		ready    = "ready: {type: boolean}"
	)
	for _, tc := range []struct {
		group, kind, labels, spec, status string
		role                              Role
		template                          bool
	}{
		{infra, "FooCluster", "", "", "", InfraCluster, false},
		{infra, "FooClusterTemplate", "", "", "", InfraCluster, true},
		{infra, "FooInfra", "", endpoint, ready, InfraCluster, false},
		{infra, "FooMachine", "", "providerID: {type: string}", "", InfraMachine, false},
		{infra, "FooMachineTemplate", "", "template: {type: object, properties: {spec: {type: object, properties: {providerID: {type: string}}}}}", "", InfraMachine, true},
		{infra, "PooledRemoteMachine", "", "", "", Aux, false},
		{infra, "FooMachinePool", "", "", "", InfraMachinePool, false},
		{infra, "FooWorkerPool", "", "providerIDList: {type: array}", "", InfraMachinePool, false},
		{infra, "FooMachinePoolMachine", "", "", "", MachinePoolMachine, false},
		{infra, "FooManagedControlPlane", "", "", "", ControlPlane, false},
		{infra, "FooIPPool", "", "", "", IPPool, false},
		{infra, "FooRemediationTemplate", "", "", "", Remediation, true},
		{infra, "FooInstallerConfig", "", "", "", Aux, false},
		{infra, "FooIdentity", "", "", "", Aux, false},
		{"vmware." + infra, "FooCluster", "", "", "", InfraCluster, false},
		{"bootstrap.cluster.x-k8s.io", "FooConfig", "", "", "", BootstrapConfig, false},
		{"controlplane.cluster.x-k8s.io", "VCluster", "", "", "initialization: {type: object}", ControlPlane, false},
		{"controlplane.cluster.x-k8s.io", "JoinRequest", "", "", "", Aux, false},
		{"ipam.metal3.io", "FooPool", "", "", "", IPPool, false},
		{"ipam.cluster.x-k8s.io", "IPAddressClaim", "", "", "", Core, false},
		{"cluster.x-k8s.io", "Machine", "", "", "", Core, false},
		{"addons.cluster.x-k8s.io", "ClusterResourceSet", "", "", "", Core, false},
		{"addons.cluster.x-k8s.io", "HelmChartProxy", "", "", "", addon, false},
		{own, "FooCluster", "", "", "", Aux, false},
		{own, "FooCluster", label, "", "", InfraCluster, false},
		{own, "FooCluster", "", endpoint, ready, InfraCluster, false},
		{"example.com", "Cluster", "", "", ready, Aux, false},
		{"example.com", "FooCluster", label, "", "", InfraCluster, false},
		{"example.com", "Template", label, "", "", Aux, false},
	} {
		k := DefaultProfile().Kinds(definitions(t, definition(tc.group, tc.kind, tc.labels, tc.spec, tc.status)), nil)[0]
		if k.Role != tc.role || k.Template != tc.template || k.Reason == "" {
			t.Errorf("%s/%s: %s %v (%s), want %s %v", tc.group, tc.kind, k.Role, k.Template, k.Reason, tc.role, tc.template)
		}
	}
	// What stands beside a definition counts.
	kinds := DefaultProfile().Kinds(definitions(t,
		definition(own, "FooCluster", "", "", ""), definition(own, "FooMachine", "", "", ""), definition(own, "FooMachineTemplate", label, "", "")), nil)
	for i, want := range []Role{InfraCluster, InfraMachine, InfraMachine} {
		if kinds[i].Role != want {
			t.Errorf("%s: %s, want %s", kinds[i].Kind, kinds[i].Role, want)
		}
	}
	// A field for pools only tells of addresses if it is called so, and never against a name.
	for _, tc := range []struct {
		spec, kind string
		role       Role
	}{
		{"poolRef: %s", "FooRange", IPPool},
		{"nics: [{ipv4PoolRef: %s}]", "FooRange", IPPool},
		{"ipamConfig: {rangePoolRef: %s}", "FooRange", IPPool},
		{"resourcePoolRef: %s", "FooRange", Aux},
		{"machinePoolRef: %s", "FooMachinePool", InfraMachinePool},
		{"poolRef: %s", "FooMachinePool", InfraMachinePool},
	} {
		ref := fmt.Sprintf(tc.spec, fmt.Sprintf("{apiGroup: %s, kind: %s, name: y}", infra, tc.kind))
		user := "apiVersion: " + infra + "/v1\nkind: FooMachinePoolMachine\nmetadata: {name: x}\nspec: {" + ref + "}\n"
		uses := Uses{}
		uses.Add("x.yaml", manifest.New(repo.BytesArtifact("x.yaml", nil), layouts.Components, []byte(user)).Objects())
		if k := DefaultProfile().Kinds(definitions(t, definition(infra, tc.kind, "", "", "")), uses)[0]; k.Role != tc.role {
			t.Errorf("%s to %s: %s, want %s", tc.spec, tc.kind, k.Role, tc.role)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		labels            string
		demanded          Contract
		contract          Contract
		version, judgedBy string
	}{
		{"cluster.x-k8s.io/v1beta1: v1", "", V1Beta1, "v1", "v1"},
		{"cluster.x-k8s.io/v1beta1: v1, cluster.x-k8s.io/v1beta2: v1beta1_v1_v1alpha9", "", V1Beta2, "v1", "v1"},
		{"cluster.x-k8s.io/v1beta1: v1, cluster.x-k8s.io/v1beta2: ''", "", V1Beta1, "v1", "v1"},
		{"cluster.x-k8s.io/v1beta1: v2", "", V1Beta1, "v2", ""},
		{"cluster.x-k8s.io/v1alpha4: v1", "", "", "", ""},
		{"cluster.x-k8s.io/v1beta1: v1", V1Beta2, V1Beta2, "", "v1"},
		{"cluster.x-k8s.io/v1beta1: v1, cluster.x-k8s.io/v1beta2: v2", V1Beta1, V1Beta1, "v1", "v1"},
	} {
		p := Profile{Core: NewestCore, Contract: tc.demanded}
		k := p.Kinds(definitions(t, definition("infrastructure.cluster.x-k8s.io", "FooCluster", tc.labels, "", "")), nil)[0]
		judged := ""
		if k.Judged != nil {
			judged = k.Judged.Name
		}
		if k.Contract != tc.contract || k.Chosen != tc.version || judged != tc.judgedBy {
			t.Errorf("%s, demanded %q: %s %s, judged by %q", tc.labels, tc.demanded, k.Contract, k.Chosen, judged)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	ordered := []string{"zoo", "foo", "v1alpha1", "v2alpha1", "v1beta1", "v1beta10", "v2beta1", "v1", "v2", "v10"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := CompareVersions(a, b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s against %s: %d", a, b, got)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	schema := definitions(t, definition("x.io", "Foo", "", "a: {type: string}, open: {x-kubernetes-preserve-unknown-fields: true}", "old: {type: boolean}"))[0].Versions[0].Schema
	for _, tc := range []struct {
		field Field
		want  Verdict
	}{
		{Field{Path: "spec.a", Type: "string", Need: Must}, fulfilled},
		{Field{Path: "spec.a", Type: "integer"}, WrongType},
		{Field{Path: "spec.b"}, fulfilled},
		{Field{Path: "spec.b", Need: should}, Missing},
		{Field{Path: "spec.b", Need: Must, If: "spec.c"}, fulfilled},
		{Field{Path: "spec.b", Need: Must, If: "spec.a"}, Missing},
		{Field{Path: "spec.b", Need: Must, Or: "spec.a"}, fulfilled},
		{Field{Path: "status.new", Was: "status.old"}, Moved},
		{Field{Path: "status.new", Was: "status.older"}, fulfilled},
		{Field{Path: "spec.open.x.y", Need: Must}, Unknown},
		{Field{Path: "spec.open.x.y"}, fulfilled},
		{Field{Path: "spec.a.b", Need: Must}, Missing},
	} {
		if got, _ := tc.field.Check(schema); got != tc.want {
			t.Errorf("%+v: %v, want %v", tc.field, got, tc.want)
		}
	}
}

// What keeps a kind from working keeps its provider from being ready: lint reports
// the same as errors, see Field.Blocks.
func TestLacks(t *testing.T) {
	const (
		group = "controlplane.cluster.x-k8s.io"
		label = "cluster.x-k8s.io/v1beta1: v1"
		ready = "initialized: {type: boolean}, ready: {type: boolean}, externalManagedControlPlane: {type: boolean}"
	)
	template := definition(group, "FooControlPlaneTemplate", label, "template: {type: object, properties: {spec: {type: object}}}", "")
	for name, tc := range map[string]struct {
		spec, status string
		more         []string
		want         string
	}{
		"no version":                     {"", ready, []string{template}, ""},
		"a version":                      {"version: {type: string}", ready + ", version: {type: string}", []string{template}, ""},
		"a version that is not reported": {"version: {type: string}", ready, []string{template}, "FooControlPlane status.versions"},
		"the same without a template":    {"version: {type: string}", ready, nil, ""},
		"a version of another type":      {"version: {type: integer}", ready + ", version: {type: string}", nil, "FooControlPlane spec.version"},
		"counters of another type":       {"replicas: {type: integer}", ready + ", replicas: {type: string}, readyReplicas: {type: integer}", nil, ""},
	} {
		p := DefaultProfile()
		p.Contract = V1Beta1
		crds := definitions(t, append(tc.more, definition(group, "FooControlPlane", label, tc.spec, tc.status))...)
		if declared, missing := Lacks(crds, p); !declared || strings.Join(missing, ", ") != tc.want {
			t.Errorf("%s: %v %q, want %q", name, declared, missing, tc.want)
		}
	}
}
