package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Decode reads a configuration strictly. name is the path shown in messages.
// The error joins every mistake of the file in reading order, each a
// *yamldoc.Error: unknown and repeated keys, wrong types, words and forms, paths
// that leave the tree, missing keys.
func Decode(name string, data []byte) (*Config, error) {
	stream := yamldoc.Parse(yamldoc.NewFile(name, data))
	if stream.Err != nil {
		return nil, stream.Err
	}
	switch {
	case len(stream.Docs) == 0:
		return nil, &yamldoc.Error{File: name, Err: fmt.Errorf("the file is empty; it needs at least\napiVersion: %s\nkind: %s", APIVersion, Kind)}
	case stream.Docs[0].Err != nil:
		return nil, stream.Docs[0].Err
	}
	d := &decoder{doc: stream.Docs[0]}
	if len(stream.Docs) > 1 {
		second := stream.Docs[1]
		d.problems = append(d.problems, &yamldoc.Error{File: name, Pos: second.Pos(nil), Err: errors.New("a second document; the configuration must be one document")})
	}
	var c Config
	d.value(stream.Docs[0].Root, reflect.ValueOf(&c).Elem(), "")
	if len(d.problems) > 0 {
		slices.SortStableFunc(d.problems, func(a, b *yamldoc.Error) int {
			return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
		})
		return nil, errors.Join(phrase.List(d.problems, func(p *yamldoc.Error) error { return p })...)
	}
	return &c, nil
}

// decoder walks a document and a struct side by side.
type decoder struct {
	doc      *yamldoc.Document
	problems []*yamldoc.Error
}

func (d *decoder) errorf(n *yamldoc.Node, format string, args ...any) {
	d.problems = append(d.problems, &yamldoc.Error{File: d.doc.File.Name, Pos: d.doc.Pos(n), Err: fmt.Errorf(format, args...)})
}

// value sets v, found under key, from n. Structs are the only values that do
// more than convert; the fields of a struct are checked by object.
func (d *decoder) value(n *yamldoc.Node, v reflect.Value, key string) {
	switch v.Kind() {
	case reflect.Struct:
		if d.want(n, yamldoc.Map, key) {
			d.object(n, v, key)
		}
	case reflect.Slice:
		if !d.want(n, yamldoc.List, key) {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.List()), len(n.List())))
		for i, item := range n.List() {
			d.value(item, v.Index(i), key)
		}
	case reflect.Map:
		if !d.want(n, yamldoc.Map, key) {
			return
		}
		v.Set(reflect.MakeMapWithSize(v.Type(), len(n.Fields())))
		for _, f := range d.unique(n) {
			elem := reflect.New(v.Type().Elem()).Elem()
			// As it is written: an unquoted y is a name here, not a boolean.
			name := f.Key().Text()
			d.value(f.Value, elem, name)
			v.SetMapIndex(reflect.ValueOf(name), elem)
		}
	case reflect.Bool:
		if d.want(n, yamldoc.Bool, key) {
			v.SetBool(n.Bool())
		}
	case reflect.String:
		// YAML 1.1 reads the word off as false.
		if n.Is(yamldoc.Bool) && v.Type() == reflect.TypeFor[severity]() && n.Text() == string(severityOff) {
			v.SetString(n.Text())
			return
		}
		if d.want(n, yamldoc.String, key) {
			v.SetString(n.Text())
		}
	}
}

// kindWords name what a configuration wants, with what to do about it.
var kindWords = map[yamldoc.Kind]string{
	yamldoc.Map:    "a mapping of keys to values",
	yamldoc.List:   "a list, each item on a line with a dash before it",
	yamldoc.Bool:   "true or false",
	yamldoc.String: "a string",
}

func (d *decoder) want(n *yamldoc.Node, k yamldoc.Kind, key string) bool {
	if n.Is(k) {
		return true
	}
	what := "the configuration"
	if key != "" {
		what = strconv.Quote(key)
	}
	hint := ""
	if k == yamldoc.String && n.Kind != yamldoc.Null && n.Kind != yamldoc.Map && n.Kind != yamldoc.List {
		hint = fmt.Sprintf(": write it in quotes, %q", n.Text())
	}
	got := n.Kind.Noun()
	if n.Kind == yamldoc.Null {
		got = "empty"
	}
	d.errorf(n, "%s must be %s, not %s%s", what, kindWords[k], got, hint)
	return false
}

// unique returns the fields of a mapping and reports the repeated ones.
func (d *decoder) unique(n *yamldoc.Node) []yamldoc.Field {
	out := make([]yamldoc.Field, 0, len(n.Fields()))
	first := make(map[string]*yamldoc.Node, len(n.Fields()))
	for _, f := range n.Fields() {
		if k, ok := first[f.Name]; ok {
			d.errorf(f.Key(), "the key %q was already given on line %d", f.Name, d.doc.Pos(k).Line)
			continue
		}
		first[f.Name] = f.Key()
		out = append(out, f)
	}
	return out
}

func (d *decoder) object(n *yamldoc.Node, v reflect.Value, key string) {
	t := v.Type()
	fields := fieldsOf(t)
	origin := Origin{file: d.doc.File.Name, pos: d.doc.Pos(n), keys: map[string]yamldoc.Pos{}}
	given := map[string]bool{}
	for _, f := range d.unique(n) {
		i := slices.IndexFunc(fields, func(x field) bool { return x.key == f.Name })
		if i < 0 {
			d.errorf(f.Key(), "%s", unknownKey(f.Name, t, fields))
			continue
		}
		given[f.Name] = true
		d.remember(origin.keys, f.Name, f.Value)
		before := len(d.problems)
		d.value(f.Value, v.Field(fields[i].index), f.Name)
		if len(d.problems) == before {
			d.check(f.Value, fields[i])
		}
	}
	where := ""
	if key != "" {
		where = " in " + strconv.Quote(key)
	}
	for _, f := range fields {
		if f.required && !given[f.key] {
			d.errorf(n, "the key %q is missing%s", f.key, where)
		}
	}
	if choice := oneOf(t); choice != nil {
		have := phrase.Only(choice, func(k string) bool { return given[k] })
		if len(have) != 1 {
			d.errorf(n, "exactly one of %s must be given%s, not %s", quoted(choice), where, cmp.Or(quoted(have), "none"))
		}
	}
	v.FieldByName("Origin").Set(reflect.ValueOf(origin))
}

// remember notes the position of a value and, one level down, of its items.
func (d *decoder) remember(keys map[string]yamldoc.Pos, name string, n *yamldoc.Node) {
	keys[name] = d.doc.Pos(n)
	for i, item := range n.List() {
		keys[fmt.Sprintf("%s[%d]", name, i)] = d.doc.Pos(item)
	}
	for _, f := range n.Fields() {
		keys[name+"."+f.Key().Text()] = d.doc.Pos(f.Value)
	}
}

// check applies the enum and the form of a field to each text in its value.
func (d *decoder) check(n *yamldoc.Node, f field) {
	switch n.Kind {
	case yamldoc.List:
		for _, item := range n.List() {
			d.check(item, f)
		}
	case yamldoc.Map:
		if f.enum == nil && f.form == "" {
			return
		}
		for _, x := range n.Fields() {
			d.check(x.Value, f)
		}
	case yamldoc.String:
		if f.enum != nil && !slices.Contains(f.enum, n.Text()) {
			d.errorf(n, "%q is not a value of %q; it must be %s%s", n.Text(), f.key, phrase.Or(f.enum), phrase.DidYouMean(n.Text(), f.enum))
			return
		}
		if f.required && n.Text() == "" {
			d.errorf(n, "%q must not be empty", f.key)
			return
		}
		if form, ok := forms[f.form]; ok && n.Text() != "" {
			if err := form.check(n.Text()); err != nil {
				d.errorf(n, "%q: %w", f.key, err)
			}
		}
	}
}

// field is what the tags of a struct field say.
type field struct {
	index    int
	key, doc string
	enum     []string
	form     string
	required bool
	typ      reflect.Type
}

func fieldsOf(t reflect.Type) []field {
	out := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("yaml")
		if key == "-" {
			continue
		}
		x := field{index: i, key: key, doc: f.Tag.Get("doc"), form: f.Tag.Get("is"), required: f.Tag.Get("required") != "", typ: f.Type}
		if e := f.Tag.Get("enum"); e != "" {
			x.enum = strings.Split(e, ",")
		}
		if elem := f.Type; elem.Kind() == reflect.Map && elem.Elem() == reflect.TypeFor[severity]() {
			x.enum = []string{string(severityOff), string(severityInfo), string(severityWarning), string(severityError)}
		}
		out = append(out, x)
	}
	return out
}

// oneOf returns the keys of which a struct needs exactly one.
func oneOf(t reflect.Type) []string {
	f, ok := t.FieldByName("Origin")
	if !ok || f.Tag.Get("one") == "" {
		return nil
	}
	return strings.Split(f.Tag.Get("one"), ",")
}

func unknownKey(name string, t reflect.Type, fields []field) string {
	known := phrase.List(fields, func(f field) string { return f.key })
	msg := fmt.Sprintf("unknown key %q", name)
	if hint := phrase.DidYouMean(name, known); hint != "" {
		return msg + hint
	}
	homes := phrase.Only(allFields(), func(f placedField) bool { return f.key == name && f.in != t })
	if len(homes) > 0 {
		places := phrase.List(homes, func(f placedField) string { return cmp.Or(f.place, "the top of the file") })
		return fmt.Sprintf("%s; it belongs to %s", msg, phrase.Or(places))
	}
	return fmt.Sprintf("%s; known here: %s", msg, strings.Join(known, ", "))
}

// placedField is a field with the place of its struct, such as providers[].
type placedField struct {
	field
	in    reflect.Type
	place string
}

// allFields lists every key of the format once.
func allFields() []placedField {
	var out []placedField
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type, place string)
	walk = func(t reflect.Type, place string) {
		for t.Kind() == reflect.Slice {
			t, place = t.Elem(), place+"[]"
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		for _, f := range fieldsOf(t) {
			out = append(out, placedField{f, t, place})
			walk(f.typ, strings.TrimPrefix(place+"."+f.key, "."))
		}
	}
	walk(reflect.TypeFor[Config](), "")
	return out
}

func quoted(words []string) string {
	return strings.Join(phrase.List(words, strconv.Quote), ", ")
}
