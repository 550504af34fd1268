package report_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func inventoryRelease() *repo.Release {
	return &repo.Release{
		Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: "v1.0.0",
		Artifacts: []*repo.Artifact{
			repo.BytesArtifact("cluster-template.yaml", []byte(`apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: "${CLUSTER_NAME}"}
spec:
  topology:
    class: quick
    version: ${KUBERNETES_VERSION}
a: "${FOO_PIPE:=a|b}"
b: "${FOO_TICK:=`+"`x`"+`}"
c: "${FOO_EVIL:=`+"\u202e"+`}"
d: ${FOO_PORT:=6443}
e: ${FOO_PORT}
f: ${FOO_PORT^^}
g: ${FOO_PORT#6}
h: ${FOO_PORT%3}
i: ${FOO_A:=${FOO_NESTED}}
`)),
			repo.BytesArtifact("clusterclass-quick.yaml", []byte("a: ${FOO_REGION} # Where machines are. Not yet\napiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {name: quick}\n"+
				"spec: {variables: [{name: size, required: true, schema: {openAPIV3Schema: {type: string, enum: [s, l], default: s, description: How large.}}}]}\n")),
			repo.BytesArtifact("infrastructure-components.yaml", []byte(`kind: Deployment
metadata: {name: manager, namespace: foo-system}
spec:
  template:
    spec:
      containers:
      - name: manager
        image: ghcr.io/foo/foo:v1
      - name: proxy
        image: ghcr.io/foo/proxy:${TAG:=v2}
      initContainers:
      - name: init
        image: ghcr.io/foo/foo:v1
---
kind: Job
metadata: {name: setup}
spec:
  template:
    spec:
      containers:
      - {name: a, image: "busybox"}
      - {name: b, image: "ghcr.io/foo/b:${JOB_TAG}"}
      - {name: c, image: "No|t"}
`)),
		},
	}
}

func one[T any](r *repo.Release, items []T) []report.Inventory[T] {
	return []report.Inventory[T]{{Release: r, Items: items}}
}

func TestVariables(t *testing.T) {
	r := inventoryRelease()
	variables := given.Value(inventory.Variables(t.Context(), r))(t)
	for _, tt := range []struct {
		format    string
		variables []inventory.Variable
		want      string
	}{
		{"text", variables, `infrastructure-foo v1.0.0: 11 variables, 3 required

VARIABLE            TYPE     DEFAULT                                  USED AT
FOO_REGION          unknown  (required)                               clusterclass-quick.yaml:1
JOB_TAG             string   (required)                               infrastructure-components.yaml:22
KUBERNETES_VERSION  string   (required), option --kubernetes-version  cluster-template.yaml:7
FOO_A               unknown  ${FOO_NESTED}                            cluster-template.yaml:16
FOO_EVIL            string   "\u202e"                                 cluster-template.yaml:10
FOO_NESTED          unknown  (empty)                                  cluster-template.yaml:16
FOO_PIPE            string   a|b                                      cluster-template.yaml:8
FOO_PORT            integer  6443                                     cluster-template.yaml:11 and 4 more
FOO_TICK            string   ` + "`" + `x` + "`" + `                                      cluster-template.yaml:9
TAG                 string   v2                                       infrastructure-components.yaml:10
CLUSTER_NAME        string   argument NAME                            cluster-template.yaml:3

notes:
  FOO_REGION: not listed for cluster-template.yaml, though clusterclass-quick.yaml is pulled in from there: a value is required [class]
    clusterclass-quick.yaml:1:4  ${FOO_REGION}
  FOO_NESTED: only used inside another expression: clusterctl never lists it, and without a value it is empty [nested]
    cluster-template.yaml:16:13  ${FOO_NESTED}
  FOO_PORT: empty here without a value, which clusterctl does not ask for: the first use in the file has a default, but it does not apply to this one [bare-use]
    cluster-template.yaml:12:4  ${FOO_PORT}
    cluster-template.yaml:13:4  ${FOO_PORT^^}
    cluster-template.yaml:14:4  ${FOO_PORT#6}
    and 1 more
`},
		{"markdown", variables, strings.ReplaceAll(`| Variable | Type | Default | Meaning | Used in |
|---|---|---|---|---|
| ´FOO_REGION´ | unknown | (required) | Where machines are | ´clusterclass-quick.yaml´ |
| ´JOB_TAG´ | string | (required) | spec.template.spec.containers.image of Job | ´infrastructure-components.yaml´ |
| ´KUBERNETES_VERSION´ | string | (required), option ´--kubernetes-version´ | Kubernetes version of the workload cluster | ´cluster-template.yaml´ |
| ´FOO_A´ | unknown | ´${FOO_NESTED}´ |  | ´cluster-template.yaml´ |
| ´FOO_EVIL´ | string | ´"\u202e"´ | c of Cluster | ´cluster-template.yaml´ |
| ´FOO_NESTED´ | unknown | (empty) |  | ´cluster-template.yaml´ |
| ´FOO_PIPE´ | string | ´a\|b´ | a of Cluster | ´cluster-template.yaml´ |
| ´FOO_PORT´ | integer | ´6443´ | d of Cluster | ´cluster-template.yaml´ |
| ´FOO_TICK´ | string | ´´ ´x´ ´´ | b of Cluster | ´cluster-template.yaml´ |
| ´TAG´ | string | ´v2´ | spec.template.spec.containers.image of Deployment | ´infrastructure-components.yaml´ |
| ´CLUSTER_NAME´ | string | argument ´NAME´ | name of the workload cluster | ´cluster-template.yaml´ |

#### Cluster templates

| Flavor | Command | ClusterClass | Must be set | May be set |
|---|---|---|---|---|
| (default) | ´clusterctl generate cluster NAME --infrastructure foo´ | ´quick´ | ´FOO_REGION´, ´KUBERNETES_VERSION´ | ´FOO_A´, ´FOO_EVIL´, ´FOO_PIPE´, ´FOO_PORT´, ´FOO_TICK´ |

#### ClusterClass ´quick´

File: ´clusterclass-quick.yaml´. Used by: ´cluster-template.yaml´.

| Variable | Required | Type | Default | Meaning |
|---|---|---|---|---|
| ´size´ | yes | string: s, l | ´s´ | How large |
`, "´", "`")},
		{"json", variables[len(variables)-2 : len(variables)-1], `{
  "kind": "vars",
  "schemaVersion": 1,
  "failures": [],
  "suppressed": [],
  "variables": [
    {
      "provider": "infrastructure-foo",
      "version": "v1.0.0",
      "name": "KUBERNETES_VERSION",
      "type": "string",
      "required": true,
      "meaning": "Kubernetes version of the workload cluster",
      "option": "--kubernetes-version",
      "files": [
        {
          "file": "cluster-template.yaml",
          "default": null
        }
      ],
      "uses": [
        {
          "file": "cluster-template.yaml",
          "line": 7,
          "column": 14,
          "expression": "${KUBERNETES_VERSION}"
        }
      ]
    }
  ]
}
`},
	} {
		var b strings.Builder
		releases := one(r, tt.variables)
		releases[0].Offers = inventory.OffersOf(r, variables)
		given.NoError(t, report.WriteVariables(&b, tt.format, releases))
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.format, diff)
		}
	}
	var b strings.Builder
	other := *r
	other.Provider.Type = layouts.ControlPlane
	releases := one(&other, variables)
	releases[0].Offers = inventory.OffersOf(r, variables)
	given.NoError(t, report.WriteVariables(&b, "markdown", releases))
	if !strings.Contains(b.String(), "`clusterctl generate cluster NAME --from cluster-template.yaml`") {
		t.Errorf("of another provider:\n%s", &b)
	}
	b.Reset()
	given.NoError(t, report.WriteVariables(&b, "json", one(r, variables)))
	var got struct{ Variables []inventory.Variable }
	given.NoError(t, json.Unmarshal([]byte(b.String()), &got))
	if diff := cmp.Diff(variables, got.Variables); diff != "" {
		t.Errorf("lost on the way through JSON (-want +got):\n%s", diff)
	}
}

// Several releases share one JSON object; the entries say whose they are.
func TestInventoryOfSeveralReleases(t *testing.T) {
	v := inventory.Variable{Name: "A", Uses: []inventory.Use{{Place: inventory.Place{File: "f", Line: 1}}}}
	var releases []report.Inventory[inventory.Variable]
	for _, version := range []string{"v1.0.0", "v2.0.0"} {
		r := &repo.Release{Provider: layouts.Provider{Type: layouts.IPAM, Name: "foo"}, Version: version}
		releases = append(releases, report.Inventory[inventory.Variable]{Release: r, Items: []inventory.Variable{v}})
	}
	var b strings.Builder
	given.NoError(t, report.WriteVariables(&b, "json", releases))
	var got struct {
		Variables []struct{ Provider, Version, Name string }
	}
	given.NoError(t, json.Unmarshal([]byte(b.String()), &got))
	if len(got.Variables) != 2 || got.Variables[0].Version != "v1.0.0" || got.Variables[1].Version != "v2.0.0" || got.Variables[1].Provider != "ipam-foo" || got.Variables[1].Name != "A" {
		t.Errorf("got %+v", got)
	}
	b.Reset()
	given.NoError(t, report.WriteVariables(&b, "markdown", releases))
	for _, want := range []string{"### ipam-foo v1.0.0\n\n| Variable", "\n\n### ipam-foo v2.0.0\n\n| Variable"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %s", want, b.String())
		}
	}
}

// The formats of an empty release are complete, and errors of the writer get
// through.
func TestInventoryEdges(t *testing.T) {
	r := inventoryRelease()
	variables := given.Value(inventory.Variables(t.Context(), r))(t)
	for _, format := range report.InventoryFormats {
		var b strings.Builder
		if err := report.WriteVariables(&b, format, one[inventory.Variable](r, nil)); err != nil || b.Len() == 0 {
			t.Errorf("%s without variables: %q, %v", format, b.String(), err)
		}
		if format == "json" && !strings.Contains(b.String(), `"variables": []`) {
			t.Errorf("no empty list: %s", b.String())
		}
		b.Reset()
		if err := report.WriteImages(&b, format, one[inventory.Image](r, nil)); err != nil || b.Len() == 0 {
			t.Errorf("%s without images: %q, %v", format, b.String(), err)
		}
		if format == "json" && !strings.Contains(b.String(), `"images": []`) {
			t.Errorf("no empty list: %s", b.String())
		}
		if err := report.WriteVariables(fullDisk{}, format, one(r, variables)); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v", format, err)
		}
		if err := report.WriteImages(fullDisk{}, format, one[inventory.Image](r, nil)); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v", format, err)
		}
	}
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
