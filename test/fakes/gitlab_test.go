package fakes_test

//lint:file-ignore SA1019 go-gitlab v0.115.0 is the library that users of this project fixed; its successor has another module path.

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	upstream "github.com/xanzy/go-gitlab"

	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const (
	project   = "acme/infra/provider"
	labSecret = "glpat-labSecret"
	pack      = "infrastructure-acme"
)

func startGitLab(t testing.TB, o gitlab.Options, p gitlab.Project) *gitlab.Server {
	t.Helper()
	s := gitlab.Start(t, o)
	s.AddToken(gitlab.Token{Secret: labSecret})
	p.Path = project
	if p.Members == nil {
		p.Members = map[string]gitlab.Role{"publisher": gitlab.Owner}
	}
	s.AddProject(p)
	return s
}

// client is go-gitlab, which nobody here wrote.
func labClient(t testing.TB, s *gitlab.Server) *upstream.Client {
	t.Helper()
	h := &http.Client{}
	if pool := s.CAPool(); pool != nil {
		h.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	}
	c, err := upstream.NewClient(labSecret, upstream.WithBaseURL(s.URL()), upstream.WithoutRetries(), upstream.WithHTTPClient(h))
	given.NoError(t, err)
	return c
}

// do sends a request as it is written, without a client in between.
func do(t testing.TB, method, address, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req := given.Value(http.NewRequest(method, address, strings.NewReader(body)))(t)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	given.NoError(t, err)
	defer resp.Body.Close()
	raw := given.Value(io.ReadAll(resp.Body))(t)
	return resp, string(raw)
}

func address(s *gitlab.Server, name, version, file string) string {
	return s.URL() + "/api/v4/projects/" + url.PathEscape(project) + "/packages/generic/" + name + "/" + version + "/" + file
}

func token(v string) map[string]string { return map[string]string{"PRIVATE-TOKEN": v} }

// TestGitLabRights is the matrix of GitLab's request specification of generic packages:
// what uploads and downloads are answered.
func TestGitLabRights(t *testing.T) {
	ways := map[string]map[string]string{
		"": {}, "pat": token("pat"), "job": {"JOB-TOKEN": "job"},
		"bearer": {"Authorization": "Bearer pat"}, "wrong pat": token("x"), "wrong job": {"JOB-TOKEN": "x"},
		"wrong bearer": {"Authorization": "Bearer x"}, "expired": token("expired"),
		"deploy rw": {"DEPLOY-TOKEN": "rw"}, "deploy ro": {"DEPLOY-TOKEN": "ro"}, "deploy wo": {"DEPLOY-TOKEN": "wo"}, "wrong deploy": {"DEPLOY-TOKEN": "x"},
		"read scope": token("read"), "deploy elsewhere": {"DEPLOY-TOKEN": "elsewhere"},
	}
	for _, tt := range []struct {
		private  bool
		role     gitlab.Role
		way      string
		put, get int
	}{
		{false, gitlab.Developer, "pat", 201, 200},
		{false, gitlab.Developer, "bearer", 201, 200},
		{false, gitlab.Developer, "job", 201, 200},
		{false, gitlab.Developer, "read scope", 403, 200},
		{false, gitlab.Guest, "pat", 403, 200},
		{false, gitlab.NoMember, "pat", 403, 200},
		{false, gitlab.NoMember, "job", 403, 200},
		{false, gitlab.NoMember, "", 401, 200},
		{false, gitlab.Developer, "wrong pat", 401, 401},
		{false, gitlab.Developer, "wrong bearer", 401, 401},
		{false, gitlab.Developer, "wrong job", 401, 401},
		{false, gitlab.Developer, "expired", 401, 401},
		{true, gitlab.Developer, "pat", 201, 200},
		{true, gitlab.Developer, "job", 201, 200},
		{true, gitlab.Guest, "pat", 403, 200},
		{true, gitlab.NoMember, "pat", 404, 404},
		{true, gitlab.NoMember, "job", 404, 404},
		{true, gitlab.NoMember, "", 401, 401},
		{true, gitlab.Developer, "wrong pat", 401, 401},
		{true, gitlab.Developer, "wrong job", 401, 401},
		{true, gitlab.NoMember, "deploy rw", 201, 200},
		{true, gitlab.NoMember, "deploy wo", 201, 200},
		{true, gitlab.NoMember, "deploy ro", 403, 200},
		{true, gitlab.NoMember, "wrong deploy", 401, 401},
		{true, gitlab.NoMember, "deploy elsewhere", 404, 404},
	} {
		t.Run(fmt.Sprintf("private=%v role=%d %s", tt.private, tt.role, tt.way), func(t *testing.T) {
			s := startGitLab(t, gitlab.Options{}, gitlab.Project{Private: tt.private, Members: map[string]gitlab.Role{"someone": tt.role}})
			s.AddToken(gitlab.Token{Secret: "pat", User: "someone"})
			s.AddToken(gitlab.Token{Secret: "expired", User: "someone", Expired: true})
			s.AddToken(gitlab.Token{Secret: "read", User: "someone", Scopes: []string{"read_api"}})
			s.AddToken(gitlab.Token{Secret: "job", User: "someone", Kind: gitlab.Job})
			const r, w = "read_package_registry", "write_package_registry"
			s.AddToken(gitlab.Token{Secret: "rw", Kind: gitlab.Deploy, Project: project, Scopes: []string{r, w}})
			s.AddToken(gitlab.Token{Secret: "ro", Kind: gitlab.Deploy, Project: project, Scopes: []string{r}})
			s.AddToken(gitlab.Token{Secret: "wo", Kind: gitlab.Deploy, Project: project, Scopes: []string{w}})
			s.AddToken(gitlab.Token{Secret: "elsewhere", Kind: gitlab.Deploy, Project: "other", Scopes: []string{r, w}})
			if _, err := s.AddPackage(project, gitlab.Package{Name: pack, Version: "v1.0.0", Files: []gitlab.File{{Name: "there", Data: []byte("x")}}}); err != nil {
				t.Fatal(err)
			}
			if resp, body := do(t, "PUT", address(s, pack, "v1.0.0", "new"), "x", ways[tt.way]); resp.StatusCode != tt.put {
				t.Errorf("PUT %d %s, want %d", resp.StatusCode, body, tt.put)
			}
			if resp, body := do(t, "GET", address(s, pack, "v1.0.0", "there"), "", ways[tt.way]); resp.StatusCode != tt.get {
				t.Errorf("GET %d %s, want %d", resp.StatusCode, body, tt.get)
			}
		})
	}
}

func TestGitLabHidden(t *testing.T) {
	s := startGitLab(t, gitlab.Options{}, gitlab.Project{})
	given.Value(s.AddPackage(project, gitlab.Package{Name: pack, Version: "v1.0.0", Status: "hidden"}))(t)
	if all, _, err := labClient(t, s).Packages.ListProjectPackages(project, nil); err != nil || len(all) != 0 {
		t.Errorf("a list shows %v, %v", all, err)
	}
}

// TestGitLabNames is what GitLab takes as names.
func TestGitLabNames(t *testing.T) {
	s := startGitLab(t, gitlab.Options{}, gitlab.Project{})
	for _, tt := range []struct {
		name, version, file string
		status              int
		stored              string
	}{
		{pack, "v1.2.3", "a.yaml", 201, "a.yaml"},
		{pack, "1.3.350-20201230123456", "a", 201, "a"},
		{pack, "v1.0.0+build.1", "a", 201, "a"},
		{pack, "1.2.bananas", "a", 201, "a"},
		{pack, "..1.2.3", "a", 400, ""},
		{pack, "%2e%2e%2f1.2.3", "a", 400, ""},
		{pack, "v0%2E2%2E0", "metadata%2Eyaml", 201, "metadata.yaml"},
		{pack, "v1.0.0", "my+file~1@2.tar.gz", 201, "my+file~1@2.tar.gz"},
		{pack, "v1.0.0", "a@", 400, ""},
		{pack, "v1.0.0", "@a", 400, ""},
		{pack, "v1.0.0", "a~", 400, ""},
		{pack, "v1.0.0", "~a", 400, ""},
		{pack, "v1.0.0", "a%20b", 400, ""},
		{pack, "v1.0.0", "%2e%2e%2f.ssh%2fkeys", 400, ""},
		{"a%20b", "v1.0.0", "a", 400, ""},
		{"a%2f%2e%2e%2f", "v1.0.0", "a", 400, ""},
		{pack, "v1.0.0", "b?select=package_file", 200, "b"},
	} {
		resp, body := do(t, "PUT", address(s, tt.name, tt.version, tt.file), "x", token(labSecret))
		if resp.StatusCode != tt.status {
			t.Errorf("%s %s %s: %d %s, want %d", tt.name, tt.version, tt.file, resp.StatusCode, body, tt.status)
			continue
		}
		version, _ := url.PathUnescape(tt.version)
		p, _ := s.Package(project, tt.name, version)
		if tt.stored != "" && !slices.Contains(p.Names(), tt.stored) {
			t.Errorf("%s is not among %v", tt.stored, p.Names())
		}
	}
}

func TestGitLabProtected(t *testing.T) {
	for _, tt := range []struct {
		role, need gitlab.Role
		pattern    string
		status     int
	}{
		{gitlab.Developer, gitlab.Maintainer, pack, 403}, {gitlab.Maintainer, gitlab.Maintainer, pack, 201},
		{gitlab.Maintainer, gitlab.Owner, pack, 403}, {gitlab.Owner, gitlab.Owner, "infra*", 201},
		{gitlab.Developer, gitlab.Owner, "other-" + pack, 201},
	} {
		s := startGitLab(t, gitlab.Options{}, gitlab.Project{Members: map[string]gitlab.Role{"publisher": tt.role}, Protected: []gitlab.Protection{{Pattern: tt.pattern, Role: tt.need}}})
		resp, body := do(t, "PUT", address(s, pack, "v1.0.0", "a"), "x", token(labSecret))
		if resp.StatusCode != tt.status || tt.status == 403 && body != `{"message":"403 Forbidden - Package protected."}` {
			t.Errorf("%+v: %d %s", tt, resp.StatusCode, body)
		}
	}
}

func TestGitLabRefused(t *testing.T) {
	for _, tt := range []struct {
		why    string
		o      gitlab.Options
		p      gitlab.Project
		status int
		text   string
	}{
		{"large", gitlab.Options{MaxFileSize: 3}, gitlab.Project{}, 400, "File is too large"},
		{"registry off", gitlab.Options{}, gitlab.Project{NoPackages: true}, 403, "403 Forbidden"},
		{"archived", gitlab.Options{}, gitlab.Project{Archived: true}, 403, "403 Forbidden"},
	} {
		s := startGitLab(t, tt.o, tt.p)
		if resp, body := do(t, "PUT", address(s, pack, "v1.0.0", "a"), "four", token(labSecret)); resp.StatusCode != tt.status || !strings.Contains(body, tt.text) {
			t.Errorf("%s: %d %s", tt.why, resp.StatusCode, body)
		}
	}
}
