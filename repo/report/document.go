package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
)

// Document is a kind of JSON document that machines read. All begin with the same
// fields; see Write.
type Document struct {
	// Kind is its name, and Version that of its form, which only changes when
	// readers have to: fields are added without.
	Kind    string
	Version int
	// Body is a struct with the further fields, of any value.
	Body any
	// Title says what it holds.
	Title string
}

// head begins every document.
type head struct {
	Kind          string           `json:"kind" doc:"the kind of document"`
	SchemaVersion int              `json:"schemaVersion" doc:"the version of the format of this kind; fields may be added without a new version"`
	Failures      []string         `json:"failures" doc:"what could not be read or done, one message for each; the document is complete if the list is empty"`
	Suppressed    []jsonSuppressed `json:"suppressed" doc:"findings that comments in the files suppress, or a configuration among them; they are not in other lists and counts. Only lint has any"`
}

type jsonSuppressed struct {
	jsonFinding
	Reason string `json:"reason" doc:"why, as stated in the comment, or which configuration; may be empty"`
}

// Documents are the kinds that this package writes.
var Documents = []Document{
	{"lint", 1, jsonReport{}, "the findings of lint, contract and extension check"},
	{"vars", 1, variablesBody{}, "the variables of releases"},
	{"images", 1, imagesBody{}, "the images of releases"},
	{"image-checks", 1, imageChecksBody{}, "what registries say about the images of releases"},
	{"diff", 1, diffBody{}, "the changes between releases"},
	{"migrate", 1, migrationBody{}, "what a migration changed, and what is left to do"},
	{"rules", 1, rulesBody{}, "the rules of lint"},
	{"contract", 1, contractPage{}, "the contract of a role"},
	{"contracts", 1, rolesBody{}, "the roles that have a contract"},
	{"support", 1, matrixBody{}, "which contracts providers support"},
	{"survey", 1, inventory.Survey{}, "what was found about many providers"},
	{"contract-plan", 1, plansBody{}, "what providers need for a contract"},
	{"hooks", 1, hooksBody{}, "the hooks of the Runtime SDK"},
	{"move-plan", 2, moveBody{}, "what clusterctl move would do"},
	{"move-verify", 1, verifiedBody{}, "what arrived after a move"},
}

// documentOf returns a kind of Documents.
func documentOf(kind string) Document {
	for _, d := range Documents {
		if d.Kind == kind {
			return d
		}
	}
	panic("no document of kind " + kind)
}

// Write writes the document with a body of its kind. Failures say what is
// missing in it.
func (d Document) Write(w io.Writer, failures []error, body any) error {
	return d.write(w, failures, nil, body)
}

func (d Document) write(w io.Writer, failures []error, suppressed []lint.Suppressed, body any) error {
	h := head{Kind: d.Kind, SchemaVersion: d.Version, Failures: messages(failures)}
	for i := range suppressed {
		h.Suppressed = append(h.Suppressed, jsonSuppressed{findingJSON(&suppressed[i].Finding), suppressed[i].Reason})
	}
	b := bufio.NewWriterSize(w, 1<<16)
	sep := "{\n  "
	for _, m := range append(members(h), members(body)...) {
		b.WriteString(sep + strconv.Quote(m.name) + ": ")
		sep = ",\n  "
		write := func(b *bufio.Writer) error { return encode(b, m.value, "  ", "  ") }
		if list, ok := m.value.(stream); ok {
			write = list.write
		}
		if err := write(b); err != nil {
			return err
		}
	}
	b.WriteString("\n}\n")
	return b.Flush()
}

func messages(all []error) (out []string) {
	for _, err := range all {
		out = append(out, err.Error())
	}
	return out
}

// jsonField is a field of a struct, or of one in it, that encoding/json writes.
type jsonField struct {
	reflect.StructField
	name string
	omit bool // if it is empty
}

// jsonFields are those of a struct, in their order.
func jsonFields(t reflect.Type) (out []jsonField) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" && (!f.Anonymous || name != "") {
			out = append(out, jsonField{f, cmp.Or(name, f.Name), strings.Contains(options, "omit")})
		}
	}
	return out
}

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	name  string // with ",omitempty", the member is left out if its value is empty
	value any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	out := bytes.NewBufferString("{")
	for _, m := range o {
		name, omit := strings.CutSuffix(m.name, ",omitempty")
		if omit && empty(reflect.ValueOf(m.value)) {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.Quote(name) + ":")
		if err := encode(out, m.value, "", ""); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func empty(v reflect.Value) bool { return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 }

// members are what encoding/json writes of a struct, in its order.
func members(body any) (out object) {
	v := reflect.Indirect(reflect.ValueOf(withLists(body)))
	for _, f := range jsonFields(v.Type()) {
		if value := v.FieldByIndex(f.Index); !f.omit || !empty(value) {
			out = append(out, member{f.name, value.Interface()})
		}
	}
	return out
}

// stream is a member that is a list with very many entries, which are written one at a
// time.
type stream interface {
	write(*bufio.Writer) error
	entry() reflect.Type
}

// entries is the stream of a sequence, with entries of several lines; those of entryLines
// have one line each.
type (
	entries[T any]    iter.Seq[T]
	entryLines[T any] iter.Seq[T]
)

func (s entries[T]) write(b *bufio.Writer) error {
	return writeList(b, iter.Seq[T](s), func(e T) error { return encode(b, withLists(e), "    ", "  ") })
}

func (s entryLines[T]) write(b *bufio.Writer) error {
	return writeList(b, iter.Seq[T](s), func(e T) error {
		data, err := json.Marshal(e)
		b.Write(data)
		return err
	})
}

func (entries[T]) entry() reflect.Type    { return reflect.TypeFor[T]() }
func (entryLines[T]) entry() reflect.Type { return reflect.TypeFor[T]() }

func writeList[T any](b *bufio.Writer, all iter.Seq[T], write func(T) error) error {
	sep, end := "[\n    ", "[]"
	for e := range all {
		b.WriteString(sep)
		sep, end = ",\n    ", "\n  ]"
		if err := write(e); err != nil {
			return err
		}
	}
	b.WriteString(end)
	return nil
}

// encode writes a value with indentation, the first line excepted, without a line end
// and without escaping what HTML would mind.
func encode(w io.Writer, v any, prefix, indent string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	return err
}

// Schema returns the JSON schema (draft 2020-12) of the document, made of its Go
// types. It permits fields that it does not list, because later versions of this
// program may add some.
func (d Document) Schema() ([]byte, error) {
	s := schemaOf(reflect.TypeFor[head]())
	body := schemaOf(reflect.TypeOf(d.Body))
	s.Properties = append(s.Properties, body.Properties...)
	s.Required = append(s.Required, body.Required...)
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "clusterctl-repo: "+d.Title
	for i, value := range []any{d.Kind, d.Version} {
		p := s.Properties[i].value.(*schema)
		p.Const, p.Type = value, nil
	}
	var out bytes.Buffer
	err := encode(&out, s, "", "  ")
	return append(out.Bytes(), '\n'), err
}

// schema is the part of JSON schema that Go types need.
type schema struct {
	Schema      string   `json:"$schema,omitempty"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Const       any      `json:"const,omitempty"`
	Type        any      `json:"type,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Names       *schema  `json:"propertyNames,omitempty"`
	Properties  object   `json:"properties,omitempty"`
	Required    []string `json:"required,omitempty"`
	Items       *schema  `json:"items,omitempty"`
	Additional  *schema  `json:"additionalProperties,omitempty"`
}

var (
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	closed        = reflect.TypeFor[closedSet]()
)

// closedSet is a type of words that knows all of them.
type closedSet interface{ Words() []string }

// sets are the words that the tag "enum" of a field of plain strings, or of a map
// with such keys, names.
var sets = map[string]func() []string{
	"severity":  func() []string { return between(lint.Info, lint.Error) },
	"level":     func() []string { return between(migrate.Note, migrate.Manual) },
	"migration": func() []string { return append(between(migrate.Note, migrate.Manual), "files", "objects") },
	"hook":      extension.Levels,
	"need":      func() []string { return between(contract.Optional, contract.Must) },
	"field":     func() []string { return slices.Sorted(maps.Values(problems)) },
	"outcome":   func() []string { return between(owners.Safe, owners.Fails) },
	"verdict": func() (out []string) {
		for _, f := range fates {
			out = append(out, f.word)
		}
		return out
	},
}

// between returns the words from one constant to another.
func between[T interface {
	~int | ~uint8
	fmt.Stringer
}](first, last T) (out []string) {
	for i := first; i <= last; i++ {
		out = append(out, i.String())
	}
	return out
}

// withLists is a body in which every list that is nil is an empty one, since
// readers are promised lists. What the body refers to is changed.
func withLists(body any) any {
	v := reflect.New(reflect.TypeOf(body)).Elem()
	v.Set(reflect.ValueOf(body))
	fillLists(v)
	return v.Interface()
}

func fillLists(v reflect.Value) {
	if v.Type().Implements(textMarshaler) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" {
				fillLists(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.Slice, reflect.Pointer:
			for i := range v.Len() {
				fillLists(v.Index(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fillLists(v.Elem())
		}
	}
}

// schemaOf describes what encoding/json makes of a type.
func schemaOf(t reflect.Type) *schema {
	switch {
	case t.Implements(reflect.TypeFor[stream]()):
		return &schema{Type: "array", Items: schemaOf(reflect.Zero(t).Interface().(stream).entry())}
	case t.Implements(closed):
		return &schema{Type: "string", Enum: reflect.Zero(t).Interface().(closedSet).Words()}
	case t.Implements(jsonMarshaler):
		return &schema{}
	case t.Implements(textMarshaler):
		return &schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := schemaOf(t.Elem())
		if word, ok := s.Type.(string); ok {
			s.Type = []string{word, "null"} // what encoding/json makes of nil
		}
		return s
	case reflect.Struct:
		return structSchema(t)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &schema{Type: "string"}
		}
		return &schema{Type: "array", Items: schemaOf(t.Elem())}
	case reflect.Map:
		s := &schema{Type: "object", Additional: schemaOf(t.Elem())}
		if words := schemaOf(t.Key()).Enum; words != nil {
			s.limit(words)
		}
		return s
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Interface:
		return &schema{}
	}
	return &schema{Type: "integer"}
}

// limit permits only the words of a set: as the string, or as the keys of a map.
func (s *schema) limit(words []string) {
	if s.Type == "object" {
		s.Names = &schema{Enum: words}
		return
	}
	s.Enum = words
}

func structSchema(t reflect.Type) *schema {
	s := &schema{Type: "object"}
	for _, f := range jsonFields(t) {
		one := schemaOf(f.Type)
		one.Description = f.Tag.Get("doc")
		if set := f.Tag.Get("enum"); set != "" {
			one.limit(sets[set]())
		}
		if !f.omit {
			s.Required = append(s.Required, f.name)
		} else if words, ok := one.Type.([]string); ok {
			one.Type = words[0]
		}
		s.Properties = append(s.Properties, member{f.name, one})
	}
	return s
}

// groups puts together what has the same key, in the order of the first of each.
func groups[T any, K comparable](all []T, key func(T) K) [][]T {
	var out [][]T
	place := map[K]int{} // in out
	for _, one := range all {
		k := key(one)
		i, known := place[k]
		if !known {
			i = len(out)
			place[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], one)
	}
	return out
}
