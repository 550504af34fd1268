package cel

import (
	"cmp"
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

// fault is what the API server refuses in a rule.
type fault struct {
	// Path leads to the schema that has the rule: "spec.replicas"; it is empty for
	// the root.
	Path string
	// Node is the text at fault.
	Node *yamldoc.Node
	// Message says what is wrong, as a sentence without its end.
	Message string
}

// Keyword is that of rules in a schema.
const Keyword = "x-kubernetes-validations"

// Check judges the rules in a schema of a CustomResourceDefinition, or of a
// variable of a ClusterClass (apiextensions-apiserver
// pkg/apis/apiextensions/validation, ValidateCustomResourceDefinitionOpenAPISchema;
// cluster-api internal/topology/variables, validateSchema). Whether the schema is
// structural is not judged; where it is not, expressions are skipped. Name is
// what paths begin with; it may be empty.
func Check(schema *yamldoc.Node, name string) []fault {
	c := check{types: map[*yamldoc.Node]*kube.DeclType{}, name: name}
	c.schema(schema, place{root: true, limited: true, most: 1})
	if c.total > mostTotalCost && c.highest <= mostCost { // otherwise one rule is to blame
		c.add("", c.expensive, "all rules together cost %s the limit of the API server; limit lists, maps and strings with maxItems, maxProperties and maxLength", factor(c.total, mostTotalCost))
	}
	return c.faults
}

type check struct {
	types map[*yamldoc.Node]*kube.DeclType
	// name is that of the root, and steps lead from there to the schema that is
	// looked at.
	name   string
	steps  []step
	faults []fault
	// total is the cost of all rules, and expensive the most expensive one.
	total, highest uint64
	expensive      *yamldoc.Node
}

func (c *check) add(path string, n *yamldoc.Node, format string, args ...any) {
	c.faults = append(c.faults, fault{path, n, fmt.Sprintf(format, args...)})
}

// step leads to a schema from the one that it is in: a separator and a name.
type step struct{ separator, name string }

// path leads to the schema that is looked at.
func (c *check) path() string {
	path := c.name
	for _, s := range c.steps {
		path = strings.TrimPrefix(path+s.separator+s.name, ".")
	}
	return path
}

// place is what matters of where a schema is.
type place struct {
	root bool
	// most is how many values there may be, if something limits it.
	most    uint64
	limited bool
	// unrelated: the old value of a value is not known.
	unrelated bool
}

// keywords are those of a schema that matter here.
type keywords struct {
	typ, items, properties, extra, maxItems, maxProperties, listType, mapType *yamldoc.Node
	rules                                                                     []*yamldoc.Node
}

func keywordsOf(s *yamldoc.Node) (k keywords) {
	for i := range s.Fields() {
		value := s.Fields()[i].Value
		switch s.Fields()[i].Name {
		case "type":
			k.typ = value
		case "items":
			k.items = value
		case "properties":
			k.properties = value
		case "additionalProperties":
			k.extra = value
		case "maxItems":
			k.maxItems = value
		case "maxProperties":
			k.maxProperties = value
		case "x-kubernetes-list-type":
			k.listType = value
		case "x-kubernetes-map-type":
			k.mapType = value
		case Keyword:
			k.rules = value.List()
		}
	}
	return k
}

// schema judges the rules of a schema and of those in it. It reports whether all
// of them have a sound form, without which expressions are not looked at.
func (c *check) schema(s *yamldoc.Node, at place) (sound bool) {
	if !s.Is(yamldoc.Map) {
		return true
	}
	sound = true
	k := keywordsOf(s)
	in := place{unrelated: at.unrelated}
	if at.limited {
		factor, limited := int64(1), true
		switch typ := k.typ.Str(); {
		case typ == "array":
			factor, limited = k.maxItems.Int()
		case typ == "object" && k.extra != nil:
			factor, limited = k.maxProperties.Int()
		}
		if limited {
			in.most, in.limited = product(at.most, uint64(max(factor, 0))), true
		}
	}
	sound = c.inner(k.extra, step{".*", ""}, in) && sound
	of := in
	of.unrelated = of.unrelated || k.mapType.Str() == "atomic"
	for f := range k.properties.Entries() {
		sound = c.inner(f.Value, step{".", f.Name}, of) && sound
	}
	in.unrelated = in.unrelated || k.listType.Str() != "map"
	sound = c.inner(k.items, step{"[]", ""}, in) && sound
	for _, r := range k.rules {
		sound = c.form(s, r) && sound
	}
	if sound && len(k.rules) > 0 {
		c.remembered(s, k.rules, at)
	}
	return sound
}

// inner judges a schema in the one that is looked at.
func (c *check) inner(s *yamldoc.Node, to step, at place) (sound bool) {
	c.steps = append(c.steps, to)
	sound = c.schema(s, at)
	c.steps = c.steps[:len(c.steps)-1]
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
	if at.limited {
		id.most = at.most + 1
	}
	var h maphash.Hash
	h.SetSeed(seed)
	digest(&h, s)
	id.content = h.Sum64()
	if known, ok := good.Load(id); ok {
		c.observe(cmp.Or(s.Get(Keyword), s), known.(uint64))
		return
	}
	before, faults := c.total, len(c.faults)
	c.rules(s, rules, at, id)
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
func (c *check) form(s, r *yamldoc.Node) bool {
	before := len(c.faults)
	rule, message, expression := r.Get("rule"), r.Get("message"), r.Get("messageExpression")
	path, reason := r.Get("fieldPath"), r.Get("reason")
	blank := func(n *yamldoc.Node) bool { return n.Str() != "" && strings.TrimSpace(n.Text()) == "" }
	broken := func(text string) bool { return strings.ContainsAny(text, "\r\n") }
	on := c.named()
	text := strings.TrimSpace(message.Str())
	switch {
	case strings.TrimSpace(rule.Str()) == "" && (rule == nil || rule.Is(yamldoc.String)):
		c.add(c.path(), cmp.Or(rule, r), "a rule of %s is empty", on)
	case blank(message):
		c.add(c.path(), message, "a message of %s is blank", on)
	case broken(text):
		c.add(c.path(), message, "a message of %s has line breaks", on)
	case broken(strings.TrimSpace(rule.Str())) && text == "":
		c.add(c.path(), rule, "a rule of %s has line breaks but no message", on)
	}
	if blank(expression) {
		c.add(c.path(), expression, "a messageExpression of %s is blank", on)
	}
	if reason.Is(yamldoc.String) && reason.Text() != "" && !slices.Contains(reasons[:], reason.Text()) {
		c.add(c.path(), reason,
			"the reason of a rule of %s is %q; it must be one of %s", on, reason.Text(), strings.Join(reasons[:], ", "))
	}
	if blank(path) || broken(path.Str()) {
		c.add(c.path(), path, "the fieldPath of a rule of %s is blank or has line breaks", on)
	} else if path.Str() != "" && At(s, path.Text()) == nil {
		c.add(c.path(), path, "the fieldPath %q does not name a field of %s", path.Text(), on)
	}
	return len(c.faults) == before
}

// named is the path in messages.
func (c *check) named() string {
	if path := c.path(); path != "" {
		return path
	}
	return "the schema"
}

// rules compiles the rules of a schema.
func (c *check) rules(s *yamldoc.Node, rules []*yamldoc.Node, at place, id identity) {
	scope := c.scope(s, id)
	if scope == nil {
		c.add(c.path(), cmp.Or(s.Get(Keyword), s), "%s has rules but a type that expressions cannot read", c.named())
		return
	}
	most := uint64(mostBytes / (scope.size + 1))
	if at.limited {
		most = at.most
	}
	for _, r := range rules {
		optional := r.Get("optionalOldSelf")
		text := r.Get("rule").Str()
		compiled, err := scope.compile(text, cel.BoolType, optional.Bool())
		cost := product(compiled.cost, most)
		c.observe(r.Get("rule"), cost)
		switch {
		case err != nil:
			c.add(c.path(), r.Get("rule"), "a rule of %s does not compile: %v", c.named(), err)
		case cost > mostCost:
			c.add(c.path(), r.Get("rule"), "a rule of %s costs %s the limit of the API server; limit lists, maps and strings with maxItems, maxProperties and maxLength", c.named(), factor(cost, mostCost))
		case compiled.usesOld && at.unrelated:
			c.add(c.path(), r.Get("rule"),
				"a rule of %s uses oldSelf, which does not exist in an atomic list or map", c.named())
		case !compiled.usesOld && optional.Given() != nil:
			c.add(c.path(), optional, "a rule of %s has optionalOldSelf but does not use oldSelf", c.named())
		}
		expression := r.Get("messageExpression")
		if err != nil || expression.Str() == "" {
			continue
		}
		message, err := scope.compile(expression.Text(), cel.StringType, optional.Bool())
		c.observe(expression, message.cost)
		if err != nil {
			c.add(c.path(), expression, "a messageExpression of %s does not compile: %v", c.named(), err)
		} else if message.cost > mostCost {
			c.add(c.path(), expression, "a messageExpression of %s costs %s the limit of the API server",
				c.named(), factor(message.cost, mostCost))
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
	// size is that of the smallest value.
	size int64

	mu sync.Mutex
	// env are the environments without and with an optional oldSelf.
	env [2]*cel.Env
	// known are the expressions that were compiled.
	known map[expression]result
}

// expression is a text that must give a type, with an optional oldSelf or without.
type expression struct {
	text     string
	want     *cel.Type
	optional bool
}

type result struct {
	compiled
	err error
}

// scopes are those of schemas, by their content: CRDs repeat each other, and
// what is compiled to judge the rules is run for the values of the same schema.
var scopes sync.Map // *scope by identity, without how many values there are

// scope returns the scope of a schema; nil if expressions cannot see its values.
func (c *check) scope(s *yamldoc.Node, id identity) *scope {
	key := identity{content: id.content, resource: id.resource}
	if known, ok := scopes.Load(key); ok {
		return known.(*scope)
	}
	t := c.declare(s, id.resource)
	if t == nil {
		return nil
	}
	known, _ := scopes.LoadOrStore(key, newScope(t))
	return known.(*scope)
}

func newScope(t *kube.DeclType) *scope {
	s := &scope{typ: t.MaybeAssignTypeName("selfType"), size: t.MinSerializedSize, known: map[expression]result{}}
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
func (s *scope) compile(text string, want *cel.Type, optional bool) (compiled, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.known[expression{text, want, optional}]
	if !ok {
		text = strings.Clone(text) // which would keep the memory of its document
		known.compiled, known.err = s.compileAnew(text, want, optional)
		s.known[expression{text, want, optional}] = known
	}
	return known.compiled, known.err
}

func (s *scope) compileAnew(text string, want *cel.Type, optional bool) (out compiled, err error) {
	if out.env, err = s.environment(optional); err != nil {
		return out, err
	}
	if out.ast, err = s.check(out.env, text, optional); err != nil {
		return out, err
	}
	if out.ast.OutputType() != want {
		return out, fmt.Errorf("it returns %s, but must return %s", out.ast.OutputType(), want)
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

// At returns the schema that a path such as .a['b'] leads to; nil if there is none
// (apiextensions-apiserver pkg/apiserver/schema/cel, ValidFieldPath).
func At(s *yamldoc.Node, path string) *yamldoc.Node {
	for path != "" {
		var name string
		switch {
		case strings.HasPrefix(path, "['"):
			end := strings.Index(path[2:], "']")
			if end < 0 {
				return nil
			}
			name, path = strings.NewReplacer(`\\`, `\\`, `\'`, `'`).Replace(path[2:2+end]), path[2+end+2:]
		case path[0] == '.':
			end := strings.IndexAny(path[1:], ".[]")
			if end < 0 {
				end = len(path) - 1
			}
			name, path = path[1:1+end], path[1+end:]
		default:
			return nil
		}
		if name == "" {
			return nil
		}
		if properties := s.Get("properties"); properties.Is(yamldoc.Map) && len(properties.Fields()) > 0 {
			s = properties.Get(name)
		} else {
			s = s.Get("additionalProperties")
		}
		if s == nil {
			return nil
		}
	}
	return s
}
