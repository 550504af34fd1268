package github

import (
	"slices"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	fake "github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
)

// TestPutChecksTheSizeGitHubStates is about servers that state no digest: only
// the size tells at once that a file was not stored as it was sent. Put must then
// start again with what the server holds, and not continue with the release.
func TestPutChecksTheSizeGitHubStates(t *testing.T) {
	after := func(answer string) string {
		h := start(t, fake.Options{NoDigests: true})
		name := h.fresh()
		h.Faults.Add(fault.Rule{Step: "upload-asset", Nth: 1, Fault: fault.Fault{Status: 201, Handled: true, Body: answer}})
		r := files("v1.0.0", "metadata.yaml", "content\n")
		if _, err := h.open(t, name).Put(t.Context(), r); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		h.holds(t, name, r)
		log := h.Faults.Log()
		i := slices.IndexFunc(log, func(e fault.Entry) bool { return e.Step == "upload-asset" })
		return log[i+1].Step
	}
	const zeros = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	for answer, want := range map[string]string{
		`{"id": 1, "name": "metadata.yaml", "state": "uploaded", "size": 8, "digest": null}`:            "get-release",
		`{"id": 1, "name": "metadata.yaml", "state": "uploaded", "size": 7, "digest": null}`:            "list-releases",
		`{"id": 1, "name": "metadata.yaml", "state": "uploaded", "size": 9, "digest": null}`:            "list-releases",
		`{"id": 1, "name": "metadata.yaml", "state": "starter", "size": 8, "digest": null}`:             "list-releases",
		`{"id": 1, "name": "metadata.yaml", "state": "uploaded", "size": 8, "digest": "` + zeros + `"}`: "list-releases",
	} {
		if got := after(answer); got != want {
			t.Errorf("%s: then %s, want %s", answer, got, want)
		}
	}
}
