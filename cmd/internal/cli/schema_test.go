package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
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
		"hooks":         {"extension", "hooks", "-o", "json"},
		"move-plan":     {"move-plan", "out", "-o", "json"},
		"record":        {"publish", "repo", "--to", "published", "--record", "-", "--allow-broken-latest"},
		"mirror-verify": {"mirror", "verify", "mirror", "-o", "json"},
		"version":       {"version", "-o", "json"},
		"migrate":       nil, // see TestScripts/migrate
		"move-verify":   nil, // needs a cluster; its writer is tested in repo/report
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
			if args == nil {
				return
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
