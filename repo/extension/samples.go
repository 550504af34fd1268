package extension

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Samples says which variables get a value that is made up.
type Samples struct {
	// Also are variables without a value that get one although they are not required.
	Also []string
	// Round varies the values. In round 0, objects have what is required, and lists
	// are as short as may be.
	Round int
	// Chosen are the values of some variables.
	Chosen map[string]*yamldoc.Node
	// Instead are variables of the Cluster whose values are replaced.
	Instead map[string]bool
}

// Templates returns what inline patches are computed from: the values of the
// variables, which of them are made up, and the templates (core/reconcilers/
// topology/cluster/patches, createRequest and addVariablesForPatch). A template
// whose object is not among those of the topology is unsure. The topology must not
// change between calls, which are not safe for concurrent use.
func (m *Maker) Templates(s Samples) (global patch.Values, made map[string]bool, templates []*patch.Template) {
	t := m.Topology
	values, made := t.values(nil, s)
	for name := range values {
		if t.Class.Variable(name) == nil { // of an extension; inline patches do not get it
			delete(values, name)
		}
	}
	global = byName(append(listed(values), builtins(t.clusterBuiltins())))
	if m.inputs == nil || !maps.Equal(m.instead, s.Instead) {
		m.inputs, m.instead = m.patched(s), maps.Clone(s.Instead)
	}
	for _, template := range m.inputs {
		templates = append(templates, &template)
	}
	return global, made, templates
}

// patched are the templates that inline patches are applied to.
func (m *Maker) patched(s Samples) (templates []patch.Template) {
	parts, _ := m.Parts(s)
	for _, p := range parts {
		data, err := json.Marshal(p.Template)
		if err != nil {
			continue // cannot happen: values come from documents
		}
		values := byName(p.variables)
		maps.DeleteFunc(values, func(name string, _ json.RawMessage) bool {
			return name != clusterclass.Builtin && m.Topology.Class.Variable(name) == nil
		})
		templates = append(templates, patch.Template{
			APIVersion: text(p.Template, "apiVersion"), Kind: text(p.Template, "kind"), Object: data, Values: values,
			Unsure: !m.Topology.Has(p.Reference), Holder: p.Holder,
		})
	}
	return templates
}

func byName(list []any) patch.Values {
	out := patch.Values{}
	for _, v := range list {
		entry, _ := v.(object)
		if data, err := json.Marshal(entry["value"]); err == nil {
			out[text(entry, "name")] = data
		}
	}
	return out
}

// values are those of all variables of the Cluster, with defaults and samples, and
// the names of those that are made up.
func (t *Topology) values(discovered []*yamldoc.Node, s Samples) (values object, made map[string]bool) {
	values, made = object{}, map[string]bool{}
	set := map[string]any{}
	entries, _ := t.topology()["variables"].([]any)
	for _, e := range entries {
		v, _ := e.(object)
		if name := text(v, "name"); name != "" && name != clusterclass.Builtin {
			set[name] = v["value"]
		}
	}
	define := func(name string, required bool, schema *yamldoc.Node) {
		if _, ok := values[name]; ok || name == "" || name == clusterclass.Builtin {
			return
		}
		value, given := set[name]
		given = given && !s.Instead[name]
		if n := s.Chosen[name]; n != nil {
			value, given = n.Value(), true
		}
		value, ok := clusterclass.Defaulted(schema, yamldoc.Copied(value), given)
		if !ok || s.Instead[name] {
			if !required && !slices.Contains(s.Also, name) && !s.Instead[name] {
				return
			}
			value, _ = clusterclass.Defaulted(schema, sample(schema, s.Round), true)
			made[name] = true
		}
		values[name] = value
	}
	for _, v := range t.Class.Variables() {
		define(v.Name, v.Required, v.Schema.Node)
	}
	for _, n := range discovered {
		define(n.Get("name").Str(), n.Get("required").Bool(), n.Get("schema", "openAPIV3Schema"))
	}
	for name, value := range set {
		if _, ok := values[name]; !ok {
			values[name] = yamldoc.Copied(value)
		}
	}
	return values, made
}

// texts are tried for strings.
var texts = [...]string{"example", "1.2.3", "v1.34.0", "10.0.0.0/16", "10", "a", "10.0.0.1", "10Gi", "1h", "https://example.com/a", "registry.example.com/a:v1.0.0"}

// sample is a value of a schema that has no default.
func sample(schema *yamldoc.Node, round int) any {
	for _, key := range []string{"default", "example"} {
		if n := schema.Get(key); n != nil && n.Kind != yamldoc.Null {
			return n.Value()
		}
	}
	if enum := schema.Get("enum").List(); len(enum) > 0 {
		return enum[round%len(enum)].Value()
	}
	switch schema.Get("type").Str() {
	case "boolean":
		return round%2 == 1
	case "integer", "number":
		n, ok := schema.Get("minimum").Int()
		if !ok {
			n = 1
		}
		if most, ok := schema.Get("maximum").Int(); !ok || n+int64(round) <= most {
			n += int64(round)
		}
		return n
	case "array":
		least, _ := schema.Get("minItems").Int()
		out := []any{}
		for i := range min(max(int(least), round), 100) {
			out = append(out, sample(schema.Get("items"), round+i))
		}
		return out
	case "object":
		out := object{}
		if round > 0 {
			for _, f := range schema.Get("properties").Fields() {
				out[f.Name] = sample(f.Value, round)
			}
			if extra := schema.Get("additionalProperties"); extra.Is(yamldoc.Map) {
				out["example"] = sample(extra, round)
			}
		}
		for _, name := range schema.Get("required").List() {
			out[name.Str()] = sample(schema.Get("properties", name.Str()), round)
		}
		return out
	}
	return sampleText(schema, round)
}

// sampleText is one of the texts that fit a schema.
func sampleText(schema *yamldoc.Node, round int) string {
	checker := crd.Checker{}
	fit := phrase.Only(texts[:], func(text string) bool {
		return len(checker.Check(crd.Schema{Node: schema}, yamldoc.NewScalar(yamldoc.String, yamldoc.Quoted, text), false)) == 0
	})
	if len(fit) == 0 {
		return texts[0]
	}
	return fit[round%len(fit)]
}
