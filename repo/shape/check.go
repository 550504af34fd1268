package shape

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/doc"
)

// Kind says how a value does not fit.
type Kind uint8

// The kinds of problems. The conversion refuses the first three, and goes on
// without a word at the others.
const (
	// WrongType is a value of another JSON type than the field has.
	WrongType Kind = iota
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

// String names the kind.
func (k Kind) String() string { return kindNames[k] }

// Fatal reports whether the conversion refuses the object for it.
func (k Kind) Fatal() bool { return k <= Fraction }

// Problem is one value that does not fit.
type Problem struct {
	Kind Kind
	// Node is the value, or the key of a field that is unknown.
	Node *doc.Node
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
// its strict errors. Of repeated keys only the last counts, as everywhere.
func Check(t reflect.Type, n *doc.Node) []Problem {
	var c checker
	c.value(typeOf(t), n)
	slices.Reverse(c.problems)
	return c.problems
}

// checker goes through a document from the end to the beginning, because the
// last of equal keys counts.
type checker struct {
	path     []step
	problems []Problem
	// json is set inside of types that decode JSON themselves: there numbers are
	// not changed but refused, and strict decoding does not look.
	json bool
}

// step is a key, or the index of a list.
type step struct {
	key   string
	index int // -1 for a key
}

func (c *checker) report(kind Kind, n *doc.Node, want, got string) {
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

// nouns name what is there.
var nouns = [...]string{
	doc.Null: "null", doc.Bool: "a boolean", doc.Int: "a number", doc.Float: "a number",
	doc.String: "a string", doc.Map: "a mapping", doc.List: "a list",
}

func (c *checker) wrongType(t *typ, n *doc.Node, want string) {
	if t.decodes && t.form != opaque {
		c.decode(t, n)
		return
	}
	c.report(WrongType, n, want, nouns[n.Kind])
}

func (c *checker) value(t *typ, n *doc.Node) {
	if n == nil || n.Kind == doc.Null {
		return // the zero value, whatever the type
	}
	switch t.form {
	case anything:
	case boolean:
		c.demand(t, n, doc.Bool)
	case text:
		c.demand(t, n, doc.String)
	case integer, natural:
		if n.Kind != doc.Int && n.Kind != doc.Float {
			c.wrongType(t, n, "a whole number")
		} else {
			c.whole(n, t.Bits(), t.form == integer)
		}
	case number:
		if n.Kind != doc.Int && n.Kind != doc.Float {
			c.wrongType(t, n, "a number")
		}
	case octets:
		switch n.Kind {
		case doc.List:
			c.items(t.elem(), n)
		case doc.String:
			if _, err := base64.StdEncoding.DecodeString(n.Text); err != nil {
				c.report(BadValue, n, "text in base64", err.Error())
			}
		default:
			c.wrongType(t, n, "text in base64")
		}
	case list:
		if c.demand(t, n, doc.List) {
			c.items(t.elem(), n)
		}
	case mapping:
		if c.demand(t, n, doc.Map) {
			c.entries(n, func(f *doc.Field) { c.value(t.elem(), f.Value) })
		}
	case object:
		if c.demand(t, n, doc.Map) {
			c.object(t, n)
		}
	case intOrString:
		switch n.Kind {
		case doc.String:
		case doc.Int, doc.Float:
			c.inJSON(func() { c.whole(n, 32, true) })
		default:
			c.report(WrongType, n, "a whole number or a string", nouns[n.Kind])
		}
	case schemaOrBool:
		switch n.Kind {
		case doc.Bool:
		case doc.Map:
			c.inJSON(func() { c.value(t.elem(), n) })
		default:
			c.report(WrongType, n, "a boolean or a schema", nouns[n.Kind])
		}
	case schemaOrList, schemaOrTexts:
		switch n.Kind {
		case doc.Map:
			c.inJSON(func() { c.value(t.elem(), n) })
		case doc.List:
			of := t.elem()
			if t.form == schemaOrTexts {
				of = typeOf(reflect.TypeFor[string]())
			}
			c.inJSON(func() { c.items(of, n) })
		default:
			c.report(Unseen, n, "a schema or a list", nouns[n.Kind])
		}
	case opaque:
		c.decode(t, n)
	default:
		c.wrongType(t, n, "nothing")
	}
}

// demand reports a value of another kind than the type has.
func (c *checker) demand(t *typ, n *doc.Node, kind doc.Kind) bool {
	if n.Kind == kind {
		return true
	}
	c.wrongType(t, n, nouns[kind])
	return false
}

func (c *checker) inJSON(check func()) {
	before := c.json
	c.json = true
	check()
	c.json = before
}

func (c *checker) items(t *typ, n *doc.Node) {
	for i, item := range slices.Backward(n.Items) {
		c.path = append(c.path, step{"", i})
		c.value(t, item)
		c.path = c.path[:len(c.path)-1]
	}
}

// few is the number of keys up to which comparing all of them costs less than a
// set.
const few = 16

// entries calls visit for the entries that count, from the last to the first.
func (c *checker) entries(n *doc.Node, visit func(f *doc.Field)) {
	var seen map[string]bool
	if len(n.Fields) > few {
		seen = make(map[string]bool, len(n.Fields))
	}
	for i := len(n.Fields) - 1; i >= 0; i-- {
		f := &n.Fields[i]
		if seen != nil {
			if seen[f.Name] {
				continue
			}
			seen[f.Name] = true
		} else if slices.ContainsFunc(n.Fields[i+1:], func(later doc.Field) bool { return later.Name == f.Name }) {
			continue
		}
		c.path = append(c.path, step{f.Name, -1})
		visit(f)
		c.path = c.path[:len(c.path)-1]
	}
}

func (c *checker) object(t *typ, n *doc.Node) {
	fields := t.fields()
	for _, inlined := range fields.inlined {
		c.value(inlined, n)
	}
	c.entries(n, func(f *doc.Field) {
		known, ok := fields.byName[f.Name]
		for _, t := range known {
			c.value(t, f.Value)
		}
		switch {
		case ok:
		case c.json:
			c.report(Unseen, f.Key, fields.near(f.Name), "")
		default:
			c.report(Unknown, f.Key, fields.near(f.Name), "")
		}
	})
}

// near returns the field that was probably meant, or "".
func (f *fields) near(name string) string {
	best, distance := "", 3 // more typing errors than two are no typing error
	for known := range f.byName {
		if max(len(name), len(known))-min(len(name), len(known)) > distance {
			continue // sure to be farther
		}
		d := layouts.Distance(name, known)
		if d < distance || d == distance && best != "" && known < best {
			best, distance = known, d
		}
	}
	return best
}

// whole checks a number for an integer type.
func (c *checker) whole(n *doc.Node, bits int, signed bool) {
	i, small := n.Int()
	if small && signed && (bits == 64 || i == i<<(64-bits)>>(64-bits)) && -maxExact <= i && i <= maxExact {
		return
	}
	f, _ := n.Value().(float64)
	want := fmt.Sprintf("a whole number of %d bits", bits)
	if f != math.Trunc(f) {
		c.report(Fraction, n, want, "a fraction")
		return
	}
	becomes, fits := convert(f, bits, signed)
	switch {
	case c.json && !fits:
		c.report(BadValue, n, want, n.Text+" is out of range")
	case !fits || small && strconv.FormatInt(i, 10) != becomes:
		c.report(Wraps, n, want, becomes)
	}
}

// maxExact is the largest integer up to which a float64 holds all.
const maxExact = 1 << 53

// convert does what Go does when the value of a float64 is put into an integer
// type, and reports whether it is the same number afterwards. For numbers of more
// than 64 bits the result depends on the processor.
func convert(f float64, bits int, signed bool) (text string, same bool) {
	shift := 64 - bits
	if signed {
		v := int64(f) << shift >> shift
		return strconv.FormatInt(v, 10), float64(v) == f && f < 1<<63
	}
	v := uint64(f) << shift >> shift
	return strconv.FormatUint(v, 10), float64(v) == f && f >= 0 && f < 1<<64
}

// decode asks the type itself.
func (c *checker) decode(t *typ, n *doc.Node) {
	data, err := json.Marshal(n.Value())
	if err == nil {
		err = reflect.New(t.Type).Interface().(json.Unmarshaler).UnmarshalJSON(data)
	}
	if err == nil {
		return
	}
	want := "a " + t.Name()
	var wrong *json.UnmarshalTypeError
	if n.Kind == doc.Map || n.Kind == doc.List || n.Kind == doc.Bool || errors.As(err, &wrong) {
		c.report(WrongType, n, want, nouns[n.Kind])
		return
	}
	c.report(BadValue, n, want, err.Error())
}
