package github

import (
	"context"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	fake "github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
)

// TestPutChecksTheSizeGitHubStates is about servers that state no digest: only
// the size tells at once that a file was not stored as it was sent. Put must then
// start again with what the server holds, and not continue with the release.
func TestPutChecksTheSizeGitHubStates(t *testing.T) {
	again := func(answer string) (again bool) {
		h := start(t, fake.Options{NoDigests: true})
		name := h.fresh()
		h.Faults.Add(fault.Rule{Step: "upload-asset", Nth: 1, Fault: fault.Fault{Status: 201, Handled: true, Body: answer}})
		r := files("v1.0.0", "metadata.yaml", "content\n")
		d := h.open(t, name)
		d.opt.Policy.Sleep = func(context.Context, time.Duration) error { again = true; return nil }
		if _, err := d.Put(t.Context(), r); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		h.holds(t, name, r)
		return again
	}
	const zeros = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	for answer, want := range map[string]bool{
		`{"id": 1, "name": "metadata.yaml", "state": "uploaded", "size": 8, "digest": null}`:            false,
		`{"id": 1, "name": "metadata.yaml", "state": "uploaded", "size": 7, "digest": null}`:            true,
		`{"id": 1, "name": "metadata.yaml", "state": "uploaded", "size": 9, "digest": null}`:            true,
		`{"id": 1, "name": "metadata.yaml", "state": "starter", "size": 8, "digest": null}`:             true,
		`{"id": 1, "name": "metadata.yaml", "state": "uploaded", "size": 8, "digest": "` + zeros + `"}`: true,
	} {
		if got := again(answer); got != want {
			t.Errorf("%s: looks again: %t, want %t", answer, got, want)
		}
	}
}
