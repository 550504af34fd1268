package shape

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// form says how values get into a type.
type form uint8

const (
	never       form = iota // nothing does
	anything                // every value is kept as it is
	boolean                 //
	text                    //
	integer                 // signed
	natural                 // unsigned
	number                  // with a fraction
	octets                  // base64 or a list
	list                    //
	mapping                 // with keys that the type does not name
	object                  // a struct
	opaque                  // the type decodes JSON itself
	intOrString             //
	// The types of JSON schemas that may be either a schema or something else.
	// They decode JSON themselves.
	schemaOrBool
	schemaOrList
	schemaOrTexts
)

// typ is a type as a decoder sees it.
type typ struct {
	reflect.Type
	form form
	// decodes is set if the type decodes JSON itself.
	decodes bool
	// elem is the type of what a list or mapping holds, or the schema of the
	// types that may be one.
	elem func() *typ
	// fields are those of a struct. They are made when they are needed, since
	// few of them ever are, and since types contain themselves.
	fields func() *fields
}

// fields are the fields of a struct with those of the structs inlined in it. A
// name may belong to several, which all get the value.
type fields struct {
	byName map[string][]*typ
	// inlined are embedded types that are no structs, and get the whole value.
	inlined []*typ
}

// types holds a *typ for every reflect.Type that was asked for.
var types sync.Map

func typeOf(t reflect.Type) *typ {
	if known, ok := types.Load(t); ok {
		return known.(*typ)
	}
	known, _ := types.LoadOrStore(t, read(t))
	return known.(*typ)
}

func read(t reflect.Type) *typ {
	// A pointer holds what its type holds: null is fine for every type.
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	out := &typ{Type: t}
	out.decodes = reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	below := func(t reflect.Type) func() *typ { return sync.OnceValue(func() *typ { return typeOf(t) }) }
	switch t.Kind() {
	case reflect.Bool:
		out.form = boolean
	case reflect.String:
		out.form = text
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		out.form = integer
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		out.form = natural
	case reflect.Float32, reflect.Float64:
		out.form = number
	case reflect.Interface:
		out.form = anything
	case reflect.Slice:
		out.form, out.elem = list, below(t.Elem())
		if t.Elem().Kind() == reflect.Uint8 {
			out.form = octets
		}
	case reflect.Map:
		out.form, out.elem = mapping, below(t.Elem())
	case reflect.Struct:
		out.form, out.fields = object, sync.OnceValue(func() *fields { return fieldsOf(t) })
	}
	if plain := boolean <= out.form && out.form <= number; plain || !out.decodes {
		return out // a plain type is filled before it is asked
	}
	out.form = opaque
	switch t {
	case reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1](),
		reflect.TypeFor[apiextensionsv1.JSON](), reflect.TypeFor[apiextensionsv1beta1.JSON]():
		out.form = anything
	case reflect.TypeFor[intstr.IntOrString]():
		out.form = intOrString
	case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():
		out.form, out.elem = schemaOrBool, below(reflect.TypeFor[apiextensionsv1.JSONSchemaProps]())
	case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():
		out.form, out.elem = schemaOrList, below(reflect.TypeFor[apiextensionsv1.JSONSchemaProps]())
	case reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]():
		out.form, out.elem = schemaOrTexts, below(reflect.TypeFor[apiextensionsv1.JSONSchemaProps]())
	case reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrBool]():
		out.form, out.elem = schemaOrBool, below(reflect.TypeFor[apiextensionsv1beta1.JSONSchemaProps]())
	case reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrArray]():
		out.form, out.elem = schemaOrList, below(reflect.TypeFor[apiextensionsv1beta1.JSONSchemaProps]())
	case reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrStringArray]():
		out.form, out.elem = schemaOrTexts, below(reflect.TypeFor[apiextensionsv1beta1.JSONSchemaProps]())
	}
	return out
}

func fieldsOf(t reflect.Type) *fields {
	out := &fields{byName: map[string][]*typ{}}
	out.add(t)
	return out
}

// add names the fields as the converter does (apimachinery: pkg/runtime/
// converter.go, fieldInfoFromField). Unlike encoding/json it makes no exception
// for the name "-".
func (f *fields) add(t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && !field.Anonymous {
			name = field.Name
		}
		of := typeOf(field.Type)
		switch {
		case name != "":
			f.byName[name] = append(f.byName[name], of)
		case of.form == object:
			f.add(of.Type)
		default:
			f.inlined = append(f.inlined, of)
		}
	}
}
