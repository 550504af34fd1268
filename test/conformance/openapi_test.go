package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	upstream "github.com/google/go-github/v60/github"

	"github.com/clusterctl-repo/clusterctl-repo/test/conformance/openapi"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const (
	repository = "acme/provider"
	sha        = "1111111111111111111111111111111111111111"
	// secret is a token that must be nowhere but in requests.
	secret = "ghp_0123456789secret"
)

// description returns GitHub's OpenAPI description of releases.
func description(t testing.TB) *openapi.Spec {
	t.Helper()
	path := os.Getenv("GITHUB_OPENAPI")
	if path == "" {
		path, _ = filepath.Abs(filepath.Join("..", "..", "..", "shared", "reference", "github-releases.openapi.json"))
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no OpenAPI description of GitHub at %s; set GITHUB_OPENAPI to its file", path)
	}
	return given.Value(openapi.Load(path))(t)
}

// gitHub starts a fake whose traffic is compared with the description, if there
// is one.
func gitHub(t testing.TB, spec *openapi.Spec, o github.Options) *github.Server {
	t.Helper()
	if spec != nil {
		o.Wrap = spec.Wrap
	}
	s := github.Start(t, o)
	s.AddToken(github.Token{Secret: secret, Right: github.Admin, Workflows: true})
	s.AddRepository(github.Repository{Owner: "acme", Name: "provider", Commits: []github.Commit{{SHA: sha}}, Former: []string{"acme/old"}})
	return s
}

// TestOpenAPI has the fake asked for everything that the description has of
// releases, in success and failure, by go-github.
func TestOpenAPI(t *testing.T) {
	for _, mount := range []string{"", "/api/v3/"} {
		t.Run("mounted at "+mount, func(t *testing.T) {
			spec := description(t)
			s := gitHub(t, spec, github.Options{})
			ctx := context.Background()
			c := upstream.NewClient(nil).WithAuthToken(secret)
			anonymous := upstream.NewClient(nil)
			api, uploads := s.APIURL(), s.UploadURL()
			if mount != "" {
				api, uploads = s.EnterpriseURL()+mount, s.EnterpriseURL()+"/api/uploads/"
			}
			for _, c := range []*upstream.Client{c, anonymous} {
				c.BaseURL, _ = url.Parse(api)
				c.UploadURL, _ = url.Parse(uploads)
			}
			must := func(_ any, _ *upstream.Response, err error) {
				t.Helper()
				if err != nil {
					t.Error(err)
				}
			}
			fails := func(status int) func(_ any, resp *upstream.Response, err error) {
				return func(_ any, resp *upstream.Response, err error) {
					t.Helper()
					if err == nil || resp == nil || resp.StatusCode != status {
						t.Errorf("want status %d, got %v", status, err)
					}
				}
			}
			upload := func(id int64, name string) (any, *upstream.Response, error) {
				path := filepath.Join(t.TempDir(), "metadata.yaml")
				given.NoError(t, os.WriteFile(path, []byte("content"), 0o600))
				f := given.Value(os.Open(path))(t)
				defer f.Close()
				a, resp, err := c.Repositories.UploadReleaseAsset(ctx, "acme", "provider", id, &upstream.UploadOptions{Name: name}, f)
				return a, resp, err
			}
			wrap := func(v any, resp *upstream.Response, err error) (any, *upstream.Response, error) { return v, resp, err }
			r := c.Repositories
			release := func(tag string, draft bool) *upstream.RepositoryRelease {
				return &upstream.RepositoryRelease{TagName: &tag, Draft: &draft, TargetCommitish: upstream.String(sha), Body: upstream.String("notes"), MakeLatest: upstream.String("false")}
			}

			must(wrap(r.Get(ctx, "acme", "provider")))
			must(wrap(r.Get(ctx, "acme", "old")))
			must(wrap(anonymous.Repositories.Get(ctx, "acme", "provider")))
			fails(404)(wrap(r.Get(ctx, "acme", "absent")))
			draft, resp, err := r.CreateRelease(ctx, "acme", "provider", release("v1.0.0", true))
			must(draft, resp, err)
			fails(401)(wrap(anonymous.Repositories.CreateRelease(ctx, "acme", "provider", release("v1.0.0", true))))
			bad := release("v1.0.0", false)
			bad.TargetCommitish = upstream.String("nowhere")
			fails(422)(wrap(r.CreateRelease(ctx, "acme", "provider", bad)))
			for i := range 3 {
				must(upload(draft.GetID(), fmt.Sprintf("asset%d.yaml", i)))
			}
			fails(422)(upload(draft.GetID(), "asset0.yaml"))
			s.Faults.Add(fault.Rule{Step: "upload-asset", Fault: fault.Fault{Effect: fault.Starter}})
			fails(502)(upload(draft.GetID(), "starter.yaml"))
			assets, resp, err := r.ListReleaseAssets(ctx, "acme", "provider", draft.GetID(), &upstream.ListOptions{PerPage: 2})
			must(assets, resp, err)
			must(wrap(r.GetReleaseAsset(ctx, "acme", "provider", assets[0].GetID())))
			must(wrap(r.EditReleaseAsset(ctx, "acme", "provider", assets[0].GetID(), &upstream.ReleaseAsset{Name: upstream.String("new.yaml"), Label: upstream.String("label")})))
			fails(422)(wrap(r.EditReleaseAsset(ctx, "acme", "provider", assets[0].GetID(), &upstream.ReleaseAsset{Name: upstream.String("asset2.yaml")})))
			resp, err = r.DeleteReleaseAsset(ctx, "acme", "provider", assets[1].GetID())
			must(nil, resp, err)
			fails(404)(wrap(r.GetReleaseByTag(ctx, "acme", "provider", "v1.0.0")))
			must(wrap(r.EditRelease(ctx, "acme", "provider", draft.GetID(), &upstream.RepositoryRelease{Draft: upstream.Bool(false), MakeLatest: upstream.String("true")})))
			must(wrap(r.GetReleaseByTag(ctx, "acme", "provider", "v1.0.0")))
			must(wrap(r.GetLatestRelease(ctx, "acme", "provider")))
			must(wrap(r.GetRelease(ctx, "acme", "provider", draft.GetID())))
			must(wrap(r.ListReleases(ctx, "acme", "provider", nil)))
			must(wrap(c.Git.GetRef(ctx, "acme", "provider", "tags/v1.0.0")))
			fails(404)(wrap(c.Git.GetRef(ctx, "acme", "provider", "tags/v2.0.0")))
			rc, _, err := r.DownloadReleaseAsset(ctx, "acme", "provider", assets[0].GetID(), http.DefaultClient)
			given.NoError(t, err)
			rc.Close()
			resp, err = r.DeleteRelease(ctx, "acme", "provider", draft.GetID())
			must(nil, resp, err)
			fails(404)(wrap(r.GetLatestRelease(ctx, "acme", "provider")))

			for _, p := range spec.Problems() {
				t.Error(p)
			}
			checked := spec.Checked()
			for _, o := range spec.Operations() {
				// The others are of the contents of repositories, and no client has notes made.
				if strings.Contains(o, "release") && o != "repos/generate-release-notes" && checked[o] == 0 {
					t.Errorf("%s was not compared", o)
				}
			}
			t.Logf("compared %v, unknown to the description %v", checked, spec.Unknown())
		})
	}
}

// TestOpenAPIFinds has a server that does not keep to the description.
func TestOpenAPIFinds(t *testing.T) {
	for name, tt := range map[string]struct {
		method, path, body, answer string
		status                     int
		want                       string
	}{
		"no digest":       {"GET", "/repos/a/b/releases/assets/1", "", `{"id":1,"name":"x"}`, 200, "digest"},
		"unknown status":  {"GET", "/repos/a/b/releases/1", "", `{}`, 206, "not in the description"},
		"no error":        {"GET", "/repos/a/b/releases/1", "", `x`, 500, "answer 500"},
		"no message":      {"DELETE", "/repos/a/b/releases/1", "", `{}`, 422, "message"},
		"bad make_latest": {"PATCH", "/repos/a/b/releases/1", `{"make_latest":"maybe"}`, `{"message":""}`, 200, "make_latest"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := description(t)
			h := spec.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.answer)
			}))
			r := given.Value(http.NewRequest(tt.method, "http://api.github.com"+tt.path, strings.NewReader(tt.body)))(t)
			h.ServeHTTP(&discard{http.Header{}}, r)
			if got := strings.Join(spec.Problems(), "\n"); !strings.Contains(got, tt.want) {
				t.Errorf("problems %q, want %q", got, tt.want)
			}
		})
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}
