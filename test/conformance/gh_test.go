package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/conformance/openapi"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/proxy"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestGH has gh make, show, load down and delete releases on the fake, as
// GitHub by plain HTTP and as a GitHub Enterprise by TLS.
func TestGH(t *testing.T) {
	for _, host := range []string{"github.localhost", "ghe.example.com"} {
		t.Run(host, func(t *testing.T) {
			gh := find(t, "gh", "install Debian's gh")
			var spec *openapi.Spec
			if t.Run("description", func(t *testing.T) { spec = description(t) }); spec == nil {
				t.Log("without the OpenAPI description")
			}
			o := github.Options{}
			if spec != nil {
				o.Wrap = spec.Wrap
			}
			s := github.New(o)
			t.Cleanup(s.Close)
			s.AddToken(github.Token{Secret: secret, Right: github.Write, Workflows: true})
			s.AddRepository(github.Repository{Owner: "acme", Name: "provider", Commits: []github.Commit{{SHA: sha}}})
			p := proxy.Start(t, proxy.Hosts{}.Add(s, github.Hosts(host)...))
			gh.env = append(gh.env, p.Env()...)
			// A token in the environment of this age of gh goes to every host that it
			// is redirected to.
			dir := t.TempDir()
			given.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.yml"), []byte(host+":\n  user: publisher\n  oauth_token: "+secret+"\n"), 0o600))
			gh.env = append(gh.env, "GH_CONFIG_DIR="+dir, "GH_HOST="+host, "GH_NO_UPDATE_NOTIFIER=1", "GH_PROMPT_DISABLED=1")
			for name, content := range map[string]string{"metadata.yaml": "metadata", "components.yaml": "components"} {
				given.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
			}
			release := func(verb string, args ...string) []string {
				return append([]string{"release", verb, "-R", host + "/" + repository}, args...)
			}
			view := func(tag string) (v struct {
				TagName                     string
				IsDraft                     bool
				Assets                      []struct{ Name, State string }
				URL, UploadURL, PublishedAt string
			}) {
				t.Helper()
				out := gh.must(t, release("view", tag, "--json", "tagName,isDraft,assets,url,uploadUrl,publishedAt")...)
				if err := json.Unmarshal([]byte(out), &v); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return v
			}

			gh.must(t, release("create", "v1.0.0", filepath.Join(dir, "metadata.yaml"), "--notes", "notes", "--target", sha)...)
			got, ok := s.Published(repository, "v1.0.0")
			if !ok || !slices.Equal(got.Names(), []string{"metadata.yaml"}) || got.Body != "notes" || s.Tags(repository)[0].SHA != sha {
				t.Errorf("created %+v", got)
			}
			gh.must(t, release("upload", "v1.0.0", filepath.Join(dir, "components.yaml"))...)
			if out, err := gh.run(t, release("upload", "v1.0.0", filepath.Join(dir, "components.yaml"))...); err == nil || !strings.Contains(out, "already exists") {
				t.Errorf("upload again: %v %s", err, out)
			}
			gh.must(t, release("upload", "v1.0.0", filepath.Join(dir, "components.yaml"), "--clobber")...)
			if v := view("v1.0.0"); v.IsDraft || len(v.Assets) != 2 || v.Assets[0].State != "uploaded" || !strings.HasSuffix(v.URL, host+"/acme/provider/releases/tag/v1.0.0") {
				t.Errorf("viewed %+v", v)
			}

			gh.must(t, release("create", "v1.1.0", "--draft", "--notes", "")...)
			if v := view("v1.1.0"); !v.IsDraft {
				t.Errorf("draft %+v", v)
			}
			list := gh.must(t, release("list")...)
			if !strings.Contains(list, "v1.0.0\tLatest\tv1.0.0") || !strings.Contains(list, "v1.1.0\tDraft\tv1.1.0") {
				t.Errorf("list:\n%s", list)
			}
			gh.must(t, release("edit", "v1.1.0", "--draft=false", "--prerelease")...)
			if r, ok := s.Published(repository, "v1.1.0"); !ok || !r.Prerelease || s.Latest(repository) != "v1.0.0" {
				t.Errorf("edited %+v", r)
			}

			to := t.TempDir()
			gh.must(t, release("download", "v1.0.0", "--dir", to)...)
			for name, content := range map[string]string{"metadata.yaml": "metadata", "components.yaml": "components"} {
				if raw, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(raw) != content {
					t.Errorf("%s: %q %v", name, raw, err)
				}
			}
			gh.must(t, release("delete", "v1.0.0", "--yes", "--cleanup-tag")...)
			if _, ok := s.Published(repository, "v1.0.0"); ok || len(s.Tags(repository)) != 1 {
				t.Errorf("left %v", s.Tags(repository))
			}
			if out, err := gh.run(t, release("view", "v1.0.0")...); err == nil || !strings.Contains(out, "not found") {
				t.Errorf("deleted: %v %s", err, out)
			}
			if leaks := s.Leaks(); len(leaks) > 0 {
				t.Errorf("leaks %v", leaks)
			}
			if spec != nil {
				for _, problem := range spec.Problems() {
					t.Error(problem)
				}
				t.Logf("compared %v, unknown to the description %v", spec.Checked(), spec.Unknown())
			}
		})
	}
}
