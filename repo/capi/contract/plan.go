package contract

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
)

// gap is a field that a contract demands and a schema does not have as demanded.
type gap struct {
	*Field
	Verdict Verdict
	// Blocks is set if the kind does not work with it, see Field.Blocks.
	Blocks bool
}

// Step is what a kind still needs for a contract.
type Step struct {
	*Kind
	// Declared is the value of the label of the contract; empty without one.
	Declared string
	// Gaps are in the order of the tables, those that MUST or SHOULD be there, and
	// others that have the wrong type.
	Gaps []gap
	// Label is the value that the label needs once no field is missing.
	Label string
}

// Plan returns what the kinds that Cluster API refers to need for the contract of
// the profile, also those that need nothing.
func Plan(crds []*crd.CRD, p Profile) []Step {
	var out []Step
	for _, k := range p.Kinds(crds) {
		if !k.Role.Referenced() || k.Judged == nil {
			continue
		}
		s := Step{Kind: k, Label: k.Judged.Name}
		s.Declared, _ = k.Object.Label(p.Contract.Label())
		s.Gaps = k.gaps(k.Judged.Schema, p)
		out = append(out, s)
	}
	return out
}

// gaps are what a schema lacks for the contract of the kind.
func (k *Kind) gaps(s crd.Schema, p Profile) (out []gap) {
	for i := range Fields {
		f := &Fields[i]
		if !f.Applies(k, p) {
			continue
		}
		verdict, _ := f.Check(s)
		if verdict == WrongType || (verdict == Missing || verdict == Moved) && f.Need != Optional {
			out = append(out, gap{f, verdict, f.Blocks(k, verdict)})
		}
	}
	return out
}

// Implements reports whether a schema of the kind lacks nothing that the newest Cluster
// API needs for a contract.
func (k *Kind) Implements(c Contract, s crd.Schema) bool {
	as := *k
	as.Contract = c
	blocks := func(g gap) bool { return g.Blocks }
	return slices.Contains(Accepted[:], c) && !slices.ContainsFunc(as.gaps(s, Profile{Core: NewestCore}), blocks)
}

// Ready reports whether nothing that is missing blocks the contract.
func (s Step) Ready() bool {
	return !slices.ContainsFunc(s.Gaps, func(g gap) bool { return g.Blocks })
}

// goTypes are the types of Cluster API for fields of contract v1beta2, by path.
var goTypes = map[string]string{
	"spec.controlPlaneEndpoint":                   "clusterv1.APIEndpoint",
	"status.failureDomains":                       "[]clusterv1.FailureDomain",
	"status.addresses":                            "[]clusterv1.MachineAddress",
	"status.versions":                             "[]clusterv1.StatusVersion",
	"spec.machineTemplate.metadata":               "clusterv1.ObjectMeta",
	"spec.template.metadata":                      "clusterv1.ObjectMeta",
	"spec.template.spec.machineTemplate.metadata": "clusterv1.ObjectMeta",
	"spec.machineTemplate.spec.infrastructureRef": "clusterv1.ContractVersionedObjectReference",
	"spec.machineTemplate.spec.readinessGates":    "[]clusterv1.MachineReadinessGate",
	"spec.machineTemplate.spec.taints":            "[]clusterv1.MachineTaint",
}

// GoTypes writes the fields that are missing as Go types, without those that the
// author has. Types of the package clusterv1 are sigs.k8s.io/cluster-api/api/core/v1beta2.
// It is empty if nothing is missing, and for a kind whose name cannot be in Go.
func (s Step) GoTypes(core int) string {
	if len(s.Gaps) == 0 || !token.IsIdentifier(s.CRD.Kind) {
		return ""
	}
	root := &goField{}
	for _, f := range FieldsOf(s.Role, s.Template, s.contract(), core) {
		for _, g := range s.Gaps {
			if f.Path == g.Path || strings.HasPrefix(f.Path, g.Path+".") {
				root.put(f, s.contract())
				break
			}
		}
	}
	var b strings.Builder
	root.write(&b, s.CRD.Kind, s.contract())
	return strings.TrimSuffix(b.String(), "\n\n")
}

func (s Step) contract() Contract {
	if s.Contract == "" {
		return Accepted[0]
	}
	return s.Contract
}

// goField is a field of a Go type with the fields of its own type.
type goField struct {
	name     string
	path     []string
	row      *Field
	known    string // the type, if it is one of Cluster API
	children []*goField
}

// put adds the field of a row.
func (f *goField) put(row *Field, c Contract) {
	path := strings.Split(row.Path, ".")
	for i, name := range path {
		at := slices.IndexFunc(f.children, func(c *goField) bool { return c.name == name })
		if at < 0 {
			next := &goField{name: name, path: path[:i+1]}
			if c == V1Beta2 {
				next.known = goTypes[strings.Join(next.path, ".")]
			}
			f.children, at = append(f.children, next), len(f.children)
		}
		f = f.children[at]
	}
	f.row = row
}

// item is the type of the elements of a list or the values of a map; nil for others.
func (f *goField) item(name string) *goField {
	if len(f.children) == 1 && f.children[0].name == name {
		return f.children[0]
	}
	return nil
}

// goType is the type of a field of a kind.
func (f *goField) goType(kind string) string {
	if f.known != "" {
		return f.known
	}
	if item := f.item(crd.Items); item != nil {
		return "[]" + strings.TrimPrefix(item.goType(kind), "*")
	}
	if value := f.item(crd.Values); value != nil {
		return "map[string]" + strings.TrimPrefix(value.goType(kind), "*")
	}
	if len(f.children) > 0 {
		return kind + f.typeName()
	}
	if f.row == nil {
		return "string"
	}
	switch f.row.Type {
	case "boolean":
		return "*bool"
	case "integer":
		return "*int32"
	case "array":
		return "[]string"
	case "object":
		return "map[string]string"
	}
	return "string"
}

// typeName is the part of the name of a struct that follows the kind.
func (f *goField) typeName() string {
	var b strings.Builder
	for _, p := range f.path {
		if p != crd.Items && p != crd.Values {
			b.WriteString(strings.ToUpper(p[:1]) + p[1:])
		}
	}
	return b.String()
}

// write writes the struct of a field, and those of the fields in it.
func (f *goField) write(b *strings.Builder, kind string, c Contract) {
	if f.known != "" {
		return
	}
	if item := elements(f); item != nil {
		item.write(b, kind, c)
		return
	}
	if len(f.children) == 0 {
		return
	}
	if f.path != nil {
		fmt.Fprintf(b, "type %s%s struct {\n", kind, f.typeName())
		for i, child := range f.children {
			if i > 0 {
				b.WriteByte('\n')
			}
			if child.row != nil {
				fmt.Fprintf(b, "\t// %s: %s (%s).\n", child.name, child.row.Section, child.row.Need)
			} else {
				fmt.Fprintf(b, "\t// %s holds fields of contract %s.\n", child.name, c)
			}
			options := "omitempty"
			if t := child.goType(kind); !strings.ContainsAny(t[:1], "*[m") && t != "string" {
				options = "omitempty,omitzero"
			}
			name := strings.ToUpper(child.name[:1]) + child.name[1:]
			if child.known == "clusterv1.ObjectMeta" {
				name = "ObjectMeta"
			}
			fmt.Fprintf(b, "\t// +optional\n\t%s %s `json:\"%s,%s\"`\n", name, child.goType(kind), child.name, options)
		}
		b.WriteString("}\n\n")
	}
	for _, child := range f.children {
		child.write(b, kind, c)
	}
}

// elements is the field whose struct a list or map has.
func elements(f *goField) *goField {
	if item := f.item(crd.Items); item != nil {
		return item
	}
	return f.item(crd.Values)
}
