package cel

import (
	"encoding/base64"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	kube "k8s.io/apiserver/pkg/cel"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Limits of what evaluations may cost: of one rule, and of all for a value
// (k8s.io/apiserver/pkg/apis/cel).
const (
	mostPerCall = 1_000_000
	mostPerRun  = 10_000_000
)

// violation is a value that breaks a rule.
type violation struct {
	// Path leads to the value. Elements of lists stand in it as "[0]".
	Path []string
	// Node is the value, or what it is in if a default of the schema provides it.
	Node *yamldoc.Node
	// Reads are the parts of the value that the rule reads.
	Reads []*yamldoc.Node
	// Message says what is wrong, in words that follow the path.
	Message string
}

// Values says what happens to values before rules see them.
type Values struct {
	// Filled says that fields get the defaults of their schema.
	Filled bool
	// Received says that the API server looks at them: it fills in defaults, and
	// drops nulls that may not be.
	Received bool
	// Resource says that they are objects of the API.
	Resource bool
	// Unchanged says that they are also tried as values that do not change, as it is
	// done for defaults.
	Unchanged bool
	// Open reports whether a value is not known. Rules that read it are skipped.
	// It may be nil.
	Open func(*yamldoc.Node) bool
}

// Evaluate returns the rules of a schema that a new value breaks, as the API server
// evaluates them (apiextensions-apiserver pkg/apiserver/schema/cel, Validate). The
// value has to match the schema otherwise, but for fields that the schema does not have.
// Rules that do not compile are skipped, and so are those that call functions of
// Kubernetes without a binding here. Path is where the value stands.
func Evaluate(schema, value *yamldoc.Node, of Values, path ...string) []violation {
	e := evaluation{of: of, types: check{types: map[*yamldoc.Node]*kube.DeclType{}}, known: map[[2]*yamldoc.Node]ref.Val{}, budget: mostPerRun}
	e.value(schema, value, value, place{root: of.Resource}, slices.Clip(path))
	return e.found
}

type evaluation struct {
	of     Values
	types  check
	known  map[[2]*yamldoc.Node]ref.Val
	budget uint64
	found  []violation
}

// value evaluates the rules for a value and for those in it. Nearest is the value,
// or what it is in. What follows the path in its memory is overwritten.
func (e *evaluation) value(s, n, nearest *yamldoc.Node, at place, path []string) {
	if n == nil || n.Kind == yamldoc.Null || !s.Is(yamldoc.Map) {
		return
	}
	at.root = at.root || s.Get("x-kubernetes-embedded-resource").Bool()
	if rules := s.Get(Keyword).List(); len(rules) > 0 {
		e.rules(s, rules, n, nearest, at, path)
	}
	below := place{unrelated: at.unrelated}
	switch n.Kind {
	case yamldoc.List:
		below.unrelated = at.unrelated || s.Get("x-kubernetes-list-type").Str() != "map"
		for i, item := range n.List() {
			e.value(s.Get("items"), item, within(nearest, n, item), below, append(path, "["+strconv.Itoa(i)+"]"))
		}
	case yamldoc.Map:
		e.fields(s, n, func(name string, s, v *yamldoc.Node) {
			e.value(s, v, within(nearest, n, n.Get(name)), below, append(path, name))
		})
	}
}

// within is what a finding about a part of a value points to: the part, unless it
// is not in the text.
func within(nearest, n, part *yamldoc.Node) *yamldoc.Node {
	if nearest == n && part != nil {
		return part
	}
	return nearest
}

// fields visits the fields of a mapping that have a schema, once nulls are dropped
// and defaults filled in.
func (e *evaluation) fields(s, n *yamldoc.Node, visit func(name string, s, v *yamldoc.Node)) {
	properties, extra := s.Get("properties"), s.Get("additionalProperties")
	for f := range n.Entries() {
		of := properties.Get(f.Name)
		if of == nil && extra.Is(yamldoc.Map) {
			of = extra
		}
		if of != nil && !e.absent(of, f.Value) {
			visit(f.Name, of, f.Value)
		}
	}
	if !e.of.Filled && !e.of.Received {
		return
	}
	for f := range properties.Entries() {
		d := f.Value.Get("default").Given()
		if v := n.Get(f.Name); d != nil && (v == nil || e.absent(f.Value, v)) {
			visit(f.Name, f.Value, d)
		}
	}
}

// absent reports whether a null is replaced by a default, or dropped.
func (e *evaluation) absent(s, v *yamldoc.Node) bool {
	if v.Kind != yamldoc.Null || s.Get("nullable").Bool() {
		return false
	}
	return e.of.Received || e.of.Filled && s.Get("default").Given() != nil
}

// program is a rule that is ready to run.
type program struct {
	cel.Program
	usesOld, optional bool
	// reads are the fields of the value that the rule reads; nil if it may read all.
	reads map[string]bool
	// text says what the rule demands.
	text string
	// message is the program that says so; nil if none does.
	message cel.Program
}

// programs are the compiled rules of schemas, by their content.
var programs sync.Map // []program by identity

func (e *evaluation) compiled(s *yamldoc.Node, rules []*yamldoc.Node, at place) []program {
	var h maphash.Hash
	h.SetSeed(seed)
	digest(&h, s)
	id := identity{content: h.Sum64(), resource: at.root}
	if known, ok := programs.Load(id); ok {
		return known.([]program)
	}
	var out []program
	if scope := e.types.scope(s, id); scope != nil {
		for _, r := range rules {
			if p, ok := prepare(scope, r); ok {
				out = append(out, p)
			}
		}
	}
	programs.Store(id, out)
	return out
}

func prepare(scope *scope, r *yamldoc.Node) (p program, ok bool) {
	text := r.Get("rule").Str()
	p.optional = r.Get("optionalOldSelf").Bool()
	rule, err := scope.compile(text, cel.BoolType, p.optional)
	if err != nil || rule.foreign {
		return p, false
	}
	p.usesOld, p.reads = rule.usesOld, readsOf(rule.ast)
	p.text = strings.Clone(strings.TrimSpace(r.Get("message").Str())) // its document need not be kept
	if p.text == "" {
		p.text = strings.Join(strings.Fields(text), " ")
	}
	if p.Program, err = runnable(rule); err != nil {
		return p, false
	}
	if message := r.Get("messageExpression").Str(); message != "" {
		if m, err := scope.compile(message, cel.StringType, p.optional); err == nil && !m.foreign {
			p.message, _ = runnable(m)
		}
	}
	return p, true
}

func runnable(c compiled) (cel.Program, error) {
	return c.env.Program(c.ast, cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(mostPerCall), cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)))
}

// readsOf are the fields of self that an expression reads; nil if it uses self in
// another way.
func readsOf(a *cel.Ast) map[string]bool {
	out, uses := map[string]bool{}, 0
	ast.PreOrderVisit(a.NativeRep().Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.IdentKind:
			if x.AsIdent() == "self" {
				uses++
			}
		case ast.SelectKind:
			if of := x.AsSelect().Operand(); of.Kind() == ast.IdentKind && of.AsIdent() == "self" {
				out[x.AsSelect().FieldName()] = true
				uses--
			}
		}
	}))
	if uses > 0 {
		return nil
	}
	return out
}

// rules evaluates the rules of a schema for a value.
func (e *evaluation) rules(s *yamldoc.Node, rules []*yamldoc.Node, n, nearest *yamldoc.Node, at place, path []string) {
	var self ref.Val
	for _, p := range e.compiled(s, rules, at) {
		if e.budget == 0 {
			return
		}
		if p.usesOld && !p.optional && (!e.of.Unchanged || at.unrelated) {
			continue
		}
		parts := p.parts(n)
		if e.of.Open != nil && slices.ContainsFunc(parts, e.unknown) {
			continue
		}
		if self == nil {
			if self = e.convert(s, n, at.root); self == nil {
				return
			}
		}
		for _, vars := range e.activations(p, self) {
			if message, broken := e.run(p, vars); broken {
				e.found = append(e.found, violation{slices.Clone(path), nearest, parts, message})
				break
			}
		}
	}
}

// activations are the values of self and oldSelf that a rule is evaluated with.
func (e *evaluation) activations(p program, self ref.Val) []map[string]any {
	switch {
	case !p.usesOld:
		return []map[string]any{{"self": self}}
	case !p.optional:
		return []map[string]any{{"self": self, "oldSelf": self}}
	case e.of.Unchanged:
		return []map[string]any{{"self": self, "oldSelf": types.OptionalOf(self)}, {"self": self, "oldSelf": types.OptionalNone}}
	}
	return []map[string]any{{"self": self, "oldSelf": types.OptionalNone}}
}

// run evaluates a rule. The message is the words of its author, or says why it
// cannot be evaluated.
func (e *evaluation) run(p program, vars map[string]any) (message string, broken bool) {
	result, details, err := p.Eval(vars)
	if cost := details.ActualCost(); cost != nil {
		e.budget -= min(*cost, e.budget)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("cannot be validated: %v, in the rule %q", err, p.text), true
	case result == types.True:
		return "", false
	}
	text := p.text
	if p.message != nil {
		if said, _, err := p.message.Eval(vars); err == nil {
			if s := strings.TrimSpace(fmt.Sprint(said.Value())); s != "" && !strings.Contains(s, "\n") {
				text = s
			}
		}
	}
	return "breaks a validation rule: " + text, true
}

// parts are what the rule reads of a value.
func (p program) parts(n *yamldoc.Node) []*yamldoc.Node {
	if p.reads == nil || n.Kind != yamldoc.Map {
		return []*yamldoc.Node{n}
	}
	out := []*yamldoc.Node{}
	for i := range n.Fields() {
		name := n.Fields()[i].Name
		if escaped, _ := kube.Escape(name); p.reads[name] || p.reads[escaped] {
			out = append(out, n.Fields()[i].Value)
		}
	}
	return out
}

// unknown reports whether something in a value is not known.
func (e *evaluation) unknown(n *yamldoc.Node) bool {
	found := false
	n.Walk(func(_ yamldoc.Path, n *yamldoc.Node) bool {
		found = found || n.Kind != yamldoc.Map && n.Kind != yamldoc.List && e.of.Open(n)
		return !found
	})
	return found
}

// convert returns what expressions see of a value, nil if that is not certain
// (k8s.io/apiserver/pkg/cel/common, UnstructuredToVal).
func (e *evaluation) convert(s, n *yamldoc.Node, resource bool) ref.Val {
	key := [2]*yamldoc.Node{s, n}
	if v, ok := e.known[key]; ok {
		return v
	}
	v := e.converted(s, n, resource)
	e.known[key] = v
	return v
}

func (e *evaluation) converted(s, n *yamldoc.Node, resource bool) ref.Val {
	if n.Kind == yamldoc.Null {
		if s.Get("nullable").Bool() {
			return types.NullValue
		}
		return nil
	}
	if s.Get("x-kubernetes-int-or-string").Bool() {
		if n.Kind != yamldoc.Int && n.Kind != yamldoc.String {
			return types.NewErr("want an integer or a string, got %s", n.Kind.Noun())
		}
		return scalar(n, n.Kind)
	}
	switch typ := s.Get("type").Str(); {
	case typ == "object" && n.Kind == yamldoc.Map:
		return e.convertObject(s, n, resource)
	case typ == "array" && n.Kind == yamldoc.List:
		list := make([]ref.Val, len(n.List()))
		for i, item := range n.List() {
			if list[i] = e.convert(s.Get("items"), item, false); list[i] == nil {
				return nil
			}
		}
		return types.DefaultTypeAdapter.NativeToValue(list)
	case typ == "string" && n.Kind == yamldoc.String:
		return formatted(s.Get("format").Str(), n.Text())
	case typ == "number" && (n.Kind == yamldoc.Int || n.Kind == yamldoc.Float):
		return scalar(n, yamldoc.Float)
	case typ == "integer":
		return scalar(n, yamldoc.Int)
	case typ == "boolean":
		return scalar(n, yamldoc.Bool)
	}
	return nil
}

// scalar converts to a type.
func scalar(n *yamldoc.Node, to yamldoc.Kind) ref.Val {
	switch v := n.Value().(type) {
	case string:
		if to == yamldoc.String {
			return types.String(v)
		}
	case bool:
		if to == yamldoc.Bool {
			return types.Bool(v)
		}
	case float64:
		if to == yamldoc.Float {
			return types.Double(v)
		}
		if i, ok := n.Int(); ok && to == yamldoc.Int {
			return types.Int(i)
		}
	}
	return nil
}

// formatted is a text, or what its format makes of it.
func formatted(format, text string) ref.Val {
	switch format {
	case "duration":
		if d, err := time.ParseDuration(text); err == nil {
			return types.Duration{Duration: d}
		}
		return nil
	case "date":
		if t, err := time.Parse(time.DateOnly, text); err == nil {
			return types.Timestamp{Time: t}
		}
		return nil
	case "date-time":
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return types.Timestamp{Time: t}
		}
		return nil
	case "byte":
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return types.Bytes(b)
		}
		return nil
	}
	return types.String(text)
}

func (e *evaluation) convertObject(s, n *yamldoc.Node, resource bool) ref.Val {
	out := map[string]ref.Val{}
	named := s.Get("properties").Is(yamldoc.Map) || resource
	sure := true
	e.fields(s, n, func(name string, of, v *yamldoc.Node) {
		escaped, ok := kube.Escape(name)
		if named && (!ok || e.types.below(of) == nil || resource && ofAll(name)) {
			return // expressions do not see it
		}
		out[name] = e.convert(of, v, of.Get("x-kubernetes-embedded-resource").Bool())
		sure = sure && out[name] != nil
		if named && escaped != name {
			out[escaped] = out[name] // keywords have both names
		}
	})
	if resource {
		texts(out, n, "apiVersion", "kind")
		if t := s.Get("properties", "metadata"); t.Get("properties", "name") != nil &&
			n.Get("metadata").Is(yamldoc.Map) {
			out["metadata"] = e.convert(t, n.Get("metadata"), false)
			sure = sure && out["metadata"] != nil
		} else {
			metadata := map[string]ref.Val{}
			texts(metadata, n.Get("metadata"), "name", "generateName")
			out["metadata"] = types.DefaultTypeAdapter.NativeToValue(metadata)
		}
	}
	if !sure {
		return nil
	}
	return types.DefaultTypeAdapter.NativeToValue(out)
}

// texts adds fields that are texts.
func texts(to map[string]ref.Val, n *yamldoc.Node, names ...string) {
	for _, name := range names {
		if v := n.Get(name); v.Is(yamldoc.String) {
			to[name] = types.String(v.Text())
		}
	}
}
