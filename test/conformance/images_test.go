package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// push uploads a blob to a registry and returns its digest.
func push(t *testing.T, host, name string, data []byte) string {
	t.Helper()
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	start := given.Value(http.Post("http://"+host+"/v2/"+name+"/blobs/uploads/", "", nil))(t)
	start.Body.Close()
	at := given.Value(url.Parse(start.Header.Get("Location")))(t)
	query := at.Query()
	query.Set("digest", sum)
	at.Scheme, at.Host, at.RawQuery = "http", host, query.Encode()
	put(t, at.String(), "application/octet-stream", data)
	return sum
}

func put(t *testing.T, to, kind string, data []byte) {
	t.Helper()
	request := given.Value(http.NewRequestWithContext(t.Context(), http.MethodPut, to, bytes.NewReader(data)))(t)
	request.Header.Set("Content-Type", kind)
	answer := given.Value(http.DefaultClient.Do(request))(t)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", to, answer.Status)
	}
}

// TestImages asks a real registry for images: one for a platform, one for several
// with an attestation, one that is missing, and a repository that is missing.
func TestImages(t *testing.T) {
	host := startRegistry(t)
	const name = "acme/manager"
	type object = map[string]any
	text := func(v any) []byte {
		return given.Value(json.Marshal(v))(t)
	}
	const manifestType, indexType = "application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json"
	image := func(tag, os, arch, variant string) object {
		config := text(object{"os": os, "architecture": arch, "variant": variant, "rootfs": object{"type": "layers", "diff_ids": []string{}}})
		manifest := text(object{"schemaVersion": 2, "mediaType": manifestType, "layers": []object{},
			"config": object{"mediaType": "application/vnd.oci.image.config.v1+json", "digest": push(t, host, name, config), "size": len(config)}})
		put(t, "http://"+host+"/v2/"+name+"/manifests/"+tag, manifestType, manifest)
		return object{"mediaType": manifestType, "digest": fmt.Sprintf("sha256:%x", sha256.Sum256(manifest)), "size": len(manifest), "platform": object{"os": os, "architecture": arch, "variant": variant}}
	}
	amd, arm := image("amd", "linux", "amd64", ""), image("arm", "linux", "arm64", "v8")
	attestation := image("attestation", "unknown", "unknown", "")
	put(t, "http://"+host+"/v2/"+name+"/manifests/v1.0.0", indexType, text(object{"schemaVersion": 2, "mediaType": indexType, "manifests": []object{arm, amd, attestation}}))

	list := []oci.Image{
		{Host: host, Repository: name, Reference: "v1.0.0"}, {Host: host, Repository: name, Reference: "amd"}, {Host: host, Repository: name, Reference: "v9"},
		{Host: host, Repository: "acme/other", Reference: "v1.0.0"}, {Host: host, Repository: name, Reference: "v1.0.0"}, {Host: host, Repository: name, Reference: amd["digest"].(string)},
	}
	got := oci.CheckImages(t.Context(), list, func(host, repository string) (*oci.Repository, error) {
		return oci.New(oci.Options{Host: host, Repository: repository})
	})
	for i, want := range []string{"linux/amd64 linux/arm64/v8", "linux/amd64", "missing", "missing", "linux/amd64 linux/arm64/v8", "linux/amd64"} {
		have := strings.Join(got[i].Platforms, " ")
		if got[i].Missing() {
			have = "missing"
		}
		if have != want {
			t.Errorf("%s: %s (%v), want %s", list[i], have, got[i].Err, want)
		}
	}
	if lacks := got[1].Lacks([]string{"linux/amd64", "linux/arm64"}); !slices.Equal(lacks, []string{"linux/arm64"}) {
		t.Errorf("lacks %v", lacks)
	}
	if lacks := got[0].Lacks([]string{"linux/arm64"}); len(lacks) > 0 {
		t.Errorf("lacks %v", lacks)
	}
}
