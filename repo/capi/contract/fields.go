package contract

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Need says whether a field has to be there.
type Need int

const (
	// Optional: the field may be missing. If it is there its type counts.
	Optional Need = iota
	// should: the page recommends the field.
	should
	// Must: without it Cluster API cannot use the kind.
	Must
)

// Section is what a row of the tables is about: the part of a heading on the
// page of the role that follows its name.
type Section string

// The sections that demand fields.
const (
	Initialization   Section = "initialization completed"
	Provisioned      Section = "initialization completed, v1beta2 field" // of pools, which are still read by another one
	Endpoint         Section = "control plane endpoint"
	FailureDomains   Section = "failure domains"
	FailureDomain    Section = "failure domain"
	ProviderID       Section = "provider ID"
	ProviderIDList   Section = "providerIDList"
	Addresses        Section = "addresses"
	Capacity         Section = "support cluster autoscaling from zero"
	Replicas         Section = "replicas"
	Scale            Section = "replicas, scale subresource"
	Counters         Section = "replicas, counters"
	Instances        Section = "instances"
	Failures         Section = "terminal failures"
	PoolMachines     Section = "MachinePoolMachines support"
	Interruptible    Section = "interruptible"
	DataSecret       Section = "data secret"
	Version          Section = "version"
	Machines         Section = "machines"
	MachineMetadata  Section = "machines, metadata"
	ExternalMachines Section = "machines, externalManagedControlPlane"
	Timeouts         Section = "machines, timeouts"
	MachineLists     Section = "machines, readiness gates and taints"
	RolloutAfter     Section = "rolloutAfter"
	TemplateSpec     Section = "template"
	TemplateMetadata Section = "template, metadata"
)

// Field is one demand of a contract on the schema of a role. Empty conditions
// mean always.
type Field struct {
	Role     Role
	Template bool
	Section  Section
	// Contract that demands it.
	Contract Contract
	// Since and Until are the first and the last minor version of Cluster API
	// for which the row holds.
	Since, Until int
	// If names fields, separated by blanks; without one of them this one is not
	// needed.
	If string
	// Path leads to the field; crd.Items stands for the elements of a list, and
	// crd.Values for the values of a map.
	Path string
	// Or is a field that serves as well.
	Or string
	// Was is where another contract has the field. A field that is only there is
	// overlooked.
	Was string
	// Type is what the schema has to say; empty for any.
	Type string
	Need Need
	// Values are some that the schema must accept, as YAML; of a boolean, both. Most is how
	// many entries a list may have, and Free says that nothing limits a string to a few values.
	Values string
	Most   int64
	Free   bool
	// Filled says that the controller knows the value, and not who creates the object.
	Filled bool
	// Read says that Cluster API reads or writes the field, and fails if it has
	// another type; with Lenient it treats a value of another type as missing.
	Read, Lenient bool
}

//go:embed fields.txt
var table string

// Fields are the demands on all roles, those on each in the order of its page. They must not be changed.
var Fields = parseFields(table)

// parseFields reads a table in the form that its head describes.
func parseFields(table string) (out []*Field) {
	var heads []string
	var section Section
	for line := range strings.Lines(table) {
		switch words := strings.Fields(line); {
		case len(words) == 0 || words[0] == "#":
		case line[0] != '\t':
			heads = words
		case line[1] != '\t':
			section = Section(strings.TrimSpace(line))
		default:
			for _, name := range heads {
				role, template := strings.CutSuffix(name, Suffix)
				f := &Field{Role: Role(role), Template: template, Section: section, Path: words[0]}
				if words[1] != "any" {
					f.Type = words[1]
				}
				for _, word := range words[2:] {
					f.set(word)
				}
				out = append(out, f)
			}
		}
	}
	return out
}

// set sets what a word of the table says.
func (f *Field) set(word string) {
	name, value, _ := strings.Cut(word, "=")
	number, _ := strconv.Atoi(value)
	switch name {
	case "must":
		f.Need = Must
	case "should":
		f.Need = should
	case "read":
		f.Read = true
	case "lenient":
		f.Lenient = true
	case "free":
		f.Free = true
	case "filled":
		f.Filled = true
	case "since":
		f.Since = number
	case "until":
		f.Until = number
	case "if":
		f.If = strings.ReplaceAll(value, ",", " ")
	case "or":
		f.Or = value
	case "was":
		f.Was = value
	case "values":
		f.Values = value
	case "most":
		f.Most = int64(number)
	case string(V1Beta1), string(V1Beta2):
		f.Contract = Contract(name)
	default:
		panic("fields.txt: " + word) // it is part of the program
	}
}

// ConditionFields are the fields of conditions, with their types. Cluster API takes
// the types for granted: with another one its controllers panic
// (util/conditions/getter.go, convertFromUnstructuredConditions). Conditions
// without type or status are refused, the rest is optional.
var ConditionFields = [...]Field{
	{Path: "type", Type: "string", Need: Must, Read: true},
	{Path: "status", Type: "string", Need: Must, Read: true, Values: "['True', 'False', Unknown]"},
	{Path: "reason", Type: "string", Read: true},
	{Path: "message", Type: "string", Read: true},
	{Path: "lastTransitionTime", Type: "string", Read: true},
	{Path: "observedGeneration", Type: "integer", Read: true},
}

func Demands(s Section) []*Field {
	return phrase.Only(Fields, func(f *Field) bool { return f.Section == s })
}

// Fields returns the rows about a kind; see Applies.
func (k *Kind) Fields(p Profile) []*Field {
	return phrase.Only(Fields, func(f *Field) bool { return f.Applies(k, p) })
}

// Applies reports whether a row is about a kind, under its contract and the
// version of Cluster API in the profile.
func (f *Field) Applies(k *Kind, p Profile) bool {
	return f.Role == k.Role && f.Template == k.Template &&
		(f.Contract == "" || f.Contract == k.Contract) &&
		(f.Since == 0 || p.Core >= f.Since) && (f.Until == 0 || p.Core <= f.Until)
}

// Verdict is what a schema says about a Field.
type Verdict int

const (
	fulfilled Verdict = iota
	Missing
	// Moved: the field is only where another contract has it.
	Moved
	WrongType
	// Unknown: the schema keeps fields that it does not describe.
	Unknown
)

// Check compares a schema with the row. The second result is the schema of the
// field, or the last one on the way to it.
func (f *Field) Check(s crd.Schema) (Verdict, crd.Schema) {
	at, presence := follow(s, f.Path)
	switch {
	case presence == crd.Present:
		if got := at.Type(); f.Type != "" && got != f.Type && got != "" {
			return WrongType, at
		}
		return fulfilled, at
	case !f.needed(s) || f.Or != "" && present(s, f.Or):
		return fulfilled, at
	case presence == crd.Unknowable:
		if f.Need == Optional {
			return fulfilled, at
		}
		return Unknown, at
	case f.Was != "" && present(s, f.Was):
		old, _ := follow(s, f.Was)
		return Moved, old
	case f.Need == Optional:
		return fulfilled, at
	}
	return Missing, at
}

// Refusal is a value that a schema does not accept, and the keyword of it that says so.
type Refusal struct {
	Value   string
	Keyword *yamldoc.Field
}

// Refused returns values that the contract allows and the schema of the field does not.
func (f *Field) Refused(s crd.Schema) (out []Refusal) {
	values := f.Values
	if f.Type == "boolean" {
		values = "[true, false]"
	}
	var c crd.Checker
	if values != "" {
		for _, v := range yamldoc.Parse(yamldoc.NewFile("", values)).Docs[0].Root.List() {
			for _, violation := range c.Check(s, v, false) {
				if at := s.Node.Field(violation.Keyword); at != nil {
					text := crd.Show(v)
					if v.Is(yamldoc.List) {
						text = "an empty list"
					}
					out = append(out, Refusal{text, at})
					break
				}
			}
		}
	}
	if at := s.Node.Field("maxItems"); at != nil && f.Most > 0 {
		if n, ok := at.Value.Int(); ok && n < f.Most {
			out = append(out, Refusal{fmt.Sprintf("%d entries", f.Most), at})
		}
	}
	if at := s.Node.Field("enum"); at != nil && f.Free {
		out = append(out, Refusal{"every string", at})
	}
	return out
}

// Find returns the schema of the field, if it is there.
func (f *Field) Find(s crd.Schema) (crd.Schema, bool) {
	at, presence := follow(s, f.Path)
	return at, presence == crd.Present
}

// Blocks reports whether a kind does not work with a verdict about the field: it must
// be there, or Cluster API fails to read it, or it is the version that workers of a
// ClusterClass wait for.
func (f *Field) Blocks(k *Kind, v Verdict) bool {
	return f.Need == Must || v == WrongType && f.Read && !f.Lenient ||
		f.Section == Version && f.Need == should && k.InClasses && !strings.Contains(f.Path, crd.Items)
}

// needed reports whether the schema has the fields of If.
func (f *Field) needed(s crd.Schema) bool {
	return !slices.ContainsFunc(strings.Fields(f.If), func(path string) bool { return !present(s, path) })
}

// follow goes down a path with dots, as crd.Schema.At does with names.
func follow(s crd.Schema, path string) (crd.Schema, crd.Presence) {
	for name := range strings.SplitSeq(path, ".") {
		next, presence := s.At(name)
		if presence != crd.Present {
			return next, presence
		}
		s = next
	}
	return s, crd.Present
}

func present(s crd.Schema, path string) bool {
	_, presence := follow(s, path)
	return presence == crd.Present
}
