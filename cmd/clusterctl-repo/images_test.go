package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// push puts an image for some platforms into a registry: an index of manifests, each
// with its configuration.
func push(t *testing.T, server, name, tag string, architectures ...string) {
	t.Helper()
	put := func(method, path, mediaType string, data []byte) {
		t.Helper()
		req := given.Value(http.NewRequestWithContext(t.Context(), method, server+path, bytes.NewReader(data)))(t)
		req.Header.Set("Content-Type", mediaType)
		r := given.Value(http.DefaultClient.Do(req))(t)
		r.Body.Close()
		if r.StatusCode != http.StatusCreated {
			t.Fatalf("%s %s: %s", method, path, r.Status)
		}
	}
	type descriptor struct {
		MediaType string            `json:"mediaType"`
		Size      int               `json:"size"`
		Digest    string            `json:"digest"`
		Platform  map[string]string `json:"platform,omitempty"`
	}
	describe := func(mediaType string, data []byte) descriptor {
		return descriptor{MediaType: mediaType, Size: len(data), Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data))}
	}
	document := func(fields map[string]any) []byte {
		fields["schemaVersion"] = 2
		return given.Value(json.Marshal(fields))(t)
	}
	const manifest, index, config = "application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.config.v1+json"
	var all []descriptor
	for _, arch := range architectures {
		arch, code, other := strings.Cut(arch, " with the program of ")
		if !other {
			code = arch
		}
		settings := []byte(`{"os":"linux","architecture":"` + arch + `"}`)
		of := describe(config, settings)
		put(http.MethodPost, "/v2/"+name+"/blobs/uploads/?digest="+of.Digest, "application/octet-stream", settings)
		data := document(map[string]any{"mediaType": manifest, "config": of, "layers": []descriptor{describe("application/vnd.oci.image.layer.v1.tar+gzip", []byte(code))}})
		d := describe(manifest, data)
		put(http.MethodPut, "/v2/"+name+"/manifests/"+d.Digest, manifest, data)
		d.Platform = map[string]string{"os": "linux", "architecture": arch}
		all = append(all, d)
	}
	put(http.MethodPut, "/v2/"+name+"/manifests/"+tag, index, document(map[string]any{"mediaType": index, "manifests": all}))
}

// TestLintImages: findings stand at the references, in the source tree too; what
// cannot be asked for is no finding, and makes the report incomplete.
func TestLintImages(t *testing.T) {
	var asked atomic.Int64
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/manifests/odd") {
			http.Error(w, "out of order", http.StatusNotImplemented)
			return
		}
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/") {
			asked.Add(1)
		}
		inner.ServeHTTP(w, r)
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	push(t, s.URL, "acme/both", "v1.0.0", "amd64", "arm64")
	push(t, s.URL, "acme/one", "v1.0.0", "amd64", "arm64 with the program of amd64")

	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		given.File(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	container := func(name, image string) string {
		return "      - name: " + name + "\n        image: " + host + "/acme/" + image + "\n"
	}
	manager := func(containers ...string) string {
		return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: acme\n  namespace: acme-system\n" +
			"spec:\n  selector:\n    matchLabels: {app: acme}\n  template:\n    metadata:\n      labels: {app: acme}\n    spec:\n      containers:\n" + strings.Join(containers, "")
	}
	write("src/metadata.yaml", "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- major: 1\n  minor: 0\n  contract: v1beta2\n")
	write("src/clusterctl-repo.yaml", "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\nproviders:\n- type: addon\n  name: acme\n  components:\n    path: config/default\n")
	write("src/config/default/kustomization.yaml", "resources: [manager.yaml]\n")
	lint := func(args ...string) (code int, out, errs string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code = program.Main(t.Context(), append([]string{"lint", "src", "--select", "COMP037,COMP038,LINT", "--retries", "0"}, args...), cli.IO{
			In: strings.NewReader(""), Out: &stdout, Err: &stderr, Dir: dir,
			LookupEnv: func(name string) (string, bool) { return dir, name == "HOME" },
		})
		return code, stdout.String(), stderr.String()
	}

	const platforms = "--platform=linux/amd64"
	write("src/config/default/manager.yaml", manager(container("a", "both:v1.0.0"), container("b", "one:v1.0.0"), container("c", "gone:v1.0.0"), container("d", "gone:v1.0.0")))
	t.Chdir(dir)
	if code, out, errs := lint(); code != 0 || asked.Load() != 0 || strings.Contains(out, "COMP037") {
		t.Errorf("without the flag: %d, %d requests\n%s%s", code, asked.Load(), out, errs)
	}
	if code, _, errs := lint(platforms); code != 2 || !strings.Contains(errs, "--platform only works together with --check-images") {
		t.Errorf("platform alone: %d %s", code, errs)
	}
	code, out, errs := lint("--check-images", platforms, "--platform=linux/arm64")
	for _, want := range []string{
		"src/config/default/manager.yaml:24:16: error: Deployment acme-system/acme: the registry does not have the image " + host + "/acme/gone:v1.0.0 [COMP037]",
		"src/config/default/manager.yaml:26:16: error: ",
		"src/config/default/manager.yaml:22:16: warning: Deployment acme-system/acme: the image " + host + "/acme/one:v1.0.0 is not built for linux/arm64 [COMP038]",
		"2 errors, 1 warning, 0 infos",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if code != 1 || t.Failed() {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if n := asked.Load(); n > 7 { // with the four entries of indexes
		t.Errorf("%d manifests were read for three images with four entries", n)
	}
	for _, format := range []string{"json", "sarif", "html", "junit", "github", "markdown"} {
		if _, out, _ := lint("--check-images", "-o", format); !strings.Contains(out, "COMP037") {
			t.Errorf("%s lacks the finding:\n%s", format, out)
		}
	}

	write("src/config/default/manager.yaml", manager(
		container("a", "both:v1.0.0"), container("b", "one:v1.0.0 # clusterctl-repo:ignore COMP038 only for one kind of node"), container("c", "gone:v1.0.0 # clusterctl-repo:ignore COMP037 it is pushed later")))
	if code, out, errs := lint("--check-images", platforms, "--platform=linux/arm64", "--fail-on=info"); code != 0 || !strings.Contains(out, "comments suppress 2 findings") {
		t.Errorf("silenced: %d\n%s%s", code, out, errs)
	}
	if code, out, errs := lint("--fail-on=info"); code != 0 {
		t.Errorf("comments about rules that are not applied: %d\n%s%s", code, out, errs)
	}

	write("src/config/default/manager.yaml", manager(container("a", "both:v1.0.0"), container("b", "both:odd"), container("c", "both:odd")))
	code, out, errs = lint("--check-images", platforms)
	if code != 3 || !strings.Contains(out, "0 errors, 0 warnings, 0 infos") || !strings.Contains(out, "incomplete: 1 failure") ||
		strings.Count(errs, "the image "+host+"/acme/both:odd cannot be checked") != 1 {
		t.Errorf("a registry that is out of order: %d\n%s%s", code, out, errs)
	}
}
