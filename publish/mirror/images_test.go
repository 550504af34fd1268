package mirror

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

// checkTargets compares the targets of the image inventory with what clusterctl
// makes of the images by the clusterctl.yaml of the mirror.
func checkTargets(t testing.TB, files map[string]string) {
	t.Helper()
	images, err := readConfig(t, files[layouts.ConfigFile]).Images()
	if err != nil {
		t.Fatal(err)
	}
	var inv ImageInventory
	if err := json.Unmarshal([]byte(files[layouts.ImageInventoryFile]), &inv); err != nil {
		t.Fatal(err)
	}
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

func apply(t testing.TB, all map[string]Override, u use) string {
	t.Helper()
	images := clusterctl.Images{}
	for key, o := range all {
		images[key] = clusterctl.ImageOverride{Repository: o.Repository}
	}
	ref := u.from()
	if u.tag != "" {
		ref += ":" + u.tag
	}
	if u.digest != "" {
		ref += "@" + u.digest
	}
	got, err := images.Apply(u.label, ref)
	if err != nil {
		t.Fatal(err)
	}
	if want := target(all, u); got != want {
		t.Errorf("%+v: clusterctl makes %s, not %s", u, got, want)
	}
	return got
}

func TestOverrides(t *testing.T) {
	uses := []use{
		{"cluster-api", "registry.k8s.io/cluster-api", "core", "v1", ""},
		{"infrastructure-a", "gcr.io/kubebuilder", "kube-rbac-proxy", "v1", ""},
		{"infrastructure-b", "quay.io/brancz", "kube-rbac-proxy", "v1", ""},
		{"infrastructure-c", "quay.io:443/brancz", "kube-rbac-proxy", "v1", ""},
	}
	all, problems := overrides("mirror.example.com/capi", uses)
	want := map[string]Override{
		"all":                              {"mirror.example.com/capi"},
		"infrastructure-a/kube-rbac-proxy": {"mirror.example.com/capi/gcr.io/kubebuilder"},
		"infrastructure-b/kube-rbac-proxy": {"mirror.example.com/capi/quay.io/brancz"},
		"infrastructure-c/kube-rbac-proxy": {"mirror.example.com/capi/quay.io-443/brancz"},
	}
	if diff := cmp.Diff(want, all); diff != "" || len(problems) > 0 {
		t.Errorf("%s %q", diff, problems)
	}
	// One provider has two images of one name.
	uses = append(uses, use{"infrastructure-a", "quay.io/brancz", "kube-rbac-proxy", "v2", ""})
	if _, problems := overrides("mirror.example.com/capi", uses); len(problems) > 0 {
		t.Errorf("other tags do not collide: %q", problems)
	}
	uses[len(uses)-1].tag = "v1"
	if _, problems := overrides("mirror.example.com/capi", uses); len(problems) != 1 || !strings.Contains(problems[0], "gcr.io/kubebuilder/kube-rbac-proxy and quay.io/brancz/kube-rbac-proxy would both become") {
		t.Errorf("%q", problems)
	}
}

// Whatever is used: what is not said to be a problem becomes different images.
func TestOverridesKeepImagesApart(t *testing.T) {
	const rounds = 2000
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	collided := 0
	for range rounds {
		var uses []use
		for range 1 + r.IntN(8) {
			uses = append(uses, use{
				pick("cluster-api", "infrastructure-a", "cert-manager"), pick("a.io", "b.io/x", "c.io:5000/x/y"), pick("c", "d", "e-f"), pick("v1", "v2", ""),
				pick("", "", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
			})
		}
		all, problems := overrides("m.example.com/p", uses)
		origin := map[string]use{}
		for _, u := range uses {
			to := apply(t, all, u)
			if !strings.HasPrefix(to, "m.example.com/p/") {
				t.Errorf("%+v becomes %s", u, to)
			}
			if first, ok := origin[to]; ok && first.from() != u.from() && u.digest == "" {
				collided++
				if len(problems) == 0 {
					t.Fatalf("%+v and %+v become %s", first, u, to)
				}
			} else {
				origin[to] = u
			}
		}
	}
	if collided < rounds/100 {
		t.Errorf("only %d collisions: this test proves too little", collided)
	}
}

func TestCheckRegistry(t *testing.T) {
	for _, ok := range []string{"registry.example.com", "registry.example.com/capi/", "localhost/x", "10.0.0.1:5000/a/b", "r:5000"} {
		if err := CheckRegistry(ok); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"capi", "", "https://r.example.com", "r.example.com/UP", "r.example.com/a:1", "a b.io", "/x"} {
		if CheckRegistry(bad) == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestImagesOfTheMirror(t *testing.T) {
	text := components(foo, "nginx:1.29") + "---\n" + components(foo, "ghcr.io/a/b:${TAG}") + `---
kind: Job
metadata: {name: j}
spec: {template: {spec: {containers: [{name: c, image: "ghcr.io/a/job:v1", args: [--helper-image=ghcr.io/a/helper:v1]}]}}}
`
	from := newPlace("https://x", map[string][]string{"v1.0.0": {"infrastructure-components.yaml", text, "metadata.yaml", metadataOf("v1.0.0", "v1beta2"), "cluster-template.yaml", "a: [\n"}})
	dir := memoryDir(t)
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
	if err := json.Unmarshal([]byte(files[layouts.ImageInventoryFile]), &inv); err != nil {
		t.Fatal(err)
	}
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
