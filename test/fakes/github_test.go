package fakes_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	upstream "github.com/google/go-github/v60/github"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const (
	owner, name = "acme", "provider"
	full        = owner + "/" + name
	secret      = "ghp_secret"
	sha         = "1111111111111111111111111111111111111111"
	younger     = "2222222222222222222222222222222222222222"
)

func startGitHub(t testing.TB, o github.Options) *github.Server {
	t.Helper()
	s := github.Start(t, o)
	s.AddToken(github.Token{Secret: secret, Right: github.Admin, Workflows: true})
	s.AddRepository(github.Repository{Owner: owner, Name: name, Commits: []github.Commit{
		{SHA: sha, Date: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, {SHA: younger, Date: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)},
	}})
	return s
}

// client is go-github, which nobody here wrote.
func hubClient(t testing.TB, s *github.Server, token string) *upstream.Client {
	t.Helper()
	h := &http.Client{}
	if pool := s.CAPool(); pool != nil {
		h.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	}
	c := upstream.NewClient(h)
	if token != "" {
		c = c.WithAuthToken(token)
	}
	c.BaseURL = given.Value(url.Parse(s.APIURL()))(t)
	c.UploadURL = given.Value(url.Parse(s.UploadURL()))(t)
	return c
}

func upload(t testing.TB, c *upstream.Client, release int64, name, content string) (*upstream.ReleaseAsset, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "asset")
	given.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	f := given.Value(os.Open(path))(t)
	defer f.Close()
	a, _, err := c.Repositories.UploadReleaseAsset(context.Background(), owner, "provider", release, &upstream.UploadOptions{Name: name, MediaType: "application/yaml"}, f)
	return a, err
}

func status(err error) int {
	var e *upstream.ErrorResponse
	if errors.As(err, &e) {
		return e.Response.StatusCode
	}
	var limit *upstream.RateLimitError
	if errors.As(err, &limit) {
		return limit.Response.StatusCode
	}
	var abuse *upstream.AbuseRateLimitError
	if errors.As(err, &abuse) {
		return abuse.Response.StatusCode
	}
	return 0
}

// get is do with a token.
func get(t testing.TB, method, address, token string, header map[string]string) (*http.Response, string) {
	t.Helper()
	all := map[string]string{}
	maps.Copy(all, header)
	if token != "" {
		all["Authorization"] = "Bearer " + token
	}
	return do(t, method, address, "", all)
}

// TestGitHubRights is the table of who may do what.
func TestGitHubRights(t *testing.T) {
	type token = github.Token
	tokens := map[string]token{
		"read": {Right: github.Read}, "write": {Right: github.Write, Workflows: true}, "no workflows": {Right: github.Write},
		"expired": {Right: github.Admin, Expired: true}, "none": {},
		"actions": {Kind: github.Actions, Right: github.Write, Workflows: true},
	}
	repos := map[string]github.Repository{
		"public": {}, "private": {Private: true}, "archived": {Archived: true},
		"workflows": {Commits: []github.Commit{{SHA: sha, Workflows: true}}},
	}
	s := github.Start(t, github.Options{})
	for name, tok := range tokens {
		tok.Secret = name
		s.AddToken(tok)
	}
	for name, r := range repos {
		r.Owner, r.Name = owner, name
		s.AddRepository(r)
	}
	for _, tt := range []struct {
		token, repo               string
		read, push, create, patch int
	}{
		{"", "public", 200, -1, 401, 401},
		{"", "private", 404, -1, 404, 404},
		{"wrong", "public", 401, -1, 401, 401},
		{"expired", "public", 401, -1, 401, 401},
		{"none", "public", 200, 0, 404, 404},
		{"none", "private", 404, -1, 404, 404},
		{"read", "public", 200, 0, 404, 404},
		{"read", "private", 200, 0, 404, 404},
		{"write", "public", 200, 1, 201, 404},
		{"write", "private", 200, 1, 201, 404},
		{"write", "archived", 200, 1, 403, 403},
		{"write", "workflows", 200, 1, 201, 404},
		{"no workflows", "workflows", 200, 1, 404, 404},
		{"no workflows", "public", 200, 1, 201, 404},
		{"actions", "workflows", 200, 1, 403, 404},
		{"actions", "public", 200, 1, 201, 404},
		{"write", "absent", 404, -1, 404, 404},
	} {
		t.Run(tt.token+" "+tt.repo, func(t *testing.T) {
			ctx := context.Background()
			c := hubClient(t, s, tt.token)
			r, resp, err := c.Repositories.Get(ctx, owner, tt.repo)
			if resp.StatusCode != tt.read {
				t.Errorf("read: %v", err)
			}
			push, known := r.GetPermissions()["push"]
			if known != (tt.push >= 0) || push != (tt.push == 1) {
				t.Errorf("permissions %v", r.GetPermissions())
			}
			_, resp, err = c.Repositories.CreateRelease(ctx, owner, tt.repo, &upstream.RepositoryRelease{TagName: upstream.String("v" + fmt.Sprint(time.Now().UnixNano())), Draft: upstream.Bool(true)})
			if resp.StatusCode != tt.create {
				t.Errorf("create: %v, want %d", err, tt.create)
			}
			_, resp, err = c.Repositories.EditRelease(ctx, owner, tt.repo, 1, &upstream.RepositoryRelease{Draft: upstream.Bool(false)})
			if resp.StatusCode != tt.patch {
				t.Errorf("edit: %v, want %d", err, tt.patch)
			}
		})
	}
}

func TestGitHubUploadsRefused(t *testing.T) {
	s := startGitHub(t, github.Options{})
	id, err := s.AddRelease(full, github.Release{Tag: "v1.0.0", Draft: true, Assets: []github.Asset{{Name: "a.yaml", State: github.Starter}}})
	given.NoError(t, err)
	post := func(query string, body io.Reader, release int64) (int, string) {
		req, _ := http.NewRequest("POST", fmt.Sprintf("%srepos/%s/releases/%d/assets?%s", s.UploadURL(), full, release, query), body)
		req.Header.Set("Authorization", "Bearer "+secret)
		resp := given.Value(http.DefaultClient.Do(req))(t)
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(raw)
	}
	for _, tt := range []struct {
		why, query string
		body       io.Reader
		release    int64
		status     int
		text       string
	}{
		{"chunked", "name=b", io.MultiReader(strings.NewReader("b")), id, 400, "Bad Content-Length"},
		{"empty", "name=b", strings.NewReader(""), id, 400, "Bad Content-Length"},
		{"no name", "", strings.NewReader("b"), id, 422, "missing_field"},
		{"starter there", "name=a.yaml", strings.NewReader("b"), id, 422, "already_exists"},
		{"no release", "name=b", strings.NewReader("b"), 1, 404, "Not Found"},
		{"fine", "name=b", strings.NewReader("b"), id, 201, `"state":"uploaded"`},
	} {
		if got, body := post(tt.query, tt.body, tt.release); got != tt.status || !strings.Contains(body, tt.text) {
			t.Errorf("%s: %d %s, want %d and %s", tt.why, got, body, tt.status, tt.text)
		}
	}
	resp, _ := get(t, "POST", fmt.Sprintf("%srepos/%s/releases/%d/assets?name=d", s.APIURL(), full, id), secret, nil)
	if resp.StatusCode != 404 {
		t.Errorf("upload to the API host: %d", resp.StatusCode)
	}
}

func TestGitHubAssetName(t *testing.T) {
	for _, tt := range []struct{ in, out string }{
		{"metadata.yaml", "metadata.yaml"}, {"a b.yaml", "a.b.yaml"}, {"a+b.yaml", "a+b.yaml"}, {".hidden", "hidden"},
		{"a  (1).yaml", "a.1.yaml"}, {"a~b@c", "a.b.c"}, {"..", "default"}, {"x.", "x"},
	} {
		if got := github.AssetName(tt.in); got != tt.out {
			t.Errorf("%q becomes %q, want %q", tt.in, got, tt.out)
		}
	}
}

// TestGitHubPublishRefused is what GitHub says when a release cannot be published.
func TestGitHubPublishRefused(t *testing.T) {
	for _, tt := range []struct {
		why     string
		repo    github.Repository
		there   []github.Release
		create  upstream.RepositoryRelease
		message string
	}{
		{"published tag", github.Repository{}, []github.Release{{Tag: "v1.0.0"}}, upstream.RepositoryRelease{}, "already_exists"},
		{"bad target", github.Repository{}, nil, upstream.RepositoryRelease{TargetCommitish: upstream.String("nowhere")}, "target_commitish"},
		{"protected tag", github.Repository{ProtectedTags: []string{"v1.0.0"}}, nil, upstream.RepositoryRelease{}, "pre_receive"},
		{"no tag", github.Repository{}, nil, upstream.RepositoryRelease{TagName: upstream.String("")}, "missing_field"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			s := startGitHub(t, github.Options{})
			tt.repo.Owner, tt.repo.Name = owner, "other"
			s.AddRepository(tt.repo)
			for _, r := range tt.there {
				given.Value(s.AddRelease("acme/other", r))(t)
			}
			if tt.create.TagName == nil {
				tt.create.TagName = upstream.String("v1.0.0")
			}
			_, _, err := hubClient(t, s, secret).Repositories.CreateRelease(context.Background(), owner, "other", &tt.create)
			if status(err) != 422 || !strings.Contains(fmt.Sprint(err)+string(mustJSON(err)), tt.message) {
				t.Errorf("%v", err)
			}
			if got := s.Releases("acme/other"); len(got) != len(tt.there) {
				t.Errorf("left %v", got)
			}
		})
	}
}

func mustJSON(v any) []byte { raw, _ := json.Marshal(v); return raw }

// TestGitHubDrafts covers what GitHub allows with drafts.
func TestGitHubDrafts(t *testing.T) {
	s := startGitHub(t, github.Options{})
	c := hubClient(t, s, secret)
	ctx := context.Background()
	var ids []int64
	for range 2 {
		r, _, err := c.Repositories.CreateRelease(ctx, owner, name, &upstream.RepositoryRelease{TagName: upstream.String("v1.0.0"), Draft: upstream.Bool(true)})
		given.NoError(t, err)
		ids = append(ids, r.GetID())
	}
	if all, _, err := hubClient(t, s, "").Repositories.ListReleases(ctx, owner, name, nil); err != nil || len(all) != 0 {
		t.Errorf("a reader sees %v, %v", all, err)
	}
	if _, _, err := c.Repositories.GetReleaseByTag(ctx, owner, name, "v1.0.0"); status(err) != 404 {
		t.Errorf("a draft by its tag: %v", err)
	}
	publish := func(id int64) error {
		_, _, err := c.Repositories.EditRelease(ctx, owner, name, id, &upstream.RepositoryRelease{Draft: upstream.Bool(false)})
		return err
	}
	given.NoError(t, publish(ids[1]))
	if err := publish(ids[0]); status(err) != 422 {
		t.Errorf("second publish: %v", err)
	}
	if d := s.Drafts(full); len(d) != 1 || d[0].ID != ids[0] {
		t.Errorf("drafts %v", d)
	}
	given.Value(c.Repositories.DeleteRelease(ctx, owner, name, ids[1]))(t)
	if err := publish(ids[0]); err != nil || len(s.Tags(full)) != 1 {
		t.Errorf("after deletion: %v, tags %v", err, s.Tags(full))
	}
	given.Value(c.Git.DeleteRef(ctx, owner, name, "tags/v1.0.0"))(t)
	if d := s.Drafts(full); len(d) != 1 {
		t.Errorf("a release without tag is no draft: %v", s.Releases(full))
	}
}

func TestGitHubImmutable(t *testing.T) {
	s := startGitHub(t, github.Options{})
	s.AddRepository(github.Repository{Owner: owner, Name: "fixed", Immutable: true})
	ctx := context.Background()
	c := hubClient(t, s, secret)
	draft, err := s.AddRelease("acme/fixed", github.Release{Tag: "v1.0.0", Draft: true, Assets: []github.Asset{{Name: "a", Data: []byte("a")}}})
	given.NoError(t, err)
	if _, _, err := c.Repositories.EditRelease(ctx, owner, "fixed", draft, &upstream.RepositoryRelease{Draft: upstream.Bool(false)}); err != nil {
		t.Fatal(err)
	}
	rel, _ := s.Published("acme/fixed", "v1.0.0")
	if !rel.Immutable {
		t.Fatal("not immutable")
	}
	if _, err := c.Repositories.DeleteReleaseAsset(ctx, owner, "fixed", rel.Assets[0].ID); status(err) != 422 {
		t.Errorf("delete asset: %v", err)
	}
	if _, _, err := c.Repositories.EditReleaseAsset(ctx, owner, "fixed", rel.Assets[0].ID, &upstream.ReleaseAsset{Name: upstream.String("b")}); status(err) != 422 {
		t.Errorf("rename asset: %v", err)
	}
	if _, _, err := c.Repositories.EditRelease(ctx, owner, "fixed", rel.ID, &upstream.RepositoryRelease{Draft: upstream.Bool(true)}); status(err) != 422 {
		t.Errorf("back to draft: %v", err)
	}
	if _, err := c.Repositories.DeleteRelease(ctx, owner, "fixed", rel.ID); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, _, err := c.Repositories.CreateRelease(ctx, owner, "fixed", &upstream.RepositoryRelease{TagName: upstream.String("v1.0.0")}); status(err) != 422 {
		t.Errorf("tag again: %v", err)
	}
	if resp, body := get(t, "GET", s.APIURL()+"repos/acme/fixed/immutable-releases", secret, nil); resp.StatusCode != 200 || !strings.Contains(body, `"enabled":true`) {
		t.Errorf("setting: %s", body)
	}
	if resp, _ := get(t, "GET", s.APIURL()+"repos/"+full+"/immutable-releases", secret, nil); resp.StatusCode != 404 {
		t.Error("setting of the other repository")
	}
}

func TestGitHubLatest(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps []upstream.RepositoryRelease
		want  string
	}{
		{"newest by default", []upstream.RepositoryRelease{{TagName: upstream.String("v1.0.0")}, {TagName: upstream.String("v0.9.0")}}, "v0.9.0"},
		{"back-port", []upstream.RepositoryRelease{{TagName: upstream.String("v1.1.0")}, {TagName: upstream.String("v1.0.1"), MakeLatest: upstream.String("false")}}, "v1.1.0"},
		{"prerelease", []upstream.RepositoryRelease{{TagName: upstream.String("v1.0.0")}, {TagName: upstream.String("v1.1.0-rc.1"), Prerelease: upstream.Bool(true)}}, "v1.0.0"},
		{"only prereleases", []upstream.RepositoryRelease{{TagName: upstream.String("v1.0.0-rc.1"), Prerelease: upstream.Bool(true)}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startGitHub(t, github.Options{})
			c := hubClient(t, s, secret)
			for _, r := range tt.steps {
				if _, _, err := c.Repositories.CreateRelease(context.Background(), owner, name, &r); err != nil {
					t.Fatal(err)
				}
			}
			r, resp, _ := c.Repositories.GetLatestRelease(context.Background(), owner, name)
			if r.GetTagName() != tt.want || s.Latest(full) != tt.want || (tt.want == "") != (resp.StatusCode == 404) {
				t.Errorf("latest %q and %q, want %q", r.GetTagName(), s.Latest(full), tt.want)
			}
		})
	}
}

func TestGitHubReads(t *testing.T) {
	s := startGitHub(t, github.Options{})
	s.AddRepository(github.Repository{Owner: owner, Name: "tagged", Commits: []github.Commit{{SHA: sha}},
		Tags: []github.Tag{{Name: "v1.0.0"}, {Name: "v2.0.0", Annotated: true}}})
	id, err := s.AddRelease(full, github.Release{Tag: "v1.0.0", Assets: []github.Asset{{Name: "a", Data: []byte("0123456789")}}})
	given.NoError(t, err)
	asset := s.Releases(full)[0].Assets[0].ID
	ctx := context.Background()
	c := hubClient(t, s, secret)

	ref, _, err := c.Git.GetRef(ctx, owner, "tagged", "tags/v1.0.0")
	if err != nil || ref.Object.GetSHA() != sha || ref.Object.GetType() != "commit" {
		t.Errorf("%v %v", ref, err)
	}
	ref, _, err = c.Git.GetRef(ctx, owner, "tagged", "tags/v2.0.0")
	if err != nil || ref.Object.GetType() != "tag" {
		t.Fatalf("%v %v", ref, err)
	}
	tag, _, err := c.Git.GetTag(ctx, owner, "tagged", ref.Object.GetSHA())
	if err != nil || tag.Object.GetSHA() != sha {
		t.Errorf("%v %v", tag, err)
	}
	if _, _, err := c.Git.GetRef(ctx, owner, "tagged", "tags/v3.0.0"); status(err) != 404 {
		t.Errorf("absent tag: %v", err)
	}
	if _, _, err := c.Repositories.GetCommit(ctx, owner, "tagged", "dead", nil); status(err) != 422 {
		t.Errorf("absent commit: %v", err)
	}

	address := fmt.Sprintf("%srepos/%s/releases/%d", s.APIURL(), full, id)
	resp, body := get(t, "HEAD", address, secret, nil)
	if resp.StatusCode != 200 || body != "" {
		t.Errorf("HEAD %d %q", resp.StatusCode, body)
	}

	bytesAt := fmt.Sprintf("%srepos/%s/releases/assets/%d", s.APIURL(), full, asset)
	resp, _ = get(t, "GET", bytesAt, secret, map[string]string{"Accept": "application/octet-stream"})
	at := resp.Header.Get("Location")
	if resp.StatusCode != 302 || !strings.HasPrefix(at, s.StorageURL()) {
		t.Fatalf("%d %s", resp.StatusCode, at)
	}
	if resp, body := get(t, "GET", at, "", map[string]string{"Range": "bytes=4-"}); resp.StatusCode != 206 || body != "456789" {
		t.Errorf("range: %d %q", resp.StatusCode, body)
	}
	if len(s.Leaks()) != 0 {
		t.Error("leak without credentials")
	}
	if resp, _ := get(t, "GET", at, secret, nil); resp.StatusCode != 400 || len(s.Leaks()) != 1 {
		t.Errorf("storage with credentials: %d, leaks %v", resp.StatusCode, s.Leaks())
	}
	if resp, _ := get(t, "GET", strings.Replace(at, "Signature=", "Signature=0", 1), "", nil); resp.StatusCode != 403 {
		t.Errorf("bad signature: %d", resp.StatusCode)
	}
	for _, e := range s.Faults.Log() {
		if strings.Contains(fmt.Sprintf("%+v", e), secret) {
			t.Errorf("the log has the secret: %v", e)
		}
	}
}

// TestGitHubStateFaults covers the faults that need the server's help.
func TestGitHubStateFaults(t *testing.T) {
	s := startGitHub(t, github.Options{})
	c := hubClient(t, s, secret)
	ctx := context.Background()
	id := given.Value(s.AddRelease(full, github.Release{Tag: "v1.0.0", Draft: true}))(t)
	s.Faults.Add(
		fault.Rule{Step: "upload-asset", Nth: 1, Fault: fault.Fault{Effect: fault.Starter}},
		fault.Rule{Step: "upload-asset", Nth: 2, Fault: fault.Fault{Effect: fault.WrongDigest}},
		fault.Rule{Step: "upload-asset", Nth: 3, Fault: fault.Fault{Reset: true, Handled: true}},
		fault.Rule{Step: "create-release", Fault: fault.Fault{Twice: true}},
		fault.Rule{Step: "get-release", Fault: fault.Fault{Effect: fault.ExpireToken}},
	)
	if _, err := upload(t, c, id, "a", "a"); status(err) != 502 {
		t.Errorf("starter: %v", err)
	}
	if a, _ := s.Releases(full)[0].Asset("a"); a.State != github.Starter || a.Size != 0 || a.Digest != "" {
		t.Errorf("starter: %+v", a)
	}
	if a, err := upload(t, c, id, "b", "b"); err != nil || a.GetSize() != 1 {
		t.Errorf("wrong digest: %v", err)
	}
	sum := sha256.Sum256([]byte("b"))
	if a, _ := s.Releases(full)[0].Asset("b"); a.Digest == "" || a.Digest == "sha256:"+hex.EncodeToString(sum[:]) {
		t.Errorf("digest %s", a.Digest)
	}
	if _, err := upload(t, c, id, "c", "c"); err == nil {
		t.Error("no reset")
	}
	if a, _ := s.Releases(full)[0].Asset("c"); a.State != github.Uploaded {
		t.Errorf("reset after: %+v", a)
	}
	if _, _, err := c.Repositories.CreateRelease(ctx, owner, name, &upstream.RepositoryRelease{TagName: upstream.String("v2.0.0"), Draft: upstream.Bool(true)}); err != nil || len(s.Drafts(full)) != 3 {
		t.Errorf("twice: %v, %d drafts", err, len(s.Drafts(full)))
	}
	for range 2 {
		if _, _, err := c.Repositories.GetRelease(ctx, owner, name, id); status(err) != 401 {
			t.Errorf("expired: %v", err)
		}
	}
}

// TestGitHubBrokenUpload is a client that dies in the middle of an upload.
func TestGitHubBrokenUpload(t *testing.T) {
	s := startGitHub(t, github.Options{})
	id := given.Value(s.AddRelease(full, github.Release{Tag: "v1.0.0", Draft: true}))(t)
	ctx, cancel := context.WithCancel(context.Background())
	body, w := io.Pipe()
	req, _ := http.NewRequestWithContext(ctx, "POST", fmt.Sprintf("%srepos/%s/releases/%d/assets?name=a", s.UploadURL(), full, id), body)
	req.ContentLength = 1 << 20
	req.Header.Set("Authorization", "Bearer "+secret)
	done := make(chan error)
	go func() { _, err := http.DefaultClient.Do(req); done <- err }()
	given.Value(w.Write(make([]byte, 1<<18)))(t)
	reserved := func() bool { return len(s.Releases(full)[0].Assets) > 0 }
	for range 1000 {
		if reserved() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	w.Close()
	if err := <-done; err == nil {
		t.Fatal("no error")
	}
	if a, ok := s.Releases(full)[0].Asset("a"); !ok || a.State != github.Starter {
		t.Errorf("left %+v", a)
	}
}
