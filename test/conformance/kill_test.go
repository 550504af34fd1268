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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// kills is how many publishers are killed at each kind of place.
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

// target is a kind of place that publishers are killed at.
type target struct {
	name, to string
	faults   *fault.Injector
	// state returns the files that readers see of a release; none if they see
	// no release. An error is a release that is not whole.
	state func(r release, want map[string]string) (map[string]string, error)
	// tidy fails if there is more than the release.
	tidy func(t *testing.T, r release)
	// url is that for clusterctl, or "".
	url func(r release) string
}

func (w *world) targets(t *testing.T, host string, registry *fault.Injector) []target {
	return []target{{
		name: "GitHub", to: "https://github.com/acme/provider", faults: w.hub.Faults,
		state: func(r release, _ map[string]string) (map[string]string, error) {
			tagged := func() bool {
				return slices.ContainsFunc(w.hub.Tags("acme/provider"), func(tag github.Tag) bool { return tag.Name == r.version })
			}
			before := tagged()
			got, ok := w.hub.Published("acme/provider", r.version)
			if ok != before && (!ok || !tagged()) { // it may be published between the two looks
				return nil, fmt.Errorf("there is a release: %v, but a tag: %v", ok, before)
			}
			out := map[string]string{}
			for _, a := range got.Assets {
				data, err := w.hub.Content(a.ID)
				if err != nil || a.State != github.Uploaded {
					return nil, fmt.Errorf("%s is %s: %v", a.Name, a.State, err)
				}
				out["/"+a.Name] = string(data)
			}
			return out, nil
		},
		tidy: func(t *testing.T, r release) {
			n := 0
			for _, x := range w.hub.Releases("acme/provider") {
				if x.Tag == r.version {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%s has %d releases and drafts", r.version, n)
			}
		},
		url: func(r release) string { return r.gitHub("acme/provider", r.version) },
	}, {
		name: "GitLab", to: "https://" + gitLabHost + "/" + labProject, faults: w.lab.Faults,
		state: func(r release, want map[string]string) (map[string]string, error) {
			// clusterctl begins with the components file.
			if _, ok := w.lab.Readable(labProject, r.Label(), r.version, r.components); !ok {
				return nil, nil
			}
			out := map[string]string{}
			for name := range want {
				if data, ok := w.lab.Readable(labProject, r.Label(), r.version, strings.TrimPrefix(name, "/")); ok {
					out[name] = string(data)
				}
			}
			return out, nil
		},
		tidy: func(t *testing.T, r release) {
			n := 0
			for _, p := range w.lab.Packages(labProject) {
				if p.Name == r.Label() && p.Version == r.version {
					n++
					if names := p.Names(); len(slices.Compact(slices.Clone(names))) != len(names) || p.Status != "default" {
						t.Errorf("%s is %s with %v", r.version, p.Status, names)
					}
				}
			}
			if n != 1 {
				t.Errorf("%s has %d packages", r.version, n)
			}
		},
		url: func(r release) string { return r.gitLab(labProject) },
	}, {
		name: "OCI", to: "oci://" + host + "/{provider}", faults: registry,
		state: func(r release, _ map[string]string) (map[string]string, error) {
			return pull(host, r.Label(), r.version)
		},
		tidy: func(*testing.T, release) {},
	}}
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

// TestKilled kills the program while it publishes, at each kind of place. Readers
// then see nothing or all, and the next run completes.
func TestKilled(t *testing.T) {
	w := newWorld(t, github.Repository{Owner: "acme", Name: "provider"})
	host, registry := observed(t, startRegistry(t))
	for _, at := range w.targets(t, host, registry) {
		t.Run(at.name, func(t *testing.T) { killed(t, w, at) })
	}
}

func killed(t *testing.T, w *world, at target) {
	root, random := t.TempDir(), rand.New(rand.NewPCG(4, uint64(len(at.name))))
	// How many requests a run without faults makes that compares with an earlier release.
	w.tool.must(t, "publish", subject(t, root, "v0.9.0").dir, "--to", at.to, "--fail-on", "never")
	at.faults.ClearLog()
	first := subject(t, root, "v1.0.0")
	start := time.Now()
	w.tool.must(t, "publish", first.dir, "--to", at.to, "--fail-on", "never")
	requests, usual := len(at.faults.Log()), time.Since(start)
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
		at.faults.Reset()
		at.faults.Add(fault.Rule{Nth: nth, Fault: fault.Fault{Call: func() { time.AfterFunc(delay, kill) }}})
		cmd := w.tool.command(ctx, t, "publish", r.dir, "--to", at.to, "--fail-on", "never")
		out, err := cmd.CombinedOutput()
		kill()
		at.faults.Reset()
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
		got, err := at.state(r, want)
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
		read := func(must bool) {
			t.Helper()
			if at.url == nil {
				return
			}
			args := []string{"generate", "provider", "--infrastructure", "acme:" + r.version, "--config", settings(t, []release{r}, at.url)}
			out, err := w.clusterctl.run(t, args...)
			switch {
			case err == nil && !strings.Contains(out, "from: "+r.version):
				t.Errorf("%s: clusterctl reads %.300s", moment, out)
			case err != nil && (must || len(got) > 0):
				t.Errorf("%s: clusterctl reads nothing: %s", moment, out)
			}
		}
		read(false)
		second := w.tool.must(t, "publish", r.dir, "--to", at.to, "--fail-on", "never")
		if len(got) > 0 && !strings.Contains(second, "already published") {
			t.Errorf("%s: published twice: %s", moment, second)
		}
		if got, err := at.state(r, want); err != nil || !contains(got, want) {
			t.Errorf("%s: after the second run readers see %d of %d files: %v", moment, len(got), len(want), err)
		}
		at.tidy(t, r)
		read(true)
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
