package oracle

//lint:file-ignore SA1019 v1beta1 is what users still write, so its admission is compared until Cluster API drops it.

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	admissionapi "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	bootstrapv1beta1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1beta1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	bootstrapconversion "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/conversion"
	controlplaneadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	controlplaneconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// coreMutants is how many control planes, workers and health checks are compared.
var coreMutants = share.Of(3000, 30000)

// admitted calls a webhook for a new object.
func admitted[T runtime.Object](w ctrladmission.Validator[T], o map[string]any, into T) error {
	if err := typed(o, into); err != nil {
		return err
	}
	ctx := ctrladmission.NewContextWithRequest(context.Background(), ctrladmission.Request{AdmissionRequest: admissionapi.AdmissionRequest{Operation: admissionapi.Create}})
	if w, ok := w.(ctrladmission.Defaulter[T]); ok {
		if err := w.Default(ctx, into); err != nil {
			return err
		}
	}
	_, err := w.ValidateCreate(ctx, into)
	return err
}

// admitOld converts a new object of v1beta1, and calls the webhook for it.
func admitOld[Old, T runtime.Object](w ctrladmission.Validator[T], o map[string]any, old Old, into T, convert func(context.Context, Old, T) error) error {
	if err := typed(o, old); err != nil {
		return err
	}
	if err := convert(context.Background(), old, into); err != nil {
		return err
	}
	hub, err := runtime.DefaultUnstructuredConverter.ToUnstructured(into)
	if err != nil {
		return err
	}
	return admitted(w, hub, into)
}

// admitCore returns why a webhook of Cluster API refuses a new object.
func admitCore(o map[string]any) error {
	_, version, _ := strings.Cut(o["apiVersion"].(string), "/")
	switch fmt.Sprint(o["kind"], " ", version) {
	case "KubeadmConfig v1beta2":
		return admitted(&bootstrapadmission.KubeadmConfig{}, o, &bootstrapv1.KubeadmConfig{})
	case "KubeadmConfig v1beta1":
		return admitOld(&bootstrapadmission.KubeadmConfig{}, o, &bootstrapv1beta1.KubeadmConfig{}, &bootstrapv1.KubeadmConfig{}, bootstrapconversion.ConvertKubeadmConfigV1Beta1ToHub)
	case "KubeadmConfigTemplate v1beta2":
		return admitted(&bootstrapadmission.KubeadmConfigTemplate{}, o, &bootstrapv1.KubeadmConfigTemplate{})
	case "KubeadmControlPlaneTemplate v1beta2":
		return admitted(&controlplaneadmission.KubeadmControlPlaneTemplate{}, o, &controlplanev1.KubeadmControlPlaneTemplate{})
	case "KubeadmControlPlane v1beta2":
		return admitted(&controlplaneadmission.KubeadmControlPlane{}, o, &controlplanev1.KubeadmControlPlane{})
	case "KubeadmControlPlane v1beta1":
		return admitOld(&controlplaneadmission.KubeadmControlPlane{}, o, &controlplanev1beta1.KubeadmControlPlane{}, &controlplanev1.KubeadmControlPlane{}, controlplaneconversion.ConvertKubeadmControlPlaneV1Beta1ToHub)
	case "MachineDeployment v1beta2":
		return admitted(&admission.MachineDeployment{}, o, &clusterv1.MachineDeployment{})
	case "MachineDeployment v1beta1":
		return admitOld(&admission.MachineDeployment{}, o, &clusterv1beta1.MachineDeployment{}, &clusterv1.MachineDeployment{}, conversion.ConvertMachineDeploymentV1Beta1ToHub)
	case "MachinePool v1beta2":
		return admitted(&admission.MachinePool{}, o, &clusterv1.MachinePool{})
	case "MachinePool v1beta1":
		return admitOld(&admission.MachinePool{}, o, &clusterv1beta1.MachinePool{}, &clusterv1.MachinePool{}, conversion.ConvertMachinePoolV1Beta1ToHub)
	case "MachineHealthCheck v1beta2":
		return admitted(&admission.MachineHealthCheck{}, o, &clusterv1.MachineHealthCheck{})
	case "MachineHealthCheck v1beta1":
		return admitOld(&admission.MachineHealthCheck{}, o, &clusterv1beta1.MachineHealthCheck{}, &clusterv1.MachineHealthCheck{}, conversion.ConvertMachineHealthCheckV1Beta1ToHub)
	}
	return fmt.Errorf("no webhook for %v of %s", o["kind"], version)
}

// coreSamples are objects that the webhooks accept.
const coreSamples = `[
{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane", "metadata": {"name": "a"}, "spec": {
  "replicas": 3, "version": "v1.34.0", "machineTemplate": {"spec": {"infrastructureRef": {"apiGroup": "x.io", "kind": "FooMachineTemplate", "name": "a"}}}}},
{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane", "metadata": {"name": "a"}, "spec": {
  "replicas": 3, "version": "v1.34.0", "kubeadmConfigSpec": {}, "machineTemplate": {"infrastructureRef": {"apiVersion": "x.io/v1beta1", "kind": "FooMachineTemplate", "name": "a"}}}},
{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlaneTemplate", "metadata": {"name": "a"}, "spec": {"template": {"spec": {"kubeadmConfigSpec": {}}}}},
{"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig", "metadata": {"name": "a"}, "spec": {}},
{"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfig", "metadata": {"name": "a"}, "spec": {}},
{"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate", "metadata": {"name": "a"}, "spec": {"template": {"spec": {}}}},
{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": {"name": "a"}, "spec": {
  "clusterName": "a", "replicas": 1, "selector": {"matchLabels": {"b": "c"}}, "template": {"metadata": {"labels": {"b": "c"}}, "spec": {
  "clusterName": "a", "version": "v1.34.0", "bootstrap": {"configRef": {"apiGroup": "x.io", "kind": "FooConfigTemplate", "name": "a"}},
  "infrastructureRef": {"apiGroup": "x.io", "kind": "FooMachineTemplate", "name": "a"}}}}},
{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": "a"}, "spec": {
  "clusterName": "a", "replicas": 1, "selector": {"matchLabels": {"b": "c"}}, "template": {"metadata": {"labels": {"b": "c"}}, "spec": {
  "clusterName": "a", "version": "v1.34.0", "bootstrap": {"configRef": {"apiVersion": "x.io/v1beta1", "kind": "FooConfigTemplate", "name": "a"}},
  "infrastructureRef": {"apiVersion": "x.io/v1beta1", "kind": "FooMachineTemplate", "name": "a"}}}}},
{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachinePool", "metadata": {"name": "a"}, "spec": {
  "clusterName": "a", "replicas": 1, "template": {"spec": {
  "clusterName": "a", "version": "v1.34.0", "bootstrap": {"configRef": {"apiGroup": "x.io", "kind": "FooConfig", "name": "a"}},
  "infrastructureRef": {"apiGroup": "x.io", "kind": "FooMachinePool", "name": "a"}}}}},
{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachinePool", "metadata": {"name": "a"}, "spec": {
  "clusterName": "a", "replicas": 1, "template": {"spec": {
  "clusterName": "a", "version": "v1.34.0", "bootstrap": {"configRef": {"apiVersion": "x.io/v1beta1", "kind": "FooConfig", "name": "a"}},
  "infrastructureRef": {"apiVersion": "x.io/v1beta1", "kind": "FooMachinePool", "name": "a"}}}}},
{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck", "metadata": {"name": "a"}, "spec": {
  "clusterName": "a", "selector": {"matchLabels": {"b": "c"}}}},
{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineHealthCheck", "metadata": {"name": "a"}, "spec": {
  "clusterName": "a", "selector": {"matchLabels": {"b": "c"}}, "unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "300s"}]}}
]`

// obj is an object of JSON.
type obj = map[string]any

// secretOf is where a value comes from.
var secretOf = obj{"secret": obj{"name": "a", "key": "b"}}

// configValues are what fields of a kubeadm config are set to.
var configValues = map[string][]any{
	"files": {nil, []any{obj{"path": "/a", "content": "a"}, obj{"path": "/b", "contentFrom": secretOf}}, []any{obj{"path": "/a"}, obj{"path": "/a"}}, []any{obj{"path": "/a", "content": "", "contentFrom": secretOf}},
		[]any{obj{"path": "/a", "content": "a", "contentFrom": secretOf}}, []any{obj{"path": "/a", "encoding": "gzip"}}, []any{obj{"path": "/a", "encoding": "base64"}}, []any{obj{"path": "/a", "encoding": "gzip+base64"}}},
	"users":  {nil, []any{obj{"name": "a", "passwd": "a"}}, []any{obj{"name": "a", "passwdFrom": secretOf}}, []any{obj{"name": "a", "passwd": "a", "passwdFrom": secretOf}}, []any{obj{"name": "a", "inactive": true}}, []any{obj{"name": "a", "inactive": false}}},
	"format": {nil, "cloud-config", "ignition", "ignition"}, "ignition": {nil, obj{"containerLinuxConfig": obj{"additionalConfig": "a"}}}, "bootCommands": {nil, []any{"a"}},
	"diskSetup.partitions":  {nil, []any{obj{"device": "a", "layout": true, "tableType": "mbr"}}, []any{obj{"device": "a", "layout": true, "tableType": "gpt"}}, []any{obj{"device": "a", "layout": true, "diskLayout": []any{obj{"percentage": 60}, obj{"percentage": 50}}}}},
	"diskSetup.filesystems": {nil, []any{obj{"device": "a", "filesystem": "ext4", "label": "b"}}, []any{obj{"device": "a", "partition": "auto"}}, []any{obj{"device": "a", "replaceFS": "ntfs"}}},
	"joinConfiguration.discovery.file": {nil, obj{"kubeConfigPath": "a", "kubeConfig": obj{"user": obj{"exec": obj{"command": "a"}}}},
		obj{"kubeConfigPath": "a", "kubeConfig": obj{"user": obj{"exec": obj{"command": "a"}, "authProvider": obj{"name": "a"}}}}},
}

// planeValues are what fields of a control plane of v1beta2 are set to.
var planeValues = map[string][]any{
	"rollout.strategy":                                  {nil, obj{"type": "RollingUpdate", "rollingUpdate": obj{"maxSurge": 2}}, obj{"type": "RollingUpdate"}},
	"rollout.before.certificatesExpiryDays":             {nil, 7, 100},
	"machineTemplate.spec.taints":                       {nil, []any{obj{"key": "node.kubernetes.io/a", "effect": "NoSchedule", "propagation": "Always"}}, []any{obj{"key": "a.io/a", "effect": "NoSchedule", "propagation": "Always"}}},
	"machineNaming.template":                            {nil, "a", "a-{{ .random }}", "A-{{ .random }}", "{{ .kubeadmControlPlane.name }}-{{ .random }}", "{{ .machineSet.name }}-{{ .random }}", "{{ .cluster.name }}-{{ .random }"},
	"kubeadmConfigSpec.clusterConfiguration.etcd.local": {nil, obj{}, obj{"dataDir": "/a"}}, "kubeadmConfigSpec.clusterConfiguration.etcd.external": {nil, obj{"endpoints": []any{"https://a"}}},
	"kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays":                 {nil, 0, 100, 3650, 4000},
	"kubeadmConfigSpec.clusterConfiguration.caCertificateValidityPeriodDays":               {nil, 0, 50, 5000},
	"kubeadmConfigSpec.initConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds": {nil, 5},
	"kubeadmConfigSpec.joinConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds": {nil, 5, 6},
}

// skipping are annotations that skip preflight checks.
func skipping(checks string) map[string]any {
	return map[string]any{"machineset.cluster.x-k8s.io/skip-preflight-checks": checks}
}

// below puts the fields of each table below a path.
func below(path string, tables ...map[string][]any) map[string][]any {
	out := map[string][]any{}
	for _, table := range tables {
		for field, values := range table {
			out[path+field] = values
		}
	}
	return out
}

// coreValues are what fields are set to; nil removes them.
var coreValues = map[string]map[string][]any{
	"KubeadmConfig":               below("spec.", configValues),
	"KubeadmConfigTemplate":       below("spec.template.spec.", configValues),
	"KubeadmControlPlaneTemplate": below("spec.template.spec.", planeValues, below("kubeadmConfigSpec.", configValues)),
	"KubeadmControlPlane": {
		"spec.replicas": {nil, 0, 1, 2, 3, 4, -1}, "spec.version": {"1.34.0", "v1.34.0", "v1.34", "a"},
		"spec.rollout.strategy.rollingUpdate.maxSurge":              {nil, 0, 1, 2, "0", "1", "50%"},
		"spec.rolloutStrategy.rollingUpdate.maxSurge":               {nil, 0, 1, 2, "0", "1", "50%"},
		"spec.kubeadmConfigSpec.clusterConfiguration.etcd.external": {nil, map[string]any{}, map[string]any{"endpoints": []any{"https://a"}}},
	},
	"MachineDeployment": {
		"spec.clusterName": {"a", "b"}, "spec.template.spec.clusterName": {"a", "b"}, "spec.template.spec.version": {nil, "1.34.0", "v1.34", "a"},
		"spec.template.spec.bootstrap":                       {map[string]any{}, map[string]any{"dataSecretName": ""}, map[string]any{"dataSecretName": "a"}},
		"spec.rollout.strategy.rollingUpdate.maxSurge":       {nil, 0, 1, "0", "0%", "10%", "a"},
		"spec.rollout.strategy.rollingUpdate.maxUnavailable": {nil, 0, 1, "0", "0%", "10%", "a"},
		"spec.strategy.rollingUpdate.maxSurge":               {nil, 0, 1, "0", "0%", "10%", "a"},
		"spec.strategy.rollingUpdate.maxUnavailable":         {nil, 0, 1, "0", "0%", "10%", "a"},
		"metadata.annotations":                               {nil, skipping(""), skipping("All"), skipping("All, KubeadmVersionSkew"), skipping("Every")},
		"spec.selector.matchExpressions": {nil, nil, []any{obj{"key": "b", "operator": "In", "values": []any{"c", "e"}}}, []any{obj{"key": "b", "operator": "DoesNotExist"}},
			[]any{obj{"key": "cluster.x-k8s.io/cluster-name", "operator": "Exists"}}},
		"spec.selector.matchLabels.b": {nil, "c", "d"}, "spec.template.metadata.labels.b": {nil, "c", "d"},
	},
	"MachinePool": {
		"spec.clusterName": {"a", "b"}, "spec.template.spec.clusterName": {"a", "b"}, "spec.template.spec.version": {nil, "1.34.0", "v1.34", "a", "v1.34.0+b"},
		"spec.template.spec.bootstrap": {nil, map[string]any{}, map[string]any{"dataSecretName": ""}, map[string]any{"dataSecretName": "a"}},
		"spec.template.spec.taints":    {nil, []any{}, []any{map[string]any{"key": "a", "effect": "NoSchedule", "propagation": "Always"}}},
		"spec.template.metadata":       {map[string]any{"labels": map[string]any{"a": "b c"}}, map[string]any{"labels": map[string]any{"a": "b"}}, map[string]any{"annotations": map[string]any{"a/b/c": "d"}}},
	},
	"MachineHealthCheck": {
		"spec.nodeStartupTimeout": {nil, "10s", "0s", "29s", "30s", "10m"}, "spec.maxUnhealthy": {nil, 0, 5, "40%", "5", "a"},
		"spec.clusterName": {"a", "b"}, "spec.selector": {map[string]any{}, map[string]any{"matchLabels": map[string]any{"cluster.x-k8s.io/cluster-name": "a"}}, map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Exists"}}}},
		"spec.checks.nodeStartupTimeoutSeconds":                 {nil, 0, 1, 29, 30, 600},
		"spec.remediation.triggerIf.unhealthyLessThanOrEqualTo": {nil, 0, 5, "40%", "5", "a"},
	},
}

// TestCoreAdmission compares the rule about control planes, workers and health checks
// with the webhooks of Cluster API, on objects whose fields get random values.
func TestCoreAdmission(t *testing.T) {
	t.Parallel()
	given.NoError(t, gates())
	var samples []map[string]any
	given.NoError(t, json.Unmarshal([]byte(coreSamples), &samples))
	random := rand.New(rand.NewPCG(*seed, 11))
	refused := map[string]int{}
	for i := range coreMutants {
		o := runtime.DeepCopyJSON(samples[i%len(samples)])
		kind := o["kind"].(string)
		varied(t, random, o, coreValues[kind])
		if _, version, _ := strings.Cut(o["apiVersion"].(string), "/"); kind == "KubeadmControlPlane" && version == "v1beta2" {
			varied(t, random, o, below("spec.", planeValues))
		}
		data := given.Value(json.Marshal(o))(t)
		server := admitCore(o)
		said := findingsOf(t, "cluster-template.yaml", data, "TOP025", "YAML009", "YAML014")
		if (server != nil) != (len(said) > 0) {
			t.Errorf("%s\nCluster API: %v\nlint: %q", data, server, said)
		}
		if server != nil {
			refused[fmt.Sprint(o["apiVersion"], o["kind"])]++
		}
	}
	t.Log(refused)
	if len(refused) != len(samples) {
		t.Errorf("refused: %v", refused)
	}
}

// jsonOf is a copy of a value as it comes from JSON.
func jsonOf(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = jsonOf(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, v := range v {
			out[name] = jsonOf(v)
		}
		return out
	}
	return v
}

// findingsOf returns what some rules say of a file.
func findingsOf(t *testing.T, name string, data []byte, ids ...string) []string {
	t.Helper()
	report, err := lintRelease(foo, lint.Options{Rules: phrase.List(ids, rules.ByID)}, repo.BytesArtifact(name, data))
	if err != nil || len(report.Failures) > 0 {
		t.Fatal(err, report.Failures)
	}
	return phrase.List(report.Findings, func(f lint.Finding) string { return f.Message })
}
