package extension_test

//lint:file-ignore SA1019 v1beta1 is still served, and the requests must fit it

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cluster-api/api/core/v1beta1"
	"sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func file(text string) *manifest.File {
	return manifest.New(repo.BytesArtifact("given.yaml", []byte(text)), layouts.ClusterClass, []byte(text))
}

func maker(t *testing.T, core int, files ...*manifest.File) *extension.Maker {
	t.Helper()
	topology := given.Value(extension.ReadTopology(files...))(t)
	return &extension.Maker{Topology: topology, Core: core, Settings: map[string]string{"a": "b"}}
}

// TestRequestsFitTheTypes decodes every request strictly into the type of Cluster
// API, and looks for what is required.
func TestRequestsFitTheTypes(t *testing.T) {
	c := catalog.New()
	given.NoError(t, hooksv1.AddToCatalog(c))
	for core := contract.OldestCore; core <= contract.NewestCore; core++ {
		m := maker(t, core)
		for _, h := range extension.Hooks(core) {
			made := m.Make(h)
			for _, f := range h.Request {
				if f.Required && made[f.Name] == nil {
					t.Errorf("v1.%d: %s has no %s", core, h.Name, f.Name)
				}
			}
			data := extension.RequestJSON(made)
			if core >= 13 {
				typed, err := c.NewRequest(catalog.GroupVersionHook{Group: extension.Group, Version: extension.Version, Hook: h.Name})
				given.NoError(t, err)
				if err := strict(data, typed); err != nil {
					t.Errorf("v1.%d: %s: %v\n%s", core, h.Name, err, data)
				}
				continue
			}
			if cluster, ok := made["cluster"]; ok {
				data, _ := json.Marshal(cluster)
				if err := strict(data, &v1beta1.Cluster{}); err != nil {
					t.Errorf("v1.%d: %s: %v\n%s", core, h.Name, err, data)
				}
			}
		}
	}
}

// TestBuiltins decodes the builtin variables strictly.
func TestBuiltins(t *testing.T) {
	var typed hooksv1.GeneratePatchesRequest
	given.NoError(t, strict(extension.RequestJSON(maker(t, 14).Make(extension.Find("GeneratePatches"))), &typed))
	check := func(list []hooksv1.Variable) {
		for _, v := range list {
			if v.Name == "builtin" {
				if err := strict(v.Value.Raw, &hooksv1.Builtins{}); err != nil {
					t.Errorf("%v in %s", err, v.Value.Raw)
				}
			}
		}
	}
	check(typed.Variables)
	var places []string
	for _, item := range typed.Items {
		check(item.Variables)
		places = append(places, item.HolderReference.Kind+" "+item.HolderReference.FieldPath+" "+kind(item.Object))
	}
	want := `Cluster spec.infrastructureRef DockerClusterTemplate
Cluster spec.controlPlaneRef KubeadmControlPlaneTemplate
KubeadmControlPlane spec.machineTemplate.spec.infrastructureRef DockerMachineTemplate
MachineDeployment spec.template.spec.bootstrap.configRef KubeadmConfigTemplate
MachineDeployment spec.template.spec.infrastructureRef DockerMachineTemplate
MachinePool spec.template.spec.bootstrap.configRef KubeadmConfigTemplate
MachinePool spec.template.spec.infrastructureRef DockerMachinePoolTemplate`
	if got := strings.Join(places, "\n"); got != want {
		t.Errorf("items:\n%s", got)
	}
}

func kind(o runtime.RawExtension) string {
	var k struct{ Kind string }
	_ = json.Unmarshal(o.Raw, &k)
	return k.Kind
}

const givenClass = `apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {name: mine}
spec:
  infrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: MineClusterTemplate, name: c}}
  controlPlane: {ref: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: MineControlPlaneTemplate, name: p}, machineInfrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: MineMachineTemplate, name: m}}}
  workers:
    machineDeployments:
    - class: w
      template:
        bootstrap: {ref: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: MineConfigTemplate, name: b}}
        infrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: MineMachineTemplate, name: m}}
  variables:
  - {name: size, required: true, schema: {openAPIV3Schema: {type: integer, minimum: 3}}}
  - {name: optional, required: false, schema: {openAPIV3Schema: {type: string}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: MineMachineTemplate
metadata: {name: m}
spec: {template: {spec: {image: ${IMAGE:=x}}}}
`

func TestGivenClassAndCluster(t *testing.T) {
	m := maker(t, 14, file(givenClass), file("apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: one, namespace: two}\nspec: {topology: {class: mine, version: v1.33.4, workers: {machineDeployments: [{class: w, name: a}, {class: gone, name: b}]}, variables: [{name: color, value: red}]}}\nstatus: {phase: x}\n"))
	data := string(extension.RequestJSON(m.Make(extension.Find("GeneratePatches"))))
	for _, want := range []string{`"image":"x"`, `"name":"size","value":3`, `"name":"color","value":"red"`, `"name":"one-a-xxxxx"`, `"spec.machineTemplate.infrastructureRef"`, `"classRef":{"name":"mine"`, `"settings":{"a":"b"}`} {
		if !strings.Contains(data, want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
	cluster := string(extension.RequestJSON(m.Make(extension.Find("BeforeClusterCreate"))))
	if strings.Contains(cluster, "phase") || !strings.Contains(cluster, `"apiVersion":"cluster.x-k8s.io/v1beta2"`) || !strings.Contains(cluster, `"classRef":{"name":"mine"}`) {
		t.Errorf("the Cluster: %s", cluster)
	}
	if u := m.Upgrade(); u.To != "v1.33.4" || u.ControlPlane != "v1.30.0" {
		t.Errorf("upgrade %+v", u)
	}
	// A class alone gets a Cluster that uses all of it.
	if data := string(extension.RequestJSON(maker(t, 14, file(givenClass)).Make(extension.Find("ValidateTopology")))); !strings.Contains(data, "MineConfigTemplate") || strings.Contains(data, `"uid":"0`) {
		t.Errorf("the class alone: %s", data)
	}
	// The machines of a pool are not made from its templates, but those of the control plane are.
	pool := file(strings.Replace(givenClass, "machineDeployments", "machinePools", 1))
	data = string(extension.RequestJSON(maker(t, 14, pool).Make(extension.Find("UpdateMachine"))))
	if strings.Contains(data, "MineConfig") || !strings.Contains(data, "MineMachine") {
		t.Errorf("a pool alone: %s", data)
	}
}

func TestDiscoveredVariables(t *testing.T) {
	m := maker(t, 14)
	d := yamldoc.Parse(yamldoc.NewFile("x", []byte(`{"name":"v","required":true,"schema":{"openAPIV3Schema":{"type":"object","required":["a"],"properties":{"a":{"type":"string","enum":["x"]}}}}}`)))
	m.Discovered = []*yamldoc.Node{d.Docs[0].Root}
	if data := string(extension.RequestJSON(m.Make(extension.Find("GeneratePatches")))); !strings.Contains(data, `{"name":"v","value":{"a":"x"}}`) {
		t.Error(data)
	}
}

func TestBadTopologies(t *testing.T) {
	for text, want := range map[string]string{
		givenClass + "---\n" + givenClass: "several ClusterClasses",
		"kind: Cluster\napiVersion: cluster.x-k8s.io/v1beta2\nmetadata: {name: a}\n---\nkind: Cluster\napiVersion: cluster.x-k8s.io/v1beta2\n": "several Clusters",
	} {
		if _, err := extension.ReadTopology(file(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v instead of %q", err, want)
		}
	}
}

// TestGraftTakesTheNamedEntry leaves variables of users alone that look like builtin.
func TestGraftTakesTheNamedEntry(t *testing.T) {
	request := map[string]any{"variables": []any{
		map[string]any{"name": "mine", "value": map[string]any{"cluster": map[string]any{}}},
		map[string]any{"name": "builtin", "value": map[string]any{"cluster": map[string]any{}}},
	}}
	extension.Graft(request, "new", "1")
	want := `{"new":"1","variables":[{"name":"mine","value":{"cluster":{}}},{"name":"builtin","value":{"cluster":{"new":"1"}}}]}`
	if got := string(extension.RequestJSON(request)); got != want {
		t.Errorf("got %s", got)
	}
}

func FuzzRequests(f *testing.F) {
	f.Add(givenClass)
	f.Add("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nspec: {topology: {workers: {machineDeployments: [1, {class: default-worker, name: 1, variables: {overrides: 1}}]}, variables: [1]}, clusterNetwork: 1}\nmetadata: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		topology, err := extension.ReadTopology(file(text))
		if err != nil {
			return
		}
		for _, core := range []int{11, 14} {
			m := &extension.Maker{Topology: topology, Core: core}
			for _, h := range extension.Hooks(core) {
				if !json.Valid(extension.RequestJSON(m.Make(h))) {
					t.Error(fmt.Sprint(h.Name, " is no JSON"))
				}
			}
		}
	})
}
