package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
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
	Patch *clusterclass.Patch
	// Step is the operation as a JSON patch has it.
	Step step
	of   *operation
	// Path is a JSON pointer.
	Path string
	// Node is the text that made the value: value, valueFrom.variable or
	// valueFrom.template; path for remove.
	Node *yamldoc.Node
	// To is the text of the path.
	To *yamldoc.Node
}

// Reads returns the variables that the value is made of, with the path in them.
func (w Write) Reads() []string {
	if name := w.of.variable.Str(); name != "" {
		return []string{name}
	}
	return clusterclass.Reads(w.of.template.Str())
}

// stage says what could not be done.
type stage int

const (
	// EnabledIf: the condition of a patch could not be rendered.
	EnabledIf stage = iota
	// value: the value of an operation could not be computed.
	value
	// Apply: an operation does not fit the template.
	Apply
)

// Failure is why the topology controller stops with an error.
type Failure struct {
	Patch string
	Stage stage
	// Template is the one that was to be patched.
	Template *Template
	// Node is the text that causes the failure.
	Node *yamldoc.Node
	Err  error
	// Unsure says that the controller may not fail: an extension may have changed the
	// template before, or the value cannot be predicted.
	Unsure bool
}

// Reason is the error in few words.
func (f *Failure) Reason() string {
	text := f.Err.Error()
	for _, known := range []struct{ part, short string }{
		{"replace operation does not apply", "replace needs an existing value"},
		{"remove operation does not apply", "remove needs an existing value"},
		{"unable to remove nonexistent key", "remove needs an existing value"},
		{"add operation does not apply", "add needs an existing parent"},
	} {
		if f.Stage == Apply && strings.Contains(text, known.part) && (strings.Contains(text, "missing") || strings.Contains(text, "nonexistent")) {
			return known.short
		}
	}
	return text
}

// operation is an entry of jsonPatches.
type operation struct {
	op, path string
	// at is the path in the class; value, variable and template are nil unless
	// they are there.
	at, value, variable, template *yamldoc.Node
}

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
// skipped. Global are the values of the Cluster with the builtin ones; the
// minor version of Cluster API decides what is kept of a patched template.
func Run(class *clusterclass.Class, global Values, templates []*Template, minor int) []Failure {
	r := renderers.Get().(*renderer)
	defer r.release()
	e := engine{renderer: r, global: global, minor: minor}
	for _, t := range templates {
		e.subjects = append(e.subjects, &subject{Template: t, class: workerClass(t)})
	}
	for _, p := range class.Patches() {
		if p.External != nil {
			if generate, _, _ := class.Handlers(p); generate != nil {
				for _, t := range templates {
					t.Unsure = true
				}
			}
			continue
		}
		e.patch(&p)
	}
	return e.failures
}

type engine struct {
	*renderer
	global   Values
	minor    int
	subjects []*subject
	failures []Failure
}

// subject is a template with what is known of it while it is patched.
type subject struct {
	*Template
	// class is that of the workers that the template is for; nil if there is none.
	class *string
	// seen are the values that templates of the class see, global ones included; nil
	// until they are needed.
	seen *seen
	// failed: a patch has failed. What later patches make of the template is never
	// seen.
	failed bool
}

func (e *engine) patch(p *clusterclass.Patch) {
	definitions := phrase.List(p.Definitions.List(), define)
	var ready []*pending
	for i, s := range e.subjects {
		if s.failed {
			continue
		}
		matching := phrase.Only(definitions, func(d definition) bool { return d.matches(s) })
		if len(matching) == 0 {
			continue
		}
		fail := func(stage stage, n *yamldoc.Node, err error) {
			s.Unsure = true
			unsure := errors.Is(err, errUnsure)
			s.failed = s.failed || !unsure
			e.failures = append(e.failures, Failure{p.Name, stage, s.Template, n, err, unsure})
		}
		if s.seen == nil {
			var err error
			if s.seen, err = e.see(i); err != nil {
				fail(EnabledIf, p.Node, err)
				continue
			}
		}
		if text := p.EnabledIf.Str(); text != "" {
			value, err := e.render(text, s.seen)
			if err != nil {
				fail(EnabledIf, p.EnabledIf, err)
				continue
			}
			if string(value) != "true" {
				continue
			}
		}
		for _, d := range matching {
			list, n, err := e.values(p, d, s.seen)
			if err != nil {
				fail(value, n, err)
				continue
			}
			list.subject = s
			ready = append(ready, list)
		}
	}
	for _, list := range ready {
		if s := list.subject; !s.failed {
			if n, err := e.apply(list); err != nil {
				s.failed = !s.Unsure
				e.failures = append(e.failures, Failure{p.Name, Apply, s.Template, n, err, s.Unsure})
			}
		}
	}
}

// see returns the values that a template sees. The templates of one part of the
// Cluster stand side by side and see the same.
func (e *engine) see(i int) (*seen, error) {
	own := e.subjects[i].Values
	if i > 0 {
		if before := e.subjects[i-1]; before.seen != nil &&
			maps.EqualFunc(before.Values, own, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			return before.seen, nil
		}
	}
	values, err := merged(e.global, own)
	if err != nil {
		return nil, err
	}
	return &seen{Values: values}, nil
}

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
			value: j.Get("value").Given(), variable: from.Get("variable").Given(), template: from.Get("template").Given(),
		})
	}
	return d
}

func names(n *yamldoc.Node) []string {
	return phrase.List(n.Get("names").List(), (*yamldoc.Node).Str)
}

// matches reports whether a definition selects a template (patches/inline,
// matchesSelector).
func (d *definition) matches(t *subject) bool {
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
		return selects(d.deployments, t.class)
	case h.Kind == "MachinePool":
		return selects(d.pools, t.class)
	}
	return false
}

// workerClass returns the class of the workers that a template is for; nil if there
// is none.
func workerClass(t *Template) *string {
	variable := "builtin.machineDeployment.class"
	switch t.Holder.Kind {
	case "MachineDeployment":
	case "MachinePool":
		variable = "builtin.machinePool.class"
	default:
		return nil
	}
	value, err := t.Values.Lookup(variable)
	var class string
	if err != nil || json.Unmarshal(value, &class) != nil {
		return nil
	}
	return &class
}

// selects reports whether one of the names, each possibly with a * at an end, is
// that of a class of workers.
func selects(names []string, class *string) bool {
	return class != nil && slices.ContainsFunc(names, func(name string) bool {
		prefix, atEnd := strings.CutSuffix(name, "*")
		suffix, atStart := strings.CutPrefix(name, "*")
		return name == *class || atStart && strings.HasSuffix(*class, suffix) ||
			atEnd && strings.HasPrefix(*class, prefix)
	})
}

// values computes the values of the operations of a definition
// (patches/inline, generateJSONPatches). The node is the text at fault.
func (e *engine) values(p *clusterclass.Patch, d definition, seen *seen) (*pending, *yamldoc.Node, error) {
	out := &pending{}
	for _, o := range d.operations {
		step, at := step{Op: o.op, Path: o.path, at: o.at}, o.at
		if o.op == "add" || o.op == "replace" {
			value, n, err := e.value(o, seen)
			if err != nil {
				return nil, n, err
			}
			step.Value, at = value, n
		}
		out.steps = append(out.steps, step)
		out.writes = append(out.writes, Write{p, step, &o, o.path, at, o.at})
	}
	return out, nil, nil
}

// ErrNoValue reports an operation that does not say, or says twice, where its value
// comes from. Admission refuses it.
var ErrNoValue = errors.New("the operation needs exactly one of value, valueFrom.variable and valueFrom.template")

func (e *engine) value(o operation, seen *seen) ([]byte, *yamldoc.Node, error) {
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
		out, err = seen.Lookup(variable)
	default:
		n = o.template
		out, err = e.render(text, seen)
	}
	if len(out) == 0 {
		out = []byte("null")
	}
	return out, n, err
}
