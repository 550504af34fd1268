package oracle

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var updateSchemas = flag.Bool("update-schemas", false, "write the schemas of Cluster API's kinds anew")

// notIn is the only form of rule that the definitions of Cluster API have here.
var notIn = regexp.MustCompile(`^!\(self in \[([^\]]*)\]\)$`)

// TestSchemas keeps the schemas that the tool holds equal to those that Cluster
// API installs, without their prose.
func TestSchemas(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(coreModule(t), "core", "config", "crd", "bases", "cluster.x-k8s.io_clusterclasses.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		root := v.Schema.OpenAPIV3Schema
		schema, err := bare(map[string]any{"type": "object", "required": root["required"], "properties": root["properties"]})
		if err != nil {
			t.Fatal(err)
		}
		// What the API server keeps of a status in a new object is nothing.
		delete(schema["properties"].(map[string]any), "status")
		want, err := yaml.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("..", "..", "repo", "class", "schemas", v.Name+".yaml")
		if *updateSchemas {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v): run go test -run TestSchemas . -args -update-schemas", file, err)
		}
	}
	if len(crd.Spec.Versions) != 2 {
		t.Errorf("%d versions of ClusterClass", len(crd.Spec.Versions))
	}
}

// coreModule is the folder of Cluster API's source.
func coreModule(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// bare copies a schema without descriptions, and with rules in CEL as what they
// say.
func bare(schema map[string]any) (map[string]any, error) {
	out := map[string]any{}
	below := func(v any) (any, error) { return bare(v.(map[string]any)) }
	for key, v := range schema {
		var err error
		switch key {
		case "description":
			continue
		case "properties":
			fields := map[string]any{}
			for name, s := range v.(map[string]any) {
				if fields[name], err = below(s); err != nil {
					return nil, err
				}
			}
			out[key] = fields
		case "items", "additionalProperties":
			out[key], err = below(v)
		case "x-kubernetes-validations":
			for _, rule := range v.([]any) {
				text := rule.(map[string]any)["rule"].(string)
				m := notIn.FindStringSubmatch(text)
				if m == nil {
					return nil, fmt.Errorf("no schema says the same as the rule %s", text)
				}
				var words []any
				for _, word := range strings.Split(m[1], ",") {
					words = append(words, strings.Trim(word, " '"))
				}
				out["not"] = map[string]any{"enum": words}
			}
		default:
			if v != nil {
				out[key] = v
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
