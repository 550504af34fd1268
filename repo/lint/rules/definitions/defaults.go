package definitions

import (
	"cmp"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/cel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var _ = definitionRules.Add(lint.Rule{
	ID: "CRD035", Name: "schema-defaults", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "A default in the schema of a CRD must fit the schema and its validation rules",
	Source: "k8s.io/apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go, ValidateDefaults",
	Why:    "The API server refuses the CRD, and the installation stops.",
	Fix:    "Correct the marker of the default, or the one that it breaks, and generate the CRD again.",
	Check:  eachVersion(schemaDefaults),
})

func schemaDefaults(f *faults, v *crd.Version) {
	d := defaults{
		checker: &crd.Checker{Loose: true},
		open:    func(n *yamldoc.Node) bool { return view.Open(f.kind.Object, n) },
		add:     func(n *yamldoc.Node, format string, args ...any) { f.add(v.Name, n, format, args...) },
	}
	d.schema(v.Schema.Node, resource{})
}

// defaults judges the defaults of a schema.
type defaults struct {
	checker *crd.Checker
	open    func(*yamldoc.Node) bool
	add     func(n *yamldoc.Node, format string, args ...any)
	// path leads to the schema that is looked at. Elements of lists are "[0]".
	path []string
}

// resource says where a schema is in that of an object: the CRD's own, or one in it.
type resource struct {
	// from is where the steps from the object to the schema begin in the path.
	from int
	// meta: in apiVersion, kind or metadata.
	meta bool
}

// schema judges the default of a schema and those in it. The API server does not
// look into additionalProperties.
func (d *defaults) schema(s *yamldoc.Node, in resource) {
	if !s.Is(yamldoc.Map) {
		return
	}
	var value, properties, items *yamldoc.Node
	embedded := false
	for i := range s.Fields() {
		switch f := &s.Fields()[i]; f.Name {
		case "default":
			value = f.Value
		case "properties":
			properties = f.Value
		case "items":
			items = f.Value
		case "x-kubernetes-embedded-resource":
			embedded = f.Value.Bool()
		}
	}
	if embedded {
		in = resource{from: len(d.path)}
	}
	if value != nil && value.Kind != yamldoc.Null {
		d.judge(s, value, in)
	}
	if properties.Is(yamldoc.Map) {
		for i := range properties.Fields() {
			if f := &properties.Fields()[i]; properties.Field(f.Name) == f {
				d.below(f.Value, f.Name, in, embedded)
			}
		}
	}
	d.below(items, "[0]", in, embedded)
}

// below judges a schema in the one that is looked at.
func (d *defaults) below(s *yamldoc.Node, step string, in resource, embedded bool) {
	if embedded {
		switch step {
		case "apiVersion", "kind", "metadata":
			in.meta = true
		}
	}
	d.path = append(d.path, step)
	d.schema(s, in)
	d.path = d.path[:len(d.path)-1]
}

// judge compares a default with its schema: first its form, and validation rules only
// if that is right.
func (d *defaults) judge(s, n *yamldoc.Node, in resource) {
	steps := d.path[in.from:]
	name := cmp.Or(crd.Join(d.path), "the schema")
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
		if v.Fault == crd.Type && v.Path == "" && v.Node.Kind != yamldoc.Float {
			return // CRD007
		}
		if v.Keyword == "x-kubernetes-list-type" {
			continue // looked at in objects only
		}
		add(v.Node, v.Path, v.Message)
	}
	if in.meta {
		for _, problem := range crd.Embedded(around(n, steps)) {
			add(n, "", "does not fit into an object: "+problem.Says(problem.Node.Text()))
		}
	} else {
		embedded(s, n, len(steps) == 0, func(p crd.Problem) { add(p.Node, "", "has an object that is not valid: "+p.Says(p.Node.Text())) })
	}
	if found {
		return
	}
	for _, v := range cel.Evaluate(s, n, cel.Values{Unchanged: true, Resource: len(steps) == 0, Open: d.open}) {
		add(v.Node, crd.Join(v.Path), v.Message)
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
func embedded(s, n *yamldoc.Node, object bool, add func(crd.Problem)) {
	if !s.Is(yamldoc.Map) || n == nil {
		return
	}
	if n.Kind == yamldoc.Map && (object || s.Get("x-kubernetes-embedded-resource").Bool()) {
		for _, p := range crd.Embedded(n) {
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
