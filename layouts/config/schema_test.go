package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

var update = flag.Bool("update", false, "write the golden files and the schema again")

// golden compares with a file, or writes it if the tests run with -update.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		given.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want := given.Read(t, file)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is out of date; run go test with -update (-file +now):\n%s", file, diff)
	}
}

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text := given.Value(Schema())(t)
	value := given.Value(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	c := jsonschema.NewCompiler()
	given.NoError(t, c.AddResource("schema.json", value))
	s := given.Value(c.Compile("schema.json"))(t)
	return s
}

func TestSchemaIsCommitted(t *testing.T) {
	text := given.Value(Schema())(t)
	golden(t, filepath.Join("..", "..", "docs", "clusterctl-repo.schema.json"), text)
}

// TestSchemaAgrees compares the schema with the decoder.
func TestSchemaAgrees(t *testing.T) {
	full := given.Read(t, "testdata/full.yaml")
	// The parser of the editor reads YAML 1.2, where off is a word.
	full = bytes.Replace(full, []byte(": off"), []byte(`: "off"`), 1)
	tests := map[string]struct {
		in string
		ok bool
	}{
		"full":             {string(full), true},
		"least":            {header, true},
		"no header":        {"metadata: a\n", false},
		"unknown key":      {header + "colour: red\n", false},
		"enum":             {header + "providers: [{type: infra}]\n", false},
		"severity":         {header + "rules: {A: warn}\n", false},
		"type":             {header + "remoteBases: 1\n", false},
		"absolute path":    {header + "metadata: /a\n", false},
		"two of a choice":  {header + "providers: [{templates: [{files: a, kustomize: b}]}]\n", false},
		"none of a choice": {header + "providers: [{templates: [{flavor: b}]}]\n", false},
		"missing":          {header + "publish: [{}]\n", false},
	}
	schema := compiledSchema(t)
	for name, tt := range tests {
		value := yamldoc.Parse(yamldoc.NewFile("c.yaml", []byte(tt.in))).Docs[0].Root.Value()
		if err := schema.Validate(value); (err == nil) != tt.ok {
			t.Errorf("%s: the schema says %v", name, err)
		}
		if _, err := Decode("c.yaml", []byte(tt.in)); (err == nil) != tt.ok {
			t.Errorf("%s: the decoder says %v", name, err)
		}
	}
}

// TestFieldsAreDescribed keeps the tags complete, on which the schema, the
// decoder and the comments depend.
func TestFieldsAreDescribed(t *testing.T) {
	for _, f := range allFields() {
		if f.key == "" || len(f.doc) < 4 || f.doc[len(f.doc)-1] != '.' {
			t.Errorf("key %q: description %q is no sentence", f.key, f.doc)
		}
		if _, ok := forms[f.form]; !ok && f.form != "" {
			t.Errorf("key %q: unknown form %q", f.key, f.form)
		}
	}
}

func TestWrite(t *testing.T) {
	c := &Config{
		Metadata: "metadata.yaml",
		Providers: []Provider{
			{Type: "infrastructure", Name: "example", Components: Components{Path: "config/default"},
				Templates:      []Template{{Files: "templates/cluster-template*.yaml", Exclude: []string{"a", "yes"}}, {Kustomize: "flavors/*", Rename: map[string]string{"a": "b"}}},
				ClusterClasses: []ClusterClass{},
				Patches:        []Patch{{Target: Selector{Kind: "Deployment"}, Patch: "- op: remove\n  path: /spec\n"}}},
			{Type: "ipam", Name: "example", Components: Components{Path: "ipam/config/default"}},
		},
		Rules: map[string]severity{"A1": severityOff},
	}
	notes := []Note{
		{"", "nested/config/default builds no provider"},
		{"metadata", "at the root of the tree"},
		{"providers[0].name", "from the label cluster.x-k8s.io/provider: infrastructure-example in config/default/kustomization.yaml, a long way down"},
		{"providers[0].templates", "2 finished templates"},
		{"providers[0].templates", "the kustomizations are not built"},
		{"providers[1].type", "from the API group of its CRDs"},
	}
	text := given.Value(Write(c, notes))(t)
	golden(t, "testdata/written.yaml", text)
	got := given.Value(Decode("written.yaml", text))(t)
	c.APIVersion, c.Kind = APIVersion, Kind
	if diff := cmp.Diff(c, got, ignoreOrigin); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	given.NoError(t, compiledSchema(t).Validate(yamldoc.Parse(yamldoc.NewFile("c.yaml", text)).Docs[0].Root.Value()))
}

func TestOver(t *testing.T) {
	base := Provider{Type: "infrastructure", Name: "a", Components: Components{Path: "config/default", File: "x.yaml"}, Templates: []Template{{Files: "t"}}, ClusterClasses: []ClusterClass{{Files: "c"}}}
	over := Provider{Name: "b", Components: Components{Path: "config/other"}, Templates: []Template{}}
	want := Provider{Type: "infrastructure", Name: "b", Components: Components{Path: "config/other", File: "x.yaml"}, Templates: []Template{}, ClusterClasses: []ClusterClass{{Files: "c"}}}
	if diff := cmp.Diff(want, over.Over(base), ignoreOrigin); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	of := func(file string) Provider { return Provider{Origin: Origin{file: file}} }
	if a, b := of("a").Over(of("b")), (Provider{}).Over(of("b")); a.Origin.file != "a" || b.Origin.file != "b" {
		t.Errorf("origins: %v and %v", a.Origin, b.Origin)
	}
}
