package gotypes

import (
	_ "embed"
	"strings"
	"sync"
)

// form says how values get into a type.
type form uint8

const (
	anything form = iota // every value is kept as it is
	boolean
	text
	integer // signed
	natural // unsigned
	number  // with a fraction
	octets  // base64 or a list
	list
	mapping // with keys that the type does not name
	object  // a struct
	// The rest decodes JSON itself.
	intOrString
	quantity
	duration
	moment
	// The parts of JSON schemas that may be either a schema or something else.
	schemaOrBool
	schemaOrList
	schemaOrTexts
)

// shape is what a document may look like.
type shape struct {
	form form
	bits int // of integer and natural
	// elem is the type of what a list or mapping holds, or the schema of the types
	// that may be one.
	elem *shape
	// fields are those of a struct. They are read when they are needed, since few
	// of them ever are, and since types contain themselves.
	fields func() map[string]*shape
}

// leaves are the types that do not consist of others, by their words in types.txt.
var leaves = map[string]*shape{
	"any": {form: anything}, "bool": {form: boolean}, "text": {form: text}, "float": {form: number},
	"octets": {form: octets, elem: &shape{form: natural, bits: 8}},
	"int8":   {form: integer, bits: 8}, "int16": {form: integer, bits: 16}, "int32": {form: integer, bits: 32}, "int64": {form: integer, bits: 64},
	"uint8": {form: natural, bits: 8}, "uint16": {form: natural, bits: 16}, "uint32": {form: natural, bits: 32}, "uint64": {form: natural, bits: 64},
	"int-or-string": {form: intOrString}, "quantity": {form: quantity}, "duration": {form: duration},
	"time": {form: moment},
}

// schemas are the forms of the types that may be a schema.
var schemas = map[string]form{"bool": schemaOrBool, "list": schemaOrList, "texts": schemaOrTexts}

// table is the types that a text describes. Its lines are
//
//	kind API-VERSION KIND STRUCT
//	STRUCT FIELD=TYPE FIELD=TYPE …
//
// where TYPE is a word of leaves, []TYPE for a list, {}TYPE for a mapping, STRUCT,
// or STRUCT|WORD for a schema or what a word of schemas says.
type table struct {
	kinds map[name]string // names of structs
	lines map[string]string

	mu      sync.Mutex
	structs map[string]*shape
}

type name struct{ apiVersion, kind string }

func newTable(text string) *table {
	t := &table{kinds: map[name]string{}, lines: map[string]string{}, structs: map[string]*shape{}}
	for line := range strings.Lines(text) {
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if words := strings.Fields(rest); first == "kind" && len(words) == 3 {
			t.kinds[name{words[0], words[1]}] = words[2]
			continue
		}
		t.lines[first] = rest
	}
	return t
}

// read returns the type that a word describes.
func (t *table) read(word string) *shape {
	if of, ok := strings.CutPrefix(word, "[]"); ok {
		return &shape{form: list, elem: t.read(of)}
	}
	if of, ok := strings.CutPrefix(word, "{}"); ok {
		return &shape{form: mapping, elem: t.read(of)}
	}
	if leaf := leaves[word]; leaf != nil {
		return leaf
	}
	if of, otherwise, ok := strings.Cut(word, "|"); ok {
		return &shape{form: schemas[otherwise], elem: t.object(of)}
	}
	return t.object(word)
}

func (t *table) object(name string) *shape {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.structs[name]; known != nil {
		return known
	}
	out := &shape{form: object, fields: sync.OnceValue(func() map[string]*shape {
		words := strings.Fields(t.lines[name])
		fields := make(map[string]*shape, len(words))
		for _, word := range words {
			field, of, _ := strings.Cut(word, "=")
			fields[field] = t.read(of)
		}
		return fields
	})}
	t.structs[name] = out
	return out
}

// lookup returns the type of a kind, or nil.
func (t *table) lookup(n name) *shape {
	if of := t.kinds[n]; of != "" {
		return t.object(of)
	}
	return nil
}

//go:embed types.txt
var described string

// catalogue is made when it is needed, because start-up time counts.
var catalogue = sync.OnceValue(func() *table { return newTable(described) })

// wanted says what fits a type, by form.
var wanted = [...]string{
	boolean: "a boolean", text: "a string", integer: "a whole number", natural: "a whole number", number: "a number", octets: "text in base64", list: "a list",
	mapping: "a mapping", object: "a mapping", intOrString: "a whole number or a string", quantity: "a quantity such as 100m",
	duration: "a duration such as 30s", moment: "a time such as 2006-01-02T15:04:05Z",
	schemaOrBool: "a schema or a boolean", schemaOrList: "a schema or a list of schemas", schemaOrTexts: "a schema or a list of strings",
}
