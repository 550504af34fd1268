package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apivalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/real"
)

// generatePatches lets Cluster API patch the templates of each class of a repository, for
// a Cluster that sets what the class requires, and compares the results with the
// definitions of the repository. It returns all refusals.
func generatePatches(t *testing.T, tree examples.Files) error {
	t.Helper()
	s := newServer(t)
	var classes []*clusterclass.Class
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(tree.Text)) {
		data := []byte(tree.Text[name])
		kind := layouts.KindOfFile(filepath.Base(name))
		if kind == layouts.Metadata {
			continue
		}
		f := manifest.New(repo.BytesArtifact(filepath.Base(name), data), kind, data)
		classes = append(classes, clusterclass.In(f)...)
		for _, o := range f.Objects() {
			if definition, err := json.Marshal(o.Doc.Root.Value()); o.Kind == crd.Kind {
				given.NoError(t, errors.Join(err, s.define(definition)))
			}
		}
	}
	for _, c := range classes {
		m := extension.Maker{Topology: extension.TopologyOf(c, c.Object.File.Objects()), Core: contract.NewestCore}
		global, _, templates := m.Templates(extension.Samples{})
		var items []real.InlineTemplate
		for _, t := range templates {
			items = append(items, real.InlineTemplate{HolderKind: t.Holder.Kind, FieldPath: t.Holder.FieldPath, Object: t.Object, Values: t.Values})
		}
		spec := given.Value(yaml.Marshal(c.Spec.Value()))(t)
		patched, err := real.ApplyInline(background, spec, global, items)
		errs = append(errs, err)
		for _, object := range patched {
			errs = append(errs, s.fits(object))
		}
	}
	return errors.Join(errs...)
}

// fits compares an object with the definition of its kind.
func (s *server) fits(object json.RawMessage) error {
	var o map[string]any
	if err := json.Unmarshal(object, &o); err != nil {
		return err
	}
	k := s.kinds[fmt.Sprint(o["apiVersion"], " ", o["kind"])]
	if k == nil {
		return nil
	}
	if spec, ok := o["spec"].(map[string]any); ok {
		if template, ok := spec["template"].(map[string]any); ok {
			delete(template, "metadata") // of what is made from the template
		}
	}
	unknown := pruning.PruneWithOptions(o, k.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 { // as server-side apply says it
		return fmt.Errorf("field not declared in schema: %v", unknown)
	}
	return apivalidation.ValidateCustomResource(nil, o, k.validator).ToAggregate()
}

// TestGenerationExamples lets Cluster API's generator prove the rules that say it
// does.
func TestGenerationExamples(t *testing.T) {
	t.Parallel()
	proved := 0
	for _, rule := range rules.All {
		e := given.Value(examples.Load(rule.ID))(t)
		if e.Oracle.Verdict != examples.GenerationRefuses {
			continue
		}
		proved++
		if err := generatePatches(t, e.Bad); err == nil || !regexp.MustCompile(e.Oracle.Pattern).MatchString(err.Error()) {
			t.Errorf("%s: bad: %v", rule.ID, err)
		}
		if err := generatePatches(t, e.Good); err != nil {
			t.Errorf("%s: good: %v", rule.ID, err)
		}
	}
	if proved == 0 {
		t.Error("no rule is proved by the generator")
	}
}

// patchFaults are ways in which patches of a class fail, each with the rule that
// says so. The class, its variables and its templates are those of faultyClass.
var patchFaults = []struct{ name, rule, patch string }{
	{"replace of an absent path", "PA020", `{op: replace, path: /spec/template/spec/none, value: x}`},
	{"remove of an absent path", "PA020", `{op: remove, path: /spec/template/spec/none}`},
	{"add under an absent parent", "PA020", `{op: add, path: /spec/template/spec/none/deep, value: x}`},
	{"append to an absent list", "PA020", `{op: add, path: /spec/template/spec/none/-, value: x}`},
	{"append to a text", "PA020", `{op: add, path: /spec/template/spec/region/-, value: x}`},
	{"property that does not exist", "PA021", `{op: add, path: /spec/template/spec/region, valueFrom: {variable: net.mtuu}}`},
	{"builtin of workers", "PA021", `{op: add, path: /spec/template/spec/region, valueFrom: {variable: builtin.machineDeployment.class}}`},
	{"builtin of the control plane", "PA021", `{op: add, path: /spec/template/spec/region, valueFrom: {variable: builtin.controlPlane.version}}`},
	{"element beyond the list", "PA021", `{op: add, path: /spec/template/spec/region, valueFrom: {variable: "zones[7]"}}`},
	{"number for a text", "PA023", `{op: add, path: /spec/template/spec/region, valueFrom: {variable: net.mtu}}`},
	{"object for a text", "PA023", `{op: add, path: /spec/template/spec/region, valueFrom: {variable: net}}`},
	{"literal of the wrong type", "PA023", `{op: add, path: /spec/template/spec/region, value: [a]}`},
	{"template that gives a number", "PA023", `{op: add, path: /spec/template/spec/region, valueFrom: {template: "{{ len .zones }}"}}`},
	{"template that gives a boolean", "PA023", `{op: add, path: /spec/template/spec/region, valueFrom: {template: "{{ eq .net.mtu 9000.0 }}"}}`},
	{"template that gives no YAML", "PA022", `{op: add, path: /spec/template/spec/region, valueFrom: {template: "a: b: {{ .net.mtu }}"}}`},
	{"template that fails", "PA022", `{op: add, path: /spec/template/spec/region, valueFrom: {template: "{{ index .zones 7 }}"}}`},
	{"optional variable", "PA017", `{op: add, path: /spec/template/spec/region, valueFrom: {variable: extra.name}}`},
	{"optional variable in a template", "PA017", `{op: add, path: /spec/template/spec/region, valueFrom: {template: "{{ index .extra \"name\" }}"}}`},
	{"enabledIf that fails", "PA022", `{op: add, path: /spec/template/spec/region, value: x}`},
	{"value that a pattern refuses", "PA023", `{op: add, path: /spec/template/spec/zone, value: EU}`},
	{"value deep in an object", "PA023", `{op: add, path: /spec/template/spec, value: {region: a, size: {disk: many}}}`},
}

const faultyClass = `apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: a}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: FooClusterTemplate, name: a}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: FooControlPlaneTemplate, name: a}
  variables:
  - name: net
    required: false
    schema:
      openAPIV3Schema:
        type: object
        default: {}
        properties: {mtu: {type: integer, default: 9000}}
  - name: zones
    required: true
    schema:
      openAPIV3Schema: {type: array, minItems: 1, maxItems: 3, items: {type: string}}
  - name: extra
    required: false
    schema:
      openAPIV3Schema: {type: object, required: [name], properties: {name: {type: object, required: [first], properties: {first: {type: string}}}}}
  patches:
  - name: p%s
    definitions:
    - selector:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
        kind: FooClusterTemplate
        matchResources: {infrastructureCluster: true}
      jsonPatches: [%s]
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: FooClusterTemplate
metadata: {name: a}
spec: {template: {spec: {region: x}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: FooControlPlaneTemplate
metadata: {name: a}
spec: {template: {spec: {}}}
`

const faultyDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: fooclustertemplates.infrastructure.cluster.x-k8s.io
  labels: {cluster.x-k8s.io/v1beta2: v1beta2}
spec:
  group: infrastructure.cluster.x-k8s.io
  names: {kind: FooClusterTemplate, listKind: FooClusterTemplateList, plural: fooclustertemplates, singular: fooclustertemplate}
  scope: Namespaced
  versions:
  - name: v1beta2
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            properties:
              template:
                type: object
                properties:
                  metadata: {type: object, x-kubernetes-preserve-unknown-fields: true}
                  spec:
                    type: object
                    properties:
                      region: {type: string}
                      zone: {type: string, pattern: "^[a-z]+$"}
                      size: {type: object, properties: {disk: {type: integer}}}
`

// TestPatchFaults finds every kind of fault that Cluster API's generator, or the
// schema of the result, refuses, and says where it is.
func TestPatchFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range patchFaults {
		enabled := ""
		if strings.HasPrefix(fault.name, "enabledIf") {
			enabled = "\n    enabledIf: '{{ index .zones 9 }}'"
		}
		class := fmt.Sprintf(faultyClass, enabled, fault.patch)
		tree := examples.Files{Text: map[string]string{
			"infrastructure-foo/v1.0.0/clusterclass-a.yaml":            class,
			"infrastructure-foo/v1.0.0/infrastructure-components.yaml": faultyDefinition,
		}}
		if err := generatePatches(t, tree); err == nil {
			t.Errorf("%s: Cluster API accepts it", fault.name)
		}
		found := false
		for _, f := range lintedFiles(t, tree) {
			if strings.HasSuffix(f.File, "clusterclass-a.yaml") && strings.HasPrefix(f.Rule.ID, "PA") {
				found = found || f.Rule.ID == fault.rule && f.Pos.Line > 0
				if f.Rule.ID != fault.rule {
					t.Errorf("%s: also %s %s", fault.name, f.Rule.ID, f.Message)
				}
			}
		}
		if !found {
			t.Errorf("%s: no finding of %s", fault.name, fault.rule)
		}
	}
}

// lintedFiles applies all rules to a repository.
func lintedFiles(t *testing.T, tree examples.Files) []lint.Finding {
	t.Helper()
	var files []*repo.Artifact
	for name, text := range tree.Text {
		files = append(files, repo.BytesArtifact(filepath.Base(name), []byte(text)))
	}
	report := given.Value(lintRelease(foo, lint.Options{Rules: rules.All, Partial: true}, files...))(t)
	return report.Findings
}
