package definitions

import (
	"cmp"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/objectmeta"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/openapi"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD035", Name: "schema-defaults", Since: "v0.2.0",
	Title:    "A default in the schema of a CRD must fit the schema and its validation rules",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: "k8s.io/apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go, ValidateDefaults",
	Why:    "The API server refuses the CRD, and the installation stops.",
	Fix:    "Correct the marker of the default, or the one that it breaks, and generate the CRD again.",
	Kinds:  view.DefinitionFiles, Check: schemaDefaults,
})

func schemaDefaults(p *lint.Pass) {
	checker := openapi.Checker{Loose: true}
	for _, k := range view.Definitions(p) {
		if k.Object.Version != "v1" {
			continue
		}
		f := faults{p: p, kind: k}
		d := defaults{checker: &checker, open: func(n *yamldoc.Node) bool { return view.Open(k.Object, n) }}
		for i := range k.Versions {
			v := &k.Versions[i]
			d.add = func(n *yamldoc.Node, format string, args ...any) { f.add(v.Name, n, format, args...) }
			d.schema(v.Schema.Node, nil, resource{})
		}
		f.report()
	}
}

// defaults judges the defaults of a schema.
type defaults struct {
	checker *openapi.Checker
	open    func(*yamldoc.Node) bool
	add     func(n *yamldoc.Node, format string, args ...any)
}

// resource says where a schema is in that of an object: the CRD's own, or one in it.
type resource struct {
	// steps lead to it; none is the object itself. Elements of lists are "[0]".
	steps []string
	// meta: in apiVersion, kind or metadata.
	meta bool
}

func (r resource) below(step string, embedded bool) resource {
	r.meta = r.meta || embedded && slices.Contains([]string{"apiVersion", "kind", "metadata"}, step)
	r.steps = append(r.steps, step) // over that of the sibling before
	return r
}

// schema judges the default of a schema and those in it. The API server does not
// look into additionalProperties.
func (d *defaults) schema(s *yamldoc.Node, path []string, in resource) {
	if !s.Is(yamldoc.Map) {
		return
	}
	embedded := s.Get("x-kubernetes-embedded-resource").Bool()
	if embedded {
		in = resource{}
	}
	if n := s.Get("default"); n != nil && n.Kind != yamldoc.Null {
		d.judge(s, n, path, in)
	}
	below := func(s *yamldoc.Node, step string) {
		d.schema(s, append(path, step), in.below(step, embedded))
	}
	if properties := s.Get("properties"); properties.Is(yamldoc.Map) {
		for i := range properties.Fields() {
			if f := &properties.Fields()[i]; properties.Field(f.Name) == f {
				below(f.Value, f.Name)
			}
		}
	}
	below(s.Get("items"), "[0]")
}

// judge compares a default with its schema: first its form, and validation rules only
// if that is right.
func (d *defaults) judge(s, n *yamldoc.Node, path []string, in resource) {
	name := cmp.Or(openapi.Join(path), "the schema")
	found := false
	add := func(n *yamldoc.Node, at, message string) {
		if found = true; !d.open(n) {
			if at != "" {
				at = ", in " + at
			}
			d.add(n, "the default of %s%s %s", name, at, message)
		}
	}
	for _, v := range d.checker.Check(crd.Schema{Node: s}, n, !in.meta) {
		if v.Fault == openapi.Type && v.Path == "" && v.Node.Kind != yamldoc.Float {
			return // CRD007
		}
		if v.Keyword == "x-kubernetes-list-type" {
			continue // looked at in objects only
		}
		add(v.Node, v.Path, v.Message)
	}
	if in.meta {
		for _, problem := range objectmeta.Embedded(around(n, in.steps)) {
			add(n, "", "does not fit into an object: "+problem.Message)
		}
	} else {
		embedded(s, n, len(in.steps) == 0, func(p objectmeta.Problem) { add(p.Node, "", "has an object that is not valid: "+p.Message) })
	}
	if found {
		return
	}
	for _, v := range cel.Evaluate(s, n, cel.Values{Unchanged: true, Resource: len(in.steps) == 0, Open: d.open}) {
		add(v.Node, openapi.Join(v.Path), v.Message)
	}
}

// around is an object that has nothing but a value (apiextensions-apiserver
// pkg/apiserver/schema/defaulting, SurroundingObjectFunc).
func around(n *yamldoc.Node, steps []string) *yamldoc.Node {
	for i, step := range slices.Backward(steps) {
		if step == "[0]" {
			n = yamldoc.NewList([]*yamldoc.Node{n})
			continue
		}
		fields := []yamldoc.Field{{Name: step, Value: n}}
		if i == 0 {
			for _, name := range []string{"apiVersion", "kind"} {
				if name != step {
					fields = append(fields, yamldoc.Field{Name: name, Value: yamldoc.NewScalar(yamldoc.String, yamldoc.Plain, "validation")})
				}
			}
		}
		n = yamldoc.NewMap(fields)
	}
	return n
}

// embedded judges the objects in a value (apiextensions-apiserver
// pkg/apiserver/schema/objectmeta, Validate).
func embedded(s, n *yamldoc.Node, object bool, add func(objectmeta.Problem)) {
	if !s.Is(yamldoc.Map) || n == nil {
		return
	}
	if n.Kind == yamldoc.Map && (object || s.Get("x-kubernetes-embedded-resource").Bool()) {
		for _, p := range objectmeta.Embedded(n) {
			add(p)
		}
	}
	for i := range n.Fields() {
		f := &n.Fields()[i]
		of := s.Get("properties", f.Name)
		if of == nil {
			of = s.Get("additionalProperties")
		}
		embedded(of, f.Value, false, add)
	}
	for _, item := range n.List() {
		embedded(s.Get("items"), item, false, add)
	}
}
