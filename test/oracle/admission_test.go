package oracle

//lint:file-ignore SA1019 v1beta1 is what users still write, so its admission is compared until Cluster API drops it.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	paths "k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/cluster-api/feature"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// server does with an object what an API server does that has the definitions of
// Cluster API and its webhooks.
type server struct{ kinds map[string]*kind }

// kind is a version of a definition.
type kind struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// gates turns on what Cluster API does not do by default.
var gates = sync.OnceValue(func() error {
	return feature.MutableGates.SetFromMap(map[string]bool{
		string(feature.ClusterTopology): true, string(feature.RuntimeSDK): true, string(feature.MachinePool): true,
		string(feature.MachineTaintPropagation): true, string(feature.KubeadmBootstrapFormatIgnition): true,
	})
})

// newServer returns a server that knows ClusterClasses.
func newServer(t testing.TB) *server {
	t.Helper()
	given.NoError(t, gates())
	data, err := os.ReadFile(filepath.Join(coreModule(t), "core", "config", "crd", "bases", "cluster.x-k8s.io_clusterclasses.yaml"))
	given.NoError(t, err)
	s := &server{map[string]*kind{}}
	given.NoError(t, s.define(data))
	return s
}

// define adds a definition.
func (s *server) define(data []byte) error {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return err
	}
	for _, v := range crd.Spec.Versions {
		var props apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &props, nil); err != nil {
			return err
		}
		structural, err := schema.NewStructural(&props)
		if err != nil {
			return err
		}
		validator, _, err := validation.NewSchemaValidator(&props)
		if err != nil {
			return err
		}
		s.kinds[crd.Spec.Group+"/"+v.Name+" "+crd.Spec.Names.Kind] = &kind{structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	}
	return nil
}

// damage is a field that gets lost without a word.
type damage struct{ error }

// create returns why the server refuses a new object, and nil for one of a kind
// that it does not know. A field that only Cluster API drops is damage.
func (s *server) create(object map[string]any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &o.Object); err != nil {
		return err
	}
	k := s.kinds[o.GetAPIVersion()+" "+o.GetKind()]
	ours := o.GroupVersionKind().Group == clusterclass.Group && o.GetKind() == clusterclass.Kind
	switch {
	case k == nil && ours:
		return fmt.Errorf("no matches for kind %s in version %s", o.GetKind(), o.GetAPIVersion())
	case k == nil:
		return nil
	}
	delete(o.Object, "status")
	unknown := pruning.PruneWithOptions(o.Object, k.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return fmt.Errorf("strict decoding error: unknown fields %v", unknown)
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(o.Object, k.structural)
	defaulting.Default(o.Object, k.structural)
	errs := validation.ValidateCustomResource(nil, o.Object, k.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, o.Object)...)
	if len(errs) == 0 && k.rules != nil {
		broken, _ := k.rules.Validate(context.Background(), paths.NewPath("root"), k.structural, o.Object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	if len(errs) > 0 || !ours {
		return errs.ToAggregate()
	}
	return admit(o)
}

// admit runs conversion and admission.
func admit(o *unstructured.Unstructured) error {
	data, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	hub := &clusterv1.ClusterClass{}
	var lost []error
	if strings.HasSuffix(o.GetAPIVersion(), "/v1beta1") {
		spoke := &clusterv1beta1.ClusterClass{}
		if lost, err = strictjson.UnmarshalStrict(data, spoke); err != nil {
			return fmt.Errorf("conversion: %w", err)
		}
		if err := conversion.ConvertClusterClassV1Beta1ToHub(context.Background(), spoke, hub); err != nil {
			return fmt.Errorf("conversion: %w", err)
		}
	} else if lost, err = strictjson.UnmarshalStrict(data, hub); err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	if _, err := (&admission.ClusterClass{}).ValidateCreate(context.Background(), hub); err != nil {
		return err
	}
	if len(lost) > 0 {
		return damage{errors.Join(lost...)}
	}
	return nil
}

// verdicts compares lint with the server.
type verdicts struct {
	server *server
	// classes, refused and lost count ClusterClasses.
	classes, refused, lost int
	by                     map[string]int
}

// ofClass reports whether the oracle for a rule is the admission of ClusterClasses.
func ofClass(r *lint.Rule) bool {
	switch rules.FamilyOf(r.ID) {
	case "CC", "CV", "PA":
		return r.Proof == lint.APIServer && r.ID != "CC007" && r.ID != "PA023" // TestGenerationExamples
	}
	return false
}

// classRules are the rules about ClusterClasses.
var classRules = sync.OnceValue(func() []*lint.Rule {
	return slices.DeleteFunc(slices.Clone(eachAlone()), func(r *lint.Rule) bool { return !ofClass(r) })
})

// uncheckable are refusals that no rule finds: all but the first are left to the server.
var uncheckable = []struct{ why, pattern string }{
	{"formats that nobody uses", `must be of type (hostname|duration|date-?time|isbn|creditcard|ssn|hexcolor|rgbcolor|bsonobjectid)`},
	{"structural schemas", `openAPIV3Schema\S*: (Required|Forbidden|Unsupported)`},
	{"parts of a schema that must agree", `openAPIV3Schema\S*\.(x-kubernetes-[\w-]+|items|allOf|anyOf|oneOf|not)\S*: `},
	{"types of keywords below the top", `cannot unmarshal .*\.openAPIV3Schema\.`},
	{"defaults", `openAPIV3Schema\S*\.default\S*: `},
	{"what patches select", `selector is enabled but|no selector enabled|matchResources: Invalid value`},
	{"rules in CEL", `failed rule:|rule evaluation error|evaluates? to`},
}

// file compares the verdicts on all ClusterClasses of a file. It returns the
// first difference.
func (v *verdicts) file(name string, data []byte) error {
	report, err := lintRelease(foo, lint.Options{Rules: classRules(), Partial: true}, repo.BytesArtifact(name, data))
	if err != nil {
		return err
	}
	if len(report.Failures) > 0 {
		return report.Failures[0]
	}
	objects, err := template(data, alwaysSet(dummies(data)), "default", false)
	if err != nil {
		return nil // clusterctl refuses the file
	}
	for _, o := range objects.Objs() {
		if o.GroupVersionKind().Group != clusterclass.Group || o.GetKind() != clusterclass.Kind {
			continue
		}
		v.classes++
		err := v.server.create(o.Object)
		var said []string
		for _, f := range report.Findings {
			if f.Severity == lint.Error {
				said = append(said, fmt.Sprintf("%s:%d %s %s", f.File, f.Pos.Line, f.Rule.ID, f.Message))
				v.by[f.Rule.ID]++
			}
		}
		if err != nil {
			v.refused++
			if errors.As(err, &damage{}) {
				v.lost++
			}
		}
		switch {
		case err == nil && len(said) > 0:
			return fmt.Errorf("%s: the API server accepts what lint does not:\n%s", o.GetName(), strings.Join(said, "\n"))
		case err != nil && len(said) == 0:
			if !slices.ContainsFunc(uncheckable, func(row struct{ why, pattern string }) bool {
				return regexp.MustCompile(row.pattern).MatchString(err.Error())
			}) {
				return fmt.Errorf("%s: lint accepts what the API server does not: %w", o.GetName(), err)
			}
		}
	}
	return nil
}

// classFiles returns the files with ClusterClasses: of the corpus, the examples
// and the examples of the rules.
func classFiles(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, r := range subjects(t) {
		dir := filepath.Join(r.Root, r.Type+"-"+r.Name, r.Version)
		if p := provider(r); p.Label() != "" {
			dir = filepath.Join(r.Root, p.Label(), r.Version)
		}
		for _, name := range files(t, dir) {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && bytes.Contains(data, []byte("kind: ClusterClass")) {
				out[filepath.Join(filepath.Base(filepath.Dir(dir)), name)] = data
			}
		}
	}
	for _, rule := range rules.All {
		e, err := examples.Load(rule.ID)
		if err != nil {
			continue
		}
		for side, tree := range map[string]examples.Files{"bad": e.Bad, "good": e.Good} {
			for name, text := range tree.Text {
				if strings.Contains(text, "kind: ClusterClass") {
					out[filepath.Join(rule.ID, side, filepath.Base(name))] = []byte(text)
				}
			}
		}
	}
	return out
}

// TestAdmission compares lint with the API server and Cluster API's own admission
// on every ClusterClass there is.
func TestAdmission(t *testing.T) {
	t.Parallel()
	v := &verdicts{server: newServer(t), by: map[string]int{}}
	for name, data := range classFiles(t) {
		if err := v.file(filepath.Base(name), data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d ClusterClasses, %d refused, %d of them damaged; findings %v", v.classes, v.refused, v.lost, v.by)
}

// TestClassExamples lets the API server and Cluster API's admission prove the rules
// about ClusterClasses that say they do.
func TestClassExamples(t *testing.T) {
	t.Parallel()
	for _, rule := range rules.All {
		switch rules.FamilyOf(rule.ID) {
		case "CC", "CV", "PA":
		default:
			continue
		}
		e := given.Value(examples.Load(rule.ID))(t)
		if rule.Proof == lint.APIServer && e.Oracle.Verdict != examples.AdmissionRefuses && e.Oracle.Verdict != examples.GenerationRefuses {
			t.Errorf("%s: verdict %q", rule.ID, e.Oracle.Verdict)
		}
		if e.Oracle.Verdict != examples.AdmissionRefuses {
			continue
		}
		if err := createAll(t, e.Bad); err == nil || !regexp.MustCompile(e.Oracle.Pattern).MatchString(err.Error()) {
			t.Errorf("%s: bad: %v", rule.ID, err)
		}
		if err := createAll(t, e.Good); err != nil {
			t.Errorf("%s: good: %v", rule.ID, err)
		}
	}
}

// createAll gives a server the definitions and then the other objects of a
// repository, and returns all refusals.
func createAll(t *testing.T, tree examples.Files) error {
	t.Helper()
	s := newServer(t)
	var objects []unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(tree.Text)) {
		data := []byte(tree.Text[name])
		if layouts.KindOfFile(filepath.Base(name)) == layouts.Metadata { // no objects
			continue
		}
		out := given.Value(template(data, alwaysSet(dummies(data)), "default", false))(t)
		objects = append(objects, out.Objs()...)
	}
	var errs []error
	for _, o := range objects {
		data, err := o.MarshalJSON()
		if o.GetKind() == crd.Kind {
			err = errors.Join(err, s.define(data))
		}
		given.NoError(t, err)
	}
	for _, o := range objects {
		errs = append(errs, s.create(o.Object))
	}
	return errors.Join(errs...)
}

// TestMutatedClasses does the same on mutants of the ClusterClasses that are
// accepted.
func TestMutatedClasses(t *testing.T) {
	t.Parallel()
	v := &verdicts{server: newServer(t), by: map[string]int{}}
	var pool []map[string]any
	sources := classFiles(t)
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		data := sources[name]
		objects, err := template(data, alwaysSet(dummies(data)), "default", false)
		if err != nil {
			continue
		}
		for _, o := range objects.Objs() {
			if o.GetKind() == clusterclass.Kind && v.server.create(o.Object) == nil {
				pool = append(pool, o.Object)
			}
		}
	}
	for i, data := range richClasses() {
		var object map[string]any
		given.NoError(t, yaml.Unmarshal(data, &object))
		if err := v.server.create(object); err != nil {
			t.Fatalf("rich class %d: %v", i, err)
		}
		for range len(sources) { // half of the mutants come from them
			pool = append(pool, object)
		}
	}
	random := rand.New(rand.NewPCG(*seed, 4))
	for n := range mutations {
		object := runtime.DeepCopyJSON(pool[random.IntN(len(pool))])
		m := mutator{random: random, other: pool[random.IntN(len(pool))]}
		var done []string
		for range 1 + random.IntN(4)/3 {
			done = append(done, m.mutate(object))
		}
		data := given.Value(yaml.Marshal(object))(t)
		data = bytes.ReplaceAll(data, []byte("$"), []byte("$$")) // no variable of clusterctl
		if err := v.file("clusterclass-a.yaml", data); err != nil {
			if !t.Failed() {
				t.Logf("the first of these:\n%s", data)
			}
			t.Errorf("-seed %d, number %d, %v: %v", *seed, n, done, err)
		}
	}
	t.Logf("-seed %d: %d mutants of %d ClusterClasses, %d refused, %d of them damaged; findings %v", *seed, v.classes, len(pool), v.refused, v.lost, v.by)
}

// mutator changes one thing in a ClusterClass.
type mutator struct {
	random *rand.Rand
	// other is another object to take parts from.
	other map[string]any
}

// spot is a value in a tree, and how to change it.
type spot struct {
	path   string
	key    string
	parent any // map[string]any or []any
	index  int
	// replace puts another list into the place of the parent.
	replace func([]any)
}

// spots lists the values below the spec.
func spots(object map[string]any) []spot {
	var out []spot
	var walk func(path string, v any, replace func(any))
	walk = func(path string, v any, replace func(any)) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				out = append(out, spot{path: path + "." + key, key: key, parent: v})
				walk(path+"."+key, v[key], func(n any) { v[key] = n })
			}
		case []any:
			for i := range v {
				out = append(out, spot{path: fmt.Sprintf("%s[%d]", path, i), parent: v, index: i, replace: func(l []any) { replace(l) }})
				walk(fmt.Sprintf("%s[%d]", path, i), v[i], func(n any) { v[i] = n })
			}
		}
	}
	walk("", object["spec"], func(n any) { object["spec"] = n })
	return out
}

func (s spot) value() any {
	if m, ok := s.parent.(map[string]any); ok {
		return m[s.key]
	}
	return s.parent.([]any)[s.index]
}

func (s spot) set(v any) {
	if m, ok := s.parent.(map[string]any); ok {
		m[s.key] = v
		return
	}
	s.parent.([]any)[s.index] = v
}

// classWords are values with a meaning to some check.
func classWords() []any {
	return []any{
		"", "x", "a.b", "builtin", "inline", "a*b", "*a*", "*", "default-*", "UPPER_case", "10s", "30s", "40%", "40 %", "[3-5]", "3-5", "v1.31.0", "1.32", "v1.33.0-rc.1",
		"add", "remove", "replace", "test", "/spec", "/metadata/labels", "/spec/template/0", "/spec/template/1/x", "/spec/template/-", "/spec//x", "/status",
		"{{ .x", "{{ .cluster.name }}", "{{ .cluster.name }}_x", "{{ .cluster.nme }}", "{{ upper .cluster.name }}", "{{ if .a }}true{{ end }}", "{{ nope . }}", "{{ .random }}",
		"builtin.cluster.name", "builtin.cluster.foo", "builtin.machineDeployment.class", "object", "array", "string", "integer", "number", "boolean", "date", "(", "^a+$", "(?!a)b",
		"infrastructure.cluster.x-k8s.io/v1beta1", "v1", "a/b/c", "FooTemplate", "Template", "handler.config", "True", "Unknown", "NoSchedule", "node.cluster.x-k8s.io/uninitialized", "ipv4", "int32", "self == 'a'", "self.foo(", "self.size() > ", "a\nb",
		strings.Repeat("a", 64), strings.Repeat("b", 257), strings.Repeat("c", 600), int64(0), int64(1), int64(-1), int64(29), int64(30), int64(1) << 40, 1.5, true, false, nil,
		map[string]any{}, []any{}, map[string]any{"a": "b"}, []any{"a"}, []any{"a", "a"}, []any{int64(1), "b", nil},
		map[string]any{"type": "string"}, map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "integer", "default": int64(1)}}},
		map[string]any{"type": "array"}, []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}, map[string]any{"pattern": "["},
	}
}

// classFields are fields to add, with values of the right type for most.
func classFields() map[string]any {
	return map[string]any{
		"ref": map[string]any{"kind": "FooTemplate"}, "templateRef": map[string]any{"kind": "FooTemplate", "name": "a", "apiVersion": "a.b/v1"}, "template": "{{ .random }}", "metadata": map[string]any{"labels": map[string]any{"a b": "c"}},
		"naming": map[string]any{"template": "{{ .cluster.name }}-x"}, "namingStrategy": map[string]any{"template": "{{ .cluster.name }}-{{ .random }}"},
		"machineHealthCheck": map[string]any{"maxUnhealthy": "40%"}, "healthCheck": map[string]any{"checks": map[string]any{"nodeStartupTimeoutSeconds": int64(10)}},
		"nodeDrainTimeout": "soon", "deletion": map[string]any{"order": "Oldest"}, "taints": []any{map[string]any{"key": "a", "effect": "NoSchedule", "propagation": "Always"}, map[string]any{"key": "node.kubernetes.io/x", "effect": "NoExecute", "propagation": "Always"}},
		"readinessGates": []any{map[string]any{"conditionType": "A"}, map[string]any{"conditionType": "A"}}, "kubernetesVersions": []any{"v1.31.0", "v1.33.0"}, "upgrade": map[string]any{"external": map[string]any{"generateUpgradePlanExtension": "a.b"}},
		"enabledIf": "{{ .a", "external": map[string]any{}, "definitions": []any{}, "value": "x", "valueFrom": map[string]any{"variable": "nope"}, "variable": "builtin.cluster.name",
		"type": "object", "items": map[string]any{"type": "string"}, "properties": map[string]any{"a": map[string]any{"type": "string"}}, "additionalProperties": map[string]any{"type": "string"},
		"default": "a", "example": int64(5), "enum": []any{"a", int64(1)}, "required": []any{"a"}, "description": "x", "minLength": int64(3), "maxLength": int64(2), "minimum": int64(5), "maximum": int64(1), "pattern": "^a(", "format": "ipv4", "uniqueItems": true,
		"x-kubernetes-list-map-keys": []any{"a"}, "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-int-or-string": true, "nullable": true, "not": map[string]any{"enum": []any{"a"}},
		"x-kubernetes-validations": []any{map[string]any{"rule": " ", "message": "a\nb"}}, "x-metadata": map[string]any{"annotations": map[string]any{"a/b/c": "d"}},
		"anyOf": []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}, "oneOf": []any{map[string]any{"required": []any{"a"}}}, "allOf": []any{map[string]any{"minLength": int64(1)}},
		"maxItems": int64(1), "minProperties": int64(2), "exclusiveMaximum": true, "strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(0)}},
		"rollout": map[string]any{"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(0)}}}, "unknownField": "x", "controlPlane": true,
		"machinePoolClass": map[string]any{"names": []any{"*"}}, "machineDeploymentClass": map[string]any{"names": []any{"a*b"}}, "infrastructureCluster": true, "namespace": "default", "class": "default-worker",
	}
}

// mutate changes an object and says what it did.
func (m *mutator) mutate(object map[string]any) string {
	all := spots(object)
	if len(all) == 0 {
		return "nothing"
	}
	s := all[m.random.IntN(len(all))]
	mapping, isMap := s.parent.(map[string]any)
	list, _ := s.parent.([]any)
	switch kind := m.random.IntN(12); {
	case kind == 0: // drop
		if isMap {
			delete(mapping, s.key)
		} else {
			s.replace(slices.Delete(slices.Clone(list), s.index, s.index+1))
		}
		return "drop " + s.path
	case kind == 1 && isMap: // rename
		name := s.key + "x"
		if m.random.IntN(2) == 0 && len(s.key) > 1 {
			name = s.key[:len(s.key)-1]
		}
		mapping[name] = mapping[s.key]
		delete(mapping, s.key)
		return "rename " + s.path
	case kind == 2 || kind == 7: // another value, mostly of the same type
		words := classWords()
		v := words[m.random.IntN(len(words))]
		for range 20 {
			if kind == 2 && m.random.IntN(4) == 0 || reflect.TypeOf(v) == reflect.TypeOf(s.value()) {
				break
			}
			v = words[m.random.IntN(len(words))]
		}
		s.set(runtime.DeepCopyJSONValue(v))
		return "set " + s.path
	case kind == 3 && !isMap: // double
		s.replace(append(slices.Clone(list), runtime.DeepCopyJSONValue(list[s.index])))
		return "double " + s.path
	case kind == 4: // a value of another place
		from := spots(m.other)
		if len(from) > 0 {
			s.set(runtime.DeepCopyJSONValue(from[m.random.IntN(len(from))].value()))
		}
		return "transplant to " + s.path
	case kind == 5: // a value of the same field elsewhere
		var from []spot
		for _, o := range spots(m.other) {
			if o.key == s.key && s.key != "" {
				from = append(from, o)
			}
		}
		if len(from) > 0 {
			s.set(runtime.DeepCopyJSONValue(from[m.random.IntN(len(from))].value()))
		}
		return "exchange " + s.path
	case kind == 6: // a typing error
		if text, ok := s.value().(string); ok && text != "" {
			at := m.random.IntN(len(text))
			s.set(text[:at] + string("aZ_.-/*{0"[m.random.IntN(9)]) + text[at+m.random.IntN(2):])
		}
		return "misspell " + s.path
	default: // add a field
		into, ok := s.value().(map[string]any)
		if !ok {
			into = mapping
		}
		if into == nil {
			return "nothing"
		}
		table := classFields()
		keys := slices.Sorted(maps.Keys(table))
		if version, _ := object["apiVersion"].(string); m.random.IntN(8) > 0 {
			keys = slices.DeleteFunc(keys, func(key string) bool {
				return !describes(strings.TrimPrefix(version, clusterclass.Group+"/"), s.path, ok, key)
			})
		}
		if len(keys) == 0 {
			return "nothing"
		}
		key := keys[m.random.IntN(len(keys))]
		into[key] = runtime.DeepCopyJSONValue(table[key])
		return "add " + key + " to " + s.path
	}
}

// describes reports whether the schema of ClusterClasses has a field in the
// mapping at a path, or beside it.
func describes(version, path string, inside bool, key string) bool {
	s, _ := clusterclass.Schema(version)
	s, _ = s.At("spec")
	steps := regexp.MustCompile(`[^.\[]+|\[\d+\]`).FindAllString(path, -1)
	if !inside && len(steps) > 0 {
		steps = steps[:len(steps)-1]
	}
	for _, step := range steps {
		if step == "openAPIV3Schema" {
			return true
		}
		if step[0] == '[' {
			step = crd.Items
		}
		var presence crd.Presence
		if s, presence = s.At(step); presence != crd.Present {
			return false
		}
	}
	_, presence := s.At(key)
	return presence == crd.Present
}

// TestClassData compares the names that the tool knows with those of Cluster API
// and sprig.
func TestClassData(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, name := range clusterclass.Functions() {
		known[name] = true
	}
	for name := range sprig.HermeticTxtFuncMap() {
		if !known[name] {
			t.Errorf("templates may call %s", name)
		}
		delete(known, name)
	}
	for _, name := range strings.Fields("and call eq ge gt html index js le len lt ne not or print printf println slice urlquery") {
		delete(known, name) // of text/template
	}
	for name := range known {
		t.Errorf("templates may not call %s", name)
	}
	s := newServer(t)
	for _, name := range append(clusterclass.Builtins(), "builtin.cluster.foo", "builtin.machinePool.foo", "builtin.controlPlane.metadata") {
		if name == clusterclass.Builtin {
			continue
		}
		err := s.create(patched(t, name))
		if (err == nil) != clusterclass.IsBuiltin(name) {
			t.Errorf("%s: %v, and the tool says %v", name, err, clusterclass.IsBuiltin(name))
		}
	}
	source := given.Value(clusterAPI())(t)
	text := given.Read(t, filepath.Join(source[0], "core", "webhooks", "admission", "patch_validation.go"))
	names := regexp.MustCompile(`"(builtin\.[\w.]*\w)",`).FindAllSubmatch(text, -1)
	if len(names) < 40 {
		t.Errorf("found only %d builtin variables in Cluster API's source", len(names))
	}
	for _, found := range names {
		if name := string(found[1]); !clusterclass.IsBuiltin(name) {
			t.Errorf("Cluster API has the builtin variable %s, but IsBuiltin rejects it", name)
		}
	}
}

// patched is a class with a patch that reads a variable.
func patched(t *testing.T, variable string) map[string]any {
	t.Helper()
	const text = `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"ClusterClass","metadata":{"name":"a"},"spec":{
"infrastructure":{"templateRef":{"apiVersion":"i.x/v1","kind":"FooClusterTemplate","name":"a"}},
"controlPlane":{"templateRef":{"apiVersion":"c.x/v1","kind":"FooControlPlaneTemplate","name":"a"}},
"patches":[{"name":"a","definitions":[{"selector":{"apiVersion":"i.x/v1","kind":"FooClusterTemplate","matchResources":{"infrastructureCluster":true}},
"jsonPatches":[{"op":"add","path":"/spec/x","valueFrom":{"variable":%q}}]}]}]}}`
	var out map[string]any
	given.NoError(t, json.Unmarshal(fmt.Appendf(nil, text, variable), &out))
	return out
}

// richClasses have a value in nearly every field, for the mutants.
func richClasses() [][]byte {
	const v1beta2 = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: rich}
spec:
  availabilityGates: [{conditionType: a.b/C, polarity: Negative}]
  kubernetesVersions: [v1.31.0, v1.31.2+a.1, v1.32.0, v1.33.1]
  upgrade: {external: {generateUpgradePlanExtension: plan.ext}}
  infrastructure:
    naming: {template: "{{ .cluster.name }}-{{ .random }}"}
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: FooClusterTemplate, name: a}
  controlPlane:
    metadata: {labels: {a: b}, annotations: {c: d}}
    naming: {template: "{{ .cluster.name }}-cp-{{ .random }}"}
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: b}
    machineInfrastructure:
      templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: FooMachineTemplate, name: c}
    deletion: {nodeDrainTimeoutSeconds: 10, nodeVolumeDetachTimeoutSeconds: 0, nodeDeletionTimeoutSeconds: 60}
    taints: [{key: a/b, value: c, effect: NoSchedule, propagation: Always}, {key: a/b, effect: NoExecute, propagation: OnInitialization}]
    readinessGates: [{conditionType: A}, {conditionType: B, polarity: Positive}]
    healthCheck:
      checks:
        nodeStartupTimeoutSeconds: 600
        unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]
        unhealthyMachineConditions: [{type: NodeReady, status: "False", timeoutSeconds: 300}]
      remediation:
        triggerIf: {unhealthyLessThanOrEqualTo: 40%, unhealthyInRange: "[1-3]"}
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: FooRemediationTemplate, name: d}
  workers:
    machineDeployments:
    - class: small-worker
      metadata: {labels: {a: b}}
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: e}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: FooMachineTemplate, name: f}}
      failureDomain: x
      naming: {template: "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}-{{ .random }}"}
      deletion: {order: Oldest, nodeDrainTimeoutSeconds: 5}
      minReadySeconds: 5
      taints: [{key: c, effect: PreferNoSchedule, propagation: Always}]
      readinessGates: [{conditionType: A}]
      rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 10%}}}
      healthCheck:
        checks: {nodeStartupTimeoutSeconds: 0, unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]}
        remediation: {maxInFlight: 1, triggerIf: {unhealthyLessThanOrEqualTo: 3}}
    - class: large-worker
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: e}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: FooMachineTemplate, name: f}}
    machinePools:
    - class: small-worker
      bootstrap: {templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: e}}
      infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: FooMachinePoolTemplate, name: g}}
      failureDomains: [x, z]
      naming: {template: "{{ .cluster.name }}-{{ .machinePool.topologyName }}"}
      deletion: {nodeDrainTimeoutSeconds: 5}
  variables:
  - name: region
    required: true
    deprecatedV1Beta1Metadata: {labels: {a: b}}
    schema: {openAPIV3Schema: {type: string, description: a, enum: [north, south], default: north, example: south, minLength: 1, maxLength: 10, pattern: "^[a-z]+$"}}
  - name: network
    required: false
    schema:
      openAPIV3Schema:
        type: object
        required: [cidrs]
        minProperties: 1
        x-metadata: {labels: {a: b}}
        x-kubernetes-validations: [{rule: "self.cidrs.size() > 0", message: empty, reason: FieldValueInvalid, fieldPath: .cidrs}]
        default: {cidrs: [10.0.0.0/16], mtu: 1500}
        properties:
          cidrs: {type: array, minItems: 1, maxItems: 5, uniqueItems: true, items: {type: string, format: cidr, maxLength: 30}}
          mtu: {type: integer, format: int32, minimum: 1000, maximum: 9000, exclusiveMaximum: true, default: 1500}
          tags: {type: object, maxProperties: 10, additionalProperties: {type: string, x-metadata: {annotations: {a: b}}}}
          port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
          any: {x-kubernetes-preserve-unknown-fields: true}
          choice: {type: object, properties: {a: {type: string}, b: {type: number}}, oneOf: [{required: [a]}, {required: [b]}], not: {minProperties: 2}}
          flag: {type: boolean, default: false}
  patches:
  - name: region
    description: a
    enabledIf: '{{ if .region }}true{{ end }}'
    definitions:
    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: FooClusterTemplate, matchResources: {infrastructureCluster: true}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/region, valueFrom: {variable: region}}
      - {op: replace, path: /spec/template/spec/name, valueFrom: {template: "{{ .builtin.cluster.name | upper }}"}}
      - {op: remove, path: /spec/template/spec/zone}
      - {op: add, path: /spec/template/spec/list/0, value: {a: 1}}
    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: FooMachineTemplate, matchResources: {controlPlane: true, machineDeploymentClass: {names: ["*-worker", large-worker]}}}
      jsonPatches: [{op: add, path: /spec/template/spec/tags/-, valueFrom: {variable: "network.cidrs[0]"}}]
    - selector: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, matchResources: {machineDeploymentClass: {names: ["*"]}, machinePoolClass: {names: ["small-*"]}}}
      jsonPatches: [{op: add, path: /spec/template/spec/x, valueFrom: {variable: builtin.machineDeployment.version}}]
  - name: extension
    external: {generatePatchesExtension: generate.ext, validateTopologyExtension: validate.ext, settings: {a: b}}
`
	const v1beta1 = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {name: rich}
spec:
  kubernetesVersions: ["1.31", v1.32.0-rc.1, v1.32.0]
  infrastructure:
    ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: FooClusterTemplate, name: a, namespace: x}
  infrastructureNamingStrategy: {template: "{{ .cluster.name }}"}
  controlPlane:
    metadata: {labels: {a: b}}
    ref: {apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlaneTemplate, name: b}
    machineInfrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: FooMachineTemplate, name: c}}
    namingStrategy: {template: "{{ .cluster.name }}-{{ .random }}"}
    nodeDrainTimeout: 10s
    nodeVolumeDetachTimeout: 1h30m
    taints: [{key: a, effect: NoSchedule, propagation: Always}]
    machineHealthCheck:
      maxUnhealthy: 40%
      nodeStartupTimeout: 10m
      unhealthyRange: "[3-5]"
      unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}]
      unhealthyMachineConditions: [{type: NodeReady, status: "False", timeout: 300s}]
      remediationTemplate: {apiVersion: a/v1, kind: FooRemediationTemplate, name: d}
  workers:
    machineDeployments:
    - class: small-worker
      template:
        metadata: {annotations: {a: b}}
        bootstrap: {ref: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: e}}
        infrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: FooMachineTemplate, name: f}}
      strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0, deletePolicy: Oldest}, remediation: {maxInFlight: 10%}}
      machineHealthCheck: {maxUnhealthy: 1, unhealthyConditions: [{type: Ready, status: Unknown, timeout: 300s}]}
      namingStrategy: {template: "{{ .cluster.name }}-{{ .machineDeployment.topologyName }}"}
      nodeDeletionTimeout: 0s
      minReadySeconds: 3
    machinePools:
    - class: pool
      template:
        bootstrap: {ref: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: e}}
        infrastructure: {ref: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: FooMachinePoolTemplate, name: g}}
      failureDomains: [x]
  variables:
  - name: region
    required: true
    metadata: {labels: {a: b}}
    schema: {openAPIV3Schema: {type: string, enum: [north, south], default: north}}
  - name: size
    required: false
    schema: {openAPIV3Schema: {type: object, properties: {cpus: {type: integer, minimum: 1, example: 2}, zones: {type: array, items: {type: string}}}}}
  patches:
  - name: region
    enabledIf: '{{ eq .region "north" }}'
    definitions:
    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: FooMachineTemplate, matchResources: {controlPlane: true, machineDeploymentClass: {names: [small-worker]}}}
      jsonPatches: [{op: replace, path: /spec/template/spec/region, valueFrom: {variable: region}}]
    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: FooMachinePoolTemplate, matchResources: {machinePoolClass: {names: ["*"]}}}
      jsonPatches: [{op: remove, path: /spec/template/spec/region}]
  - name: extension
    external: {generateExtension: a.b, validateExtension: c.d, discoverVariablesExtension: e.f}
`
	return [][]byte{[]byte(v1beta2), []byte(v1beta1)}
}
