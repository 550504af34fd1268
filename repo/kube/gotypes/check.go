package gotypes

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// kind says how a value does not fit.
type kind uint8

// The kinds of problems. The conversion refuses the first three, and continues
// silently at the others.
const (
	// WrongType is a value of another JSON type than the field has.
	WrongType kind = iota
	// BadValue is a value of the right JSON type that the type of the field does
	// not take: a quantity, duration or time that does not parse.
	BadValue
	// Fraction is a number that is not whole where only whole ones fit.
	Fraction
	// Wraps is a number that does not fit and becomes another.
	Wraps
	// Unknown is a key that the type does not have. Strict decoding refuses it,
	// and what it holds is lost otherwise.
	Unknown
	// Unseen is a key or value that is lost without strict decoding noticing.
	Unseen
)

var kindNames = [...]string{"wrong type", "bad value", "fraction", "wraps", "unknown", "unseen"}

func (k kind) String() string { return kindNames[k] }

// Fatal reports whether the conversion refuses the object for it.
func (k kind) Fatal() bool { return k <= Fraction }

// Problem is one value that does not fit.
type Problem struct {
	Kind kind
	// Node is the value, or the key of a field that is unknown.
	Node *yamldoc.Node
	// Path leads to it from the root: spec.containers[0].ports.
	Path string
	// Want says what fits: "a list". For a key that is unknown it is one that
	// was probably meant, or "".
	Want string
	// Got says what is there: "a mapping"; or what becomes of the number that
	// wraps, or why the value is bad.
	Got string
}

// Check returns what does not fit type t in n, in document order; nil if all
// does. It agrees with the conversion of a document as clusterctl reads it, where
// all numbers are float64 (apimachinery: DefaultUnstructuredConverter): that
// fails if and only if a problem is Fatal, and the problems of kind Unknown are
// its strict errors. Of repeated keys only the last counts.
func Check(t *shape, n *yamldoc.Node) []Problem {
	var c checker
	c.value(t, n)
	slices.Reverse(c.problems)
	return c.problems
}

// checker goes through a document from the end to the beginning, because the
// last of equal keys counts.
type checker struct {
	path     []step
	problems []Problem
	// json is set inside types that decode JSON themselves: there numbers are
	// not changed but refused, and strict decoding does not look.
	json bool
}

// step is a key, or the index of a list.
type step struct {
	key   string
	index int // -1 for a key
}

func (c *checker) report(kind kind, n *yamldoc.Node, want, got string) {
	c.problems = append(c.problems, Problem{kind, n, c.where(), want, got})
}

func (c *checker) where() string {
	var out []byte
	for i, s := range c.path {
		switch {
		case s.index >= 0:
			out = append(strconv.AppendInt(append(out, '['), int64(s.index), 10), ']')
		case i > 0:
			out = append(append(out, '.'), s.key...)
		default:
			out = append(out, s.key...)
		}
	}
	return string(out)
}

var nouns = [...]string{
	yamldoc.Null: "null", yamldoc.Bool: "a boolean", yamldoc.Int: "a number", yamldoc.Float: "a number",
	yamldoc.String: "a string", yamldoc.Map: "a mapping", yamldoc.List: "a list",
}

func (c *checker) value(t *shape, n *yamldoc.Node) {
	if n == nil || n.Kind == yamldoc.Null {
		return // the zero value, whatever the type
	}
	switch t.form {
	case anything:
	case boolean:
		c.demand(t, n, yamldoc.Bool)
	case text:
		c.demand(t, n, yamldoc.String)
	case integer, natural:
		if c.isNumber(t, n) {
			c.whole(t, n)
		}
	case number:
		c.isNumber(t, n)
	case octets:
		if n.Kind == yamldoc.List {
			c.items(t.elem, n)
		} else if c.demand(t, n, yamldoc.String) {
			_, err := base64.StdEncoding.DecodeString(n.Text())
			c.bad(t, n, err)
		}
	case list:
		if c.demand(t, n, yamldoc.List) {
			c.items(t.elem, n)
		}
	case mapping:
		if c.demand(t, n, yamldoc.Map) {
			c.entries(n, func(f *yamldoc.Field) { c.value(t.elem, f.Value) })
		}
	case object:
		if c.demand(t, n, yamldoc.Map) {
			c.object(t, n)
		}
	case intOrString:
		if n.Kind != yamldoc.String && c.isNumber(t, n) {
			c.inJSON(leaves["int32"], n)
		}
	case quantity:
		c.quantity(t, n)
	case duration:
		if c.demand(t, n, yamldoc.String) {
			_, err := time.ParseDuration(n.Text())
			c.bad(t, n, err)
		}
	case moment:
		if c.demand(t, n, yamldoc.String) {
			_, err := time.Parse(time.RFC3339, n.Text())
			c.bad(t, n, err)
		}
	default:
		c.schema(t, n)
	}
}

// schema checks the types that may be a schema.
func (c *checker) schema(t *shape, n *yamldoc.Node) {
	switch {
	case n.Kind == yamldoc.Map:
		c.inJSON(t.elem, n)
	case t.form == schemaOrBool:
		c.demand(t, n, yamldoc.Bool)
	case n.Kind != yamldoc.List:
		c.report(Unseen, n, wanted[t.form], nouns[n.Kind])
	case t.form == schemaOrList:
		c.inJSON(&shape{form: list, elem: t.elem}, n)
	default:
		c.inJSON(&shape{form: list, elem: leaves["text"]}, n)
	}
}

// demand reports a value of another kind than the type has.
func (c *checker) demand(t *shape, n *yamldoc.Node, kind yamldoc.Kind) bool {
	if n.Kind != kind {
		c.report(WrongType, n, wanted[t.form], nouns[n.Kind])
	}
	return n.Kind == kind
}

func (c *checker) isNumber(t *shape, n *yamldoc.Node) bool {
	return n.Kind == yamldoc.Int || c.demand(t, n, yamldoc.Float)
}

// bad reports a value that does not parse.
func (c *checker) bad(t *shape, n *yamldoc.Node, err error) {
	if err != nil {
		c.report(BadValue, n, wanted[t.form], err.Error())
	}
}

// quantity asks the type itself, which parses the text of the JSON value.
func (c *checker) quantity(t *shape, n *yamldoc.Node) {
	if n.Kind != yamldoc.String && !c.isNumber(t, n) {
		return
	}
	data, err := json.Marshal(n.Value())
	if err == nil {
		err = new(resource.Quantity).UnmarshalJSON(data)
	}
	c.bad(t, n, err)
}

// inJSON checks what a type that decodes JSON itself holds.
func (c *checker) inJSON(t *shape, n *yamldoc.Node) {
	before := c.json
	c.json = true
	c.value(t, n)
	c.json = before
}

func (c *checker) items(t *shape, n *yamldoc.Node) {
	for i, item := range slices.Backward(n.List()) {
		c.path = append(c.path, step{"", i})
		c.value(t, item)
		c.path = c.path[:len(c.path)-1]
	}
}

// few is the number of keys up to which comparing all of them costs less than a
// set.
const few = 16

// entries calls visit for the entries that count, from the last to the first.
func (c *checker) entries(n *yamldoc.Node, visit func(f *yamldoc.Field)) {
	var seen map[string]bool
	if len(n.Fields()) > few {
		seen = make(map[string]bool, len(n.Fields()))
	}
	for i := len(n.Fields()) - 1; i >= 0; i-- {
		f := &n.Fields()[i]
		if seen == nil && repeated(n.Fields()[i+1:], f.Name) || seen[f.Name] {
			continue
		}
		if seen != nil {
			seen[f.Name] = true
		}
		c.path = append(c.path, step{f.Name, -1})
		visit(f)
		c.path = c.path[:len(c.path)-1]
	}
}

// repeated reports whether a key stands again in the fields behind it.
func repeated(behind []yamldoc.Field, name string) bool {
	for i := range behind {
		if behind[i].Name == name {
			return true
		}
	}
	return false
}

func (c *checker) object(t *shape, n *yamldoc.Node) {
	fields := t.fields()
	unknown := Unknown
	if c.json {
		unknown = Unseen
	}
	c.entries(n, func(f *yamldoc.Field) {
		if known := fields[f.Name]; known != nil {
			c.value(known, f.Value)
		} else {
			c.report(unknown, f.Key(), phrase.Nearest(f.Name, slices.Sorted(maps.Keys(fields))), "")
		}
	})
}

// whole checks a number for an integer type.
func (c *checker) whole(t *shape, n *yamldoc.Node) {
	i, small := n.Int()
	if small && t.form == integer && i == i<<(64-t.bits)>>(64-t.bits) && -maxExact <= i && i <= maxExact {
		return
	}
	f, _ := n.Value().(float64)
	want := fmt.Sprintf("a whole number of %d bits", t.bits)
	if f != math.Trunc(f) {
		c.report(Fraction, n, want, "a fraction")
		return
	}
	becomes, fits := convert(f, t)
	switch {
	case c.json && !fits:
		c.report(BadValue, n, want, n.Text()+" is out of range")
	case !fits || small && strconv.FormatInt(i, 10) != becomes:
		c.report(Wraps, n, want, becomes)
	}
}

// maxExact is the largest integer up to which a float64 holds all.
const maxExact = 1 << 53

// convert does what Go does when the value of a float64 is put into an integer
// type, and reports whether it is the same number afterwards. For numbers of more
// than 64 bits the result depends on the processor.
func convert(f float64, t *shape) (becomes string, same bool) {
	shift := 64 - t.bits
	if t.form == integer {
		v := int64(f) << shift >> shift
		return strconv.FormatInt(v, 10), float64(v) == f && f < 1<<63
	}
	v := uint64(f) << shift >> shift
	return strconv.FormatUint(v, 10), float64(v) == f && f >= 0 && f < 1<<64
}
