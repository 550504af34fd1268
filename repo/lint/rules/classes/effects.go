package classes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// fault is what goes wrong when patches are applied.
type fault struct {
	rule *lint.Rule
	// node is the text in the class that causes it.
	node    *yamldoc.Node
	message string
	// webhook says that a webhook may prevent it, and doubtful that it depends on
	// values that users may not choose.
	webhook, doubtful bool
	// reads are the variables that the text depends on.
	reads map[string]bool
}

// situation is a Cluster for which patches are applied.
type situation struct {
	class *clusterclass.Class
	// maker makes the templates for the Cluster.
	maker   *extension.Maker
	samples extension.Samples
	known   *known
}

// known is what situations of a class have in common: most templates are the same in
// all of them, and many remain so when they are patched.
type known struct {
	// stored are templates as the API server stores them, by their JSON.
	stored map[string]json.RawMessage
	// checked are the violations in templates.
	checked map[checkedKey][]crd.Violation
}

// checkedKey is the spec of an object, as JSON, and what it is compared with.
type checkedKey struct {
	schema       *yamldoc.Node
	prefix, spec string
}

// rounds are how often values are made up; what goes wrong with all of them is
// reported.
const rounds = 3

// maxPatchings bounds how many patches are computed to try the values of enums, which is
// about a second of work; the values after that are not tried.
const maxPatchings = 50_000

// effects are the faults of a class, for a Cluster with defaults and for those of
// the release. They are computed once for each class.
func effects(p *lint.Pass, c *clusterclass.Class) []lint.Finding {
	type key struct{ doc *yamldoc.Document }
	return p.File.Memo(key{c.Object.Doc}, func() any { return allEffects(p, c) }).([]lint.Finding)
}

func allEffects(p *lint.Pass, c *clusterclass.Class) []lint.Finding {
	if len(c.Patches()) == 0 || len(c.References()) < 2 {
		return nil
	}
	e := effectList{c: c, seen: map[*yamldoc.Node]bool{}}
	// Not all of the file, which may have many classes.
	templates := phrase.Some(c.References(), func(r clusterclass.Reference) *manifest.Object { return target(c, &r) })
	ordinary := extension.TopologyOf(c, templates)
	known := &known{stored: map[string]json.RawMessage{}, checked: map[checkedKey][]crd.Violation{}}
	of := func(t *extension.Topology) situation {
		return situation{class: c, maker: &extension.Maker{Topology: t, Core: contract.NewestCore}, known: known}
	}
	usual := of(ordinary)
	required := usual.faults(p)
	names := phrase.List(c.Variables(), func(v clusterclass.Variable) string { return v.Name })
	optional := phrase.Only(names, func(name string) bool { return isOptional(c, name) })
	complete := required
	if len(optional) > 0 {
		complete = usual.with(extension.Samples{Also: optional}).faults(p)
	}
	clusters := clustersOf(p, c)
	for _, f := range required {
		always := slices.ContainsFunc(complete, func(g fault) bool { return g.node == f.node && g.rule == f.rule })
		unset := slices.DeleteFunc(slices.Sorted(maps.Keys(f.reads)), func(name string) bool { return !isOptional(c, name) })
		if always || len(unset) == 0 {
			e.add(f, "")
			continue
		}
		if f.rule != patchNoValue {
			f.rule = patchOptional
		}
		f.doubtful = len(clusters) > 0 && !slices.ContainsFunc(clusters, func(o *manifest.Object) bool { return !setsVariable(o, unset[0]) })
		e.add(f, " while variable "+unset[0]+" is not set")
	}
	tries := maxPatchings / len(c.Patches())
	for _, v := range c.Variables() {
		for _, value := range v.Schema.Node.Get("enum").List() {
			if tries--; tries < 0 {
				break
			}
			found := usual.with(extension.Samples{Chosen: map[string]*yamldoc.Node{v.Name: value}}).faults(p)
			for _, f := range found {
				if f.reads[v.Name] && !slices.ContainsFunc(required, func(g fault) bool { return g.node == f.node }) {
					e.add(f, " while variable "+v.Name+" is "+value.Text())
				}
			}
		}
	}
	alone := map[string][]fault{}
	for _, f := range complete {
		if f.rule != patchApplies || e.seen[f.node] {
			e.add(f, "")
			continue
		}
		// Variables may exclude each other. One of them alone should do no harm.
		f.doubtful = true
		for _, name := range optional {
			found, ok := alone[name]
			if !ok {
				found = usual.with(extension.Samples{Also: []string{name}}).faults(p)
				alone[name] = found
			}
			if slices.ContainsFunc(found, func(g fault) bool { return g.node == f.node }) {
				e.add(f, " while variable "+name+" is set")
				break
			}
		}
	}
	for _, o := range clusters {
		for _, f := range of(ordinary.With(o)).with(extension.Samples{Instead: openValues(o)}).faults(p) {
			e.add(f, fmt.Sprintf(" (Cluster of %s)", o.File.Artifact.Name))
		}
	}
	return e.found
}

// effectList collects findings, one for each place.
type effectList struct {
	c     *clusterclass.Class
	seen  map[*yamldoc.Node]bool
	found []lint.Finding
}

func (e *effectList) add(f fault, when string) {
	if e.seen[f.node] {
		return
	}
	e.seen[f.node] = true
	finding := lint.On(e.c.Object, f.node, "%s%s", f.message, when)
	finding.Rule = f.rule
	if f.webhook {
		finding.Message += ", unless a webhook sets it"
	}
	if f.webhook || f.doubtful {
		finding.Severity = lint.Warning
	}
	e.found = append(e.found, finding)
}

// isOptional reports whether a Cluster may leave a variable without a value.
func isOptional(c *clusterclass.Class, name string) bool {
	v := c.Variable(name)
	return v != nil && name != "" && !v.Required && v.Default() == nil
}

// setsVariable reports whether a Cluster has a value for a variable.
func setsVariable(o *manifest.Object, name string) bool {
	return yamldoc.Has(o.Get("spec", "topology", "variables").All("*", "name"), name)
}

// clustersOf returns the Clusters of the release that use a class.
func clustersOf(p *lint.Pass, c *clusterclass.Class) (out []*manifest.Object) {
	type key struct{}
	for _, f := range p.Release.WithClasses() {
		if f.Kind != layouts.ClusterTemplate && f != p.File || c.Name() == "" {
			continue
		}
		byClass := f.Memo(key{}, func() any {
			byClass := map[string][]*manifest.Object{}
			for _, o := range f.Objects() {
				if o.Is(clusterclass.Group, "Cluster") {
					name := clusterclass.Named(o)
					byClass[name] = append(byClass[name], o)
				}
			}
			return byClass
		}).(map[string][]*manifest.Object)
		out = append(out, byClass[c.Name()]...)
	}
	return out
}

// openValues are the variables of a Cluster whose values are only samples, because
// the user of clusterctl has to give them.
func openValues(o *manifest.Object) map[string]bool {
	out := map[string]bool{}
	topology := o.Get("spec", "topology")
	lists := []*yamldoc.Node{topology.Get("variables"), topology.Get("controlPlane", "variables", "overrides")}
	for _, list := range [...]string{clusterclass.Deployments, clusterclass.Pools} {
		lists = append(lists, topology.All("workers", list, "*", "variables", "overrides")...)
	}
	for _, list := range lists {
		for _, v := range list.List() {
			view.Each(v.Get("value"), func(n *yamldoc.Node) {
				if view.Open(o, n) {
					out[v.Get("name").Str()] = true
				}
			})
		}
	}
	return out
}

// with returns the situation with other samples.
func (s situation) with(samples extension.Samples) situation {
	s.samples = samples
	return s
}

// faults applies the patches with several values and returns what always goes
// wrong.
func (s situation) faults(p *lint.Pass) []fault {
	var out []fault
	for round := range rounds {
		s.samples.Round = round
		found, made := s.run(p)
		if round == 0 {
			out = found
		} else {
			out = slices.DeleteFunc(out, func(f fault) bool {
				return !slices.ContainsFunc(found, func(g fault) bool { return g.node == f.node })
			})
		}
		if len(out) == 0 || len(made) == 0 {
			break
		}
	}
	return out
}

// run applies the patches once.
func (s situation) run(p *lint.Pass) (out []fault, made map[string]bool) {
	global, made, templates := s.maker.Templates(s.samples)
	before := map[*patch.Template]json.RawMessage{}
	for _, t := range templates {
		s.known.store(p, t)
		before[t] = t.Object
	}
	failed := map[*patch.Template]bool{}
	for _, f := range patch.Run(s.class, global, templates, contract.NewestCore) {
		if f.Unsure {
			continue
		}
		failed[f.Template] = true
		if g, ok := s.failure(f, made); ok {
			g.webhook = f.Stage == patch.Apply && rewritten(p, f.Template)
			out = append(out, g)
		}
	}
	for _, t := range templates {
		if !t.Unsure && !failed[t] && len(t.Writes) > 0 {
			out = append(out, s.misfits(p, t, before[t], made)...)
			out = append(out, s.blanks(t)...)
		}
	}
	return out, made
}

// store fills in what the API server does when it stores a template.
func (k *known) store(p *lint.Pass, t *patch.Template) {
	object, ok := k.stored[string(t.Object)]
	if !ok {
		object = stored(p, t)
		k.stored[string(t.Object)] = object
	}
	t.Object = object
}

func stored(p *lint.Pass, t *patch.Template) json.RawMessage {
	group, version := manifest.SplitAPIVersion(t.APIVersion)
	d := p.Release.CRD(group, t.Kind)
	if d == nil || d.Version(version) == nil {
		return t.Object
	}
	var object any
	if json.Unmarshal(t.Object, &object) != nil {
		return t.Object
	}
	object, _ = clusterclass.Defaulted(d.Version(version).Schema.Node, object, true)
	data, err := json.Marshal(object)
	if err != nil {
		return t.Object
	}
	return data
}

// rewritten reports whether a webhook may add fields to a template, by defaults or
// because its Go type always writes them. Those of the kubeadm providers do so in
// v1beta1 only.
func rewritten(p *lint.Pass, t *patch.Template) bool {
	group, version := manifest.SplitAPIVersion(t.APIVersion)
	if _, ok := kubeadm[[2]string{group, t.Kind}]; ok {
		return version == clusterclass.V1Beta1
	}
	d := p.Release.CRD(group, t.Kind)
	if d == nil {
		return p.Release.MayHold(contract.CRDName(group, t.Kind))
	}
	storage := d.Storage()
	converted := d.Object.Get("spec", "conversion", "strategy").Str() == "Webhook" && (storage == nil || storage.Name != version)
	return converted || view.Mutated(p.Release, d)
}

// failure judges why a patch cannot be computed or applied; ok is false if another
// rule says so, or if only a value that is made up may be the reason.
func (s situation) failure(f patch.Failure, made map[string]bool) (out fault, ok bool) {
	out = fault{node: f.Node, reads: reads(f.Node)}
	if sampled(s.class.Object, f.Node) || s.guessed(out.reads, made, f.Err) {
		return out, false
	}
	target := holderText(f.Template)
	switch f.Stage {
	case patch.Apply:
		if !strings.HasPrefix(f.Node.Str(), "/spec") {
			return out, false // PA009
		}
		if strings.Contains(f.Err.Error(), "unsupported operation") {
			return out, false // PA008
		}
		out.rule = patchApplies
		out.message = fmt.Sprintf("%s cannot be patched in %s: %s", f.Node.Str(), target, f.Reason())
	case patch.EnabledIf:
		if _, err := clusterclass.ParseTemplate(f.Node.Str()); err != nil {
			return out, false // PA003
		}
		out.rule = patchRenders
		out.message = fmt.Sprintf("enabledIf fails for %s: %s", target, f.Err)
	default:
		name := clusterclass.VariableName(f.Node.Str())
		_, err := clusterclass.ParseTemplate(f.Node.Str())
		switch isVariable := errors.Is(f.Err, patch.ErrNotFound) || !strings.Contains(f.Node.Str(), "{{"); {
		case errors.Is(f.Err, patch.ErrNoValue), err != nil: // PA011, PA012, PA004
			return out, false
		case !isVariable || strings.Contains(f.Err.Error(), "not YAML"):
			out.rule = patchRenders
			out.message = fmt.Sprintf("the template fails for %s: %s", target, f.Err)
		case s.class.Variable(name) == nil && (name != clusterclass.Builtin || !clusterclass.IsBuiltin(f.Node.Str())):
			return out, false // PA013, PA014
		default:
			out.rule = patchVariableValue
			out.message = fmt.Sprintf("%s in %s", f.Err, target)
			if !strings.Contains(f.Err.Error(), strconv.Quote(f.Node.Str())) {
				out.message = fmt.Sprintf("variable %s has no value in %s, because %s", f.Node.Str(), target, f.Err)
			}
		}
	}
	return out, true
}

// guessed reports whether a failure may be due to a value that is made up, which
// the author of the class would not choose.
func (s situation) guessed(reads, made map[string]bool, err error) bool {
	for name := range reads {
		if !made[name] {
			continue
		}
		v := s.class.Variable(name)
		if strings.Contains(err.Error(), "error calling fail") ||
			strings.Contains(err.Error(), "error calling must") || v == nil || open(v.Schema.Node) {
			return true
		}
	}
	return false
}

// open reports whether a schema allows fields that it does not name.
func open(schema *yamldoc.Node) bool {
	found := !schema.Is(yamldoc.Map)
	view.Each(schema, func(n *yamldoc.Node) {
		found = found || n.Get("additionalProperties") != nil || n.Get("x-kubernetes-preserve-unknown-fields").Bool()
	})
	return found
}

// reads are the variables that a text of a patch depends on.
func reads(n *yamldoc.Node) map[string]bool {
	out := map[string]bool{}
	if t, err := clusterclass.ParseTemplate(n.Str()); err == nil && strings.Contains(n.Str(), "{{") {
		t.Variables(func(path []string, _ bool) { out[path[0]] = true })
		return out
	}
	out[clusterclass.VariableName(n.Str())] = true
	return out
}

// holderText names a template and what it is for.
func holderText(t *patch.Template) string {
	switch h := t.Holder; {
	case h.Kind == "Cluster" && h.FieldPath == patch.InfrastructureClusterPath:
		return t.Kind + " of the Cluster"
	case h.Kind == "Cluster":
		return t.Kind + " of the control plane"
	case h.Kind == "MachineDeployment", h.Kind == "MachinePool":
		variable := "builtin.machineDeployment.class"
		if h.Kind == "MachinePool" {
			variable = "builtin.machinePool.class"
		}
		value, _ := t.Values.Lookup(variable)
		return fmt.Sprintf("%s of %s class %s", t.Kind, h.Kind, strings.Trim(string(value), `"`))
	}
	return t.Kind + " of control plane machines"
}

// misfits returns where a patched template, or the object that is made from it,
// does not match its definition although the template did.
func (s situation) misfits(p *lint.Pass, t *patch.Template, before json.RawMessage, made map[string]bool) []fault {
	schema, prefix, webhook, ok := definitionOf(p, t)
	if !ok {
		return nil
	}
	is := s.known.check(schema, t.Object, prefix)
	if len(is) == 0 {
		return nil
	}
	was := map[string]bool{}
	for _, v := range s.known.check(schema, before, prefix) {
		was[v.Path+v.Message] = true
	}
	var out []fault
	for _, v := range is {
		if was[v.Path+v.Message] || view.OfStatus(v) {
			continue
		}
		n, rule := blame(t, v)
		if n == nil || sampled(s.class.Object, n) {
			continue
		}
		f := fault{rule: rule, node: n, reads: reads(n), webhook: webhook && v.Fault == crd.Missing}
		if v.Fault == crd.Value &&
			slices.ContainsFunc(slices.Collect(maps.Keys(f.reads)), func(name string) bool { return made[name] }) {
			continue
		}
		f.message = fmt.Sprintf("in %s, %s %s", holderText(t), v.Path, v.Message)
		out = append(out, f)
	}
	return out
}

// noValue is what text/template writes for a variable that is not set.
const noValue = "<no value>"

// blanks returns where a template of a patch wrote that a variable has no value.
func (s situation) blanks(t *patch.Template) (out []fault) {
	var object any
	if !bytes.Contains(t.Object, []byte("no value")) || json.Unmarshal(t.Object, &object) != nil {
		return nil // the brackets are escaped in some JSON
	}
	var walk func(value any, path []string)
	walk = func(value any, path []string) {
		path = slices.Clip(path)
		switch value := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				walk(value[name], append(path, name))
			}
		case []any:
			for i, v := range value {
				walk(v, append(path, listIndex(i)))
			}
		case string:
			if !strings.Contains(value, noValue) {
				return
			}
			field := crd.Join(path)
			n, _ := blame(t, crd.Violation{Fault: crd.Value, Path: field})
			if !strings.Contains(n.Str(), "{{") || strings.Contains(n.Str(), noValue) || sampled(s.class.Object, n) {
				return
			}
			out = append(out, fault{rule: patchNoValue, node: n, reads: reads(n), message: fmt.Sprintf("the template writes %q into %s of %s, because what it reads has none", noValue, field, holderText(t))})
		}
	}
	walk(object, nil)
	return out
}

// definitionOf returns the schema of what Cluster API creates from a template: for
// machines the template itself, otherwise an object with its inner spec. The prefix
// leads to the spec of that in the template.
func definitionOf(p *lint.Pass, t *patch.Template) (s crd.Schema, prefix []string, webhook, ok bool) {
	group, version := manifest.SplitAPIVersion(t.APIVersion)
	kinds := []string{t.Kind}
	if t.Holder.Kind == "Cluster" || t.Holder.Kind == "MachinePool" {
		kinds = []string{strings.TrimSuffix(t.Kind, contract.Suffix), t.Kind}
	}
	for _, kind := range kinds {
		if kind != t.Kind {
			prefix = []string{"spec", "template", "spec"}
		} else {
			prefix = []string{"spec"}
		}
		if d := p.Release.CRD(group, kind); d != nil {
			v := d.Version(version)
			if v == nil || !v.Served {
				return s, nil, false, false
			}
			return v.Schema, prefix, view.Mutated(p.Release, d), true
		}
		if s, ok = contract.CoreSchema(group, kind, version); ok {
			return s, prefix, true, ok // the kubeadm providers have webhooks
		}
		if p.Release.MayHold(contract.CRDName(group, kind)) {
			break
		}
	}
	return s, nil, false, false
}

// check compares the spec of an object with that in a schema, unless it is known; its
// metadata differ between the parts of a Cluster. Paths are those in the template.
func (k *known) check(s crd.Schema, object json.RawMessage, prefix []string) []crd.Violation {
	for _, name := range prefix {
		var fields map[string]json.RawMessage
		if json.Unmarshal(object, &fields) != nil {
			return nil
		}
		object = fields[name]
	}
	key := checkedKey{s.Node, crd.Join(prefix), string(object)}
	found, ok := k.checked[key]
	if !ok {
		var value *yamldoc.Node
		if docs := yamldoc.Parse(yamldoc.NewFile("object", object)).Docs; len(docs) > 0 {
			value = docs[0].Root
		}
		checker := crd.Checker{Received: true}
		found = checker.Check(crd.Schema{Node: s.Node.Get("properties", "spec")}, value, true, prefix...)
		k.checked[key] = found
	}
	return found
}

// blame returns the text of the patch that causes a violation: what the last
// operation wrote at its path, or above or below it. For a field that the schema
// does not know and that the operation names, it is the path.
func blame(t *patch.Template, v crd.Violation) (n *yamldoc.Node, rule *lint.Rule) {
	for _, w := range slices.Backward(t.Writes) {
		whole := crd.Join(pointerPath(w.Path))
		if _, ok := within(whole, v.Path); ok {
			if v.Fault == crd.Unknown {
				return w.To, patchPathKnown
			}
			return w.Node, patchResult
		}
		if rest, ok := within(v.Path, whole); ok {
			return descend(w.Node, rest), patchResult
		}
	}
	return nil, nil
}

// pointerPath are the steps of a JSON pointer, up to the end of a list.
func pointerPath(pointer string) []string {
	var out []string
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if part == "-" {
			break
		}
		name := yamldoc.PointerPart(part)
		if i, err := strconv.Atoi(name); err == nil {
			name = listIndex(i)
		}
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// within returns what follows a prefix of a path.
func within(path, prefix string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, prefix)
	return rest, ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// descend follows a path in a literal value as far as it goes.
func descend(n *yamldoc.Node, rest string) *yamldoc.Node {
	for rest != "" && (n.Is(yamldoc.Map) || n.Is(yamldoc.List)) {
		end := cmp.Or(strings.IndexAny(rest[1:], ".[")+1, len(rest))
		step := strings.Trim(rest[:end], ".[]")
		rest = rest[end:]
		next := n.Get(step)
		if i, err := strconv.Atoi(step); err == nil && n.Is(yamldoc.List) && i < len(n.List()) {
			next = n.List()[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// reported reports the effects that belong to a rule.
func reported(p *lint.Pass, c *clusterclass.Class) {
	for _, f := range effects(p, c) {
		if f.Rule.ID == p.Rule.ID {
			p.Report(f)
		}
	}
}

const generator = "cluster-api core/reconcilers/topology/cluster/patches/inline"

var patchApplies = patchRules.Add(lint.Rule{
	ID: "PA020", Name: "class-patch-applies", Severity: lint.Error, Proof: lint.Contract,
	Title:  "JSON patches must apply to the templates that they select",
	Source: "cluster-api core/reconcilers/topology/cluster/patches, applyPatchesToRequest",
	Why:    "Cluster API cannot compute the objects of a Cluster, so Clusters of the class are not created or updated.",
	Fix:    "Use add where the value may be absent, and add the missing parent or list first.",
})

var patchVariableValue = patchRules.Add(lint.Rule{
	ID: "PA021", Name: "patch-variable-value", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Variables in patches must have a value for every selected template",
	Source: generator + ", calculateValue",
	Why:    "Cluster API cannot compute the objects of a Cluster, so Clusters of the class are not created or updated.",
	Fix:    "Correct the path in the variable, or select only templates for which the builtin variable exists.",
})

var patchRenders = patchRules.Add(lint.Rule{
	ID: "PA022", Name: "patch-renders", Severity: lint.Error, Proof: lint.Contract,
	Title:  "Templates in patches must render, and values must render to YAML",
	Source: generator + ", renderValueTemplate and patchIsEnabled",
	Why:    "Cluster API cannot compute the objects of a Cluster, so Clusters of the class are not created or updated.",
	Fix:    "Correct the template. Use toJson for lists and objects, and quote for strings that YAML would read as something else.",
})

var patchResult = patchRules.Add(lint.Rule{
	ID: "PA023", Name: "patch-result", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Patched templates must match their CustomResourceDefinitions",
	Source: "spec.versions[].schema of the CustomResourceDefinition in the components",
	Why:    "The API server refuses the object that Cluster API makes from the template, so Clusters of the class are not created or updated.",
	Fix:    "Correct the value of the patch, or the type of its variable.",
})

var patchNoValue = patchRules.Add(lint.Rule{
	ID: "PA024", Name: "patch-no-value", Severity: lint.Warning, Proof: lint.Contract,
	Title:  "Templates in patches should not render to <no value>",
	Source: generator + ", renderValueTemplate",
	Why:    `A template that reads a variable or property that is not set writes the text "<no value>". Cluster API passes it on, and the machines or the provider fail on it.`,
	Fix:    "Correct the name, give the variable a default, require it, or write a default in the template: '{{ .NAME | default \"VALUE\" }}'.",
})

func init() {
	for _, r := range []*lint.Rule{patchNoValue, patchOptional, patchApplies, patchVariableValue, patchRenders, patchResult} {
		r.Check = eachClass(reported)
	}
	patchPathKnown.Check = eachClass(patchPathUnknown)
}
