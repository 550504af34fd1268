package kustomize

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// plain is what kustomize makes of a folder without our help.
func plain(tree *Tree, dir string, opts Options) ([]byte, error) {
	m, err := run(context.Background(), tree, filepath.Join(tree.dir, dir), opts, false)
	if err != nil {
		return nil, err
	}
	objs, err := objects(m)
	if err != nil {
		return nil, err
	}
	return Marshal(objs)
}

// compareBuilds compares Build with kustomize alone, and returns how many files
// were read without their schemas.
func compareBuilds(t *testing.T, root, dir string) int {
	t.Helper()
	tree := given.Value(OpenTree(root, nil))(t)
	defer tree.Close()
	opts := Options{NoLoadRestrictions: true}
	objs, err := Build(context.Background(), tree, dir, opts)
	hidden := 0
	tree.schemas.Range(func(_, h any) bool {
		if h.(func() *hiding)() != nil {
			hidden++
		}
		return true
	})
	var got []byte
	if err == nil {
		got, err = Marshal(objs)
	}
	want, wantErr := plain(tree, dir, opts)
	if (err == nil) != (wantErr == nil) && hidden > 0 || err == nil && !bytes.Equal(got, want) {
		t.Errorf("%s: %v and %v, and the bytes differ: %s", filepath.Join(root, dir), err, wantErr, firstDifference(got, want))
	}
	return hidden
}

func firstDifference(a, b []byte) string {
	as, bs := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d: %q, want %q", i+1, as[i], bs[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(as), len(bs))
}

// definition is a CustomResourceDefinition with a schema that holds some text.
func definition(kind, text string) string {
	lower := strings.ToLower(kind)
	schema := ""
	for i := range 12 {
		schema += fmt.Sprintf("            f%d:\n              description: |-\n                Field %d: it's \"quoted\".\n\n                - indented\n              type: string\n              maxLength: %d\n              default: \"yes\"\n              enum: [a, \"off\", ' b']\n", i, i, i*10)
	}
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[2]ss.example.org
spec:
  group: example.org
  names:
    kind: %[1]s
    plural: %[2]ss
  scope: Namespaced
  versions:
  - name: v1alpha1
    schema:
      openAPIV3Schema: # the old one
        description: |
          Old %[1]s.
        properties:
          spec:
            properties:
%[4]s        # indented less
        type: object
    served: true
    storage: false
  - additionalPrinterColumns:
    - jsonPath: .status.ready
      name: Ready
      type: boolean
    name: v1beta1
    schema:
      openAPIV3Schema:
        properties:
          spec:
%[3]s
            properties:
%[4]s        type: object
    served: true
    storage: true
`, kind, lower, text, strings.ReplaceAll("\n"+schema, "\n            ", "\n              ")[1:])
}

// schemaTexts are what may stand in a schema; some of it parsers judge differently.
var schemaTexts = []string{
	"", "            default: yes", "            default: \"yes\"", "            minimum: 010", "            minimum: 1.0", "            minimum: 1e3", "            pattern: ^[a-z]$", "            example: 2001-01-01",
	"            example: 0o17", "            example: 12:30", "            example: {a: b, c: [1, ~]}", "            default: ~", "            default: 12345678901234567890", "            description: a\n              long text: no", "            description: a\n              long text",
	"            x: &a {b: c}\n            y: *a", "            x: !!str 1", "            description: 'it''s\n\n              folded'", "            description: \"\\u00e9\\\n              \\  x\"", "            on: off", "            type: object\n            type: object", "            image: $(NAME)",
}

// parts are what a kustomization may do to objects with schemas.
var parts = []string{
	"namePrefix: my-", "namespace: ns", "commonLabels: {a: b}", "labels:\n- pairs: {c: d}\n  includeTemplates: true", "commonAnnotations: {e: f}", "images:\n- name: x\n  newTag: v2",
	"patches:\n- path: conversion.yaml", "patches:\n- path: conversion.yaml\n- target: {kind: CustomResourceDefinition}\n  patch: |-\n    - op: add\n      path: /metadata/labels\n      value: {g: h}",
	"patches:\n- target: {kind: CustomResourceDefinition}\n  patch: |-\n    - op: remove\n      path: /spec/versions/0",
	"patches:\n- target: {kind: CustomResourceDefinition}\n  patch: |-\n    - op: copy\n      from: /spec/versions/0\n      path: /spec/versions/-",
	"patches:\n- target: {kind: CustomResourceDefinition}\n  patch: |-\n    - op: add\n      path: /spec/versions/1/schema/openAPIV3Schema/x\n      value: y",
	"patches:\n- target: {kind: CustomResourceDefinition}\n  patch: '[{\"op\": \"add\", \"path\": \"/spec/versions/1/\\x73chema/z\", \"value\": 1}]'",
	"patches:\n- target: {kind: CustomResourceDefinition}\n  patch: |-\n    - op: test\n      path: /spec/versions/0/name\n      value: v1alpha1",
	"patchesStrategicMerge:\n- merge.yaml", "patches:\n- target: {kind: CustomResourceDefinition}\n  path: schema.json", "configurations: [config.yaml]", "replacements:\n- source: {kind: ConfigMap, name: map, fieldPath: data.v}\n  targets:\n  - select: {kind: CustomResourceDefinition}\n    fieldPaths: [metadata.annotations.r]\n    options: {create: true}",
	"replacements:\n- source: {kind: ConfigMap, name: map, fieldPath: data.v}\n  targets:\n  - select: {kind: CustomResourceDefinition}\n    fieldPaths: ['spec.versions.*.schema.openAPIV3Schema.type']",
	"replacements:\n- source: {kind: ConfigMap, name: map, fieldPath: data.v}\n  targets:\n  - select: {kind: CustomResourceDefinition}\n    fieldPaths: ['spec.*.*.*.*.type']",
	"configMapGenerator:\n- name: copy\n  files: [one.yaml]", "vars:\n- name: NAME\n  objref: {kind: ConfigMap, name: map, apiVersion: v1}\n  fieldref: {fieldpath: data.v}", "sortOptions: {order: legacy}", "buildMetadata: [originAnnotations]",
}

// TestHiddenSchemasChangeNothing compares builds of made-up kustomizations.
func TestHiddenSchemasChangeNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	rounds := share.Of(30, 600)
	hidden := 0
	for range rounds {
		dir := t.TempDir()
		text := func() string { return schemaTexts[random.IntN(len(schemaTexts))] }
		files := map[string]string{
			"one.yaml": definition("One", text()) + "---\n" + definition("Two", text()), "base/three.yaml": definition("Three", text()),
			"base/kustomization.yaml": "resources: [three.yaml]\n", "map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: {v: w}\n",
			"conversion.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ones.example.org}\nspec:\n  conversion:\n    strategy: Webhook\n    webhook:\n      conversionReviewVersions: [v1]\n      clientConfig:\n        service: {name: latest, namespace: ns}\n",
			"merge.yaml":      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: twos.example.org}\nspec:\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema: {type: object}\n",
			"schema.json":     `[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/type", "value": "array"}]`,
			"config.yaml":     "nameReference:\n- kind: Service\n  version: v1\n  fieldSpecs:\n  - kind: CustomResourceDefinition\n    path: spec/conversion/webhook/clientConfig/service/name\n",
		}
		k := "resources: [one.yaml, map.yaml, base]\n"
		used := map[string]bool{}
		for range 1 + random.IntN(3) {
			part := parts[random.IntN(len(parts))]
			field, _, _ := strings.Cut(part, ":")
			if !used[field] {
				used[field] = true
				if random.IntN(3) == 0 && field != "patchesStrategicMerge" && !strings.Contains(part, ".yaml") {
					files["base/kustomization.yaml"] += part + "\n"
				} else {
					k += part + "\n"
				}
			}
		}
		files["kustomization.yaml"] = k
		given.Files(t, dir, files)
		hidden += compareBuilds(t, dir, ".")
		if t.Failed() {
			t.Fatalf("%s\nbase: %s", k, files["base/kustomization.yaml"])
		}
	}
	if hidden < rounds/2 {
		t.Errorf("only %d files were read without their schemas", hidden)
	}
}

// TestSchemasThatStay: only the text after a plain key in a line of its own is hidden.
func TestSchemasThatStay(t *testing.T) {
	flow := "{description: " + strings.Repeat("long ", minSchema/5) + "}"
	for schema, want := range map[string]int{
		"schema:\n      openAPIV3Schema:\n        " + flow: 1, "schema:\n      openAPIV3Schema:\n        " + flow + "\n    served: true\n": 1,
		"schema:\n      openAPIV3Schema: " + flow: 0, "schema:\n      openAPIV3Schema:\n      " + flow: 0, "schema: {openAPIV3Schema:\n              " + flow + "}": 0,
		"schema:\n      'openAPIV3Schema':\n        " + flow + "\n    x-openAPIV3Schema: openAPIV3Schema:": 0, "schema:\n      openAPIV3Schema :\n        " + flow + " # openAPIV3Schema:": 0,
		"schema:\n      ? openAPIV3Schema\n      :\n          " + flow + " # openAPIV3Schema:": 0, "schema:\n      openAPIV3Schema:\n        " + flow[:minSchema/2] + "}": 0,
	} {
		dir := t.TempDir()
		head, _, _ := strings.Cut(definition("One", ""), "    schema:")
		given.Files(t, dir, map[string]string{"kustomization.yaml": "resources: [crd.yaml]\nnamePrefix: x-\n", "crd.yaml": head + "    " + schema})
		if got := compareBuilds(t, dir, "."); got != want {
			t.Errorf("%.60q: %d hidden, want %d", schema, got, want)
		}
	}
}
