package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
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
	var out []*crd.CRD
	for _, o := range file.Objects() {
		out = append(out, crd.Of(o))
	}
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
		role                              contract.Role
		template                          bool
	}{
		{infra, "FooCluster", "", "", "", contract.InfraCluster, false},
		{infra, "FooClusterTemplate", "", "", "", contract.InfraCluster, true},
		{infra, "FooInfra", "", endpoint, ready, contract.InfraCluster, false},
		{infra, "FooMachine", "", "providerID: {type: string}", "", contract.InfraMachine, false},
		{infra, "FooMachineTemplate", "", "template: {type: object, properties: {spec: {type: object, properties: {providerID: {type: string}}}}}", "", contract.InfraMachine, true},
		{infra, "PooledRemoteMachine", "", "", "", contract.Aux, false},
		{infra, "FooMachinePool", "", "", "", contract.InfraMachinePool, false},
		{infra, "FooWorkerPool", "", "providerIDList: {type: array}", "", contract.InfraMachinePool, false},
		{infra, "FooMachinePoolMachine", "", "", "", contract.MachinePoolMachine, false},
		{infra, "FooManagedControlPlane", "", "", "", contract.ControlPlane, false},
		{infra, "FooIPPool", "", "", "", contract.IPPool, false},
		{infra, "FooRemediationTemplate", "", "", "", contract.Remediation, true},
		{infra, "FooInstallerConfig", "", "", "", contract.Aux, false},
		{infra, "FooIdentity", "", "", "", contract.Aux, false},
		{"vmware." + infra, "FooCluster", "", "", "", contract.InfraCluster, false},
		{"bootstrap.cluster.x-k8s.io", "FooConfig", "", "", "", contract.BootstrapConfig, false},
		{"controlplane.cluster.x-k8s.io", "VCluster", "", "", "initialization: {type: object}", contract.ControlPlane, false},
		{"controlplane.cluster.x-k8s.io", "JoinRequest", "", "", "", contract.Aux, false},
		{"ipam.metal3.io", "FooPool", "", "", "", contract.IPPool, false},
		{"ipam.cluster.x-k8s.io", "IPAddressClaim", "", "", "", contract.Core, false},
		{"cluster.x-k8s.io", "Machine", "", "", "", contract.Core, false},
		{"addons.cluster.x-k8s.io", "ClusterResourceSet", "", "", "", contract.Core, false},
		{"addons.cluster.x-k8s.io", "HelmChartProxy", "", "", "", contract.Addon, false},
		{own, "FooCluster", "", "", "", contract.Aux, false},
		{own, "FooCluster", label, "", "", contract.InfraCluster, false},
		{own, "FooCluster", "", endpoint, ready, contract.InfraCluster, false},
		{"example.com", "Cluster", "", "", ready, contract.Aux, false},
		{"example.com", "FooCluster", label, "", "", contract.InfraCluster, false},
		{"example.com", "Template", label, "", "", contract.Aux, false},
	} {
		k := contract.DefaultProfile().Kinds(definitions(t, definition(tc.group, tc.kind, tc.labels, tc.spec, tc.status)))[0]
		if k.Role != tc.role || k.Template != tc.template || k.Reason == "" {
			t.Errorf("%s/%s: %s %v (%s), want %s %v", tc.group, tc.kind, k.Role, k.Template, k.Reason, tc.role, tc.template)
		}
	}
	// What stands beside a definition counts.
	kinds := contract.DefaultProfile().Kinds(definitions(t,
		definition(own, "FooCluster", "", "", ""), definition(own, "FooMachine", "", "", ""), definition(own, "FooMachineTemplate", label, "", "")))
	for i, want := range []contract.Role{contract.InfraCluster, contract.InfraMachine, contract.InfraMachine} {
		if kinds[i].Role != want {
			t.Errorf("%s: %s, want %s", kinds[i].Kind, kinds[i].Role, want)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, tc := range []struct {
		labels            string
		demanded          contract.Contract
		contract          contract.Contract
		version, judgedBy string
	}{
		{"cluster.x-k8s.io/v1beta1: v1", "", contract.V1Beta1, "v1", "v1"},
		{"cluster.x-k8s.io/v1beta1: v1, cluster.x-k8s.io/v1beta2: v1beta1_v1_v1alpha9", "", contract.V1Beta2, "v1", "v1"},
		{"cluster.x-k8s.io/v1beta1: v1, cluster.x-k8s.io/v1beta2: ''", "", contract.V1Beta1, "v1", "v1"},
		{"cluster.x-k8s.io/v1beta1: v2", "", contract.V1Beta1, "v2", ""},
		{"cluster.x-k8s.io/v1alpha4: v1", "", "", "", ""},
		{"cluster.x-k8s.io/v1beta1: v1", contract.V1Beta2, contract.V1Beta2, "", "v1"},
		{"cluster.x-k8s.io/v1beta1: v1, cluster.x-k8s.io/v1beta2: v2", contract.V1Beta1, contract.V1Beta1, "v1", "v1"},
	} {
		p := contract.Profile{Core: contract.NewestCore, Contract: tc.demanded}
		k := p.Kinds(definitions(t, definition("infrastructure.cluster.x-k8s.io", "FooCluster", tc.labels, "", "")))[0]
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
			if got := contract.CompareVersions(a, b); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%s against %s: %d", a, b, got)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	schema := definitions(t, definition("x.io", "Foo", "", "a: {type: string}, open: {x-kubernetes-preserve-unknown-fields: true}", "old: {type: boolean}"))[0].Versions[0].Schema
	for _, tc := range []struct {
		field contract.Field
		want  contract.Verdict
	}{
		{contract.Field{Path: "spec.a", Type: "string", Need: contract.Must}, contract.Fulfilled},
		{contract.Field{Path: "spec.a", Type: "integer"}, contract.WrongType},
		{contract.Field{Path: "spec.b"}, contract.Fulfilled},
		{contract.Field{Path: "spec.b", Need: contract.Should}, contract.Missing},
		{contract.Field{Path: "spec.b", Need: contract.Must, If: "spec.c"}, contract.Fulfilled},
		{contract.Field{Path: "spec.b", Need: contract.Must, If: "spec.a"}, contract.Missing},
		{contract.Field{Path: "spec.b", Need: contract.Must, Or: "spec.a"}, contract.Fulfilled},
		{contract.Field{Path: "status.new", Was: "status.old"}, contract.Moved},
		{contract.Field{Path: "status.new", Was: "status.older"}, contract.Fulfilled},
		{contract.Field{Path: "spec.open.x.y", Need: contract.Must}, contract.Unknown},
		{contract.Field{Path: "spec.open.x.y"}, contract.Fulfilled},
		{contract.Field{Path: "spec.a.b", Need: contract.Must}, contract.Missing},
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
		p := contract.DefaultProfile()
		p.Contract = contract.V1Beta1
		crds := definitions(t, append(tc.more, definition(group, "FooControlPlane", label, tc.spec, tc.status))...)
		if declared, missing := contract.Lacks(crds, p); !declared || strings.Join(missing, ", ") != tc.want {
			t.Errorf("%s: %v %q, want %q", name, declared, missing, tc.want)
		}
	}
}
