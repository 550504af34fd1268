package cel

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	kube "k8s.io/apiserver/pkg/cel"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Fault is what the API server refuses in a rule.
type Fault struct {
	// Path leads to the schema that has the rule: "spec.replicas"; it is empty for
	// the root.
	Path string
	// Node is the text at fault.
	Node *yamldoc.Node
	// Message says what is wrong, as a sentence without its end.
	Message string
}

// Has reports whether there are rules in a schema.
func Has(schema *yamldoc.Node) bool {
	if schema == nil {
		return false
	}
	if len(schema.Get(Keyword).List()) > 0 {
		return true
	}
	for i := range schema.Fields() {
		if Has(schema.Fields()[i].Value) {
			return true
		}
	}
	return slices.ContainsFunc(schema.List(), Has)
}

// Keyword is that of rules in a schema.
const Keyword = "x-kubernetes-validations"

// Check judges the rules in a schema of a CustomResourceDefinition, or of a
// variable of a ClusterClass (apiextensions-apiserver
// pkg/apis/apiextensions/validation, ValidateCustomResourceDefinitionOpenAPISchema;
// cluster-api internal/topology/variables, validateSchema). Whether the schema is
// structural is not judged; where it is not, expressions are passed over. Name is
// what paths begin with; it may be empty.
func Check(schema *yamldoc.Node, name string) []Fault {
	c := check{types: map[*yamldoc.Node]*kube.DeclType{}}
	one := uint64(1)
	c.schema(schema, place{path: name, root: true, most: &one})
	if c.total > mostTotalCost && c.highest <= mostCost { // otherwise one rule is to blame
		c.add("", c.expensive, "all rules together cost %s the limit of the API server; limit lists, maps and texts with maxItems, maxProperties and maxLength", factor(c.total, mostTotalCost))
	}
	return c.faults
}

type check struct {
	types  map[*yamldoc.Node]*kube.DeclType
	faults []Fault
	// total is the cost of all rules, and expensive the most expensive one.
	total, highest uint64
	expensive      *yamldoc.Node
}

func (c *check) add(path string, n *yamldoc.Node, format string, args ...any) {
	c.faults = append(c.faults, Fault{path, n, fmt.Sprintf(format, args...)})
}

// place is where a schema is.
type place struct {
	path string
	root bool
	// most is how many values there may be; nil if nothing limits it.
	most *uint64
	// unrelated: the old value of a value is not known.
	unrelated bool
}

// schema judges the rules of a schema and of those in it. It reports whether all
// of them have a sound form, without which expressions are not looked at.
func (c *check) schema(s *yamldoc.Node, at place) (sound bool) {
	if !s.Is(yamldoc.Map) {
		return true
	}
	sound = true
	in := at
	in.root = false
	in.most = nil
	extra := s.Get("additionalProperties")
	if at.most != nil {
		factor, limited := int64(1), true
		switch typ := s.Get("type").Str(); {
		case typ == "array":
			factor, limited = s.Get("maxItems").Int()
		case typ == "object" && extra != nil:
			factor, limited = s.Get("maxProperties").Int()
		}
		if limited {
			most := product(*at.most, uint64(max(factor, 0)))
			in.most = &most
		}
	}
	below := func(n *yamldoc.Node, name string, unrelated bool) {
		in := in
		in.path = strings.TrimPrefix(at.path+name, ".")
		in.unrelated = at.unrelated || unrelated
		sound = c.schema(n, in) && sound
	}
	below(extra, ".*", false)
	if properties := s.Get("properties"); properties.Is(yamldoc.Map) {
		for i := range properties.Fields() {
			if f := &properties.Fields()[i]; properties.Field(f.Name) == f {
				below(f.Value, "."+f.Name, s.Get("x-kubernetes-map-type").Str() == "atomic")
			}
		}
	}
	below(s.Get("items"), "[]", s.Get("x-kubernetes-list-type").Str() != "map")
	rules := s.Get(Keyword).List()
	for _, r := range rules {
		sound = c.form(s, r, at) && sound
	}
	if sound && len(rules) > 0 {
		c.remembered(s, rules, at)
	}
	return sound
}

// good are the costs of schemas whose rules are in order, by their content. CRDs
// repeat each other, above all in their versions.
var good sync.Map // uint64 by identity

type identity struct {
	content             uint64
	resource, unrelated bool
	most                uint64
}

// remembered judges the rules of a schema unless those of an equal one were in order.
func (c *check) remembered(s *yamldoc.Node, rules []*yamldoc.Node, at place) {
	id := identity{resource: at.root || s.Get("x-kubernetes-embedded-resource").Bool(), unrelated: at.unrelated}
	if at.most != nil {
		id.most = *at.most + 1
	}
	var h maphash.Hash
	h.SetSeed(seed)
	digest(&h, s)
	id.content = h.Sum64()
	if known, ok := good.Load(id); ok {
		c.observe(first(s.Get(Keyword), s), known.(uint64))
		return
	}
	before, faults := c.total, len(c.faults)
	c.rules(s, rules, at)
	if len(c.faults) == faults {
		good.Store(id, c.total-before)
	}
}

var seed = maphash.MakeSeed()

// digest hashes a schema but for its descriptions.
func digest(h *maphash.Hash, n *yamldoc.Node) {
	_ = h.WriteByte(byte(n.Kind))
	switch n.Kind {
	case yamldoc.Map:
		for i := range n.Fields() {
			if f := &n.Fields()[i]; f.Name != "description" || f.Value.Kind != yamldoc.String {
				_, _ = h.WriteString(f.Name)
				_ = h.WriteByte(0)
				digest(h, f.Value)
			}
		}
	case yamldoc.List:
		for _, item := range n.List() {
			digest(h, item)
		}
	default:
		_, _ = h.WriteString(n.Text())
	}
	_ = h.WriteByte(1)
}

func product(a, b uint64) uint64 {
	if b != 0 && a > math.MaxUint64/b {
		return math.MaxUint64
	}
	return a * b
}

// reasons are the reasons that a rule may give.
var reasons = [...]string{"FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"}

// form judges what stands around the expressions of a rule.
func (c *check) form(s, r *yamldoc.Node, at place) bool {
	before := len(c.faults)
	rule, message, expression := r.Get("rule"), r.Get("message"), r.Get("messageExpression")
	path, reason := r.Get("fieldPath"), r.Get("reason")
	blank := func(n *yamldoc.Node) bool { return n.Str() != "" && strings.TrimSpace(n.Text()) == "" }
	broken := func(text string) bool { return strings.ContainsAny(text, "\r\n") }
	on := at.named()
	text := strings.TrimSpace(message.Str())
	switch {
	case strings.TrimSpace(rule.Str()) == "" && (rule == nil || rule.Is(yamldoc.String)):
		c.add(at.path, first(rule, r), "a rule of %s is empty", on)
	case blank(message):
		c.add(at.path, message, "a message of %s is blank", on)
	case broken(text):
		c.add(at.path, message, "a message of %s has line breaks", on)
	case broken(strings.TrimSpace(rule.Str())) && text == "":
		c.add(at.path, rule, "a rule of %s has line breaks but no message", on)
	}
	if blank(expression) {
		c.add(at.path, expression, "a messageExpression of %s is blank", on)
	}
	if reason.Is(yamldoc.String) && reason.Text() != "" && !slices.Contains(reasons[:], reason.Text()) {
		c.add(at.path, reason, "the reason of a rule of %s is %q; it must be one of %s", on, reason.Text(), strings.Join(reasons[:], ", "))
	}
	if blank(path) || broken(path.Str()) {
		c.add(at.path, path, "the fieldPath of a rule of %s is blank or has line breaks", on)
	} else if path.Str() != "" && !leads(s, path.Text()) {
		c.add(at.path, path, "the fieldPath %q does not lead to a field of %s", path.Text(), on)
	}
	return len(c.faults) == before
}

func (p place) named() string {
	if p.path == "" {
		return "the schema"
	}
	return p.path
}

func first(nodes ...*yamldoc.Node) *yamldoc.Node {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

// rules compiles the rules of a schema.
func (c *check) rules(s *yamldoc.Node, rules []*yamldoc.Node, at place) {
	t := c.declare(s, at.root || s.Get("x-kubernetes-embedded-resource").Bool())
	if t == nil {
		c.add(at.path, first(s.Get(Keyword), s), "%s has rules but a type that expressions cannot read", at.named())
		return
	}
	most := uint64(mostBytes / (t.MinSerializedSize + 1))
	if at.most != nil {
		most = *at.most
	}
	scope := newScope(t)
	for _, r := range rules {
		optional := r.Get("optionalOldSelf")
		text := r.Get("rule").Str()
		compiled, err := scope.compile(text, cel.BoolType, optional.Bool())
		cost := product(compiled.cost, most)
		c.observe(r.Get("rule"), cost)
		switch {
		case err != nil:
			c.add(at.path, r.Get("rule"), "a rule of %s does not compile: %v", at.named(), err)
		case cost > mostCost:
			c.add(at.path, r.Get("rule"), "a rule of %s costs %s the limit of the API server; limit lists, maps and texts with maxItems, maxProperties and maxLength", at.named(), factor(cost, mostCost))
		case compiled.usesOld && at.unrelated:
			c.add(at.path, r.Get("rule"), "a rule of %s uses oldSelf, which does not exist in an atomic list or map", at.named())
		case !compiled.usesOld && optional != nil && optional.Kind != yamldoc.Null:
			c.add(at.path, optional, "a rule of %s has optionalOldSelf but does not use oldSelf", at.named())
		}
		expression := r.Get("messageExpression")
		if err != nil || expression.Str() == "" {
			continue
		}
		message, err := scope.compile(expression.Text(), cel.StringType, optional.Bool())
		c.observe(expression, message.cost)
		if err != nil {
			c.add(at.path, expression, "a messageExpression of %s does not compile: %v", at.named(), err)
		} else if message.cost > mostCost {
			c.add(at.path, expression, "a messageExpression of %s costs %s the limit of the API server", at.named(), factor(message.cost, mostCost))
		}
	}
}

func (c *check) observe(n *yamldoc.Node, cost uint64) {
	if cost > math.MaxUint64-c.total {
		c.total = math.MaxUint64
	} else {
		c.total += cost
	}
	if cost > c.highest {
		c.highest, c.expensive = cost, n
	}
}

// factor writes how often a limit is exceeded.
func factor(cost, limit uint64) string {
	f := float64(cost) / float64(limit)
	switch {
	case f > 100:
		return "more than 100 times"
	case f < 1.5:
		return fmt.Sprintf("%.2f times", f)
	}
	return fmt.Sprintf("%.1f times", f)
}

// scope compiles expressions about the values of one type.
type scope struct {
	typ *kube.DeclType
	// simple is the name of a type without fields, which is all that expressions know
	// of it; empty for others.
	simple string
	// env are the environments without and with an optional oldSelf.
	env [2]*cel.Env
}

func newScope(t *kube.DeclType) *scope {
	s := &scope{typ: t.MaybeAssignTypeName("selfType")}
	if !hasFields(s.typ) {
		s.simple = s.typ.CelType().String()
	}
	return s
}

func hasFields(t *kube.DeclType) bool {
	return t.IsObject() || t.KeyType != nil && hasFields(t.KeyType) || t.ElemType != nil && hasFields(t.ElemType)
}

// simpleKey is a simple type, with an expression or without.
type simpleKey struct {
	typ      string
	optional bool
	text     string
}

// simpleEnvironments and simpleExpressions are those of simple types. Many fields of
// CRDs have the same, such as texts that must not change.
var simpleEnvironments, simpleExpressions sync.Map // *cel.Env and *cel.Ast by simpleKey

// compiled is an expression that compiles.
type compiled struct {
	env     *cel.Env
	ast     *cel.Ast
	cost    uint64
	usesOld bool
	// foreign: it calls functions of Kubernetes that are only declared.
	foreign bool
}

func (s *scope) environment(optional bool) (*cel.Env, error) {
	i := 0
	if optional {
		i = 1
	}
	if s.env[i] != nil {
		return s.env[i], nil
	}
	key := simpleKey{typ: s.simple, optional: optional}
	if known, ok := simpleEnvironments.Load(key); ok {
		s.env[i] = known.(*cel.Env)
		return s.env[i], nil
	}
	base, err := environment()
	if err != nil {
		return nil, err
	}
	old := s.typ.CelType()
	if optional {
		old = types.NewOptionalType(old)
	}
	provider := kube.NewDeclTypeProvider(s.typ)
	provider.SetRecognizeKeywordAsFieldName(true)
	options, err := provider.EnvOptions(base.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	if s.env[i], err = base.Extend(append(options, cel.Variable("self", s.typ.CelType()), cel.Variable("oldSelf", old))...); err == nil && s.simple != "" {
		simpleEnvironments.Store(key, s.env[i])
	}
	return s.env[i], err
}

// check parses an expression and finds its types.
func (s *scope) check(env *cel.Env, text string, optional bool) (*cel.Ast, error) {
	key := simpleKey{s.simple, optional, text}
	if known, ok := simpleExpressions.Load(key); ok {
		return known.(*cel.Ast), nil
	}
	ast, issues := env.Compile(text)
	if issues != nil && issues.Err() != nil {
		return ast, summary(issues)
	}
	if s.simple != "" {
		simpleExpressions.Store(key, ast)
	}
	return ast, nil
}

// compile returns an expression that must have a type. The error says why the API
// server refuses it.
func (s *scope) compile(text string, want *cel.Type, optional bool) (out compiled, err error) {
	if out.env, err = s.environment(optional); err != nil {
		return out, err
	}
	if out.ast, err = s.check(out.env, text, optional); err != nil {
		return out, err
	}
	if out.ast.OutputType() != want {
		return out, fmt.Errorf("it gives %s, but must give %s", out.ast.OutputType(), want)
	}
	for _, ref := range out.ast.NativeRep().ReferenceMap() {
		out.usesOld = out.usesOld || ref.Name == "oldSelf"
		out.foreign = out.foreign || slices.ContainsFunc(ref.OverloadIDs, func(id string) bool { return declared()[id] })
	}
	estimate, err := out.env.EstimateCost(out.ast, estimator{s.typ})
	out.cost = estimate.Max
	return out, err
}

// summary is the first problem of an expression, with its place in it.
func summary(issues *cel.Issues) error {
	if all := issues.Errors(); len(all) > 0 {
		e := all[0]
		message := strings.TrimSpace(strings.ReplaceAll(e.Message, "\n", " "))
		if e.Location.Line() > 1 {
			return fmt.Errorf("line %d, column %d: %s", e.Location.Line(), e.Location.Column()+1, message)
		}
		return fmt.Errorf("column %d: %s", e.Location.Column()+1, message)
	}
	return issues.Err()
}

// leads reports whether a path such as .a['b'] leads to a field of a schema
// (apiextensions-apiserver pkg/apiserver/schema/cel, ValidFieldPath).
func leads(s *yamldoc.Node, path string) bool {
	for path != "" {
		var name string
		switch {
		case strings.HasPrefix(path, "['"):
			end := strings.Index(path[2:], "']")
			if end < 0 {
				return false
			}
			name, path = strings.NewReplacer(`\\`, `\\`, `\'`, `'`).Replace(path[2:2+end]), path[2+end+2:]
		case path[0] == '.':
			end := strings.IndexAny(path[1:], ".[]")
			if end < 0 {
				end = len(path) - 1
			}
			name, path = path[1:1+end], path[1+end:]
		default:
			return false
		}
		if name == "" {
			return false
		}
		if properties := s.Get("properties"); properties.Is(yamldoc.Map) && len(properties.Fields()) > 0 {
			s = properties.Get(name)
		} else {
			s = s.Get("additionalProperties")
		}
		if s == nil {
			return false
		}
	}
	return true
}
