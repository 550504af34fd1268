package mirror

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// checkTargets compares the targets of the image inventory with what clusterctl
// makes of the images by the clusterctl.yaml of the mirror.
func checkTargets(t testing.TB, files map[string]string) {
	t.Helper()
	images := given.Value(readConfig(t, files[layouts.ConfigFile]).Images())(t)
	var inv ImageInventory
	given.NoError(t, json.Unmarshal([]byte(files[layouts.ImageInventoryFile]), &inv))
	origin := map[string]string{}
	n := 0
	for _, img := range inv.Images {
		for _, p := range img.Places {
			if !p.SeenByClusterctl {
				continue
			}
			got, err := images.Apply(p.Provider, img.Ref)
			if err != nil || got != img.Target {
				t.Errorf("%s of %s: clusterctl makes %s, %v; the inventory says %s", img.Ref, p.Provider, got, err, img.Target)
			}
			if first := origin[got]; first != "" && first != img.Ref {
				t.Errorf("%s and %s become %s", first, img.Ref, got)
			}
			origin[got] = img.Ref
			n++
		}
	}
	if n == 0 {
		t.Error("no image was checked")
	}
}

func TestImagesOfTheMirror(t *testing.T) {
	text := components(foo, "nginx:1.29") + "---\n" + components(foo, "ghcr.io/a/b:${TAG}") + `---
kind: Job
metadata: {name: j}
spec: {template: {spec: {containers: [{name: c, image: "ghcr.io/a/job:v1", args: [--helper-image=ghcr.io/a/helper:v1]}]}}}
`
	from := newPlace("https://x", map[string][]string{"v1.0.0": {"infrastructure-components.yaml", text, "metadata.yaml", metadataOf("v1.0.0", "v1beta2"), "cluster-template.yaml", "kind: [\n"}})
	dir := given.MemoryDir(t)
	opts := toFolder(t, dir)
	opts.Settings.ImageRegistry = "m.example.com"
	result := mirrored(t, []Want{{From: from}}, opts)
	want := []string{
		`clusterctl rewrites only images of components, so 3 are not taken from m.example.com: ghcr.io/a/helper:v1, ghcr.io/a/job:v1, nginx:1.29;`,
		`infrastructure-foo v1.0.0, infrastructure-components.yaml:7: clusterctl refuses the whole provider because of the image "nginx:1.29": it must be written in full, such as docker.io/library/nginx`,
		`infrastructure-foo v1.0.0: there may be more images than were found, because not all could be read`,
	}
	for i, w := range want {
		if len(result.Warnings) != len(want) || !strings.HasPrefix(result.Warnings[i], w) {
			t.Errorf("%q", result.Warnings)
		}
	}
	files := tree(t, dir)
	if got := files[layouts.ImageListFile]; got != "ghcr.io/a/helper:v1\nghcr.io/a/job:v1\nnginx:1.29\n" {
		t.Error(got)
	}
	var inv ImageInventory
	given.NoError(t, json.Unmarshal([]byte(files[layouts.ImageInventoryFile]), &inv))
	var got []string
	for _, img := range inv.Images {
		for _, p := range img.Places {
			got = append(got, fmt.Sprintf("%s %s [%s] %s %s %s:%d %s %s", img.Ref, img.Confidence, img.Target, p.Provider, p.ReleaseName.Version, p.File, p.Line, p.Object, p.Field))
		}
	}
	wantImages := []string{
		"ghcr.io/a/b:${TAG} certain [] infrastructure-foo v1.0.0 infrastructure-components.yaml:15 Deployment system/controller containers",
		"ghcr.io/a/helper:v1 likely [] infrastructure-foo v1.0.0 infrastructure-components.yaml:19 Job j args --helper-image",
		"ghcr.io/a/job:v1 certain [] infrastructure-foo v1.0.0 infrastructure-components.yaml:19 Job j containers",
		"nginx:1.29 certain [] infrastructure-foo v1.0.0 infrastructure-components.yaml:7 Deployment system/controller containers",
	}
	if !slices.Equal(got, wantImages) {
		t.Error(cmp.Diff(wantImages, got))
	}
}
