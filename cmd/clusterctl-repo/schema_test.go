package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/root"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// runHere runs the program in the working directory and returns what it wrote to
// standard output.
func runHere(t *testing.T, args ...string) (code int, out []byte, errs string) {
	t.Helper()
	dir := given.Value(os.Getwd())(t)
	code, text, errs := run(t, dir, args...)
	return code, []byte(text), errs
}

// compiled is a JSON schema.
func compiled(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	raw := given.Value(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	c := jsonschema.NewCompiler()
	given.NoError(t, c.AddResource("schema.json", raw))
	return given.Value(c.Compile("schema.json"))(t)
}

// fits compares the document that a command writes with a schema, which must know every
// field in it.
func fits(t *testing.T, schema []byte, args ...string) {
	t.Helper()
	code, doc, errs := runHere(t, args...)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatalf("%q exits with %d: %v\n%s%s", args, code, err, doc, errs)
	}
	if err := compiled(t, schema).Validate(v); err != nil {
		t.Errorf("%q: %v", args, err)
	}
	if unknown := unlisted(decoded(t, schema), any(decoded(t, doc)), ""); len(unknown) > 0 {
		t.Errorf("%q: the schema lacks %q", args, slices.Compact(unknown))
	}
}

// TestSchemas compares real documents of every kind with the published schemas,
// which must know every field in them.
func TestSchemas(t *testing.T) {
	share.SkipInRace(t)
	example := given.Value(filepath.Abs("../../examples/cluster-api-provider-acme"))(t)
	newAttacked(t) // for a repository that fits, and the folder of the test
	if code, _, errs := runHere(t, "build", example, "--version", "v0.1.0", "--out", "out"); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := runHere(t, "mirror", "repo@v0.1.0", "--to", "mirror"); code != 0 {
		t.Fatal(errs)
	}
	commands := map[string][]string{
		"lint":          {"lint", example, "-o", "json"},
		"vars":          {"vars", "out", "-o", "json"},
		"images":        {"images", "out", "-o", "json"},
		"image-checks":  {"images", "repo/infrastructure-foo/v0.1.0", "--check-images", "-o", "json"}, // it has none, so nothing is asked
		"diff":          {"diff", "repo/infrastructure-foo/v0.1.0", "repo/infrastructure-foo/v0.1.0", "-o", "json"},
		"move-plan":     {"move-plan", "out", "-o", "json"},
		"rules":         {"rules", "-o", "json"},
		"contract":      {"contract", "show", "InfraMachine", "-o", "json"},
		"contracts":     {"contract", "list", "-o", "json"},
		"hooks":         {"extension", "hooks", "-o", "json"},
		"record":        {"publish", "repo", "--to", "published", "--receipt", "-", "--allow=broken-latest", "--fail-on", "never"},
		"mirror-verify": {"mirror", "verify", "mirror", "-o", "json"},
		"version":       {"version", "-o", "json"},
	}
	for _, d := range root.Documents() {
		t.Run(d.Kind, func(t *testing.T) {
			_, text, _ := runHere(t, "schema", d.Kind)
			for _, wrong := range []string{"{}", `{"kind": "x", "schemaVersion": 1, "failures": [], "suppressed": []}`} {
				if compiled(t, text).Validate(any(decoded(t, []byte(wrong)))) == nil {
					t.Errorf("the schema accepts %s", wrong)
				}
			}
			args, ok := commands[d.Kind]
			if !ok {
				t.Fatal("no command writes it in this test")
			}
			fits(t, text, args...)
		})
	}
}

// TestIncompleteDocuments asks for documents of a release with a file that cannot be
// read: they must hold the rest, and say what is missing.
func TestIncompleteDocuments(t *testing.T) {
	newAttacked(t)
	const release = "repo/infrastructure-foo/v0.1.0"
	given.NoError(t, os.CopyFS("whole/infrastructure-foo/v0.1.0", os.DirFS(release)))
	given.File(t, release+"/cluster-template-broken.yaml", "a: ${X\n")
	given.File(t, "other/infrastructure-foo/v0.1.0/metadata.yaml", "other: content\n")
	code, text, errs := runHere(t, "publish", "whole", "--to", "other", "--receipt", "-", "--allow=broken-latest", "--fail-on", "never")
	var record struct{ Failures, Releases []any }
	if err := json.Unmarshal(text, &record); err != nil || code != cli.ExitFailed || len(record.Failures) != 1 || len(record.Releases) != 0 {
		t.Errorf("the record of a release that is refused is %s (%v), exit code %d\n%s", text, err, code, errs)
	}
	for _, args := range [][]string{{"vars", release}, {"images", release}, {"diff", "whole/infrastructure-foo/v0.1.0", release}, {"move-plan", release}} {
		code, text, errs := runHere(t, append(args, "-o", "json")...)
		var doc struct{ Failures []string }
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Errorf("%q: %v\n%s%s", args, err, text, errs)
			continue
		}
		if code != cli.ExitFailed || len(doc.Failures) == 0 || !strings.Contains(doc.Failures[0], "cluster-template-broken.yaml") {
			t.Errorf("%q exits with %d and failures %q", args, code, doc.Failures)
		}
	}
}

// unlisted returns the fields of a document that a schema does not list.
func unlisted(schema map[string]any, v any, at string) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		additional, open := schema["additionalProperties"].(map[string]any)
		for name, value := range v {
			s, ok := properties[name].(map[string]any)
			if !ok && open {
				s, ok = additional, true
			}
			if !ok {
				if len(schema) > 0 { // any value
					out = append(out, at+"."+name)
				}
				continue
			}
			out = append(out, unlisted(s, value, at+"."+name)...)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, value := range v {
			out = append(out, unlisted(items, value, at+"[]")...)
		}
	}
	slices.Sort(out)
	return out
}

// TestSchemasKeepTheirWord compares the schemas with those that were published in
// testdata/schemas. Fields may be added, which -update writes down. Whatever else
// changes needs another schemaVersion.
func TestSchemasKeepTheirWord(t *testing.T) {
	for _, d := range root.Documents() {
		name := filepath.Join("testdata", "schemas", fmt.Sprintf("%s.v%d.json", d.Kind, d.Version))
		now := given.Value(d.Schema())(t)
		published, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && *update {
			given.NoError(t, os.WriteFile(name, now, 0o644))
			continue
		}
		if err != nil {
			t.Errorf("%v; a new schemaVersion is written down by make generate", err)
			continue
		}
		if broken := brokenPromises(decoded(t, published), decoded(t, now), d.Kind); len(broken) > 0 {
			t.Errorf("readers of %s version %d are broken; raise Version in its Document, or undo this:\n%s", d.Kind, d.Version, strings.Join(broken, "\n"))
			continue
		}
		if bytes.Equal(published, now) {
			continue
		}
		if !*update {
			t.Errorf("%s is out of date: run make generate", name)
		} else if err := os.WriteFile(name, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func decoded(t *testing.T, text []byte) (out map[string]any) {
	t.Helper()
	given.NoError(t, json.Unmarshal(text, &out))
	return out
}

// brokenPromises lists what readers of an old schema could rely on, and the new one
// does not promise.
func brokenPromises(old, now map[string]any, at string) (out []string) {
	for _, word := range []string{"const", "pattern", "format"} {
		if !reflect.DeepEqual(old[word], now[word]) {
			out = append(out, fmt.Sprintf("%s: %s was %v and is %v", at, word, old[word], now[word]))
		}
	}
	// What was permitted may be forbidden, but not the other way round.
	for _, word := range []string{"type", "enum"} {
		if old[word] != nil && !within(listed(now[word]), listed(old[word])) {
			out = append(out, fmt.Sprintf("%s: %s was %v and is %v", at, word, old[word], now[word]))
		}
	}
	if keys, ok := old["propertyNames"].(map[string]any); ok {
		is, _ := now["propertyNames"].(map[string]any)
		out = append(out, brokenPromises(keys, is, at+"{}")...)
	}
	before, _ := old["required"].([]any)
	after, _ := now["required"].([]any)
	for _, name := range before {
		if !slices.Contains(after, name) {
			out = append(out, fmt.Sprintf("%s: %v was always there", at, name))
		}
	}
	fields, _ := old["properties"].(map[string]any)
	left, _ := now["properties"].(map[string]any)
	for name, field := range fields {
		if _, ok := left[name]; !ok {
			out = append(out, fmt.Sprintf("%s.%s is gone", at, name))
			continue
		}
		out = append(out, brokenPromises(field.(map[string]any), left[name].(map[string]any), at+"."+name)...)
	}
	for _, part := range []string{"items", "additionalProperties"} {
		was, had := old[part].(map[string]any)
		is, has := now[part].(map[string]any)
		if had != has {
			out = append(out, fmt.Sprintf("%s: %s was %v and is %v", at, part, old[part], now[part]))
		} else if had {
			out = append(out, brokenPromises(was, is, at+"[]")...)
		}
	}
	slices.Sort(out)
	return out
}

// listed is a value of a schema that may be a list or one of its values.
func listed(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	if v == nil {
		return nil
	}
	return []any{v}
}

// within reports whether a list has something, and nothing that the other lacks.
func within(list, of []any) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(v any) bool { return !slices.Contains(of, v) })
}

func TestBrokenPromises(t *testing.T) {
	const old = `{"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "integer"}}}}}}`
	for now, want := range map[string]string{
		old: "",
		strings.Replace(old, `"b":`, `"new": {"type": "string"}, "b":`, 1): "",
		strings.Replace(old, `["a"]`, `["a", "b"]`, 1):                     "",
		strings.Replace(old, `["a"]`, `[]`, 1):                             "k: a was always there",
		strings.Replace(old, `"a": {"type": "string"}`, `"z": {}`, 1):      "k.a is gone",
		strings.Replace(old, `"integer"`, `"string"`, 1):                   "k.b[].c: type was integer and is string",
		strings.Replace(old, `"items"`, `"contains"`, 1):                   "k.b: items was",
		strings.Replace(old, `"string"`, `"string", "enum": ["x"]`, 1):     "",
		strings.Replace(old, `"string"`, `["string", "null"]`, 1):          "k.a: type was string and is [string null]",
	} {
		if got := strings.Join(brokenPromises(decoded(t, []byte(old)), decoded(t, []byte(now)), "k"), "\n"); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", now, got, want)
		}
	}
	for _, c := range []struct{ was, is, want string }{
		{`{"enum": ["x", "y"]}`, `{"enum": ["y"]}`, ""},
		{`{"enum": ["x"]}`, `{"enum": ["x", "y"]}`, "k: enum was [x] and is [x y]"},
		{`{"enum": ["x"]}`, `{}`, "k: enum was [x] and is <nil>"},
		{`{"propertyNames": {"enum": ["x"]}}`, `{}`, "k{}: enum was [x] and is <nil>"},
		{`{"type": ["array", "null"]}`, `{"type": "array"}`, ""},
	} {
		if got := strings.Join(brokenPromises(decoded(t, []byte(c.was)), decoded(t, []byte(c.is)), "k"), "\n"); got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.was, c.is, got, c.want)
		}
	}
}

// TestSchemasSayWhatFieldsMean looks for fields that only their name describes.
func TestSchemasSayWhatFieldsMean(t *testing.T) {
	var walk func(at string, s map[string]any)
	walk = func(at string, s map[string]any) {
		properties, _ := s["properties"].(map[string]any)
		for name, p := range properties {
			p := p.(map[string]any)
			if words, _ := p["description"].(string); words == "" {
				t.Errorf("%s.%s has no description; write a tag doc", at, name)
			}
			walk(at+"."+name, p)
		}
		for _, part := range []string{"items", "additionalProperties"} {
			if p, ok := s[part].(map[string]any); ok {
				walk(at+"[]", p)
			}
		}
	}
	for _, d := range root.Documents() {
		text := given.Value(d.Schema())(t)
		walk(d.Kind, decoded(t, text))
	}
}

// TestClosedSets compares the words of each type that says it knows all of them
// with the constants in its source.
func TestClosedSets(t *testing.T) {
	type closed interface{ Words() []string }
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(at reflect.Type) {
		if seen[at] {
			return
		}
		seen[at] = true
		if set, ok := reflect.Zero(at).Interface().(closed); ok && at.Kind() != reflect.Struct {
			if want, got := constantsOf(t, at), set.Words(); len(want) != len(got) || at.Kind() == reflect.String && !within(anyOf(want), anyOf(got)) {
				t.Errorf("%v has %q, but its constants are %q", at, got, want)
			}
			return
		}
		switch at.Kind() {
		case reflect.Struct:
			for i := range at.NumField() {
				walk(at.Field(i).Type)
			}
		case reflect.Map:
			walk(at.Key())
			walk(at.Elem())
		case reflect.Slice, reflect.Array, reflect.Pointer:
			walk(at.Elem())
		}
	}
	for _, d := range root.Documents() {
		walk(reflect.TypeOf(d.Body))
	}
}

func anyOf(words []string) (out []any) {
	for _, w := range words {
		out = append(out, w)
	}
	return out
}

// constantsOf returns the values of the constants of a type that are strings, and
// the names of all others.
func constantsOf(t *testing.T, of reflect.Type) (out []string) {
	t.Helper()
	_, below, _ := strings.Cut(of.PkgPath(), "clusterctl-repo/clusterctl-repo/")
	files := given.Value(filepath.Glob(filepath.Join("../..", below, "*.go")))(t)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		given.NoError(t, err)
		for _, d := range file.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				continue
			}
			mine := false
			for _, spec := range group.Specs {
				c := spec.(*ast.ValueSpec)
				if c.Type != nil || len(c.Values) > 0 { // otherwise as the one before
					word, ok := c.Type.(*ast.Ident)
					mine = ok && word.Name == of.Name()
				}
				if !mine {
					continue
				}
				text := c.Names[0].Name
				if len(c.Values) > 0 && of.Kind() == reflect.String {
					if text, err = strconv.Unquote(c.Values[0].(*ast.BasicLit).Value); err != nil {
						t.Fatal(err)
					}
				}
				out = append(out, text)
			}
		}
	}
	return out
}
