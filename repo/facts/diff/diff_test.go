package diff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

func release(version string, files map[string]string) *repo.Release {
	r := &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: version, Path: version}
	for name, data := range files {
		r.Artifacts = append(r.Artifacts, repo.BytesArtifact(name, []byte(data)))
	}
	r.Sort()
	return r
}

// compare compares releases with these files.
func compare(t *testing.T, old, now map[string]string) []Change {
	t.Helper()
	return given.Value(Releases(t.Context(), release("v1.0.0", old), release("v1.1.0", now)))(t)
}

// components are the files of a release that has no others.
func components(text string) map[string]string {
	return map[string]string{"infrastructure-components.yaml": text}
}

// lines is what a reader needs to see of changes.
func lines(changes []Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, fmt.Sprintf("%s %s %s: %s (%s:%d)", c.Area, c.Kind, c.Impact, c.Message, c.File, c.Line))
	}
	return out
}

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: foos.example.com
  labels:
    cluster.x-k8s.io/v1beta1: v1
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Foo, plural: foos, listKind: FooList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
SCHEMA
`

// schemaIn indents a schema to its place.
func schemaIn(schema string) string {
	var b strings.Builder
	for line := range strings.Lines(schema) {
		b.WriteString(strings.Repeat(" ", 12) + line)
	}
	return strings.Replace(definition, "SCHEMA", strings.TrimRight(b.String(), "\n"), 1)
}

func TestSchemas(t *testing.T) {
	advice := map[string]string{
		"default": "objects that omit the field get a different value", "pattern": "", "field": "",
		"list type": "from now on server-side apply merges this field differently",
	}
	for name, tc := range map[string]struct{ old, new, want string }{
		"equal":                        {"{type: string}", "{type: string}", ""},
		"only described":               {"{type: string}", "{type: string, description: x, example: y}", ""},
		"type":                         {"{type: string}", "{type: integer}", "breaking spec: the type changes from string to integer"},
		"int or string":                {"{type: integer}", "{x-kubernetes-int-or-string: true}", "attention spec: the type changes from integer to int-or-string"},
		"any type":                     {"{type: string}", "{x-kubernetes-preserve-unknown-fields: true}", "attention spec: the type changes from string to any; neutral spec: x-kubernetes-preserve-unknown-fields is now true"},
		"pattern":                      {"{type: string}", "{type: string, pattern: a}", `attention spec: pattern is now "a"`},
		"shorter":                      {"{type: string, maxLength: 9}", "{type: string, maxLength: 8}", "breaking spec: maxLength changes from 9 to 8"},
		"longer":                       {"{type: string, maxLength: 9}", "{type: string, maxLength: 10}", "neutral spec: maxLength changes from 9 to 10"},
		"limit":                        {"{type: string}", "{type: string, maxLength: 8}", "breaking spec: maxLength is now 8"},
		"no limit":                     {"{type: string, maxLength: 8}", "{type: string}", "neutral spec: maxLength is no longer 8"},
		"any keys to fields":           {"{type: object, additionalProperties: {type: string}}", "{type: object, properties: {a: {type: string}}}", "breaking v1 spec: keys of the user's choice are no longer allowed; neutral spec.a: new field"},
		"any keys to open":             {"{type: object, additionalProperties: {type: string}}", "{type: object, x-kubernetes-preserve-unknown-fields: true}", "attention v1 spec: the new schema does not describe the values of keys; neutral spec: x-kubernetes-preserve-unknown-fields is now true"},
		"default added":                {"{type: string}", "{type: string, default: a}", "attention spec: default is now \"a\""},
		"required later, with default": {"{type: object, properties: {a: {type: string, default: b}}}", "{type: object, required: [a], properties: {a: {type: string, default: b}}}", "attention spec.a: the field is now required, with a default"},
		"minimum up":                   {"{type: integer, minimum: 1}", "{type: integer, minimum: 2}", "breaking spec: minimum changes from 1 to 2"},
		"minimum with a fraction":      {"{type: integer, minimum: 1}", "{type: integer, minimum: 1.0}", "neutral spec: minimum changes from 1 to 1.0"},
		"minimum that is none":         {"{type: integer, minimum: 1}", "{type: integer, minimum: x}", `breaking spec: minimum changes from 1 to "x"`},
		"items described":              {"{type: array}", "{type: array, items: {type: string}}", "attention spec[]: the values are now described"},
		"items not described":          {"{type: array, items: {type: string}}", "{type: array}", "attention v1 spec[]: the new schema does not describe the values"},
		"minimum down":                 {"{type: integer, minimum: 1}", "{type: integer, minimum: 0}", "neutral spec: minimum changes from 1 to 0"},
		"enum":                         {"{type: string, enum: [a, b]}", "{type: string, enum: [b, c]}", `breaking spec: the value "a" is no longer allowed; neutral spec: the value "c" is allowed`},
		"enum comes":                   {"{type: string}", "{type: string, enum: [a]}", `breaking spec: only ["a"] are now allowed`},
		"enum goes":                    {"{type: string, enum: [a]}", "{type: string}", `neutral spec: any value is allowed instead of ["a"]`},
		"default":                      {"{type: string, default: a}", "{type: string, default: b}", `attention spec: default changes from "a" to "b"`},
		"field":                        {"{type: object}", "{type: object, properties: {a: {type: string}}}", "neutral spec.a: new field"},
		"required field":               {"{type: object}", "{type: object, required: [a], properties: {a: {type: string}}}", "breaking spec.a: new field that is required"},
		"required with default":        {"{type: object}", "{type: object, required: [a], properties: {a: {type: string, default: x}}}", "neutral spec.a: new field"},
		"field goes":                   {"{type: object, properties: {a: {type: string}}}", "{type: object, properties: {b: {type: string}}}", "breaking v1 spec.a: the field is gone; neutral spec.b: new field"},
		"field goes from an open":      {"{type: object, properties: {a: {type: string}}}", "{type: object, x-kubernetes-preserve-unknown-fields: true}", "attention v1 spec.a: the new schema does not describe the field; neutral spec: x-kubernetes-preserve-unknown-fields is now true"},
		"becomes required":             {"{type: object, properties: {a: {type: string}}}", "{type: object, required: [a], properties: {a: {type: string}}}", "breaking spec.a: the field is now required"},
		"no longer required":           {"{type: object, required: [a], properties: {a: {type: string}}}", "{type: object, properties: {a: {type: string}}}", "neutral spec.a: the field is no longer required"},
		"in a list":                    {"{type: array, items: {type: object, properties: {a: {type: string}}}}", "{type: array, items: {type: object, properties: {a: {type: boolean}}}}", "breaking spec[].a: the type changes from string to boolean"},
		"in a map":                     {"{type: object, additionalProperties: {type: string}}", "{type: object, additionalProperties: {type: integer}}", "breaking spec[*]: the type changes from string to integer"},
		"closes":                       {"{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object}", "breaking spec: x-kubernetes-preserve-unknown-fields is no longer true"},
		"rule":                         {"{type: object}", "{type: object, x-kubernetes-validations: [{rule: self == oldSelf}]}", "attention spec: x-kubernetes-validations is now [self == oldSelf]"},
		"list type":                    {"{type: array, items: {type: string}}", "{type: array, items: {type: string}, x-kubernetes-list-type: set}", `attention spec: x-kubernetes-list-type is now "set"`},
		"nullable is false":            {"{type: string, nullable: true}", "{type: string, nullable: false}", "breaking spec: nullable is no longer true"},
		"nothing said is no value":     {"{type: string, nullable: false, uniqueItems: false}", "{type: string}", ""},
		"text or integer": {
			"{type: string}", "{x-kubernetes-int-or-string: true}",
			"attention spec: the type changes from string to int-or-string",
		},
		"no longer a truth": {
			"{type: boolean}", "{x-kubernetes-int-or-string: true}",
			"breaking spec: the type changes from boolean to int-or-string",
		},
		"keys come": {
			"{type: object}", "{type: object, additionalProperties: true}",
			"neutral spec: keys of the user's choice are allowed",
		},
		"keys beside fields": {
			"{type: object, properties: {a: {}}}", "{type: object, properties: {a: {}}, additionalProperties: true}",
			"attention spec: keys of the user's choice are allowed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range compare(t, components(schemaIn(tc.old)), components(schemaIn(tc.new))) {
				if c.Impact == Breaking && c.Advice == "" {
					t.Errorf("no advice on %s", c.Message)
				}
				if c.Line == 0 {
					t.Errorf("no place for %s", c.Message)
				}
				if want, ok := advice[name]; ok && c.Advice != want {
					t.Errorf("advice %q, want %q", c.Advice, want)
				}
				got = append(got, c.Impact.String()+" "+strings.TrimPrefix(c.Message, "Foo "))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A large file is compared without its schemas in memory.
func TestLargeComponents(t *testing.T) {
	old := schemaIn("{type: object, properties: {a: {type: string}, b: {type: string}}}")
	now := schemaIn("{type: object, required: [c], properties: {a: {type: integer}, c: {type: string}}}")
	other := strings.NewReplacer("apiextensions.k8s.io/v1", "other.example.com/v1", "foos.", "others.")
	old += "---\n" + other.Replace(old) + "---\n" + strings.ReplaceAll(old, "foos.", "${GONE:=goes}.")
	now += "---\n" + other.Replace(now) + "---\n" + strings.ReplaceAll(now, "foos.", "${COMES:=comes}.")
	padding := "---\n" + strings.Repeat("# "+strings.Repeat("x", 100)+"\n", large/100)
	want := lines(compare(t, components(old), components(now)))
	if len(want) < 8 {
		t.Errorf("only %d changes: %q", len(want), want)
	}
	if diff := cmp.Diff(want, lines(compare(t, components(old+padding), components(now+padding)))); diff != "" {
		t.Error(diff)
	}
}

const crdOf = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: NAME.example.com, labels: {LABELS}}
spec:
  group: example.com
  scope: SCOPE
  names: {kind: Foo, plural: foos}
  versions: [VERSIONS]
---
`

func TestReleases(t *testing.T) {
	crd := func(name, labels, scope, versions string) string {
		return strings.NewReplacer("NAME", name, "LABELS", labels, "SCOPE", scope, "VERSIONS", versions).Replace(crdOf)
	}
	version := func(name string, served, storage bool, more string) string {
		return fmt.Sprintf("{name: %s, served: %v, storage: %v%s}", name, served, storage, more)
	}
	const components, template, classFile = "infrastructure-components.yaml", "cluster-template.yaml", "clusterclass-a.yaml"
	for name, tc := range map[string]struct {
		old, new map[string]string
		want     []string
	}{
		"definitions": {
			map[string]string{components: crd("gone", "", "Namespaced", version("v1", true, true, "")) + crd("foos", "cluster.x-k8s.io/v1beta1: v1", "Namespaced", version("v1alpha1", true, false, "")+", "+version("v1", true, true, ""))},
			map[string]string{components: crd("foos", "cluster.x-k8s.io/v1beta1: v1_v2, cluster.x-k8s.io/v1beta2: v2", "Cluster", version("v1", false, false, ", deprecated: true")+", "+version("v2", true, true, "")) + crd("new", "", "Namespaced", version("v1", true, true, ""))},
			[]string{
				"api changed breaking: spec.scope changes from Namespaced to Cluster (infrastructure-components.yaml:6)",
				"api changed breaking: Foo no longer serves v1 (infrastructure-components.yaml:8)",
				"api removed breaking: Foo loses the version v1alpha1 (infrastructure-components.yaml:17)",
				"api removed breaking: the API Foo is no longer part of the release (infrastructure-components.yaml:1)",
				"api changed attention: v1 of Foo is deprecated (infrastructure-components.yaml:8)",
				"api changed neutral: for contract v1beta1, Foo has the versions v1, v2 instead of v1 (infrastructure-components.yaml:3)",
				"api added neutral: Foo follows contract v1beta2 with v2 (infrastructure-components.yaml:3)",
				"api added neutral: Foo has a new version v2 (infrastructure-components.yaml:8)",
				"api added neutral: new API Foo, in v1 (infrastructure-components.yaml:10)",
			},
		},
		"metadata": {
			map[string]string{"metadata.yaml": "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 0, minor: 9, contract: v1alpha4}\n- {major: 1, minor: 0, contract: v1beta1}\n"},
			map[string]string{"metadata.yaml": "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n- {major: 1, minor: 1, contract: v1beta2}\n"},
			[]string{
				"metadata changed breaking: series 1.0 changes its contract from v1beta1 to v1beta2 (metadata.yaml:4)",
				"metadata changed attention: the release follows contract v1beta2 instead of v1beta1 (metadata.yaml:0)",
				"metadata removed attention: series 0.9 is no longer listed (metadata.yaml:4)",
				"metadata added neutral: series 1.1 comes with contract v1beta2 (metadata.yaml:5)",
			},
		},
		"variables": {
			map[string]string{components: "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\ndata: {a: \"${GONE}\", b: \"${D:=1}\", c: \"${E:=1}\", d: \"${F}\"}\n", template: "kind: A\napiVersion: v1\nmetadata: {name: \"${CLUSTER_NAME}\"}\n"},
			map[string]string{components: "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\ndata: {a: \"${NEW}\", b: \"${D:=2}\", c: \"${E}\", d: \"${F:=3}\", e: \"${G:=4}\"}\n", template: "kind: A\napiVersion: v1\nmetadata: {name: \"${CLUSTER_NAME}\"}\nspec: {a: \"${NAMESPACE}\"}\n"},
			[]string{
				"variables changed breaking: E no longer has a default in infrastructure-components.yaml; it was \"1\" (infrastructure-components.yaml:4)",
				"variables added breaking: NEW must be set in infrastructure-components.yaml (infrastructure-components.yaml:4)",
				"variables changed attention: the default of D changes from \"1\" to \"2\" in infrastructure-components.yaml (infrastructure-components.yaml:4)",
				"variables changed neutral: F no longer needs to be set in infrastructure-components.yaml; the default is \"3\" (infrastructure-components.yaml:4)",
				"variables added neutral: new variable G in infrastructure-components.yaml, by default \"4\" (infrastructure-components.yaml:4)",
				"variables removed neutral: GONE is no longer used in infrastructure-components.yaml (infrastructure-components.yaml:4)",
				"variables added neutral: new variable NAMESPACE in cluster-template.yaml, by default \"\" (cluster-template.yaml:4)",
				"objects changed neutral: ConfigMap x: data.a changes from ${GONE} to ${NEW} (infrastructure-components.yaml:4)",
				"objects added neutral: ConfigMap x: data.e is now ${G:=4} (infrastructure-components.yaml:4)",
				"templates changed neutral: cluster-template.yaml: A my-cluster changes in spec (cluster-template.yaml:4)",
			},
		},
		"images and objects": {
			map[string]string{components: "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: x, namespace: ns}\nspec: {template: {spec: {containers: [{name: m, image: \"r.io/a/m:1\", args: [--a=1, --b]}, {name: old, image: \"r.io/a/old:1\"}]}}}\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: ns}\n"},
			map[string]string{components: "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: x, namespace: ns}\nspec: {template: {spec: {containers: [{name: m, image: \"r.io/a/m:2\", args: [--a=2, --b]}]}}}\n"},
			[]string{
				"images changed neutral: the image changes from r.io/a/m:1 to r.io/a/m:2 (infrastructure-components.yaml:4)",
				"images removed neutral: the image r.io/a/old:1 is no longer used (infrastructure-components.yaml:4)",
				"objects removed attention: Namespace ns is gone (infrastructure-components.yaml:6)",
				"objects removed neutral: Deployment ns/x: spec.template.spec.containers[m].args[--a] is gone, it was \"--a=1\" (infrastructure-components.yaml:4)",
				"objects added neutral: Deployment ns/x: spec.template.spec.containers[m].args[--a] is now \"--a=2\" (infrastructure-components.yaml:4)",
				"objects removed neutral: Deployment ns/x: spec.template.spec.containers[old] is gone, it was a mapping (infrastructure-components.yaml:4)",
			},
		},
		"permissions, whatever the roles are called": {
			map[string]string{components: "kind: ClusterRole\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: a}\nrules:\n- {apiGroups: [\"\"], resources: [pods, secrets], verbs: [get]}\n- {apiGroups: [x.io], resources: [a], verbs: [\"*\"]}\n"},
			map[string]string{components: "kind: ClusterRole\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: b}\nrules:\n- {apiGroups: [\"\"], resources: [pods], verbs: [get]}\n- {apiGroups: [\"\"], resources: [secrets], verbs: [get]}\n- {apiGroups: [\"\"], resources: [secrets], verbs: [list]}\n- {apiGroups: [x.io], resources: [a], verbs: [get]}\n"},
			[]string{
				"permissions added attention: may now list secrets (infrastructure-components.yaml:6)",
				"permissions removed neutral: may no longer * a.x.io (infrastructure-components.yaml:6)",
			},
		},
		"a template of the next contract": {
			map[string]string{template: "kind: Cluster\napiVersion: cluster.x-k8s.io/v1beta1\nmetadata: {name: a}\nspec: {topology: {class: x, version: v1.30.0, controlPlane: {nodeDrainTimeout: 1m}}}\n---\nkind: Cluster\napiVersion: cluster.x-k8s.io/v1beta1\nmetadata: {name: b}\nspec: {topology: {class: x, version: v1.30.0}}\n"},
			map[string]string{template: "kind: Cluster\napiVersion: cluster.x-k8s.io/v1beta2\nmetadata: {name: a}\nspec: {topology: {classRef: {name: x}, version: v1.30.0, controlPlane: {deletion: {nodeDrainTimeoutSeconds: 60}}}}\n---\nkind: Cluster\napiVersion: cluster.x-k8s.io/v1beta2\nmetadata: {name: b}\nspec: {topology: {classRef: {name: y}, version: v1.30.0}}\n"},
			[]string{
				"templates changed neutral: cluster-template.yaml: Cluster a is now of version v1beta2 instead of v1beta1; its fields are not compared (cluster-template.yaml:2)",
				"templates changed neutral: cluster-template.yaml: Cluster b is now of version v1beta2 instead of v1beta1; its fields are not compared (cluster-template.yaml:7)",
			},
		},
		"templates, classes and files": {
			map[string]string{
				template:                  "kind: FooCluster\napiVersion: x.io/v1\nmetadata: {name: a}\nspec: {a: 1, b: 2}\n",
				"cluster-template-x.yaml": "kind: A",
				classFile: "kind: ClusterClass\napiVersion: cluster.x-k8s.io/v1beta2\nmetadata: {name: a}\nspec:\n  workers: {machineDeployments: [{class: old}]}\n  variables:\n  - {name: v, schema: {openAPIV3Schema: {type: string}}}\n  - {name: gone, schema: {openAPIV3Schema: {type: string}}}\n" +
					"---\nkind: FooMachineTemplate\napiVersion: x.io/v1\nmetadata: {name: m}\nspec: {a: 1}\n",
			},
			map[string]string{
				template: "kind: FooCluster\napiVersion: x.io/v2\nmetadata: {name: a}\nspec: {a: 2}\n---\nkind: B\napiVersion: v1\nmetadata: {name: b}\n",
				classFile: "kind: ClusterClass\napiVersion: cluster.x-k8s.io/v1beta2\nmetadata: {name: a}\nspec:\n  workers: {machineDeployments: [{class: new}]}\n  variables:\n  - {name: v, schema: {openAPIV3Schema: {type: integer}}}\n  - {name: need, required: true, schema: {openAPIV3Schema: {type: string}}}\n" +
					"---\nkind: FooMachineTemplate\napiVersion: x.io/v1\nmetadata: {name: m}\nspec: {a: 2}\n",
				"notes.txt": "",
			},
			[]string{
				"templates changed attention: clusterclass-a.yaml: FooMachineTemplate m changes in spec.a (clusterclass-a.yaml:13)",
				"templates added neutral: cluster-template.yaml has a new B b (cluster-template.yaml:6)",
				"templates changed neutral: cluster-template.yaml: FooCluster a is now of version v2 instead of v1 (cluster-template.yaml:2)",
				"templates changed neutral: cluster-template.yaml: FooCluster a changes in spec.a and 1 other fields (cluster-template.yaml:4)",
				"classes removed breaking: ClusterClass a loses the variable gone (clusterclass-a.yaml:8)",
				"classes added breaking: ClusterClass a has a new variable need that is required (clusterclass-a.yaml:8)",
				"classes changed breaking: ClusterClass a variable v: the type changes from string to integer (clusterclass-a.yaml:7)",
				"classes removed breaking: ClusterClass a loses the workers old (clusterclass-a.yaml:5)",
				"classes added neutral: ClusterClass a has new workers new (clusterclass-a.yaml:5)",
				"files removed breaking: the cluster-template file cluster-template-x.yaml is gone (cluster-template-x.yaml:0)",
				"files added neutral: new asset file notes.txt (notes.txt:0)",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(compare(t, tc.old, tc.new))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestClassContent compares what makes the templates of a class.
func TestClassContent(t *testing.T) {
	const classFile = "clusterclass-a.yaml"
	class := func(version, spec string) map[string]string {
		return map[string]string{classFile: "kind: ClusterClass\napiVersion: cluster.x-k8s.io/" + version + "\nmetadata: {name: a}\nspec:\n" + spec}
	}
	patch := func(name, version, match, value string) string {
		return "  - {name: " + name + ", definitions: [{selector: {apiVersion: x.io/" + version + ", kind: FooTemplate, matchResources: {" + match + "}}, jsonPatches: [{op: add, path: /spec/a, value: " + value + "}, {op: remove, path: /spec/b}]}]}\n"
	}
	const machines = "controlPlane: true, machineDeploymentClass: {names: [w]}"
	const added = "classes added attention: ClusterClass a has a new patch "
	one := patch("one", "v1", machines, "1")
	two := patch("two", "v1", "infrastructureCluster: true", "1")
	for name, tc := range map[string]struct {
		old, new map[string]string
		want     []string
		advice   string // of the first change
	}{
		"the same":    {class("v1beta2", "  patches:\n"+one+two), class("v1beta2", "  patches:\n"+one+two), nil, ""},
		"other words": {class("v1beta2", "  patches:\n"+one), class("v1beta2", "  patches:\n  # why\n"+strings.Replace(one, "op: add, path: /spec/a", "path: \"/spec/a\", op: add", 1)), nil, ""},
		"a patch": {
			class("v1beta2", "  patches:\n"+one), class("v1beta2", "  patches:\n"+patch("one", "v1", machines, "2")),
			[]string{"classes changed attention: ClusterClass a: patch one changes in definitions[0].jsonPatches[0].value (clusterclass-a.yaml:6)"}, rollsOut,
		},
		"a patch of the cluster, and when it applies": {
			class("v1beta2", "  patches:\n"+two), class("v1beta2", "  patches:\n"+strings.Replace(strings.Replace(two, "name: two,", "name: two, enabledIf: \"true\",", 1), "value: 1", "value: 2", 1)),
			[]string{"classes changed attention: ClusterClass a: patch two changes in definitions[0].jsonPatches[0].value and 1 more (clusterclass-a.yaml:6)"}, inPlace,
		},
		"a new patch and one that is gone": {
			class("v1beta2", "  patches:\n"+one), class("v1beta2", "  patches:\n"+two),
			[]string{
				"classes removed attention: ClusterClass a loses the patch one of the control plane, workers w (clusterclass-a.yaml:6)",
				"classes added attention: ClusterClass a has a new patch two of the infrastructure cluster (clusterclass-a.yaml:6)",
			}, rollsOut,
		},
		"the order of patches": {
			class("v1beta2", "  patches:\n"+one+two), class("v1beta2", "  patches:\n"+two+one),
			[]string{"classes changed attention: ClusterClass a applies its patches in another order (clusterclass-a.yaml:6)"}, rollsOut,
		},
		"a patch of an extension": {
			class("v1beta2", "  patches: [{name: e, external: {generatePatchesExtension: a.x}}]\n"), class("v1beta2", "  patches: [{name: e, external: {generatePatchesExtension: b.x}}]\n"),
			[]string{"classes changed attention: ClusterClass a: patch e changes in external.generatePatchesExtension (clusterclass-a.yaml:5)"}, rollsOut,
		},
		"the version of a selector": {
			class("v1beta2", "  patches:\n"+one), class("v1beta2", "  patches:\n"+patch("one", "v2", machines, "1")),
			[]string{"classes changed neutral: ClusterClass a: patch one changes in definitions[0].selector.apiVersion (clusterclass-a.yaml:6)"}, "",
		},
		"templates": {
			class("v1beta2", "  infrastructure: {templateRef: {apiVersion: x.io/v1, kind: A, name: a}}\n  controlPlane: {templateRef: {apiVersion: x.io/v1, kind: B, name: a}}\n"),
			class("v1beta2", "  infrastructure: {templateRef: {apiVersion: x.io/v2, kind: A, name: b}}\n  controlPlane: {templateRef: {apiVersion: x.io/v2, kind: B, name: b}}\n"),
			[]string{
				"classes changed attention: ClusterClass a: controlPlane changes in templateRef.name and 1 more (clusterclass-a.yaml:6)",
				"classes changed attention: ClusterClass a: infrastructure changes in templateRef.name and 1 more (clusterclass-a.yaml:5)",
			}, rollsOut,
		},
		"the template of a cluster": {
			class("v1beta2", "  infrastructure: {templateRef: {kind: A, name: a}}\n"),
			class("v1beta2", "  infrastructure: {templateRef: {kind: A, name: b}}\n"),
			[]string{"classes changed attention: ClusterClass a: " +
				"infrastructure changes in templateRef.name (clusterclass-a.yaml:5)"}, inPlace,
		},
		"a template of v1beta1": {
			class("v1beta1", "  controlPlane: {ref: {kind: A, name: a}}\n"),
			class("v1beta1", "  controlPlane: {ref: {kind: A, name: b}, metadata: {}}\n"),
			[]string{"classes changed attention: ClusterClass a: " +
				"controlPlane changes in ref.name and 1 more (clusterclass-a.yaml:5)"}, rollsOut,
		},
		"new patches": {
			class("v1beta2", "  patches:\n"+two),
			class("v1beta2", "  patches:\n"+two+patch("p", "v1", "controlPlane: true", "1")+
				patch("q", "v1", "machinePoolClass: {names: [a, b]}", "1")+patch("r", "v1", "", "1")),
			[]string{
				added + "p of the control plane (clusterclass-a.yaml:7)",
				added + "q of workers a, workers b (clusterclass-a.yaml:8)", added + "r of nothing (clusterclass-a.yaml:9)",
			}, rollsOut,
		},
		"a patch of workers": {
			class("v1beta2", "  patches:\n"+patch("q", "v1", "machinePoolClass: {names: [a]}", "1")),
			class("v1beta2", "  patches: []\n"),
			[]string{"classes removed attention: ClusterClass a loses the patch q of workers a " +
				"(clusterclass-a.yaml:6)"}, rollsOut,
		},
		"the next contract": {
			class("v1beta1", "  controlPlane: {ref: {apiVersion: x.io/v1, kind: B, name: a}}\n  patches:\n"+one),
			class("v1beta2", "  controlPlane: {templateRef: {apiVersion: x.io/v1, kind: B, name: a}}\n  patches:\n"+one),
			[]string{"classes changed attention: ClusterClass a is now of version v1beta2 instead of v1beta1; its patches and references are not compared (clusterclass-a.yaml:2)"}, rollsOut,
		},
	} {
		t.Run(name, func(t *testing.T) {
			changes := compare(t, tc.old, tc.new)
			if diff := cmp.Diff(tc.want, lines(changes)); diff != "" {
				t.Error(diff)
			}
			if len(changes) > 0 && changes[0].Advice != tc.advice {
				t.Errorf("advice %q", changes[0].Advice)
			}
		})
	}
}

// TestMeaning compares what is neither a field of a schema nor a value of an object
// but that users feel.
func TestMeaning(t *testing.T) {
	crd := func(labels, spec, version string) string {
		return "kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: foos.x.io, labels: {" + labels + "}}\nspec: {group: x.io, scope: Namespaced, names: {kind: Foo, plural: foos}" + spec +
			", versions: [{name: v1, served: true, storage: true" + version + "}]}\n"
	}
	role := func(labels string) string {
		return "kind: ClusterRole\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: r, labels: {" + labels + "}}\nrules: []\n"
	}
	binding := func(to string) string {
		return role("") + "---\nkind: ClusterRoleBinding\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: b}\nroleRef: {kind: ClusterRole, name: " + to + "}\n"
	}
	const move, hierarchy, aggregate = "clusterctl.cluster.x-k8s.io/move: ''", "clusterctl.cluster.x-k8s.io/move-hierarchy: ''", "cluster.x-k8s.io/aggregate-to-manager: 'true'"
	for name, tc := range map[string]struct {
		old, new string
		// impacts are those of the way there and of the way back.
		there, back Impact
	}{
		"status subresource":   {crd("", "", ", subresources: {status: {}}"), crd("", "", ""), Breaking, Attention},
		"scale subresource":    {crd("", "", ", subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}"), crd("", "", ""), Breaking, Neutral},
		"path of scale":        {crd("", "", ", subresources: {scale: {specReplicasPath: .spec.replicas}}"), crd("", "", ", subresources: {scale: {specReplicasPath: .spec.count}}"), Breaking, Breaking},
		"conversion":           {crd("", ", conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}", ""), crd("", "", ""), Breaking, Attention},
		"review versions":      {crd("", ", conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1, v1beta1]}}", ""), crd("", ", conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1beta1]}}", ""), Attention, Attention},
		"selectable fields":    {crd("", "", ", selectableFields: [{jsonPath: .spec.a}]"), crd("", "", ""), Breaking, Neutral},
		"label move":           {crd(move, "", ""), crd("", "", ""), Breaking, Attention},
		"label move-hierarchy": {crd(hierarchy, "", ""), crd("", "", ""), Breaking, Attention},
		"label aggregate":      {role(aggregate), role(""), Breaking, Attention},
		"a role of others":     {binding("r"), binding("cluster-admin"), Attention, Neutral},
		"value of a label":     {role(aggregate), role("cluster.x-k8s.io/aggregate-to-manager: 'false'"), Breaking, Breaking},
	} {
		t.Run(name, func(t *testing.T) {
			for i, want := range []Impact{tc.there, tc.back} {
				from, to := tc.old, tc.new
				if i == 1 {
					from, to = to, from
				}
				changes := compare(t, components(from), components(to))
				worst := Impact(-1)
				for _, c := range changes {
					worst = max(worst, c.Impact)
				}
				if worst != want || changes[0].Line == 0 {
					t.Errorf("%v, want %v: %v", worst, want, lines(changes))
				}
			}
		})
	}
}

// A file that cannot be read is named, and the others are compared.
func TestUnreadable(t *testing.T) {
	changes, err := Releases(t.Context(),
		release("v1.0.0", map[string]string{"infrastructure-components.yaml": "a: [", "metadata.yaml": "{", "a.txt": ""}),
		release("v1.1.0", map[string]string{"infrastructure-components.yaml": schemaIn("{}"), "metadata.yaml": "{", "b.txt": ""}))
	if err == nil || !strings.Contains(err.Error(), "infrastructure-components.yaml was not compared") || !strings.Contains(err.Error(), "metadata.yaml") {
		t.Errorf("got %v", err)
	}
	if got := fmt.Sprint(lines(changes)); len(changes) != 2 || !strings.Contains(got, "a.txt is gone") || !strings.Contains(got, "b.txt") {
		t.Errorf("got %s", got) // nothing of the components is new, since the old ones are not known
	}
}

// On real releases: nothing changes from a release to itself, and what is added
// one way is removed the other way.
func TestCorpus(t *testing.T) {
	all := given.Value(folder.Open(t.Context(), share.Corpus(t, "releases")))(t)
	for i, p := range all.Providers {
		r := p.Releases[0]
		changes, err := Releases(t.Context(), r, r)
		if err != nil || len(changes) > 0 {
			t.Errorf("%s to itself: %v %v", p.Label(), lines(changes), err)
		}
		if i%8 > 0 {
			continue // enough pairs
		}
		other := all.Providers[(i+1)%len(all.Providers)].Releases[0]
		to, err := Releases(t.Context(), r, other)
		if err != nil {
			t.Error(err)
		}
		back, err := Releases(t.Context(), other, r)
		if err != nil {
			t.Error(err)
		}
		count := func(list []Change, area Area, k Kind) (n int) {
			for _, c := range list {
				if c.Area == area && c.Kind == k {
					n++
				}
			}
			return n
		}
		for _, area := range Areas {
			if a, b := count(to, area, Added), count(back, area, Removed); a != b {
				t.Errorf("%s and %s: %d added in %s, but %d removed on the way back", p.Label(), other.Provider, a, area, b)
			}
			if a, b := count(to, area, Changed), count(back, area, Changed); a != b {
				t.Errorf("%s and %s: %d changed in %s, but %d on the way back", p.Label(), other.Provider, a, area, b)
			}
		}
	}
}

func FuzzReleases(f *testing.F) {
	f.Add([]byte(schemaIn("{type: object, required: [a], properties: {a: {type: string}}}")), []byte(schemaIn("{type: string}")))
	f.Add([]byte("a: {b: [{name: x, c: 1}]}"), []byte("a: {b: [x, {name: x}]}"))
	f.Add([]byte("kind: ClusterClass\napiVersion: cluster.x-k8s.io/v1beta2\nspec: {variables: [{name: a}]}"), []byte("{"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, name := range []string{"infrastructure-components.yaml", "clusterclass-a.yaml", "metadata.yaml"} {
			x := release("v1.0.0", map[string]string{name: string(a)})
			y := release("v1.1.0", map[string]string{name: string(b)})
			Releases(t.Context(), x, y)
			if changes, err := Releases(t.Context(), x, x); err == nil && len(changes) > 0 {
				t.Errorf("%q changes from itself: %v", a, lines(changes))
			}
		}
	})
}
