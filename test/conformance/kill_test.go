package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// kills is how many publishers are killed.
const kills = 30

// subject makes releases of one provider, with a large file among small ones.
func subject(t *testing.T, root, version string) release {
	t.Helper()
	r := release{Provider: layouts.Provider{Type: layouts.Infrastructure, Name: "acme"}, version: version, components: "infrastructure-components.yaml"}
	r.dir = filepath.Join(root, r.Label(), version)
	given.NoError(t, os.MkdirAll(r.dir, 0o755))
	for name, text := range map[string]string{
		layouts.MetadataFile:         metadata,
		r.components:                 fmt.Sprintf(components, version) + strings.Repeat("# "+strings.Repeat("x", 97)+"\n", 3000),
		"cluster-template.yaml":      "kind: Cluster # " + version + "\n",
		"cluster-template-ha.yaml":   "kind: Cluster # ha, " + version + "\n",
		"clusterclass-standard.yaml": "kind: ClusterClass # " + version + "\n",
		"large.yaml":                 "a: |\n" + strings.Repeat("  "+version+strings.Repeat("y", 92)+"\n", 20000),
	} {
		given.NoError(t, os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600))
	}
	return r
}

// pull reads an artifact without any library: nothing if there is none.
func pull(host, name, tag string) (map[string]string, error) {
	get := func(path string) ([]byte, int, error) {
		req, err := http.NewRequest(http.MethodGet, "http://"+host+"/v2/"+name+"/"+path, nil)
		if err != nil {
			return nil, 0, err
		}
		req.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, 0, err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		return data, resp.StatusCode, err
	}
	data, status, err := get("manifests/" + tag)
	if err != nil || status == http.StatusNotFound {
		return nil, err
	}
	var manifest struct {
		Layers []struct {
			Digest      string
			Annotations map[string]string
		}
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return nil, fmt.Errorf("%d: %w", status, err)
	}
	out := map[string]string{}
	for _, l := range manifest.Layers {
		data, status, err := get("blobs/" + l.Digest)
		if err != nil || status != http.StatusOK || "sha256:"+sum(string(data)) != l.Digest {
			return nil, fmt.Errorf("layer %s: %d, %w", l.Digest, status, err)
		}
		out["/"+l.Annotations["org.opencontainers.image.title"]] = string(data)
	}
	return out, nil
}

// TestKilled kills the program while it publishes to a real registry. Readers then see
// nothing or all, and the next run completes. The suite of destinations does the same, in
// its process, at the fakes.
func TestKilled(t *testing.T) {
	w := newWorld(t, github.Repository{Owner: "acme", Name: "provider"})
	host, faults := observed(t, startRegistry(t))
	at := "oci://" + host + "/{provider}"
	root, random := t.TempDir(), rand.New(rand.NewPCG(4, 3))
	// How many requests a run without faults makes that compares with an earlier release.
	w.tool.must(t, "publish", subject(t, root, "v0.9.0").dir, "--to", at, "--fail-on", "never")
	faults.ClearLog()
	first := subject(t, root, "v1.0.0")
	start := time.Now()
	w.tool.must(t, "publish", first.dir, "--to", at, "--fail-on", "never")
	requests, usual := len(faults.Log()), time.Since(start)
	nothing, all, ended := 0, 0, 0
	for i := range kills {
		r := subject(t, root, fmt.Sprintf("v1.0.%d", i+1))
		want := files(t, r.dir)
		nth, delay := 1+random.IntN(requests), time.Duration(random.IntN(4000))*time.Microsecond
		if i%10 == 9 {
			nth = requests // a registry has the release only now
		}
		moment := fmt.Sprintf("%s after request %d of %d", delay, nth, requests)

		ctx, kill := context.WithCancel(t.Context())
		faults.Reset()
		faults.Add(fault.Rule{Nth: nth, Fault: fault.Fault{Call: func() { time.AfterFunc(delay, kill) }}})
		cmd := w.tool.command(ctx, t, "publish", r.dir, "--to", at, "--fail-on", "never")
		out, err := cmd.CombinedOutput()
		kill()
		faults.Reset()
		switch {
		case cmd.ProcessState.Success():
			ended++
		case cmd.ProcessState.Exited():
			t.Fatalf("%s: it was not killed, but: %v\n%s", moment, err, out)
		}
		if strings.Contains(string(out), secret) {
			t.Errorf("%s: it shows the token", moment)
		}
		// The server may still be at work with what it was sent.
		got, err := pull(host, r.Label(), r.version)
		switch {
		case err != nil:
			t.Errorf("%s: readers see a part: %v", moment, err)
		case len(got) == 0:
			nothing++
		case !contains(got, want):
			t.Errorf("%s: readers see %d of %d files", moment, len(got), len(want))
		default:
			all++
		}
		second := w.tool.must(t, "publish", r.dir, "--to", at, "--fail-on", "never")
		if len(got) > 0 && !strings.Contains(second, "already published") {
			t.Errorf("%s: published twice: %s", moment, second)
		}
		if got, err := pull(host, r.Label(), r.version); err != nil || !contains(got, want) {
			t.Errorf("%s: after the second run readers see %d of %d files: %v", moment, len(got), len(want), err)
		}
		if t.Failed() {
			return
		}
	}
	if nothing == 0 || all == 0 {
		t.Errorf("%d of %d kills left nothing, %d all", nothing, kills, all)
	}
	t.Logf("%d requests in %s; of %d kills %d left nothing, %d all, %d came too late", requests, usual.Round(time.Millisecond), kills, nothing, all, ended)
}

// contains reports whether got has all files of want. A place may have more, such
// as a second title.
func contains(got, want map[string]string) bool {
	for name, data := range want {
		if got[name] != data {
			return false
		}
	}
	return true
}
