package report

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// WriteJSON writes structs as one object that has the fields of all. Lists, which may
// have very many entries, are written one entry at a time.
func WriteJSON(w io.Writer, parts ...any) error {
	b := bufio.NewWriterSize(w, 1<<16)
	sep := "{\n  "
	for _, part := range parts {
		for _, m := range members(part) {
			b.WriteString(sep + strconv.Quote(m[0].(string)) + ": ")
			sep = ",\n  "
			list := reflect.ValueOf(m[1])
			if list.Kind() != reflect.Slice || list.Len() == 0 {
				if err := EncodeJSON(b, m[1], "  ", "  "); err != nil {
					return err
				}
				continue
			}
			for i := range list.Len() {
				b.WriteString(map[bool]string{true: "[\n    ", false: ",\n    "}[i == 0])
				if err := EncodeJSON(b, list.Index(i).Interface(), "    ", "  "); err != nil {
					return err
				}
			}
			b.WriteString("\n  ]")
		}
	}
	b.WriteString("\n}\n")
	return b.Flush()
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

// Object is a JSON object that keeps the order of its members: pairs of a name and a
// value. With ",omitempty" in its name a member is left out if its value is empty.
type Object [][2]any

func (o Object) MarshalJSON() ([]byte, error) {
	out := bytes.NewBufferString("{")
	for _, m := range o {
		name, omit := strings.CutSuffix(m[0].(string), ",omitempty")
		if omit && empty(reflect.ValueOf(m[1])) {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.Quote(name) + ":")
		if err := EncodeJSON(out, m[1], "", ""); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func empty(v reflect.Value) bool { return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 }

// members are what encoding/json writes of a struct, in its order.
func members(body any) (out Object) {
	v := reflect.Indirect(reflect.ValueOf(WithLists(body)))
	for _, f := range jsonFields(v.Type()) {
		if value := v.FieldByIndex(f.Index); !f.omit || !empty(value) {
			out = append(out, [2]any{f.name, value.Interface()})
		}
	}
	return out
}

// EncodeJSON writes a value with indentation, the first line excepted, without a line end
// and without escaping what HTML would mind.
func EncodeJSON(w io.Writer, v any, prefix, indent string) error {
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

// Schema returns the JSON schema (draft 2020-12) of what WriteJSON makes of such structs, of
// which the first fields are constants. The tag "doc" of a field describes it, and "enum"
// has the words that a field of plain strings may be.
func Schema(title string, constants []any, parts ...any) ([]byte, error) {
	s := &schema{Schema: "https://json-schema.org/draft/2020-12/schema", Title: title, Type: "object"}
	for _, part := range parts {
		of := structSchema(reflect.TypeOf(part))
		s.Properties = append(s.Properties, of.Properties...)
		s.Required = append(s.Required, of.Required...)
	}
	for i, value := range constants {
		p := s.Properties[i][1].(*schema)
		p.Const, p.Type = value, nil
	}
	var out bytes.Buffer
	err := EncodeJSON(&out, s, "", "  ")
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
	Properties  Object   `json:"properties,omitempty"`
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

// WithLists is a body in which every list that is nil is an empty one, since
// readers are promised lists. What the body refers to is changed.
func WithLists(body any) any {
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
			s.Names = &schema{Enum: words}
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

func structSchema(t reflect.Type) *schema {
	s := &schema{Type: "object"}
	for _, f := range jsonFields(t) {
		one := schemaOf(f.Type)
		one.Description = f.Tag.Get("doc")
		if set := f.Tag.Get("enum"); set != "" {
			one.Enum = strings.Split(set, ",")
		}
		if !f.omit {
			s.Required = append(s.Required, f.name)
		} else if words, ok := one.Type.([]string); ok {
			one.Type = words[0]
		}
		s.Properties = append(s.Properties, [2]any{f.name, one})
	}
	return s
}
