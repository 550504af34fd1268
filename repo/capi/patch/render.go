package patch

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/Masterminds/sprig/v3"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Limits of one rendering. Real templates stay far below; without limits, a few
// characters could fill the memory.
const (
	mostSteps = 100_000 // iterations and calls of templates
	mostText  = 4 << 20 // bytes of the result
	mostSize  = 1 << 20 // bytes or elements of a value in a template
	mostDepth = 200     // levels of a value in a template
)

// errUnsure reports a template whose result cannot be predicted: it calls a
// function with a random result, or exceeds a limit.
var errUnsure = errors.New("the result cannot be predicted")

// random are the hermetic functions of sprig whose result differs between calls,
// or that are made to be slow.
var random = [...]string{
	"ago", "bcrypt", "buildCustomCert", "derivePassword", "encryptAES", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert",
	"genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey", "htpasswd", "randInt", "shuffle",
}

// multiplies are the functions whose result can have the product of the sizes of
// their arguments.
var multiplies = map[string]bool{
	"indent": true, "join": true, "nindent": true, "repeat": true, "replace": true, "seq": true, "until": true, "untilStep": true, "wrapWith": true,
	"regexReplaceAll": true, "regexReplaceAllLiteral": true, "mustRegexReplaceAll": true, "mustRegexReplaceAllLiteral": true,
}

// renderer renders templates as the topology controller does, within limits. It
// is not safe for concurrent use.
type renderer struct {
	functions template.FuncMap
	// base has the functions already: to add them takes longer than to parse most texts.
	base   *template.Template
	parsed map[string]*template.Template
	// step counts what is repeated.
	step  parse.Node
	steps int
}

// hermetic are the functions that templates can call, within limits.
var hermetic = sync.OnceValue(func() template.FuncMap {
	functions := sprig.HermeticTxtFuncMap()
	for name, f := range functions {
		functions[name] = bounded(name, f)
	}
	for name, f := range map[string]any{"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln} {
		functions[name] = bounded(name, f)
	}
	for _, name := range random {
		functions[name] = func(...any) (any, error) { return nil, fmt.Errorf("%s: %w", name, errUnsure) }
	}
	return functions
})

func newRenderer() *renderer {
	r := &renderer{parsed: map[string]*template.Template{}, functions: maps.Clone(hermetic())}
	r.functions[tick] = r.tick
	r.base = template.New("").Funcs(r.functions)
	r.step = template.Must(r.base.New("").Parse("{{" + tick + "}}")).Root.Nodes[0]
	return r
}

// renderers are kept for what they have parsed.
var renderers = sync.Pool{New: func() any { return newRenderer() }}

// release gives a renderer back.
func (r *renderer) release() {
	const most = 1000
	if len(r.parsed) > most {
		clear(r.parsed)
	}
	renderers.Put(r)
}

// tick counts the steps of a rendering. Its name cannot be written in a template.
const tick = "_step_"

func (r *renderer) tick() (string, error) {
	if r.steps++; r.steps > mostSteps {
		return "", fmt.Errorf("more than %d steps: %w", mostSteps, errUnsure)
	}
	return "", nil
}

// parse reads a template and makes it count its steps.
func (r *renderer) parse(text string) (*template.Template, error) {
	if t, ok := r.parsed[text]; ok {
		return t, nil
	}
	if strings.Contains(text, tick) {
		return nil, fmt.Errorf("function %q not defined", tick)
	}
	t, own := r.base.New("tpl"), named(text)
	if own {
		t = template.New("tpl").Funcs(r.functions)
	}
	if _, err := t.Parse(text); err != nil {
		return nil, err
	}
	all := []*template.Template{t}
	if own {
		all = t.Templates()
	}
	for _, associated := range all {
		if associated.Tree != nil {
			count(associated.Root, r.step, true)
		}
	}
	r.parsed[text] = t
	return t, nil
}

// named reports whether a text may define templates or use them by their names,
// which other texts must not see.
func named(text string) bool {
	return strings.Contains(text, "define") || strings.Contains(text, "block") || strings.Contains(text, "template")
}

// count puts a step before what can be repeated: the body of a template and of a
// range.
func count(list *parse.ListNode, step parse.Node, repeated bool) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.IfNode:
			count(n.List, step, false)
			count(n.ElseList, step, false)
		case *parse.WithNode:
			count(n.List, step, false)
			count(n.ElseList, step, false)
		case *parse.RangeNode:
			count(n.List, step, true)
			count(n.ElseList, step, false)
		}
	}
	if repeated {
		list.Nodes = append([]parse.Node{step}, list.Nodes...)
	}
}

// render returns the JSON that a template makes of values (patches/inline,
// renderValueTemplate). Null is nil.
func (r *renderer) render(text string, seen *seen) ([]byte, error) {
	t, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	data, err := seen.data()
	if err != nil {
		return nil, err
	}
	defer seen.rendered(text)
	r.steps = 0
	out := &limited{most: mostText}
	if err := t.Execute(out, data); err != nil {
		return nil, plain(err)
	}
	value, err := yamldoc.ToJSON(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("the template renders to %s, which is not YAML: %w", shown(out.String()), err)
	}
	if string(value) == "null" {
		return nil, nil
	}
	return value, nil
}

// plain removes the name of the template from an error.
func plain(err error) error {
	if errors.Is(err, errUnsure) {
		return err
	}
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "template: "), "tpl:"))
}

// shown quotes the beginning of a text.
func shown(text string) string {
	return fmt.Sprintf("%q", phrase.Cut(text, 60))
}

// limited is a buffer that refuses to grow beyond a size.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.most {
		return 0, fmt.Errorf("more than %d bytes: %w", l.most, errUnsure)
	}
	return l.Buffer.Write(p)
}

// bounded returns a function for templates that refuses values over the limits
// as arguments and results, before they can grow or lead back to themselves.
func bounded(name string, f any) any {
	v := reflect.ValueOf(f)
	typ := v.Type()
	in := make([]reflect.Type, typ.NumIn())
	for i := range in {
		in[i] = typ.In(i)
	}
	out := []reflect.Type{typ.Out(0), reflect.TypeFor[error]()}
	return reflect.MakeFunc(reflect.FuncOf(in, out, typ.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		fail := func(err error) []reflect.Value {
			return []reflect.Value{reflect.Zero(out[0]), reflect.ValueOf(&err).Elem()}
		}
		if err := within(name, args); err != nil {
			return fail(err)
		}
		var results []reflect.Value
		if typ.IsVariadic() {
			results = v.CallSlice(args)
		} else {
			results = v.Call(args)
		}
		if err := within(name, results[:1]); err != nil {
			return fail(err)
		}
		// A function such as set changes its argument.
		if err := within(name, args); err != nil {
			return fail(err)
		}
		if len(results) == 1 {
			results = append(results, reflect.Zero(out[1]))
		}
		return results
	}).Interface()
}

// within refuses values that are too large.
func within(name string, values []reflect.Value) error {
	first, second := 1, 1 // the two largest factors of the result
	for _, v := range values {
		left := mostSize
		if !measure(v, &left, mostDepth) {
			return fmt.Errorf("%s: a value of over %d bytes: %w", name, mostSize, errUnsure)
		}
		factor := max(mostSize-left, number(v))
		if factor > first {
			first, second = factor, first
		} else {
			second = max(second, factor)
		}
	}
	if multiplies[name] && first*second > mostText {
		return fmt.Errorf("%s: a result of over %d bytes: %w", name, mostText, errUnsure)
	}
	return nil
}

// number returns how often an argument, or one of a list of them, may have
// something repeated.
func number(v reflect.Value) int {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice {
		most := 1
		for i := range v.Len() {
			most = max(most, number(v.Index(i)))
		}
		return most
	}
	if !v.CanInt() {
		return 1
	}
	return int(min(max(v.Int(), -v.Int(), 1), mostText+1))
}

// measure subtracts the size of a value; it reports false once nothing is left.
func measure(v reflect.Value, left *int, depth int) bool {
	if *left--; *left < 0 || depth == 0 {
		return false
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return v.IsNil() || measure(v.Elem(), left, depth-1)
	case reflect.String:
		*left -= v.Len()
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() <= reflect.Complex128 {
			*left -= v.Len()
			break
		}
		for i := range v.Len() {
			if !measure(v.Index(i), left, depth-1) {
				return false
			}
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if !measure(i.Key(), left, depth-1) || !measure(i.Value(), left, depth-1) {
				return false
			}
		}
	}
	return *left >= 0
}
