package conformance

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// observed puts an injector in front of a registry. The address of what it returns
// is the registry's for all clients.
func observed(t *testing.T, host string) (at string, in *fault.Injector) {
	t.Helper()
	to := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: host})
		r.Out.Host = r.In.Host // which the registry has in its answers
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	in = fault.New()
	s := httptest.NewServer(in.Wrap(to, registryStep))
	t.Cleanup(func() {
		in.Close()
		s.CloseClientConnections()
		s.Close()
	})
	return strings.TrimPrefix(s.URL, "http://"), in
}

// registryStep names a request by what it is for.
func registryStep(r *http.Request) string {
	for _, kind := range []string{"manifests", "uploads", "blobs", "tags"} {
		if strings.Contains(r.URL.Path, "/"+kind+"/") {
			return r.Method + " " + kind
		}
	}
	return r.Method
}

// contents are the steps that carry files, by the names that the servers give them.
var contents = map[string]bool{
	"upload-asset": true, "upload-file": true, "download": true, "download-file": true, "storage": true,
	"PATCH uploads": true, "PUT uploads": true, "GET blobs": true,
}

// transferred sums up what requests carried.
func transferred(logs ...[]fault.Entry) (files int, bytes int64) {
	for _, log := range logs {
		for _, e := range log {
			if contents[e.Step] {
				files++
				bytes += e.In + e.Out
			}
		}
	}
	return files, bytes
}

// TestMirrorChain mirrors real providers from GitHub to GitLab, from there to a
// registry, from there to a folder. What is in the folder is what was published,
// and the stock clusterctl reads every step.
func TestMirrorChain(t *testing.T) {
	root := share.Corpus(t, "releases")
	all := releases(t, root)
	var repositories []github.Repository
	for _, r := range all {
		repositories = append(repositories, github.Repository{Owner: "upstream", Name: r.Label()})
	}
	w := newWorld(t, repositories...)
	host, registry := observed(t, startRegistry(t))
	w.tool.must(t, "publish", root, "--to", "https://github.com/upstream/{provider}", "--fail-on", "never")
	w.clusterctl = w.clusterctl.with(variables(t, all)...)
	as := artifacts(t, all, false)
	want := read(t, w.clusterctl, settings(t, all, func(r release) string { return r.local(root) }), as)

	beside := t.TempDir()
	lab, images, folder := filepath.Join(beside, "lab"), filepath.Join(beside, "images"), filepath.Join(beside, "folder")
	upstream := settings(t, all, func(r release) string { return r.gitHub("upstream/"+r.Label(), r.version) })
	// Only the user can tell who provides what does not say so itself.
	stored := settings(t, all, func(r release) string {
		return "oci://" + host + "/mirror/" + oci.RepositoryName(r.Provider) + ":" + r.version
	})
	for _, tt := range []struct {
		name string
		args []string
		// config is what clusterctl reads the mirror with; empty if it cannot.
		config string
	}{
		{"GitHub to GitLab", []string{upstream, "--to", "https://gitlab.example.com/" + labProject, "--out", lab}, filepath.Join(lab, layouts.ConfigFile)},
		{"GitLab to OCI", []string{filepath.Join(lab, layouts.ConfigFile), "--to", "oci://" + host + "/mirror/{provider}", "--out", images}, ""},
		{"OCI to folder", []string{stored, "--to", folder}, filepath.Join(folder, layouts.ConfigFile)},
	} {
		ok := t.Run(tt.name, func(t *testing.T) {
			logs := []*fault.Injector{w.hub.Faults, w.lab.Faults, registry}
			run := func() (int, int64) {
				t.Helper()
				for _, l := range logs {
					l.ClearLog()
				}
				w.tool.must(t, append([]string{"mirror"}, tt.args...)...)
				return transferred(w.hub.Faults.Log(), w.lab.Faults.Log(), registry.Log())
			}
			n, bytes := run()
			if n < len(all) {
				t.Errorf("only %d files went over the wire", n)
			}
			again, more := run()
			if again != 0 || more != 0 {
				t.Errorf("the second run transferred %d bytes in %d requests", more, again)
			}
			t.Logf("%d transfers, %.1f MB", n, float64(bytes)/1e6)
			if tt.config != "" {
				same(t, as, want, read(t, w.clusterctl, tt.config, as))
			}
		})
		if !ok {
			return
		}
	}
	for _, r := range all {
		sameFiles(t, r.dir, filepath.Join(folder, r.Label(), r.version))
	}
	for _, name := range []string{layouts.ChecksumFile, layouts.LockFile, layouts.ImageListFile} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	noSecrets(t, beside)
}
