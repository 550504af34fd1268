package mirror

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestConfigMaps(t *testing.T) {
	extension := layouts.Provider{Type: layouts.RuntimeExtension, Name: "foo"}
	small, large, huge := filesOf(foo, "v1.0.0"), filesOf(bar, "v1.0.0"), filesOf(extension, "v1.0.0")
	large[1] += strings.Repeat("# comment\n", (1<<20)/10)
	noise := make([]byte, 2*(1<<20))
	random := rand.NewChaCha8([32]byte{1})
	given.Value(random.Read(noise))(t)
	huge[1] += "# " + base64.StdEncoding.EncodeToString(noise)
	dir := given.MemoryDir(t)
	opts := toFolder(t, dir)
	opts.Settings.ConfigMaps = true
	wants := []Want{
		{From: newPlace("https://small", map[string][]string{"v1.0.0": small})},
		{From: newPlace("https://large", map[string][]string{"v1.0.0": large})},
		{From: newPlace("https://huge", map[string][]string{"v1.0.0": huge})},
		{From: newPlace("https://odd", map[string][]string{"v1.0.0+Build": filesOf(core, "v1.0.0")}), Version: selector(t, "v1.0.0+Build")},
	}
	result := mirrored(t, wants, opts)
	if len(result.Warnings) != 2 || !strings.Contains(result.Warnings[0], `"core-cluster-api-v1.0.0+Build" cannot be the name`) || !strings.Contains(result.Warnings[1], "even when compressed") {
		t.Errorf("%q", result.Warnings)
	}
	files := tree(t, dir)
	checkSums(t, dir)
	object := func(name string) *yamldoc.Node {
		s := yamldoc.Parse(yamldoc.NewFile(name, []byte(files["capi-operator/"+name])))
		if len(s.Docs) != 1 {
			t.Fatalf("%s: %d documents", name, len(s.Docs))
		}
		return s.Docs[0].Root
	}
	o := object("infrastructure-foo-v1.0.0.yaml")
	want := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "infrastructure-foo-v1.0.0",
			"labels": map[string]any{
				"managed-by.operator.cluster.x-k8s.io": "true",
				"provider.cluster.x-k8s.io/name":       "foo",
				"provider.cluster.x-k8s.io/type":       "infrastructure",
				"provider.cluster.x-k8s.io/version":    "v1.0.0",
			},
		},
		"data": map[string]any{"components": small[1], "metadata": small[3]},
	}
	if diff := cmp.Diff(want, o.Value()); diff != "" {
		t.Error(diff)
	}
	o = object("bootstrap-bar-v1.0.0.yaml")
	if o.Get("metadata", "annotations", "provider.cluster.x-k8s.io/compressed").Str() != "true" || o.Get("data", "components") != nil || o.Get("data", "metadata").Str() != large[3] {
		t.Errorf("%.300s", files["capi-operator/bootstrap-bar-v1.0.0.yaml"])
	}
	packed := given.Value(base64.StdEncoding.DecodeString(o.Get("binaryData", "components").Str()))(t)
	r := given.Value(gzip.NewReader(bytes.NewReader(packed)))(t)
	if text, err := io.ReadAll(r); err != nil || string(text) != large[1] {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if len(files["capi-operator/bootstrap-bar-v1.0.0.yaml"]) > (1 << 20) {
		t.Error("it is larger than a ConfigMap may be")
	}
	if result := mirrored(t, wants, opts); len(result.Written) > 0 {
		t.Errorf("the second run wrote %v", result.Written)
	}
}
