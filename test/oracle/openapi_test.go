package oracle

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

var updateOpenAPI = flag.Bool("update-openapi", false, "write the OpenAPI document of the Runtime SDK anew")

// openAPITypes are the packages whose types requests and responses lead to.
var openAPITypes = []string{
	"sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1", "sigs.k8s.io/cluster-api/api/core/v1beta2",
	"k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/runtime", "k8s.io/apimachinery/pkg/util/intstr",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "k8s.io/api/core/v1",
}

// TestOpenAPI keeps the OpenAPI document of the tool equal to what Cluster API
// publishes with a release: made by the same generator from the same types, in the
// same way from the catalog. The prose is the tool's own.
func TestOpenAPI(t *testing.T) {
	dir := t.TempDir()
	generate := exec.Command("go", append([]string{"run", "k8s.io/kube-openapi/cmd/openapi-gen", "--output-dir", dir, "--output-pkg", "main",
		"--output-file", "generated.go", "--report-filename", filepath.Join(dir, "report")}, openAPITypes...)...)
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("openapi-gen: %v\n%s", err, out)
	}
	generated := filepath.Join(dir, "generated.go")
	text := given.Read(t, generated)
	// The package takes its name from the folder.
	text = bytes.Replace(text, []byte("\npackage "+filepath.Base(dir)+"\n"), []byte("\npackage main\n"), 1)
	given.NoError(t, os.WriteFile(generated, text, 0o644))
	here := given.Value(os.Getwd())(t)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "openapi", "generated.go"): generated}})
	given.NoError(t, err)
	given.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644))
	run := exec.Command("go", "run", "-tags", "openapi", "-overlay", filepath.Join(dir, "overlay.json"), "./openapi")
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.Output()
	if err != nil {
		t.Fatalf("openapi: %v\n%s", err, stderr.String())
	}
	var real map[string]any
	given.NoError(t, json.Unmarshal(out, &real))
	real = bare(real, false).(map[string]any)
	if *updateOpenAPI {
		describe(real)
		data, err := yaml.Marshal(real)
		if err == nil {
			err = os.WriteFile(filepath.Join("..", "..", "repo", "extension", "openapi.yaml"), data, 0o644)
		}
		given.NoError(t, err)
		return
	}
	var ours map[string]any
	given.NoError(t, yaml.Unmarshal(extension.OpenAPI(), &ours))
	a, _ := json.Marshal(bare(ours, false))
	b, _ := json.Marshal(bare(real, false))
	if !bytes.Equal(a, b) {
		t.Error("the OpenAPI document is stale: run go test -run TestOpenAPI . -args -update-openapi")
	}
	if paths := real["paths"].(map[string]any); len(paths) != len(extension.Hooks(contract.NewestCore)) {
		t.Errorf("%d paths", len(paths))
	}
}

// bare copies a part of a document without prose. Below properties a key is the
// name of a field, whatever it is.
func bare(v any, names bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			if !names && (key == "description" || key == "summary" || key == "info") {
				continue
			}
			out[key] = bare(value, !names && (key == "properties" || key == "schemas"))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = bare(v[i], false)
		}
		return out
	}
	return v
}

// describe adds our prose, where OpenAPI demands some or people need it.
func describe(document map[string]any) {
	document["info"] = map[string]any{
		"title": "Cluster API - Runtime SDK", "version": "v1.14.2",
		"description": "The hooks that Cluster API calls, and what it expects runtime extensions to answer.",
	}
	for path, p := range document["paths"].(map[string]any) {
		operation := p.(map[string]any)["post"].(map[string]any)
		for _, h := range extension.Hooks(contract.NewestCore) {
			if path == h.Path("") || path == h.Path("{name}") {
				operation["summary"] = "Cluster API " + h.Summary
				if strings.HasPrefix(h.Summary, "is called") {
					operation["summary"] = "The hook " + h.Summary
				}
			}
		}
		operation["responses"].(map[string]any)["200"].(map[string]any)["description"] = "The request was understood. Whether it succeeded stands in status."
	}
}
