package gotypes

//lint:file-ignore SA1019 v1beta1 is still served, and the tables must fit it

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

var seed = flag.Uint64("seed", 1, "of the mutants")

// mutants is the number of documents that are compared with the real conversion.
func mutants() int { return share.Of(400, 5000) }

// zoo has a field of every sort that the converter tells apart, more than the
// API types use.
type zoo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	*Basket                            // no tag
	Bool              bool             `json:"bool,omitempty"`
	Word              word             `json:"word"`
	Text              *string          `json:"text,omitempty"`
	I                 int              `json:"i"`
	I8                int8             `json:"i8"`
	I16               int16            `json:"i16"`
	I32               *int32           `json:"i32"`
	I64               int64            `json:"i64"`
	U                 uint             `json:"u"`
	U8                uint8            `json:"u8"`
	U32               uint32           `json:"u32"`
	U64               uint64           `json:"u64"`
	F32               float32          `json:"f32"`
	F64               float64          `json:"f64"`
	Bytes             []byte           `json:"bytes"`
	Texts             []string         `json:"texts"`
	Lists             [][]Basket       `json:"lists"`
	Map               map[word]*Basket `json:"map"`
	Deep              map[string][]zoo `json:"deep"`
	Any               any              `json:"any"`
	Raw               runtime.RawExtension
	Quantity          resource.Quantity            `json:"quantity"`
	Quantities        map[string]resource.Quantity `json:"quantities"`
	Duration          *metav1.Duration             `json:"duration"`
	Time              metav1.Time                  `json:"time"`
	FieldsV1          *metav1.FieldsV1             `json:"fields"`
	Either            intstr.IntOrString           `json:"either"`
	Hidden            string                       `json:"-"`
}

type word string

type Basket struct {
	Apples int32  `json:"apples"`
	Pears  string `json:"pears"`
}

// subject is a type of the tests.
type subject struct {
	reflect.Type
	of *shape
}

// subjects are the types of the tests, in a fixed order.
func subjects() []subject {
	known := goTypes()
	names := slices.SortedFunc(maps.Keys(known), func(a, b name) int {
		return cmp.Or(cmp.Compare(a.apiVersion, b.apiVersion), cmp.Compare(a.kind, b.kind))
	})
	animals := name{"v1", "zoo"}
	out := []subject{{reflect.TypeFor[zoo](), newTable(describe(map[name]reflect.Type{animals: reflect.TypeFor[zoo]()})).lookup(animals)}}
	for _, n := range names {
		out = append(out, subject{known[n], catalogue().lookup(n)})
	}
	return out
}

// maker makes documents.
type maker struct{ *rand.Rand }

func pick[T any](m maker, list ...T) T { return list[m.IntN(len(list))] }

// value makes a value that fits a type.
func (m maker) value(t reflect.Type, depth int) any {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return pick[any](m, "100m", "1Gi", 2, 0.5, " 3 ", "1e3")
	case reflect.TypeFor[metav1.Duration]():
		return pick(m, "30s", "1h2m", "0", "-1.5h")
	case reflect.TypeFor[metav1.Time]():
		return pick(m, "2024-01-02T03:04:05Z", "2024-01-02T03:04:05+01:00")
	case reflect.TypeFor[intstr.IntOrString]():
		return pick[any](m, 80, "http", "50%", -1)
	case reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1]():
		return map[string]any{"a": 1.5}
	}
	if of, otherwise, ok := strings.Cut(words[t], "|"); ok {
		if depth > 0 && m.IntN(2) == 0 {
			if strings.Contains(of, "v1beta1") {
				return m.value(reflect.TypeFor[apiextensionsv1beta1.JSONSchemaProps](), depth-1)
			}
			return m.value(reflect.TypeFor[apiextensionsv1.JSONSchemaProps](), depth-1)
		}
		return pick(m, map[string][]any{"bool": {true, false}, "list": {[]any{}, 5, "a"}, "texts": {[]any{"a"}, "b"}}[otherwise]...)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.value(t.Elem(), depth)
	case reflect.Bool:
		return m.IntN(2) == 0
	case reflect.String:
		return pick(m, "a", "", "1", "true", "${X}", "a: b", "null")
	case reflect.Float32, reflect.Float64:
		return pick(m, 0.5, -3, 1e30)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return pick[any](m, "", "YWJj", []any{1, 2, 300})
		}
		list := []any{}
		for range m.IntN(3) {
			list = append(list, m.value(t.Elem(), depth-1))
		}
		return list
	case reflect.Map:
		out := map[string]any{}
		for range m.IntN(3) {
			out[pick(m, "a", "b.c", "d[0]", "f/g", "h")] = m.value(t.Elem(), depth-1)
		}
		return out
	case reflect.Struct:
		out := map[string]any{}
		if depth <= 0 {
			return out
		}
		m.fill(out, t, depth)
		return out
	case reflect.Interface:
		return pick[any](m, nil, 1, "a", []any{1.5})
	}
	return m.whole()
}

func (m maker) whole() any {
	return pick[any](m, 0, 1, -1, 7, 100, 3.0)
}

func (m maker) fill(out map[string]any, t reflect.Type, depth int) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" && f.Anonymous {
			of := f.Type
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			m.fill(out, of, depth)
		} else if m.IntN(t.NumField()) < 4 {
			out[cmp.Or(tag, f.Name)] = m.value(f.Type, depth-1)
		}
	}
}

// odd makes a value that does not fit most types.
func (m maker) odd() any {
	return pick[any](m, nil, true, 0, 5, -7, 1.5, 300, 70000, 3000000000, -3000000000, json.Number("9007199254740993"),
		json.Number("9223372036854775807"), json.Number("18446744073709551615"), json.Number("-9223372036854775808"), 1e19, 1e22, -1e300, 1e-7,
		"", "x", "12", "1Gi", "five", "10 s", "2024-13-01T00:00:00Z", "YQ=", "a b", `say "1"`, "tab\t1", "<&>", "ünïcode", "YW\nJj",
		[]any{}, []any{nil, "a", 1, []any{}}, map[string]any{}, map[string]any{"a": "b"}, map[string]any{"type": 5, "items": false})
}

// mutate changes one value or key somewhere in a document.
func (m maker) mutate(root map[string]any) {
	type spot struct {
		in  map[string]any
		key string
		of  []any
		at  int
	}
	var spots []spot
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			keys := make([]string, 0, len(v))
			for key := range v {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			for _, key := range keys {
				spots = append(spots, spot{in: v, key: key})
				walk(v[key])
			}
		case []any:
			for i := range v {
				spots = append(spots, spot{of: v, at: i})
				walk(v[i])
			}
		}
	}
	walk(root)
	if len(spots) == 0 {
		return
	}
	s := pick(m, spots...)
	switch {
	case s.in == nil:
		s.of[s.at] = m.odd()
	case m.IntN(3) > 0:
		s.in[s.key] = m.odd()
	default:
		value := s.in[s.key]
		if m.IntN(2) == 0 {
			delete(s.in, s.key)
		}
		s.in[pick(m, strings.ToUpper(s.key), s.key+"s", "-", "a.b", "name")] = value
	}
}

// agree compares the verdict on a document with what the converter does.
func agree(t *testing.T, of subject, text []byte) (fatal bool) {
	t.Helper()
	stream := yamldoc.Parse(yamldoc.NewFile("test.yaml", text))
	if len(stream.Docs) != 1 || stream.Docs[0].Err != nil {
		t.Fatalf("cannot read the document: %s", text)
	}
	n := stream.Docs[0].Root
	m := given.Value(yamldoc.ToMap(string(text)))(t)
	problems := Check(of.of, n)
	into := reflect.New(of.Type).Interface()
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(m, into, true)
	strict, converts := runtime.AsStrictDecodingError(err)
	converts = converts || err == nil
	fatal = slices.ContainsFunc(problems, func(p Problem) bool { return p.Kind.Fatal() })
	if fatal == converts {
		t.Fatalf("%v: the converter says %v, and Check %+v, for\n%s", of.Type, err, problems, text)
	}
	if !slices.IsSortedFunc(problems, func(a, b Problem) int {
		p, q := stream.Docs[0].Pos(a.Node), stream.Docs[0].Pos(b.Node)
		return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
	}) {
		t.Errorf("problems are not in order: %+v for\n%s", problems, text)
	}
	if !converts {
		return fatal
	}
	want := map[string]bool{}
	if err != nil {
		for _, err := range strict.Errors() {
			want[err.Error()] = true
		}
	}
	got, wraps := map[string]bool{}, map[*yamldoc.Node]string{}
	for _, p := range problems {
		switch p.Kind {
		case Unknown:
			path, ok := converterPath(of.of, m, p.Path)
			if !ok {
				t.Fatalf("%v: the path %s leads nowhere in\n%s", of.Type, p.Path, text)
			}
			got[fmt.Sprintf("unknown field %q", path)] = true
		case Wraps:
			wraps[p.Node] = p.Got
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%v: unknown to the converter: %v, to Check: %v, in\n%s", of.Type, want, got, text)
	}
	if out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(into); err == nil {
		compareNumbers(t, n, out, wraps)
	}
	return fatal
}

// converterPath follows a path and leaves out the keys of mappings, which the
// converter does not name.
func converterPath(of *shape, v any, path string) (string, bool) {
	if path == "" {
		return "", true
	}
	if at, ok := strings.CutPrefix(path, "["); ok {
		list, _ := v.([]any)
		for i := range list {
			if rest, ok := strings.CutPrefix(at, fmt.Sprintf("%d]", i)); ok {
				tail, ok := converterPath(of.elem, list[i], strings.TrimPrefix(rest, "."))
				return fmt.Sprintf("[%d]", i) + dotted(tail), ok
			}
		}
		return "", false
	}
	m, _ := v.(map[string]any)
	for key := range m {
		rest, ok := strings.CutPrefix(path, key)
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		rest = strings.TrimPrefix(rest, ".")
		if of.form == mapping {
			if tail, ok := converterPath(of.elem, m[key], rest); ok {
				return tail, true
			}
			continue
		}
		if rest == "" {
			return key, true
		}
		if field := of.fields()[key]; field != nil {
			if tail, ok := converterPath(field, m[key], rest); ok {
				return key + dotted(tail), true
			}
		}
	}
	return "", false
}

func dotted(tail string) string {
	if tail == "" || tail[0] == '[' {
		return tail
	}
	return "." + tail
}

// compareNumbers demands that whole numbers stay the same unless they are said to
// wrap.
func compareNumbers(t *testing.T, n *yamldoc.Node, v any, wraps map[*yamldoc.Node]string) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for _, f := range n.Fields() {
			compareNumbers(t, n.Get(f.Name), v[f.Name], wraps)
		}
	case []any:
		for i := range min(len(v), len(n.List())) {
			compareNumbers(t, n.List()[i], v[i], wraps)
		}
	case int64, uint64:
		if n.Kind != yamldoc.Int && n.Kind != yamldoc.Float {
			return
		}
		before, _ := new(big.Rat).SetString(n.Text())
		after, _ := new(big.Rat).SetString(fmt.Sprint(v))
		becomes, said := wraps[n]
		switch {
		case said && before.Cmp(after) != 0 && becomes == fmt.Sprint(v):
		case !said && before.Cmp(after) == 0:
		case !said && n.Value() == any(float64(reflect.ValueOf(v).Convert(reflect.TypeFor[int64]()).Int())):
			// Where any value may stand no type is to blame.
		default:
			t.Errorf("%s becomes %v, and Check says %q", n.Text(), v, becomes)
		}
	}
}

// TestAgainstConverter compares Check with the conversion of apimachinery on
// documents that fit their type, and on the same with a few changes.
func TestAgainstConverter(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(*seed, 0))}
	all := subjects()
	refused := 0
	for i := range mutants() {
		of := all[i%len(all)]
		if i%4 == 0 {
			of = all[0]
		}
		root := map[string]any{}
		m.fill(root, of.Type, 3+m.IntN(6))
		changes := m.IntN(4)
		for range changes {
			m.mutate(root)
		}
		text := given.Value(json.Marshal(root))(t)
		fatal := agree(t, of, text)
		if fatal && changes == 0 {
			t.Fatalf("%v: a document that was made to fit does not: %s", of.Type, text)
		}
		if fatal {
			refused++
		}
	}
	// Each of these fields has an UnmarshalJSON of its own.
	for _, of := range all {
		if of.Type == reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]() {
			for _, field := range []string{"additionalProperties", "additionalItems", "items"} {
				agree(t, of, []byte(`{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"`+field+`":["a"]}}}]}}`))
			}
		}
	}
	t.Logf("seed %d: %d documents, %d refused", *seed, mutants(), refused)
	if refused < mutants()/10 || refused > mutants()*9/10 {
		t.Errorf("%d of %d documents are refused, so that the test says little", refused, mutants())
	}
}

// corpus calls visit for the objects of real releases that have a type.
func corpus(t testing.TB, visit func(d *yamldoc.Document, of subject)) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(share.Corpus(t, "releases"), "*", "*", "*.yaml"))
	known := goTypes()
	for _, path := range files {
		data := given.Read(t, path)
		for _, d := range yamldoc.Parse(yamldoc.NewFile(path, data)).Docs {
			n := name{d.Root.Get("apiVersion").Str(), d.Root.Get("kind").Str()}
			if of := catalogue().lookup(n); of != nil {
				visit(d, subject{known[n], of})
			}
		}
	}
}

// TestCorpusAgainstConverter does the same with mutants of real objects.
func TestCorpusAgainstConverter(t *testing.T) {
	m := maker{rand.New(rand.NewPCG(*seed, 1))}
	objects, mutated, refused := 0, 0, 0
	corpus(t, func(d *yamldoc.Document, of subject) {
		start, end := d.Range()
		data := []byte(d.Text()[start:end])
		objects++
		agree(t, of, data)
		if len(data) > 20_000 && mutated > mutants()/10 || mutated > mutants()/3 {
			return
		}
		for range 3 {
			root := d.Root.Value().(map[string]any)
			for range 1 + m.IntN(3) {
				m.mutate(root)
			}
			text := given.Value(json.Marshal(root))(t)
			mutated++
			if agree(t, of, text) {
				refused++
			}
		}
	})
	t.Logf("seed %d: %d objects, %d mutants, %d refused", *seed, objects, mutated, refused)
}
