package config

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const referenceIntro = "# Configuration\n\n<!-- Made from layouts/config by `make generate`. -->\n\n" +
	"`clusterctl-repo.yaml`, at the root of the source tree, states what the layout of the tree does not show. All keys but `apiVersion`\n" +
	"and `kind` are optional: what is not given is detected. `clusterctl-repo init` writes the file that makes a release again, and\n" +
	"`clusterctl-repo lint . --verbose` shows what was detected and why. Unknown keys, wrong types and paths that leave the tree are\n" +
	"refused with their position.\n\n" +
	"For completion and checks in an editor, begin the file with\n\n```yaml\n" +
	"# yaml-language-server: $schema=https://raw.githubusercontent.com/clusterctl-repo/clusterctl-repo/main/docs/clusterctl-repo.schema.json\n```\n\n" +
	"or write the schema next to it: `clusterctl-repo schema > clusterctl-repo.schema.json`.\n\n" +
	"In names and strings, `{version}` stands for the version of the release, `{number}` for the same without its v, `{label}`, `{type}` and\n" +
	"`{name}` for the provider. Paths are relative to the file; `*` stands for a part of a name, `**` for any number of folders.\n"

// TestReference makes docs/configuration.md: each structure with its keys and an
// example that has all of them.
func TestReference(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(referenceIntro)
	for _, typ := range structures(reflect.TypeFor[Config](), nil) {
		example := given.Read(t, "testdata/reference/"+typ.Name()+".yaml")
		if _, err := Decode(typ.Name(), example); err != nil {
			t.Errorf("the example of %s: %v", typ.Name(), err)
		}
		title := typ.Name()
		if typ == reflect.TypeFor[Config]() {
			title = "The file"
		}
		fmt.Fprintf(&b, "\n## %s\n\n| key | value | meaning |\n|---|---|---|\n", title)
		used := keysOf(t, example)
		for _, f := range fieldsOf(typ) {
			if !used[f.key] {
				t.Errorf("the example of %s does not show the key %s", typ.Name(), f.key)
			}
			key := "`" + f.key + "`"
			if f.required {
				key += " (required)"
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", key, valueOf(f.typ, f), strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`).Replace(f.doc))
		}
		if choice := oneOf(typ); choice != nil {
			fmt.Fprintf(&b, "\nExactly one of `%s` must be given.\n", strings.Join(choice, "`, `"))
		}
		fmt.Fprintf(&b, "\n```yaml\n%s```\n", example)
	}
	golden(t, "../../docs/configuration.md", b.Bytes())
}

// structures returns a struct and those in it, in the order of their keys.
func structures(t reflect.Type, known []reflect.Type) []reflect.Type {
	for _, k := range known {
		if k == t {
			return known
		}
	}
	known = append(known, t)
	for _, f := range fieldsOf(t) {
		inner := f.typ
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			known = structures(inner, known)
		}
	}
	return known
}

// valueOf says what a key takes.
func valueOf(t reflect.Type, f field) string {
	switch t.Kind() {
	case reflect.Struct:
		return fmt.Sprintf("[%s](#%s)", t.Name(), strings.ToLower(t.Name()))
	case reflect.Slice:
		return "list of " + valueOf(t.Elem(), f)
	case reflect.Map:
		return "map to " + valueOf(t.Elem(), f)
	case reflect.Bool:
		return "true or false"
	}
	switch {
	case f.enum != nil:
		return "`" + strings.Join(f.enum, "`, `") + "`"
	case t == reflect.TypeFor[severity]():
		return "`off`, `info`, `warning`, `error`"
	case f.form != "":
		return f.form
	}
	return "string"
}

// keysOf returns all keys of a document.
func keysOf(t *testing.T, data []byte) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	var visit func(n *yamldoc.Node)
	visit = func(n *yamldoc.Node) {
		for _, f := range n.Fields() {
			keys[f.Name] = true
			visit(f.Value)
		}
		for _, item := range n.List() {
			visit(item)
		}
	}
	s := yamldoc.Parse(yamldoc.NewFile(FileName, data))
	if s.Err != nil || len(s.Docs) != 1 || s.Docs[0].Err != nil {
		t.Fatal(s.Err)
	}
	visit(s.Docs[0].Root)
	return keys
}
