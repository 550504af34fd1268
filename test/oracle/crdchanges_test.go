package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/diff"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestCRDChanges changes random schemas and compares what diff says of it with
// crdify and with the API server: what crdify objects to, and what makes the API
// server refuse or prune an object that it took before, is not neutral.
func TestCRDChanges(t *testing.T) {
	t.Parallel()
	rounds := share.Of(400, 4000)
	run, err := runner.New(&config.Config{UnhandledEnforcement: config.EnforcementPolicyNone, Validations: []config.ValidationConfig{{Name: "description", Enforcement: config.EnforcementPolicyNone}}}, runner.DefaultRegistry())
	given.NoError(t, err)
	seen := map[string]int{}
	for round := range rounds {
		g := &crdMaker{rand.New(rand.NewPCG(uint64(round), 5))}
		old := g.definition()
		now := old.DeepCopy()
		what := g.change(now)
		if what == "" {
			continue
		}
		worst, text := worstChange(t, old, now)
		seen[what]++
		if by := objections(run.Run(old, now)); len(by) > 0 {
			seen["crdify objects"]++
			if worst == diff.Neutral {
				t.Errorf("round %d, %s: crdify objects (%v), diff does not: %s", round, what, by, text)
			}
		}
		if object, why := g.broken(t, old, now); why != "" {
			seen["the API server objects"]++
			if worst == diff.Neutral {
				t.Errorf("round %d, %s: the API server objects to %v (%s), diff does not: %s", round, what, object, why, text)
			}
		} else if worst == diff.Breaking {
			seen["only diff objects"]++
		}
	}
	t.Log(seen)
	if seen["crdify objects"] < rounds/5 || seen["the API server objects"] < rounds/20 {
		t.Errorf("too few changes that matter: %v", seen)
	}
}

// objections are the errors and warnings of crdify.
func objections(r *runner.Results) []string {
	var out []string
	add := func(list []validations.ComparisonResult) {
		for _, c := range list {
			out = append(append(out, c.Errors...), c.Warnings...)
		}
	}
	add(r.CRDValidation)
	for _, properties := range r.SameVersionValidation {
		for _, list := range properties {
			add(list)
		}
	}
	return out
}

// worstChange asks diff.
func worstChange(t *testing.T, old, now *apiextensionsv1.CustomResourceDefinition) (diff.Impact, string) {
	t.Helper()
	releases := make([]*repo.Release, 2)
	for i, d := range []*apiextensionsv1.CustomResourceDefinition{old, now} {
		data := given.Value(json.Marshal(d))(t)
		releases[i] = &repo.Release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}, Version: fmt.Sprintf("v1.0.%d", i)}
		releases[i].Artifacts = []*repo.Artifact{repo.BytesArtifact("infrastructure-components.yaml", data)}
	}
	changes := given.Value(diff.Releases(background, releases[0], releases[1]))(t)
	worst, text := diff.Neutral, ""
	for _, c := range changes {
		worst = max(worst, c.Impact)
		text += fmt.Sprintf("%s: %s; ", c.Impact, c.Message)
	}
	return worst, text
}

// crdMaker makes definitions, changes and objects.
type crdMaker struct{ *rand.Rand }

func (g *crdMaker) definition() *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{}
	d.APIVersion, d.Kind, d.Name = "apiextensions.k8s.io/v1", "CustomResourceDefinition", "foos.example.com"
	d.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Foo", ListKind: "FooList", Plural: "foos", Singular: "foo"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": g.object(0)},
			}},
		}},
	}
	d.Status.StoredVersions = []string{"v1"}
	return d
}

func (g *crdMaker) schema(depth int) apiextensionsv1.JSONSchemaProps {
	s := apiextensionsv1.JSONSchemaProps{}
	kinds := 6
	if depth > 2 {
		kinds = 4
	}
	switch g.IntN(kinds) {
	case 0:
		s.Type = "string"
		for range g.IntN(3) {
			g.constrainString(&s)
		}
	case 1:
		s.Type = "integer"
		for range g.IntN(3) {
			g.constrainNumber(&s)
		}
	case 2:
		s.Type = "boolean"
	case 3:
		s.XIntOrString = true
	case 4:
		s.Type = "array"
		item := g.schema(depth + 1)
		s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}
		if g.IntN(2) == 0 {
			s.MaxItems = ptr.To(int64(1 + g.IntN(4)))
		}
		if g.IntN(3) == 0 {
			s.MinItems = ptr.To(int64(1))
		}
	default:
		return g.object(depth + 1)
	}
	s.Nullable = g.IntN(6) == 0
	return s
}

func (g *crdMaker) constrainString(s *apiextensionsv1.JSONSchemaProps) {
	switch g.IntN(5) {
	case 0:
		s.MinLength = ptr.To(int64(g.IntN(3)))
	case 1:
		s.MaxLength = ptr.To(int64(3 + g.IntN(4)))
	case 2:
		s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"bbb"`)}}
	case 3:
		s.Pattern = "^[a-z]*$"
	case 4:
		s.Format = "hostname"
	}
}

func (g *crdMaker) constrainNumber(s *apiextensionsv1.JSONSchemaProps) {
	switch g.IntN(5) {
	case 0:
		s.Minimum = ptr.To(float64(g.IntN(5)))
	case 1:
		s.Maximum = ptr.To(float64(5 + g.IntN(5)))
	case 2:
		s.Minimum, s.ExclusiveMinimum = ptr.To(float64(g.IntN(3))), true
	case 3:
		s.MultipleOf = ptr.To(float64(1 + g.IntN(3)))
	case 4:
		s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`1`)}, {Raw: []byte(`6`)}}
	}
}

func (g *crdMaker) object(depth int) apiextensionsv1.JSONSchemaProps {
	s := apiextensionsv1.JSONSchemaProps{Type: "object"}
	switch {
	case depth > 0 && g.IntN(4) == 0:
		value := g.schema(depth + 1)
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &value}
		return s
	case depth > 0 && g.IntN(6) == 0:
		s.XPreserveUnknownFields = ptr.To(true)
	}
	s.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	for i := range 1 + g.IntN(4) {
		name := string(rune('a' + i))
		s.Properties[name] = g.schema(depth + 1)
		if g.IntN(3) == 0 {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// change changes one thing in a random schema and says what.
func (g *crdMaker) change(d *apiextensionsv1.CustomResourceDefinition) string {
	if g.IntN(20) == 0 {
		d.Spec.Scope = apiextensionsv1.ClusterScoped
		return "scope"
	}
	spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	defer func() { d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec }()
	return g.inside(&spec, 0)
}

// inside goes to a random schema below one and changes it.
func (g *crdMaker) inside(s *apiextensionsv1.JSONSchemaProps, depth int) string {
	if len(s.Properties) > 0 && g.IntN(4) > 0 {
		for name, child := range s.Properties {
			what := g.inside(&child, depth+1)
			s.Properties[name] = child
			return what
		}
	}
	if s.Items != nil && g.IntN(2) == 0 {
		return g.inside(s.Items.Schema, depth+1)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && g.IntN(2) == 0 {
		return g.inside(s.AdditionalProperties.Schema, depth+1)
	}
	switch s.Type {
	case "object":
		return g.changeObject(s)
	case "array":
		return g.changeArray(s)
	case "string":
		return g.changeString(s)
	case "integer":
		return g.changeNumber(s)
	}
	s.Type, s.XIntOrString = "string", false
	return "type"
}

func (g *crdMaker) changeObject(s *apiextensionsv1.JSONSchemaProps) string {
	switch g.IntN(9) {
	case 0:
		for name := range s.Properties {
			delete(s.Properties, name)
			s.Required = nil
			return "remove field"
		}
	case 1:
		if s.Properties != nil {
			s.Properties["z"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			s.Required = append(s.Required, "z")
			return "new required field"
		}
	case 2:
		for name := range s.Properties {
			s.Required = []string{name}
			return "require other fields"
		}
	case 3:
		s.Required = append(s.Required, "undescribed")
		return "require what is not described"
	case 4:
		s.MinProperties = ptr.To(int64(2))
		return "minProperties"
	case 5:
		s.MaxProperties = ptr.To(int64(1))
		return "maxProperties"
	case 6:
		if s.XPreserveUnknownFields != nil {
			s.XPreserveUnknownFields = nil
			return "prune unknown fields"
		}
		s.XPreserveUnknownFields, s.AdditionalProperties = ptr.To(true), nil
		return "keep unknown fields"
	case 7:
		if s.AdditionalProperties != nil {
			s.AdditionalProperties = nil
			s.Properties = map[string]apiextensionsv1.JSONSchemaProps{"a": {Type: "string"}}
			return "keys become fields"
		}
		s.Properties, s.Required, s.XPreserveUnknownFields = nil, nil, nil
		s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}
		return "fields become keys"
	case 8:
		s.AnyOf = []apiextensionsv1.JSONSchemaProps{{Required: []string{"a"}}, {Required: []string{"b"}}}
		return "anyOf"
	}
	return ""
}

func (g *crdMaker) changeArray(s *apiextensionsv1.JSONSchemaProps) string {
	switch g.IntN(4) {
	case 0:
		s.MinItems = ptr.To(int64(2))
		return "minItems"
	case 1:
		s.MaxItems = ptr.To(int64(1))
		return "maxItems"
	case 2:
		s.XListType = ptr.To("set")
		return "list type"
	}
	*s = apiextensionsv1.JSONSchemaProps{Type: "string"}
	return "array becomes string"
}

func (g *crdMaker) changeString(s *apiextensionsv1.JSONSchemaProps) string {
	switch g.IntN(7) {
	case 0:
		s.MinLength = ptr.To(int64(2))
		return "minLength"
	case 1:
		s.MaxLength = ptr.To(int64(2))
		return "maxLength"
	case 2:
		s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}}
		return "enum"
	case 3:
		s.Pattern = "^b*$"
		return "pattern"
	case 4:
		s.Format = "date"
		return "format"
	case 5:
		s.Nullable = !s.Nullable
		return "nullable"
	}
	s.Type = "integer"
	return "type"
}

func (g *crdMaker) changeNumber(s *apiextensionsv1.JSONSchemaProps) string {
	switch g.IntN(6) {
	case 0:
		s.Minimum = ptr.To(float64(3))
		return "minimum"
	case 1:
		s.Maximum = ptr.To(float64(4))
		return "maximum"
	case 2:
		s.Maximum, s.ExclusiveMaximum = ptr.To(float64(10)), true
		return "exclusive maximum"
	case 3:
		s.MultipleOf = ptr.To(float64(7))
		return "multipleOf"
	case 4:
		s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`6`)}}
		return "enum"
	}
	s.Nullable = !s.Nullable
	return "nullable"
}

// broken looks for an object that the API server takes with one definition, and
// refuses or prunes with the other.
func (g *crdMaker) broken(t *testing.T, old, now *apiextensionsv1.CustomResourceDefinition) (object any, why string) {
	t.Helper()
	before, after := serverOf(t, old), serverOf(t, now)
	for range 60 {
		spec := old.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		object := map[string]any{"apiVersion": "example.com/v1", "kind": "Foo", "spec": g.value(&spec)}
		if before.refuses(object) != "" || before.prunes(object) {
			continue
		}
		if why := after.refuses(object); why != "" {
			return object, why
		}
		if after.prunes(object) {
			return object, "it is pruned"
		}
	}
	return nil, ""
}

// schemaServer is what an API server does with objects of a definition.
type schemaServer struct {
	validator  validation.SchemaValidator
	structural *structuralschema.Structural
}

func serverOf(t *testing.T, d *apiextensionsv1.CustomResourceDefinition) schemaServer {
	t.Helper()
	internal := &apiextensions.JSONSchemaProps{}
	given.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(d.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil))
	validator, _, err := validation.NewSchemaValidator(internal)
	given.NoError(t, err)
	structural := given.Value(structuralschema.NewStructural(internal))(t)
	return schemaServer{validator, structural}
}

func (s schemaServer) refuses(object map[string]any) string {
	if list := validation.ValidateCustomResource(nil, object, s.validator); len(list) > 0 {
		return list[0].Error()
	}
	return ""
}

func (s schemaServer) prunes(object map[string]any) bool {
	copied := map[string]any{}
	data, _ := json.Marshal(object)
	_ = json.Unmarshal(data, &copied)
	pruning.Prune(copied, s.structural, true)
	pruned, _ := json.Marshal(copied)
	return string(pruned) != string(data)
}

// value makes a value that often fits a schema.
func (g *crdMaker) value(s *apiextensionsv1.JSONSchemaProps) any {
	if s.Nullable && g.IntN(4) == 0 {
		return nil
	}
	switch s.Type {
	case "string":
		return []string{"", "a", "bbb", "ab", "zzzz", "x.y"}[g.IntN(6)]
	case "integer":
		return int64(g.IntN(12))
	case "boolean":
		return g.IntN(2) == 0
	case "array":
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(s.Items.Schema))
		}
		return list
	case "object":
		out := map[string]any{}
		for name, child := range s.Properties {
			if g.IntN(3) > 0 {
				out[name] = g.value(&child)
			}
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			for i := range g.IntN(3) {
				out[string(rune('k'+i))] = g.value(s.AdditionalProperties.Schema)
			}
		}
		if s.XPreserveUnknownFields != nil && g.IntN(2) == 0 {
			out["unknown"] = "x"
		}
		return out
	}
	if g.IntN(2) == 0 {
		return int64(3)
	}
	return "a"
}
