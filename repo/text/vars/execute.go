package vars

import (
	"cmp"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/drone/envsubst/v2"
)

// Execute replaces all expressions (clusterctl: SimpleProcessor, Process).
// lookup returns the value of a variable and whether it is set; it may be asked
// several times for one name and must give the same answer, and the value of a
// variable that is not set is ignored. A value that is set
// but empty is not missing, though defaults still apply to it. The error is a
// *MissingError, or an *Error where the library would panic, where the result
// exceeds maxSize or where a trim would take too long.
//
// The Data of the result is that of the template if there is nothing to
// replace.
func (t *Template) Execute(lookup func(name string) (string, bool)) (*Text, error) {
	if missing := t.missing(lookup); len(missing) > 0 {
		return nil, &MissingError{missing}
	}
	x := &Text{t: t}
	if len(t.refs) == 0 && len(t.escapes) == 0 {
		x.Data, x.segments = t.data, []segment{{}}
		return x, nil
	}
	parts := make([]string, len(t.pieces))
	e := evaluator{Template: t, lookup: lookup}
	for i, p := range t.pieces {
		if p.ref < 0 {
			parts[i] = t.src[p.start:p.end]
		} else {
			e.out = e.out[:0]
			if err := e.eval(p.ref); err != nil {
				return nil, err
			}
			parts[i] = string(e.out)
		}
		e.before += len(parts[i])
	}
	var out strings.Builder
	out.Grow(e.before)
	x.segments, x.values = make([]segment, 0, len(t.pieces)+1), make([]value, 0, len(t.refs))
	for i, p := range t.pieces {
		x.segments = append(x.segments, segment{out.Len(), p.start, p.ref >= 0})
		if p.ref >= 0 {
			x.values = append(x.values, value{out.Len(), out.Len() + len(parts[i]), p.ref})
		}
		out.WriteString(parts[i])
	}
	x.segments = append(x.segments, segment{out: out.Len(), in: len(t.src)})
	x.Data = out.String()
	return x, nil
}

func (t *Template) missing(lookup func(string) (string, bool)) (names []string) {
	for _, v := range t.vars {
		if v.Default != nil {
			continue
		}
		if _, ok := lookup(v.Name); !ok {
			names = append(names, v.Name)
		}
	}
	return names
}

// evaluator appends the values of expressions to out.
type evaluator struct {
	*Template
	lookup func(string) (string, bool)
	out    []byte
	before int // how much of the result precedes out
}

// eval appends the value of an expression. Arguments are evaluated even if they
// are not needed, because the library does, and may panic on them. They are
// built at the end of out and replaced there by the value, so that text is not
// copied once for each level of nesting.
func (e *evaluator) eval(ref int) error {
	r := &e.refs[ref]
	start := len(e.out)
	ends := make([]int, len(e.args[ref]))
	for i, a := range e.args[ref] {
		if a.ref < 0 {
			e.out = append(e.out, a.text...)
		} else if err := e.eval(a.ref); err != nil {
			return err
		}
		ends[i] = len(e.out)
	}
	value, ok := e.lookup(r.Name)
	if !ok {
		value = ""
	}
	switch r.Op {
	case "", ":-", ":=", "=", ":+", ":?":
		if value != "" {
			e.out = append(e.out[:start], value...)
		}
	default:
		args := make([]string, len(ends))
		from := start
		for i, end := range ends {
			args[i] = string(e.out[from:end])
			from = end
		}
		result, err := apply(r.Op, value, args)
		if err != nil {
			return &Error{r.Start, err}
		}
		e.out = append(e.out[:start], result...)
	}
	if e.before+len(e.out) > maxSize {
		return &Error{r.Start, errTooLarge}
	}
	return nil
}

var (
	errTooLarge = fmt.Errorf("the result is larger than %d MiB", maxSize>>20)
	errTooLong  = errors.New("the value is too long to be trimmed by this pattern")
)

// apply lets the library apply an operator. The arguments reach it as variables
// named by their index, so their text needs no quoting.
func apply(op, value string, args []string) (result string, err error) {
	if err := affordable(op, value, args); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("${")
	if op == opLen {
		b.WriteString("#v")
	} else {
		b.WriteString("v" + op)
	}
	for i := range args {
		if i > 0 {
			b.WriteByte(op[0]) // the separator of / and :
		}
		b.WriteString("${" + strconv.Itoa(i) + "}")
	}
	if len(args) == 1 && op[0] == '/' {
		b.WriteByte('/')
	}
	b.WriteByte('}')
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrCrash, p)
		}
	}()
	return envsubst.Eval(b.String(), func(name string) string {
		if i, err := strconv.Atoi(name); err == nil {
			return args[i]
		}
		return value
	})
}

// affordable guards the two places where the cost of the library is not linear.
func affordable(op, value string, args []string) error {
	switch {
	case op == "//" && len(args) == 2:
		if n := strings.Count(value, args[0]); n > 0 && len(args[1]) > maxSize/n {
			return errTooLarge
		}
	case op[0] == '#' || op[0] == '%':
		// It matches the pattern against every prefix, and a * tries every place
		// in that.
		const maxSteps = 1 << 30
		tries := int64(len(value))
		if strings.Contains(args[0], "*") {
			tries *= tries
		}
		if tries > 0 && int64(len(args[0])) > maxSteps/tries {
			return errTooLong
		}
	}
	return nil
}

// Text is the result of a template. It is safe for concurrent use.
type Text struct {
	Data string

	t        *Template
	segments []segment
	values   []value
}

// segment says that the result from offset out on was made from Template.src
// from offset in on: a copy of it, or the value of the expression there.
type segment struct {
	out, in int
	value   bool
}

// value is the span of the result that an expression was replaced with.
type value struct{ start, end, ref int }

// RawOffset returns the offset in the raw data of the byte at offset off of
// Data, in logarithmic time. Bytes of a value lead to the `$` of its
// expression. The offset is clamped to the ends of Data, and the end of Data
// leads to the end of the raw text.
func (x *Text) RawOffset(off int) int {
	off = min(max(off, 0), len(x.Data))
	s := x.segments[sort.Search(len(x.segments), func(i int) bool { return x.segments[i].out > off })-1]
	if s.value {
		return x.t.cuts.raw(s.in)
	}
	return x.t.cuts.raw(s.in + off - s.out)
}

// Substituted reports whether [start, end) of Data contains or touches a value,
// an empty one included, and returns the index of the first such Ref.
func (x *Text) Substituted(start, end int) (ref int, ok bool) {
	i := sort.Search(len(x.values), func(i int) bool { return x.values[i].end >= start })
	if i == len(x.values) || x.values[i].start > end {
		return -1, false
	}
	return x.values[i].ref, true
}

// telling is the least length, in bytes, of a value that is recognized inside a longer text.
const telling = 4

// Holding returns the index of the first Ref in [start, end) of Data whose value, without
// quotes around it, is all of a text that was made of Data, or a part of it if the value is
// long enough to be recognized.
func (x *Text) Holding(start, end int, text string) (ref int, ok bool) {
	first := sort.Search(len(x.values), func(i int) bool { return x.values[i].start >= start })
	for _, v := range x.values[first:] {
		if v.end > end {
			break
		}
		s := x.Data[v.start:v.end]
		s = cmp.Or(strings.Trim(s, `"'`), s)
		if s != "" && (s == text || len(s) >= telling && strings.Contains(text, s)) {
			return v.ref, true
		}
	}
	return -1, false
}
