package migrate

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
)

const class = `apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata:
  name: quick
spec:
  infrastructure:
    ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: FooClusterTemplate, name: c}
  controlPlane:
    ref: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, name: cp}
    machineInfrastructure:
      ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: FooMachineTemplate, name: m}
  workers:
    machineDeployments:
    - class: w
      template:
        bootstrap:
          ref: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: b}
        infrastructure:
          ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: FooMachineTemplate, name: m}
  variables:
  - name: drain
    required: false
    schema: {openAPIV3Schema: {type: string, enum: [1m, 2m]}}
  - name: region
    required: true
    schema: {openAPIV3Schema: {type: string, default: eu}}
  patches:
  - name: a
    definitions:
    - selector:
        apiVersion: controlplane.cluster.x-k8s.io/v1beta1
        kind: KubeadmControlPlaneTemplate
        matchResources: {controlPlane: true}
      jsonPatches:
      - op: add
        path: /spec/template/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/region
        valueFrom: {variable: region}
      - op: replace
        path: /spec/template/spec/machineTemplate/nodeDrainTimeout
        value: 90s
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlaneTemplate
metadata:
  name: cp
spec:
  template:
    spec:
      machineTemplate:
        nodeDrainTimeout: 1m
      kubeadmConfigSpec:
        users:
        - {name: b, shell: sh, sudo: all}
        - {name: a, shell: sh, sudo: all}
        clusterConfiguration:
          apiServer:
            extraArgs: {audit: "1", bind: "2"}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: b}
spec: {template: {spec: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: FooClusterTemplate
metadata: {name: c}
spec: {template: {spec: {}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: FooMachineTemplate
metadata: {name: m}
spec: {template: {spec: {}}}
`

const cluster = `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: x}
spec:
  topology:
    class: quick
    version: v1.33.0
    variables:
    - {name: region, value: "${REGION:=us}"}
`

// migrated migrates texts that belong together and puts other texts into the results.
func migrated(replace ...string) []*File {
	var out []*File
	for name, text := range map[string]string{"in/class.yaml": class, "in/cluster-template.yaml": cluster} {
		r := Text(name, []byte(text), Options{Contract: table.To("v1beta2")})
		r.New = []byte(strings.NewReplacer(replace...).Replace(string(r.New)))
		out = append(out, &File{Name: name, Old: []byte(text), Result: r})
	}
	return out
}

func TestCompare(t *testing.T) {
	for name, tt := range map[string]struct {
		replace []string
		want    string // in the finding; "" if there is none
	}{
		"the same":                   {nil, ""},
		"another value":              {[]string{"value: 90", "value: 91"}, "KubeadmControlPlaneTemplate.spec.template.spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds is 91 instead of 90"},
		"another selector":           {[]string{"matchResources: {controlPlane: true}", "matchResources: {infrastructureCluster: true}"}, "instead of"},
		"another argument":           {[]string{"name: region\n", "name: regions\n"}, "extraArgs[2].name is \"regions\" instead of \"region\""},
		"arguments in another order": {[]string{"name: audit", "name: bind", "name: bind", "name: audit", `value: "1"`, `value: "2"`, `value: "2"`, `value: "1"`}, ""},
		"another order":              {[]string{"name: b, shell", "name: a, shell", "name: a, shell", "name: b, shell"}, "users[0].name is \"a\" instead of \"b\""},
		"a field too much":           {[]string{"value: 90", "value: 90\n      - op: add\n        path: /spec/template/spec/machineNaming\n        value: {template: x}"}, "machineNaming is {\"template\":\"x\"} instead of null"},
		"a path that is not there": {
			[]string{"deletion/nodeDrainTimeoutSeconds", "gone/nodeDrainTimeoutSeconds"}, "a patch of KubeadmControlPlaneTemplate fails",
		},
		"only for the Cluster": {[]string{"value: \"${REGION:=us}\"", "value: \"${REGION:=other}\""}, "for the Cluster of cluster-template.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			got := CompareEffects(t.Context(), migrated(tt.replace...), table.To("v1beta2"))
			switch {
			case tt.want == "" && len(got) > 0, tt.want != "" && len(got) != 1:
				t.Errorf("%+v", got)
			case tt.want != "" && (!strings.Contains(got[0].Message, tt.want) || got[0].Line != 2 || got[0].Object != "ClusterClass quick"):
				t.Errorf("%+v", got[0])
			}
		})
	}
}
