package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// lyingRegistry is a registry whose owner may change anything in it.
type lyingRegistry struct {
	t      *testing.T
	server *httptest.Server

	mu sync.Mutex
	// later are answers to all questions for a path but the first, and asked counts
	// the questions of one run.
	later map[string][]byte
	asked map[string]int
}

func newLyingRegistry(t *testing.T) *lyingRegistry {
	return &lyingRegistry{t: t, later: map[string][]byte{}, asked: map[string]int{}}
}

// begin forgets what was asked.
func (r *lyingRegistry) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.asked)
}

// host is the address; the server starts when it is first needed.
func (r *lyingRegistry) host() string {
	if r.server == nil {
		honest := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
		r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			r.mu.Lock()
			lie, lies := r.later[req.URL.Path]
			if req.Method == http.MethodGet {
				r.asked[req.URL.Path]++
			}
			again := r.asked[req.URL.Path] > 1
			r.mu.Unlock()
			if lies && again && req.Method == http.MethodGet {
				w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
				_, _ = w.Write(lie)
				return
			}
			honest.ServeHTTP(w, req)
		}))
		r.t.Cleanup(r.server.Close)
	}
	return strings.TrimPrefix(r.server.URL, "http://")
}

const artifact = "/v2/infrastructure-foo/"

// do sends a request, which has to succeed.
func (r *lyingRegistry) do(method, path, contentType string, body []byte) []byte {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.host()+path, bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		r.t.Fatalf("%s %s: %s %s %v", method, path, answer.Status, data, err)
	}
	return data
}

// blob stores content and returns its descriptor.
func (r *lyingRegistry) blob(content string, annotations map[string]any) map[string]any {
	sum := sha256.Sum256([]byte(content))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	r.do(http.MethodPost, artifact+"blobs/uploads/?digest="+digest, "application/octet-stream", []byte(content))
	return map[string]any{"mediaType": "application/vnd.test.file", "digest": digest, "size": len(content), "annotations": annotations}
}

func title(name string) map[string]any { return map[string]any{"org.opencontainers.image.title": name} }

// put stores a manifest under a tag.
func (r *lyingRegistry) put(tag string, manifest []byte) {
	r.do(http.MethodPut, artifact+"manifests/"+tag, "application/vnd.oci.image.manifest.v1+json", manifest)
}

// publish publishes the repository, and changes the manifest of v0.1.0.
func (w *attacked) publish(change func(m map[string]any)) {
	w.t.Helper()
	w.must("publish", "repo", "--to", "oci://"+w.registry.host()+"/infrastructure-foo", "--allow=broken-latest", "--fail-on", "never")
	var m map[string]any
	if err := json.Unmarshal(w.registry.do(http.MethodGet, artifact+"manifests/v0.1.0", "", nil), &m); err != nil {
		w.t.Fatal(err)
	}
	change(m)
	data, err := json.Marshal(m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.registry.put("v0.1.0", data)
}

// layers gives the layers of the published release to a function.
func (w *attacked) layers(change func(layers []any) []any) {
	w.t.Helper()
	w.publish(func(m map[string]any) { m["layers"] = change(m["layers"].([]any)) })
}

func titleOf(layer any) any {
	return layer.(map[string]any)["annotations"].(map[string]any)["org.opencontainers.image.title"]
}

// atRegistry are the commands that read the artifact.
var atRegistry = [][]string{
	{"lint", "oci://REGISTRY/infrastructure-foo:v0.1.0", "--fail-on", "never"},
	{"mirror", "oci://REGISTRY/infrastructure-foo:v0.1.0", "--to", "mirror"},
}

// mirrored makes a mirror; with arguments such as those that sign it.
func (w *attacked) mirrored(args ...string) {
	w.t.Helper()
	w.must(append([]string{"mirror", "repo@v0.1.0", "--to", "mirror", "--verify-key", "pub.pem"}, args...)...)
}

// sum writes the checksums of the mirror anew, as whoever changes it can.
func (w *attacked) sum() {
	w.t.Helper()
	var list strings.Builder
	if err := filepath.WalkDir(w.at("mirror"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(w.at("mirror"), name)
		if err != nil || rel == "SHA256SUMS" || rel == "SHA256SUMS.sig" || strings.HasPrefix(rel, ".") {
			return err
		}
		data, err := os.ReadFile(name)
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(data), filepath.ToSlash(rel))
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	w.write("mirror/SHA256SUMS", list.String())
}

// change replaces text in a file.
func (w *attacked) change(name, old, text string) {
	w.t.Helper()
	before := w.read(name)
	if !strings.Contains(before, old) {
		w.t.Fatalf("%s has no %q: %s", name, old, before)
	}
	w.write(name, strings.ReplaceAll(before, old, text))
}

// member is a file in an archive.
type member struct {
	tar.Header
	content string
}

// bundled makes b.tar of a mirror, and changes what is in it. What change returns
// follows the end.
func (w *attacked) bundled(args []string, change func(members []member) (changed []member, after string)) {
	w.t.Helper()
	w.must(append([]string{"mirror", "repo@v0.1.0", "--to", "b.tar", "--verify-key", "pub.pem"}, args...)...)
	var members []member
	for t := tar.NewReader(strings.NewReader(w.read("b.tar"))); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			w.t.Fatal(err)
		}
		data, err := io.ReadAll(t)
		if err != nil {
			w.t.Fatal(err)
		}
		members = append(members, member{*h, string(data)})
	}
	members, after := change(members)
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for _, m := range members {
		m.Size = int64(len(m.content))
		if m.Typeflag != tar.TypeReg {
			m.Size = 0
		}
		if err := t.WriteHeader(&m.Header); err != nil {
			w.t.Fatal(err)
		}
		if m.Size > 0 {
			if _, err := io.WriteString(t, m.content); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if err := t.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.write("b.tar", out.String()+after)
}

// bundle makes a bundle, with changes.
func bundle(change func(members []member) (changed []member, after string)) func(*attacked) {
	return func(w *attacked) { w.bundled(nil, change) }
}

// signedLine adds a line to the list of the release, and signs it as the owner of the key.
func signedLine(line string) func(*attacked) {
	return func(w *attacked) {
		w.write(v1+"SHA256SUMS", w.read(v1+"SHA256SUMS")+line)
		w.signByHand(v1 + "SHA256SUMS")
	}
}

func sum(content string) [sha256.Size]byte { return sha256.Sum256([]byte(content)) }

// index finds a member.
func index(members []member, name string) int {
	return slices.IndexFunc(members, func(m member) bool { return m.Name == name })
}

// file is a further member.
func file(name, content string) member {
	return member{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, content}
}

// list writes the checksums of a bundle anew.
func list(members []member) []member {
	var sums strings.Builder
	for _, m := range members {
		if m.Name != "SHA256SUMS" && m.Name != "SHA256SUMS.sig" {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256([]byte(m.content)), m.Name)
		}
	}
	members[0].content = sums.String()
	return members
}

const inBundle = "infrastructure-foo/v0.1.0/"

// verifyBundle and useBundle are the commands that read a bundle.
var (
	verifyBundle = [][]string{{"mirror", "verify", "b.tar"}}
	useBundle    = [][]string{{"mirror", "verify", "b.tar"}, {"mirror", "b.tar", "--to", "far"}}
	verifyMirror = [][]string{{"mirror", "verify", "mirror"}}
)
