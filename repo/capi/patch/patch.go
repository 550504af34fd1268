package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Holder is the field that holds the object made from a template; patches select
// templates by it.
type Holder struct {
	// Kind is Cluster, MachineDeployment, MachinePool or the kind of the control
	// plane.
	Kind string
	// FieldPath leads to the reference in an object of that kind.
	FieldPath string
}

// The field paths of holders.
const (
	InfrastructureClusterPath = "spec.infrastructureRef"
	ControlPlanePath          = "spec.controlPlaneRef"
	BootstrapPath             = "spec.template.spec.bootstrap.configRef"
	InfrastructurePath        = "spec.template.spec.infrastructureRef"
)

// controlPlaneMachinePaths are those of a control plane of contract v1beta1 and
// v1beta2.
var controlPlaneMachinePaths = [...]string{"spec.machineTemplate.infrastructureRef", "spec.machineTemplate.spec.infrastructureRef"}

// Template is a template of one Cluster: that of a class, once for each object
// that is made from it.
type Template struct {
	APIVersion, Kind string
	Holder           Holder
	// Object is JSON, before Run as the class refers to it and afterwards as
	// patched.
	Object json.RawMessage
	// Values are those for this template only, builtin ones included.
	Values Values
	// Unsure says that the object is not known, or may have been changed by an
	// extension. Failures to apply patches to it are not reported.
	Unsure bool
	// Writes are the operations that were applied, in their order.
	Writes []Write
}

// Write is an operation that was applied to a template.
type Write struct {
	// Path is a JSON pointer.
	Path string
	// Node is the text that made the value: value, valueFrom.variable or
	// valueFrom.template; path for remove.
	Node *yamldoc.Node
	// To is the text of the path.
	To *yamldoc.Node
}

// Stage says what could not be done.
type Stage int

// The stages.
const (
	// EnabledIf: the condition of a patch could not be rendered.
	EnabledIf Stage = iota
	// Value: the value of an operation could not be computed.
	Value
	// Apply: an operation does not fit the template.
	Apply
)

// Failure is why the topology controller stops with an error.
type Failure struct {
	// Patch is the name of the patch.
	Patch string
	Stage Stage
	// Template is the one that was to be patched.
	Template *Template
	// Node is the text that causes the failure.
	Node *yamldoc.Node
	Err  error
}

// operation is an entry of jsonPatches.
type operation struct {
	op, path string
	// at is the path in the class; value, variable and template are nil unless
	// they are there.
	at, value, variable, template *yamldoc.Node
}

// definition is an entry of the definitions of a patch.
type definition struct {
	apiVersion, kind      string
	cluster, controlPlane bool
	deployments, pools    []string
	operations            []operation
}

// Run applies the inline patches of a class to the templates of a Cluster, patch
// by patch as the controller does, and changes the templates. The controller
// would stop at the first patch that fails; Run reports that patch's failures and
// goes no further for the templates concerned. Patches that admission refuses are
// passed over. Global are the values of the Cluster with the builtin ones; the
// minor version of Cluster API decides what is kept of a patched template.
func Run(class *clusterclass.Class, global Values, templates []*Template, minor int) []Failure {
	r := renderers.Get().(*renderer)
	defer r.release()
	e := engine{renderer: r, global: global, minor: minor, merged: map[*Template]Values{}, failed: map[*Template]bool{}}
	for _, p := range class.Patches() {
		if p.External != nil {
			if generate, _, _ := class.Handlers(p); generate != nil {
				for _, t := range templates {
					t.Unsure = true
				}
			}
			continue
		}
		e.patch(p, templates)
	}
	return e.failures
}

type engine struct {
	*renderer
	global Values
	minor  int
	// merged are the values that templates of the class see, global ones included.
	merged   map[*Template]Values
	failures []Failure
	// failed are the templates for which a patch has failed: what later patches
	// make of them is never seen.
	failed map[*Template]bool
}

// pending is a list of operations with their values, ready to be applied.
type pending struct {
	template *Template
	writes   []Write
	patch    []map[string]any
	steps    []*yamldoc.Node
}

func (e *engine) patch(p clusterclass.Patch, templates []*Template) {
	var definitions []definition
	for _, n := range p.Definitions.List() {
		definitions = append(definitions, define(n))
	}
	var ready []pending
	for _, t := range templates {
		if e.failed[t] {
			continue
		}
		matching := slices.DeleteFunc(slices.Clone(definitions), func(d definition) bool { return !d.matches(t) })
		if len(matching) == 0 {
			continue
		}
		fail := func(stage Stage, n *yamldoc.Node, err error) {
			t.Unsure = true
			if !errors.Is(err, ErrUnsure) {
				e.failed[t] = true
				e.failures = append(e.failures, Failure{p.Name, stage, t, n, err})
			}
		}
		values, ok := e.merged[t]
		if !ok {
			var err error
			if values, err = merged(e.global, t.Values); err != nil {
				fail(EnabledIf, p.Node, err)
				continue
			}
			e.merged[t] = values
		}
		if text := p.EnabledIf.Str(); text != "" {
			value, err := e.render(text, values)
			if err != nil {
				fail(EnabledIf, p.EnabledIf, err)
				continue
			}
			if string(value) != "true" {
				continue
			}
		}
		for _, d := range matching {
			list, n, err := e.values(d, values)
			if err != nil {
				fail(Value, n, err)
				continue
			}
			list.template = t
			ready = append(ready, list)
		}
	}
	for _, list := range ready {
		if t := list.template; !e.failed[t] {
			if n, err := e.apply(list); err != nil && !t.Unsure {
				e.failed[t] = true
				e.failures = append(e.failures, Failure{p.Name, Apply, t, n, err})
			}
		}
	}
}

// define reads a definition.
func define(n *yamldoc.Node) definition {
	s := n.Get("selector")
	match := s.Get("matchResources")
	d := definition{
		apiVersion: s.Get("apiVersion").Str(), kind: s.Get("kind").Str(),
		cluster: match.Get("infrastructureCluster").Bool(), controlPlane: match.Get("controlPlane").Bool(),
		deployments: names(match.Get("machineDeploymentClass")), pools: names(match.Get("machinePoolClass")),
	}
	for _, j := range n.Get("jsonPatches").List() {
		from := j.Get("valueFrom")
		d.operations = append(d.operations, operation{
			op: j.Get("op").Str(), path: j.Get("path").Str(), at: j.Get("path"),
			value: given(j.Get("value")), variable: given(from.Get("variable")), template: given(from.Get("template")),
		})
	}
	return d
}

func names(n *yamldoc.Node) []string {
	var out []string
	for _, name := range n.Get("names").List() {
		out = append(out, name.Str())
	}
	return out
}

// given is nil for null.
func given(n *yamldoc.Node) *yamldoc.Node {
	if n == nil || n.Kind == yamldoc.Null {
		return nil
	}
	return n
}

// matches reports whether a definition selects a template (patches/inline,
// matchesSelector).
func (d *definition) matches(t *Template) bool {
	if t.APIVersion != d.apiVersion || t.Kind != d.kind {
		return false
	}
	switch h := t.Holder; {
	case d.cluster && h.Kind == "Cluster" && h.FieldPath == InfrastructureClusterPath,
		d.controlPlane && h.Kind == "Cluster" && h.FieldPath == ControlPlanePath,
		d.controlPlane && slices.Contains(controlPlaneMachinePaths[:], h.FieldPath):
		return true
	case h.FieldPath != BootstrapPath && h.FieldPath != InfrastructurePath:
		return false
	case h.Kind == "MachineDeployment":
		return selects(d.deployments, t.Values, "builtin.machineDeployment.class")
	case h.Kind == "MachinePool":
		return selects(d.pools, t.Values, "builtin.machinePool.class")
	}
	return false
}

// selects reports whether one of the names, each possibly with a * at an end, is
// that of a class of workers.
func selects(names []string, values Values, variable string) bool {
	value, err := values.Lookup(variable)
	var class string
	if err != nil || json.Unmarshal(value, &class) != nil {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		prefix, atEnd := strings.CutSuffix(name, "*")
		suffix, atStart := strings.CutPrefix(name, "*")
		return name == class || atStart && strings.HasSuffix(class, suffix) || atEnd && strings.HasPrefix(class, prefix)
	})
}

// values computes the values of the operations of a definition
// (patches/inline, generateJSONPatches). The node is the text at fault.
func (e *engine) values(d definition, values Values) (pending, *yamldoc.Node, error) {
	var out pending
	for _, o := range d.operations {
		entry := map[string]any{"op": o.op, "path": o.path}
		at := o.at
		if o.op == "add" || o.op == "replace" {
			value, n, err := e.value(o, values)
			if err != nil {
				return out, n, err
			}
			entry["value"], at = json.RawMessage(value), n
		}
		out.patch = append(out.patch, entry)
		out.writes = append(out.writes, Write{o.path, at, o.at})
		out.steps = append(out.steps, o.at)
	}
	return out, nil, nil
}

// ErrNoValue reports an operation that does not say, or says twice, where its value
// comes from. Admission refuses it.
var ErrNoValue = errors.New("the operation needs exactly one of value, valueFrom.variable and valueFrom.template")

func (e *engine) value(o operation, values Values) ([]byte, *yamldoc.Node, error) {
	variable, text := o.variable.Str(), o.template.Str()
	var out []byte
	var err error
	n := o.at
	switch {
	case o.value != nil && (variable != "" || text != ""), variable != "" && text != "", o.value == nil && variable == "" && text == "":
		return nil, n, ErrNoValue
	case o.value != nil:
		n = o.value
		out, err = json.Marshal(n.Value())
	case variable != "":
		n = o.variable
		out, err = values.Lookup(variable)
	default:
		n = o.template
		out, err = e.render(text, values)
	}
	if len(out) == 0 {
		out = []byte("null")
	}
	return out, n, err
}

// apply changes a template; the node is the path of the operation that fails.
func (e *engine) apply(list pending) (at *yamldoc.Node, err error) {
	if len(list.patch) == 0 {
		return nil, nil
	}
	t := list.template
	data, err := json.Marshal(list.patch)
	if err != nil {
		return list.steps[0], err
	}
	after, err := ApplyJSON(t.Object, data)
	if err != nil {
		return e.culprit(list)
	}
	if t.Object, err = Keep(t.Object, after, e.minor); err != nil {
		return list.steps[0], err
	}
	t.Writes = append(t.Writes, list.writes...)
	return nil, nil
}

// culprit applies the operations one by one to find the one that fails.
func (e *engine) culprit(list pending) (*yamldoc.Node, error) {
	object := []byte(list.template.Object)
	for i, entry := range list.patch {
		data, err := json.Marshal([]any{entry})
		if err != nil {
			return list.steps[i], err
		}
		if object, err = ApplyJSON(object, data); err != nil {
			return list.steps[i], err
		}
	}
	return list.steps[0], errors.New("the operations cannot be applied together")
}

// mostCopied bounds what operations may copy, in bytes.
const mostCopied = 16 << 20

// ApplyJSON returns an object after a JSON patch, unchanged if the patch is empty. A
// patch on which the library breaks is an error, as in Cluster API.
func ApplyJSON(object, patch []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("the operation cannot be applied: %v", r)
		}
	}()
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	if len(operations) == 0 {
		return object, nil
	}
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = mostCopied
	return operations.ApplyWithOptions(object, options)
}
