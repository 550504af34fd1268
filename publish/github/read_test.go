package github

import (
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	fake "github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestDamagedStorage: what cannot be noticed on the way shows at the end.
func TestDamagedStorage(t *testing.T) {
	t.Parallel()
	for _, private := range []bool{false, true} {
		h := start(t, fake.Options{})
		at, r := h.fresh(func(r *fake.Repository) { r.Private = private }), sample("v1.0.0")
		put(t, h.open(t, at), r)
		for name, f := range map[string]fault.Fault{"shortened": {Shorten: 1}, "corrupt": {Corrupt: true}} {
			h.Faults.Reset()
			h.Faults.Add(rule("storage", 1, fault.Always, f))
			got := given.Value(h.open(t, at).Fetch(t.Context(), "v1.0.0"))(t)
			err := publish.VerifyFiles(t.Context(), got, r)
			if err == nil {
				t.Errorf("private %v: %s content passed", private, name)
			}
			clean(t, secret, err)
		}
	}
}

// TestRenamedBySomething: the server gives an asset another name.
func TestRenamedBySomething(t *testing.T) {
	t.Parallel()
	h := start(t, fake.Options{})
	at := h.fresh()
	d := h.open(t, at, func(o *Options) { o.Base = replacing{h.base, `"name":"metadata.yaml"`, `"name":"metadata.yml"`} })
	_, err := d.Put(t.Context(), sample("v1.0.0"))
	if err == nil || !strings.Contains(err.Error(), "the name metadata.yml") {
		t.Errorf("got %v", err)
	}
	if _, ok := h.Published("acme/"+at, "v1.0.0"); ok {
		t.Error("it is published")
	}
}
