package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	admissionapi "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	controlplaneadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// coreMutants is how many control planes, workers and health checks are compared.
var coreMutants = share.Of(3000, 30000)

// admitted calls a webhook for a new object.
func admitted[T runtime.Object](w interface {
	ctrladmission.Defaulter[T]
	ctrladmission.Validator[T]
}, o map[string]any, into T) error {
	if err := typed(o, into); err != nil {
		return err
	}
	ctx := ctrladmission.NewContextWithRequest(context.Background(), ctrladmission.Request{AdmissionRequest: admissionapi.AdmissionRequest{Operation: admissionapi.Create}})
	if err := w.Default(ctx, into); err != nil {
		return err
	}
	_, err := w.ValidateCreate(ctx, into)
	return err
}

// admitCore returns why a webhook of Cluster API refuses a new object of v1beta2.
func admitCore(o map[string]any) error {
	switch o["kind"] {
	case "KubeadmControlPlane":
		return admitted(&controlplaneadmission.KubeadmControlPlane{}, o, &controlplanev1.KubeadmControlPlane{})
	case "MachineDeployment":
		return admitted(&admission.MachineDeployment{}, o, &clusterv1.MachineDeployment{})
	case "MachineHealthCheck":
		return admitted(&admission.MachineHealthCheck{}, o, &clusterv1.MachineHealthCheck{})
	}
	return fmt.Errorf("no webhook for %v", o["kind"])
}

// coreSamples are objects that the webhooks accept.
const coreSamples = `[
{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": {"name": "a"}, "spec": {
  "replicas": 3, "version": "v1.34.0", "machineTemplate": {"spec": {"infrastructureRef": {"apiGroup": "x.io", "kind": "FooMachineTemplate", "name": "a"}}}}},
{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": {"name": "a"}, "spec": {
  "clusterName": "a", "replicas": 1, "selector": {"matchLabels": {"b": "c"}}, "template": {"metadata": {"labels": {"b": "c"}}, "spec": {
  "clusterName": "a", "version": "v1.34.0", "bootstrap": {"configRef": {"apiGroup": "x.io", "kind": "FooConfigTemplate", "name": "a"}},
  "infrastructureRef": {"apiGroup": "x.io", "kind": "FooMachineTemplate", "name": "a"}}}}},
{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": {"name": "a"}, "spec": {
  "clusterName": "a", "selector": {"matchLabels": {"b": "c"}}}}
]`

// coreValues are what fields are set to; nil removes them.
var coreValues = map[string]map[string][]any{
	"KubeadmControlPlane": {
		"spec.replicas": {nil, 0, 1, 2, 3, 4, -1}, "spec.version": {"1.34.0", "v1.34.0", "v1.34", "a"},
		"spec.rollout.strategy.rollingUpdate.maxSurge":              {nil, 0, 1, 2, "0", "1", "50%"},
		"spec.kubeadmConfigSpec.clusterConfiguration.etcd.external": {nil, map[string]any{}, map[string]any{"endpoints": []any{"https://a"}}},
	},
	"MachineDeployment": {
		"spec.clusterName": {"a", "b"}, "spec.template.spec.clusterName": {"a", "b"}, "spec.template.spec.version": {nil, "1.34.0", "v1.34", "a"},
		"spec.template.spec.bootstrap":                       {map[string]any{}, map[string]any{"dataSecretName": ""}, map[string]any{"dataSecretName": "a"}},
		"spec.rollout.strategy.rollingUpdate.maxSurge":       {nil, 0, 1, "0", "0%", "10%", "a"},
		"spec.rollout.strategy.rollingUpdate.maxUnavailable": {nil, 0, 1, "0", "0%", "10%", "a"},
		"spec.selector.matchLabels.b":                        {nil, "c", "d"}, "spec.template.metadata.labels.b": {nil, "c", "d"},
	},
	"MachineHealthCheck": {
		"spec.clusterName": {"a", "b"}, "spec.selector": {map[string]any{}, map[string]any{"matchLabels": map[string]any{"cluster.x-k8s.io/cluster-name": "a"}}, map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Exists"}}}},
		"spec.checks.nodeStartupTimeoutSeconds":                 {nil, 0, 1, 29, 30, 600},
		"spec.remediation.triggerIf.unhealthyLessThanOrEqualTo": {nil, 0, 5, "40%", "5", "a"},
	},
}

// TestCoreAdmission compares the rule about control planes, workers and health checks
// with the webhooks of Cluster API, on objects whose fields get random values.
func TestCoreAdmission(t *testing.T) {
	t.Parallel()
	if err := gates(); err != nil {
		t.Fatal(err)
	}
	var samples []map[string]any
	if err := json.Unmarshal([]byte(coreSamples), &samples); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(11, 12))
	refused := map[any]int{}
	for i := range coreMutants {
		o := runtime.DeepCopyJSON(samples[i%len(samples)])
		fields := coreValues[o["kind"].(string)]
		for range random.IntN(3) {
			name := sortedKeys(fields)[random.IntN(len(fields))]
			path, value := strings.Split(name, "."), fields[name][random.IntN(len(fields[name]))]
			if value == nil {
				unstructured.RemoveNestedField(o, path...)
			} else if err := unstructured.SetNestedField(o, jsonOf(value), path...); err != nil {
				t.Fatal(err)
			}
		}
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		server := admitCore(o)
		said := coreFindings(t, data)
		if (server != nil) != (len(said) > 0) {
			t.Errorf("%s\nCluster API: %v\nlint: %q", data, server, said)
		}
		if server != nil {
			refused[o["kind"]]++
		}
	}
	t.Log(refused)
	if len(refused) != len(samples) {
		t.Errorf("refused: %v", refused)
	}
}

// jsonOf is a value as it comes from JSON.
func jsonOf(v any) any {
	if i, ok := v.(int); ok {
		return int64(i)
	}
	return v
}

func coreFindings(t *testing.T, data []byte) []string {
	t.Helper()
	a := repo.BytesArtifact("cluster-template.yaml", data)
	release := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0", Artifacts: []*repo.Artifact{a}}
	r := &repo.Repository{Providers: []*repo.Provider{{Provider: release.Provider, Releases: []*repo.Release{release}}}}
	report, err := lint.Run(context.Background(), r, lint.Options{Rules: []*lint.Rule{rules.ByID("TOP025")}})
	if err != nil || len(report.Failures) > 0 {
		t.Fatal(err, report.Failures)
	}
	var out []string
	for _, f := range report.Findings {
		out = append(out, f.Message)
	}
	return out
}
