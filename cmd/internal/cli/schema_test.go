package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// run runs the program in this process and returns what it wrote to standard
// output.
func runHere(t *testing.T, args ...string) (code int, out []byte, errs string) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code = Main(t.Context(), args, IO{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Env: func(string) (string, bool) { return "", false }, Dir: dir})
	return code, stdout.Bytes(), stderr.String()
}

// TestSchemas compares real documents of every kind with the published schemas,
// which must know every field in them.
func TestSchemas(t *testing.T) {
	example, err := filepath.Abs("../../../examples/cluster-api-provider-acme")
	if err != nil {
		t.Fatal(err)
	}
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
		"image-checks":  {"images", "repo/infrastructure-foo/v0.1.0", "--check", "-o", "json"}, // it has none, so nothing is asked
		"diff":          {"diff", "repo/infrastructure-foo/v0.1.0", "out", "-o", "json"},
		"rules":         {"rules", "-o", "json"},
		"contract":      {"contract", "show", "InfraMachine", "-o", "json"},
		"contracts":     {"contract", "list", "-o", "json"},
		"support":       {"contract", "matrix", "out", "-o", "json"},
		"survey":        {"survey", "repo", "-o", "json", "--state", "survey.jsonl"},
		"contract-plan": {"contract", "plan", "out", "-o", "json"},
		"hooks":         {"extension", "hooks", "-o", "json"},
		"move-plan":     {"move-plan", "out", "-o", "json"},
		"record":        {"publish", "repo", "--to", "published", "--record", "-", "--allow-broken-latest"},
		"mirror-verify": {"mirror", "verify", "mirror", "-o", "json"},
		"version":       {"version", "-o", "json"},
		"migrate":       {"migrate", "old", "-o", "json"},
		"move-verify":   {"move-plan", "--verify", "plan.json", "--to", "dump.yaml", "-o", "json"},
	}
	old := `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: c, namespace: test}
spec:
  topology: {class: acme, version: v1.33.0}
`
	if err := os.MkdirAll("old", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"old/cluster-template.yaml", "dump.yaml"} {
		if err := os.WriteFile(name, []byte(old), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, errs := runHere(t, "move-plan", "dump.yaml", "-o", "json=plan.json"); errs != "" && code > exitFindings {
		t.Fatal(errs)
	}
	for _, d := range documents() {
		t.Run(d.Kind, func(t *testing.T) {
			_, text, errs := runHere(t, "schema", d.Kind)
			raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err, errs)
			}
			c := jsonschema.NewCompiler()
			if err := c.AddResource("schema.json", raw); err != nil {
				t.Fatal(err)
			}
			s, err := c.Compile("schema.json")
			if err != nil {
				t.Fatal(err)
			}
			for _, wrong := range []string{"{}", `{"kind": "x", "schemaVersion": 1, "failures": [], "suppressed": []}`} {
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(wrong))
				if err != nil {
					t.Fatal(err)
				}
				if s.Validate(v) == nil {
					t.Errorf("the schema accepts %s", wrong)
				}
			}
			args, ok := commands[d.Kind]
			if !ok {
				t.Fatal("no command writes it in this test")
			}
			code, doc, errs := runHere(t, args...)
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
			if err != nil {
				t.Fatalf("%q exits with %d: %v\n%s%s", args, code, err, doc, errs)
			}
			if err := s.Validate(v); err != nil {
				t.Errorf("%q: %v", args, err)
			}
			var schema map[string]any
			if err := json.Unmarshal(text, &schema); err != nil {
				t.Fatal(err)
			}
			var plain any
			if err := json.Unmarshal(doc, &plain); err != nil {
				t.Fatal(err)
			}
			if unknown := unlisted(schema, plain, ""); len(unknown) > 0 {
				t.Errorf("the schema lacks %q", slices.Compact(unknown))
			}
		})
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
	for _, d := range documents() {
		name := filepath.Join("testdata", "schemas", fmt.Sprintf("%s.v%d.json", d.Kind, d.Version))
		now, err := d.Schema()
		if err != nil {
			t.Fatal(err)
		}
		published, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && *update {
			if err := os.WriteFile(name, now, 0o644); err != nil {
				t.Fatal(err)
			}
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
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// brokenPromises lists what readers of an old schema could rely on, and the new one
// does not promise.
func brokenPromises(old, now map[string]any, at string) (out []string) {
	for _, word := range []string{"type", "const", "enum", "pattern", "format"} {
		if !reflect.DeepEqual(old[word], now[word]) {
			out = append(out, fmt.Sprintf("%s: %s was %v and is %v", at, word, old[word], now[word]))
		}
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
	} {
		if got := strings.Join(brokenPromises(decoded(t, []byte(old)), decoded(t, []byte(now)), "k"), "\n"); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", now, got, want)
		}
	}
}

// TestSchemasOfCorpus compares the documents about several released providers with
// the schemas.
func TestSchemasOfCorpus(t *testing.T) {
	corpus := os.Getenv("CORPUS")
	if corpus == "" {
		corpus = "../../../../shared/corpus"
	}
	corpus, err := filepath.Abs(filepath.Join(corpus, "releases"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(corpus, "*-*"))
	if err != nil || len(found) == 0 {
		t.Skip("there is no corpus: set CORPUS")
	}
	t.Chdir(t.TempDir())
	for _, provider := range found[:min(len(found), 4)] {
		for kind, args := range map[string][]string{
			"lint": {"lint", provider}, "vars": {"vars", provider}, "images": {"images", provider}, "support": {"contract", "matrix", provider}, "move-plan": {"move-plan", provider},
		} {
			_, text, errs := runHere(t, "schema", kind)
			raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err, errs)
			}
			c := jsonschema.NewCompiler()
			if err := c.AddResource("schema.json", raw); err != nil {
				t.Fatal(err)
			}
			s, err := c.Compile("schema.json")
			if err != nil {
				t.Fatal(err)
			}
			code, doc, errs := runHere(t, append(args, "-o", "json")...)
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
			if err != nil {
				t.Errorf("%q exits with %d: %v\n%s", args, code, err, errs)
				continue
			}
			if err := s.Validate(v); err != nil {
				t.Errorf("%q: %v", args, err)
			}
			if unknown := unlisted(decoded(t, text), any(decoded(t, doc)), ""); len(unknown) > 0 {
				t.Errorf("%q: the schema lacks %q", args, slices.Compact(unknown))
			}
		}
	}
}
