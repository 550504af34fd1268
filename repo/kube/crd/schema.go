package crd

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Fault says in which way a value differs from its schema.
type Fault int

const (
	// Unknown: the schema does not describe the field, so the API server drops
	// it, and kubectl refuses the object.
	Unknown Fault = iota
	// Type: another type is expected, or null is not allowed.
	Type
	// Missing: a required field is not there.
	Missing
	// Value: everything else, from lengths to patterns.
	Value
)

// Violation is a value that a schema does not allow.
type Violation struct {
	Fault Fault
	// Path leads to the value: "spec.patches[0].name".
	Path string
	// Node is the value, the key of an Unknown field, or the mapping that lacks a
	// field.
	Node *yamldoc.Node
	// Keyword is that of the schema which the value violates: "required",
	// "maxLength"; empty if it is none, as for an Unknown field.
	Keyword string
	// Fields are the one that is Missing or Unknown, or the keys in which an entry
	// of a list repeats another (x-kubernetes-list-type).
	Fields []string
	// In is the mapping that has an Unknown field, and Known are the fields that it may
	// have; nil if there are none.
	In, Known *yamldoc.Node
	// Reads are the parts of the value that matter: nil means all of it, empty that only
	// its form does.
	Reads []*yamldoc.Node
	// Message says what is wrong, in words that follow the path.
	Message string
}

// Checker compares values with schemas. The zero value is ready to use, and safe for
// concurrent use.
type Checker struct {
	// Filled says that fields get the defaults of their schema before they are
	// looked at, if they are missing or are null and may not be
	// (apiextensions-apiserver pkg/apiserver/schema/defaulting, Default).
	Filled bool
	// Received says that the API server looks at the values: it also drops all
	// other nulls that may not be (PruneNonNullableNullsWithoutDefaults).
	Received bool
}

// Check returns what is wrong with a value, in the order of its text. With strict
// it also reports the fields that the schema does not know. A schema that is
// itself wrong allows everything in the place where it is wrong. Path is where
// the value stands, if the paths of violations shall begin with it.
func (c *Checker) Check(s Schema, value *yamldoc.Node, strict bool, path ...string) []Violation {
	k := check{c: c, strict: strict, path: path}
	k.value(s.Node, s.Node, value)
	return k.found
}

// CheckObject does the same with a whole object, strictly. It may have apiVersion,
// kind and metadata, whatever the schema says.
func (c *Checker) CheckObject(s Schema, root *yamldoc.Node) []Violation {
	k := check{c: c, strict: true, object: s.Node}
	k.value(s.Node, s.Node, root)
	return k.found
}

// check is one walk down a value.
type check struct {
	c      *Checker
	strict bool
	// object is the schema of a whole object; nil if the walk begins elsewhere.
	object *yamldoc.Node
	path   []string
	found  []Violation
}

func (k *check) fail(f Fault, keyword string, n *yamldoc.Node, format string, args ...any) {
	k.found = append(k.found, Violation{Fault: f, Path: Join(k.path), Node: n, Keyword: keyword, Message: fmt.Sprintf(format, args...)})
}

// about adds the fields to the last violation.
func (k *check) about(fields ...string) { k.found[len(k.found)-1].Fields = fields }

// reads adds the parts that matter to the last violation, of which some may be nil.
func (k *check) reads(parts ...*yamldoc.Node) {
	k.found[len(k.found)-1].Reads = slices.DeleteFunc(append([]*yamldoc.Node{}, parts...), func(n *yamldoc.Node) bool { return n == nil })
}

// Join writes a path for messages. Elements of lists stand in it as "[0]".
func Join(path []string) string {
	var b strings.Builder
	for _, p := range path {
		if b.Len() > 0 && !strings.HasPrefix(p, "[") {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

// valid compares with one more schema, without keeping what is wrong.
func (k *check) valid(base, s, n *yamldoc.Node) bool {
	other := check{c: k.c}
	other.value(base, s, n)
	return len(other.found) == 0
}

// value compares with a schema. Base is what describes the form of values here:
// the schema itself, or the one around it if it is an alternative (below allOf,
// anyOf, oneOf and not). Base alone says which fields there are, which nulls are
// dropped and what is filled in.
func (k *check) value(base, s, n *yamldoc.Node) {
	if n == nil || !s.Is(yamldoc.Map) {
		return
	}
	types, format := k.typesOf(s)
	if !k.typed(s, types, format, n) {
		return
	}
	for i := range s.Fields() {
		if n.Kind == yamldoc.Null && s.Fields()[i].Name != "enum" {
			continue // nothing else looks at null
		}
		k.keyword(base, s, &s.Fields()[i], n, types)
	}
	if n.Kind == yamldoc.Map {
		k.fields(base, s, n)
	}
}

// typesOf returns the types that a schema allows; none is any.
func (k *check) typesOf(s *yamldoc.Node) (types []string, format string) {
	var typ, formatted, mixed *yamldoc.Node
	for i := range s.Fields() {
		switch f := &s.Fields()[i]; f.Name {
		case "type":
			typ = f.Value
		case "format":
			formatted = f.Value
		case "x-kubernetes-int-or-string":
			mixed = f.Value
		}
	}
	if mixed.Bool() {
		return intOrString, formatted.Str()
	}
	if known, ok := alone[typ.Str()]; ok {
		return known, formatted.Str()
	}
	return []string{typ.Text()}, formatted.Str()
}

// intOrString are the types of x-kubernetes-int-or-string, and alone are lists of one
// type, or of none; schemas have few others.
var (
	intOrString = []string{"integer", "string"}
	alone       = map[string][]string{
		"": nil, "null": {"null"}, "boolean": {"boolean"}, "integer": {"integer"}, "number": {"number"}, "string": {"string"}, "object": {"object"}, "array": {"array"},
	}
)

var kinds = [...]string{yamldoc.Null: "null", yamldoc.Bool: "boolean", yamldoc.Int: "integer", yamldoc.Float: "number", yamldoc.String: "string", yamldoc.Map: "object", yamldoc.List: "array"}

// typed checks the type; nothing else is looked at if it is wrong.
func (k *check) typed(s *yamldoc.Node, types []string, format string, n *yamldoc.Node) bool {
	if len(types) == 0 {
		return true
	}
	has := kinds[n.Kind]
	switch {
	case slices.Contains(types, has), n.Kind == yamldoc.Int && slices.Contains(types, "number"):
		return true
	case n.Kind == yamldoc.Null && s.Get("nullable").Bool():
		return true
	case n.Kind == yamldoc.Float && slices.Contains(types, "integer") && whole(n):
		return true
	case n.Kind == yamldoc.List && types[0] == "string" && checked(format):
		return true // a quirk of the original
	}
	k.fail(Type, "type", n, "is %s, but must be %s", article(has), article(strings.Join(types, " or ")))
	return false
}

func article(word string) string {
	switch word {
	case "null":
		return word
	case "array", "object", "integer", "integer or string":
		return "an " + word
	}
	return "a " + word
}

func number(n *yamldoc.Node) float64 {
	v, _ := n.Value().(float64)
	return v
}

// whole reports whether a number is an integer in JSON.
func whole(n *yamldoc.Node) bool {
	v := number(n)
	return v == math.Trunc(v) && !math.IsInf(v, 0)
}

func (k *check) keyword(base, s *yamldoc.Node, f *yamldoc.Field, n *yamldoc.Node, types []string) {
	arg := f.Value
	switch f.Name {
	case "enum":
		if list := arg.List(); len(list) > 0 && !slices.ContainsFunc(list, func(e *yamldoc.Node) bool { return same(n, e) }) {
			k.fail(Value, f.Name, n, "is %s, but must be one of %s", Show(n), showAll(list))
		}
	case "minLength", "maxLength":
		if n.Kind == yamldoc.String {
			k.sized(f, n, utf8.RuneCountInString(n.Text()), "character")
		}
	case "pattern":
		if n.Kind == yamldoc.String && arg.Is(yamldoc.String) {
			if re := pattern(arg.Text()); re != nil && !re.MatchString(n.Text()) {
				k.fail(Value, f.Name, n, "is %s, which does not match %s", Show(n), arg.Text())
			}
		}
	case "format":
		k.format(arg.Str(), types, n)
	case "minimum", "maximum":
		k.bound(s, f.Name, arg, n)
	case "multipleOf":
		if v := number(arg); v > 0 && isNumber(n) && math.Mod(number(n), v) != 0 {
			k.fail(Value, f.Name, n, "is %s, but must be a multiple of %s", n.Text(), arg.Text())
		}
	case "minItems", "maxItems":
		if n.Kind == yamldoc.List && k.sized(f, n, len(n.List()), "entry") {
			// In [${LIST}], there may be more entries than are seen.
			k.reads(phrase.Only(n.List(), func(n *yamldoc.Node) bool {
				return !n.Is(yamldoc.Map) && !n.Is(yamldoc.List)
			})...)
		}
	case "minProperties", "maxProperties":
		if n.Kind == yamldoc.Map && k.sized(f, n, k.size(base, n), "field") {
			k.reads()
		}
	case "uniqueItems":
		if arg.Bool() {
			k.unique(n)
		}
	case "x-kubernetes-list-type":
		k.listType(s, arg.Str(), n)
	case "items":
		for i, item := range n.List() {
			k.below("["+strconv.Itoa(i)+"]", base.Get("items"), arg, item)
		}
	case "required":
		if n.Kind == yamldoc.Map {
			for _, name := range arg.List() {
				if k.received(base, n, name.Str()) == nil {
					k.fail(Missing, f.Name, n, "lacks %s", name.Str())
					k.about(name.Str())
				}
			}
		}
	case "allOf", "anyOf", "oneOf", "not":
		k.combined(base, f.Name, arg, n)
	}
}

// sized reports a number of things that is beyond the limit of a keyword.
func (k *check) sized(keyword *yamldoc.Field, n *yamldoc.Node, size int, noun string) bool {
	limit, ok := keyword.Value.Int()
	switch {
	case !ok:
		return false
	case keyword.Name[:3] == "min" && int64(size) < limit:
		k.fail(Value, keyword.Name, n, "has %s, but must have at least %d", phrase.Count(size, noun), limit)
	case keyword.Name[:3] == "max" && int64(size) > limit:
		k.fail(Value, keyword.Name, n, "has %s, but may have at most %d", phrase.Count(size, noun), limit)
	default:
		return false
	}
	return true
}

func (k *check) below(name string, base, s, n *yamldoc.Node) {
	k.path = append(k.path, name)
	k.value(base, s, n)
	k.path = k.path[:len(k.path)-1]
}

// fields checks the fields of a mapping. Of two fields of one name the last
// counts.
func (k *check) fields(base, s, n *yamldoc.Node) {
	properties, extra := s.Get("properties"), s.Get("additionalProperties")
	open := !k.strict || s != base || s.Get("x-kubernetes-preserve-unknown-fields").Bool() ||
		extra.Bool() || extra.Is(yamldoc.Map)
	for f := range n.Entries() {
		name := f.Name
		if name == "" || name[0] == '[' {
			name = strconv.Quote(name)
		}
		p := fieldOf(properties, extra, f.Name)
		around := p
		if s != base {
			around = field(base, f.Name)
		}
		switch {
		case k.strict && k.ofObjects(s, f.Name):
			k.strict = false
			k.below(name, around, p, f.Value)
			k.strict = true
		case p != nil && !k.drops(around, f.Value):
			k.below(name, around, p, f.Value)
		case p == nil && !open:
			k.path = append(k.path, name)
			k.fail(Unknown, "", f.Key(), "is not a known field")
			k.about(f.Name)
			last := &k.found[len(k.found)-1]
			last.In, last.Known = n, properties
			k.path = k.path[:len(k.path)-1]
		}
	}
	if s != base {
		k.filled(base, properties, n)
	}
}

// ofObjects reports whether a field is one that all objects have, in the schema of
// an object (apiextensions-apiserver pkg/apiserver/schema/pruning).
func (k *check) ofObjects(s *yamldoc.Node, name string) bool {
	switch name {
	case "apiVersion", "kind", "metadata":
		return s == k.object || s.Get("x-kubernetes-embedded-resource").Bool()
	}
	return false
}

// filled checks what is filled into a mapping against the fields of an
// alternative.
func (k *check) filled(base, properties, n *yamldoc.Node) {
	for _, p := range properties.Fields() {
		v := k.received(base, n, p.Name)
		if v != nil && v != n.Get(p.Name) && !k.valid(field(base, p.Name), p.Value, v) {
			k.fail(Value, "default", n, "gets %s for %s by default, which is not allowed", Show(v), p.Name)
		}
	}
}

// field returns the schema of a field; nil if there is none.
func field(s *yamldoc.Node, name string) *yamldoc.Node {
	return fieldOf(s.Get("properties"), s.Get("additionalProperties"), name)
}

func fieldOf(properties, extra *yamldoc.Node, name string) *yamldoc.Node {
	if p := properties.Get(name); p != nil {
		return p
	}
	if extra.Is(yamldoc.Map) {
		return extra
	}
	return nil
}

// received returns the value of a field once nulls are dropped and defaults
// filled in; nil if there is none.
func (k *check) received(base, n *yamldoc.Node, name string) *yamldoc.Node {
	if v := n.Get(name); v != nil && !k.drops(field(base, name), v) {
		return v
	}
	if k.c.Filled || k.c.Received {
		return base.Get("properties", name, "default").Given()
	}
	return nil
}

// drops reports whether a null is replaced by a default, or dropped.
func (k *check) drops(s *yamldoc.Node, n *yamldoc.Node) bool {
	if n.Kind != yamldoc.Null || s == nil || s.Get("nullable").Bool() {
		return false
	}
	return k.c.Received || k.c.Filled && s.Get("default").Given() != nil
}

// size counts the fields of a mapping once they are dropped and filled in.
func (k *check) size(base, n *yamldoc.Node) (size int) {
	for f := range n.Entries() {
		if k.received(base, n, f.Name) != nil {
			size++
		}
	}
	for _, f := range base.Get("properties").Fields() {
		if n.Field(f.Name) == nil && k.received(base, n, f.Name) != nil {
			size++
		}
	}
	return size
}

func isNumber(n *yamldoc.Node) bool { return n.Kind == yamldoc.Int || n.Kind == yamldoc.Float }

func (k *check) bound(s *yamldoc.Node, keyword string, limit, n *yamldoc.Node) {
	if !isNumber(n) || !isNumber(limit) {
		return
	}
	v, b := number(n), number(limit)
	demand := ""
	switch {
	case keyword == "minimum" && v <= b && s.Get("exclusiveMinimum").Bool():
		demand = "must be greater than"
	case keyword == "minimum" && v < b:
		demand = "must be at least"
	case keyword == "maximum" && v >= b && s.Get("exclusiveMaximum").Bool():
		demand = "must be less than"
	case keyword == "maximum" && v > b:
		demand = "may be at most"
	default:
		return
	}
	k.fail(Value, keyword, n, "is %s, but %s %s", n.Text(), demand, limit.Text())
}

func (k *check) unique(n *yamldoc.Node) {
	seen := map[string]bool{}
	for _, item := range n.List() {
		key := Fingerprint(item)
		if seen[key] {
			k.fail(Value, "uniqueItems", item, "has the entry %s twice", Show(item))
			return
		}
		seen[key] = true
	}
}

// listType checks that the entries of a set, or the keys of those of a map, are
// unique (apiextensions-apiserver pkg/apiserver/schema/listtype).
func (k *check) listType(s *yamldoc.Node, kind string, n *yamldoc.Node) {
	items := n.List()
	if kind != "set" && kind != "map" || len(items) < 2 {
		return
	}
	keys := Schema{Node: s}.ListMapKeys()
	if kind == "map" && len(keys) == 0 {
		return
	}
	each := func(item *yamldoc.Node, separator string, write func(name string, v *yamldoc.Node) string) string {
		return strings.Join(phrase.List(keys, func(name string) string { return write(name, item.Get(name)) }), separator)
	}
	seen := map[string]*yamldoc.Node{}
	for i, item := range items {
		var key string
		if kind == "map" {
			key = each(item, "\x00", func(_ string, v *yamldoc.Node) string { return Fingerprint(v) })
		} else {
			key = Fingerprint(item)
		}
		first := seen[key]
		if first != nil {
			shown := Show(item)
			if kind == "map" {
				shown = each(item, " and ", func(name string, v *yamldoc.Node) string { return name + " " + Show(v) })
			}
			k.path = append(k.path, "["+strconv.Itoa(i)+"]")
			k.fail(Value, "x-kubernetes-list-type", item, "repeats %s", shown)
			k.about(keys...)
			if kind == "map" {
				var parts []*yamldoc.Node
				for _, name := range keys {
					parts = append(parts, item.Get(name), first.Get(name))
				}
				k.reads(parts...)
			}
			k.path = k.path[:len(k.path)-1]
		}
		seen[key] = cmp.Or(first, item)
	}
}

func (k *check) combined(base *yamldoc.Node, keyword string, arg, n *yamldoc.Node) {
	if keyword == "not" {
		if k.valid(base, arg, n) {
			k.fail(Value, keyword, n, "is %s, which is not allowed", Show(n))
		}
		return
	}
	alternatives := arg.List()
	valid := 0
	for _, s := range alternatives {
		if keyword == "allOf" {
			k.value(base, s, n)
		} else if k.valid(base, s, n) {
			valid++
		}
	}
	switch {
	case keyword == "allOf" || len(alternatives) == 0:
	case valid == 0:
		k.fail(Value, keyword, n, "is %s, which none of the alternatives in %s allows", Show(n), keyword)
	case keyword == "oneOf" && valid > 1:
		k.fail(Value, keyword, n, "is %s, which %d of the alternatives in oneOf allow instead of one", Show(n), valid)
	}
}

// patterns are those that were compiled. Schemas repeat them in their versions.
var patterns sync.Map // *regexp.Regexp or nil by text

// pattern compiles a regular expression; nil if it is none.
func pattern(text string) *regexp.Regexp {
	if v, ok := patterns.Load(text); ok {
		return v.(*regexp.Regexp)
	}
	text = strings.Clone(text) // which would keep the memory of its document
	re, err := regexp.Compile(text)
	if err != nil {
		re = nil
	}
	patterns.Store(text, re)
	return re
}

// same compares as enumerations do: an integer is equal to a number of its
// value.
func same(n, e *yamldoc.Node) bool {
	switch {
	case isNumber(n) && isNumber(e):
		if e.Kind == yamldoc.Int && n.Kind == yamldoc.Float {
			return math.Trunc(number(n)) == number(e) // as Go converts
		}
		return number(n) == number(e)
	case n.Kind != e.Kind:
		return false
	case n.Kind == yamldoc.String:
		return n.Text() == e.Text()
	}
	return Fingerprint(n) == Fingerprint(e)
}

// Fingerprint is equal for equal values.
func Fingerprint(n *yamldoc.Node) string {
	var b strings.Builder
	write(&b, n)
	return b.String()
}

func write(b *strings.Builder, n *yamldoc.Node) {
	if n == nil {
		b.WriteByte('-')
		return
	}
	switch n.Kind {
	case yamldoc.Map:
		names := make([]string, 0, len(n.Fields()))
		for f := range n.Entries() {
			names = append(names, f.Name)
		}
		slices.Sort(names)
		b.WriteByte('{')
		for _, name := range names {
			b.WriteString(strconv.Quote(name))
			b.WriteByte(':')
			write(b, n.Get(name))
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case yamldoc.List:
		b.WriteByte('[')
		for _, item := range n.List() {
			write(b, item)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case yamldoc.String:
		b.WriteString(strconv.Quote(n.Text()))
	case yamldoc.Int:
		b.WriteString(strconv.FormatFloat(number(n), 'g', -1, 64))
	case yamldoc.Float:
		b.WriteString("f" + strconv.FormatFloat(number(n), 'g', -1, 64))
	case yamldoc.Bool:
		b.WriteString(strconv.FormatBool(n.Bool()))
	default:
		b.WriteString("null")
	}
}

// Show writes a value for a message: short, and only the kind of a list or
// mapping.
func Show(n *yamldoc.Node) string {
	const most = 60
	switch {
	case n == nil:
		return "missing"
	case n.Kind == yamldoc.Map:
		return "a mapping"
	case n.Kind == yamldoc.List:
		return "a list"
	case n.Kind != yamldoc.String:
		return n.Text()
	case len(n.Text()) > most:
		cut := most
		for !utf8.RuneStart(n.Text()[cut]) {
			cut--
		}
		return strconv.Quote(n.Text()[:cut]) + "…"
	}
	return strconv.Quote(n.Text())
}

func showAll(list []*yamldoc.Node) string {
	const most = 10
	words := phrase.List(list[:min(most, len(list))], Show)
	if n := len(list) - most; n > 0 {
		words = append(words, fmt.Sprintf("%d more", n))
	}
	return strings.Join(words, ", ")
}

// Equal reports whether two values are equal, whatever the order of their
// fields.
func Equal(a, b *yamldoc.Node) bool { return a == b || Fingerprint(a) == Fingerprint(b) }
