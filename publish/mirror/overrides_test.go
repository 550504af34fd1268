package mirror

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

func apply(t testing.TB, all map[string]override, u use) string {
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
	got := given.Value(images.Apply(u.label, ref))(t)
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
	want := map[string]override{
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
