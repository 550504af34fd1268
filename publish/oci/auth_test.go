package oci

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestCredentials(t *testing.T) {
	as := func(c Credential) func(*Options) {
		return func(o *Options) { o.Credential = Credentials(c) }
	}
	right := Credential{UserName: user, Password: password}
	// wants lets those in whom in knows, and tells the others how to log in.
	wants := func(challenge string, in func(r *http.Request) bool) func(*server) {
		return func(s *server) {
			s.guard = func(w http.ResponseWriter, r *http.Request) bool {
				if in != nil && in(r) {
					return true
				}
				w.Header().Set("Www-Authenticate", challenge)
				w.WriteHeader(http.StatusUnauthorized)
				return false
			}
		}
	}
	basic := wants(`Basic realm="a \"b\"", charset=UTF-8`, func(r *http.Request) bool {
		u, p, _ := fault.Secret(r)
		return u == user && p == password && slices.Equal(fault.Credentials(r), []string{"Basic"})
	})
	static := wants(`Bearer realm="https://auth.invalid/token"`, func(r *http.Request) bool {
		return r.Header.Get("Authorization") == "Bearer access-token-of-the-robot"
	})
	token := func(uses int) func(*server) { return func(s *server) { wantToken(s, uses) } }
	broken := func(status int) func(*server) { return func(s *server) { wantToken(s, 9).status = status } }
	challenge := func(text string) func(*server) { return wants(text, nil) }
	const login = "log in with `docker login 127.0.0.1:"
	for _, tc := range []struct {
		name   string
		server func(*server)
		who    Credential
		want   []string // of the error; none is success
	}{
		{"basic", basic, right, nil},
		{"basic, nobody", basic, Credential{}, []string{"401", "there are no credentials for 127.0.0.1:", login, "set OCI_USERNAME and OCI_PASSWORD, or OCI_ACCESS_TOKEN"}},
		{"basic, wrong", basic, Credential{UserName: user, Password: password + "!"}, []string{"401", "does not accept the credentials", login}},
		{"basic, a token", basic, Credential{AccessToken: "access-token-of-the-robot"}, []string{"does not accept the credentials"}},
		{"token", token(1000), right, nil},
		{"token that expires soon", token(12), right, nil},
		{"refresh token", token(3), Credential{RefreshToken: refresh}, nil},
		{"token, nobody", token(9), Credential{}, []string{"401", "refuses a token with the status 401", login}},
		{"token, wrong", token(9), Credential{UserName: user, Password: password + "!"}, []string{"refuses a token with the status 401", login}},
		{"access token", static, Credential{AccessToken: "access-token-of-the-robot"}, nil},
		{"access token, wrong", static, Credential{AccessToken: "other"}, []string{"does not accept the credentials"}},
		{"token server without the right", broken(403), right, []string{"refuses a token with the status 403"}},
		{"token server that is down", broken(503), right, []string{"503", "/token"}},
		{"token server that moved", broken(307), right, []string{"refuses a token with the status 307"}},
		{"token server without encryption", challenge(`Bearer realm="http://auth.invalid/token",service="x"`), right, []string{"asks for a token from http://auth.invalid, but credentials are not sent there without encryption"}},
		{"token server that is none", challenge(`Bearer realm="/token"`), right, []string{"does not state where to get a token"}},
		{"token server with a password", challenge(`Bearer realm="https://a:b@auth.invalid/"`), right, []string{"does not state where to get a token"}},
		{"another way to log in", challenge(`Negotiate abc`), right, []string{"does not accept the credentials"}},
		{"no way to log in", challenge(``), Credential{}, []string{"there are no credentials"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serve(t)
			tc.server(s)
			d := s.open(as(tc.who))
			_, err := d.Put(t.Context(), published())
			noSecret(t, err, s.faults.Log(), s.options(), d.String())
			if len(tc.want) > 0 {
				for _, want := range tc.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not in %v", want, err)
					}
				}
				if _, _, there := s.manifest("v1.2.3"); there {
					t.Error("it was published")
				}
				most := 2 // without the credentials, and once with them
				if tc.want[0] == "503" {
					most = 12 // the fault may be temporary, so it is tried again
				}
				if len(s.faults.Log()) > most {
					t.Errorf("it was tried %d times", len(s.faults.Log()))
				}
				return
			}
			given.NoError(t, err)
			if err := d.Verify(t.Context(), published()); err != nil {
				t.Error(err)
			}
			if _, err := d.Versions(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRights(t *testing.T) {
	for _, tc := range []struct {
		step   string
		status int
		body   string
		want   string
	}{
		{"GET manifests", 403, `{"errors":[{"code":"DENIED","message":"no"}]}`, "(DENIED: no); the user or token lacks the right to pull from " + repository},
		{"POST uploads", 403, ``, "lacks the right to push to " + repository},
		{"POST uploads", 404, `{"errors":[{"code":"NAME_UNKNOWN","message":"unknown"}]}`, "create the repository " + repository + " in the registry first"},
		{"PUT manifests", 403, `{"errors":[{"code":"DENIED","message":"you sent ` + password + `\u0007"}]}`, "you sent ***"},
		{"PUT manifests", 400, `{"errors":[{"code":"MANIFEST_INVALID","message":"unknown artifact"}]}`, "(MANIFEST_INVALID: unknown artifact)"},
	} {
		s := serve(t, fault.Rule{Step: tc.step, Times: fault.Always, Fault: fault.Fault{Name: "refusal", Status: tc.status, Body: tc.body}})
		wantToken(s, 9)
		_, err := s.open(robot).Put(t.Context(), published())
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "?") {
			t.Errorf("%q is not in %v", tc.want, err)
		}
		noSecret(t, err)
	}
}

// TestNoCredentialsForOthers redirects files to another server, asks there for
// credentials, and offers to upload there.
func TestNoCredentialsForOthers(t *testing.T) {
	var came []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came = append(came, fault.Credentials(r)...)
		if strings.Contains(r.URL.Path, "wants") {
			w.Header().Set("Www-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "same\n")
	}))
	defer other.Close()
	s := serve(t)
	wantToken(s, 1000)
	d := s.open(robot)
	given.Value(d.Put(t.Context(), published()))(t)
	for _, at := range []string{"/x", "/wants"} {
		s.faults.Reset()
		s.faults.Add(fault.Rule{Step: "GET blobs", Times: fault.Always, Fault: fault.Fault{Name: "storage", Status: 307, Header: map[string]string{"Location": other.URL + at + "?X-Signature=granted-token"}}})
		r, err := d.Fetch(t.Context(), "v1.2.3")
		given.NoError(t, err)
		_, err = r.Artifact("a.txt").Sum(t.Context())
		if (err == nil) != (at == "/x") {
			t.Errorf("%s: %v", at, err)
		}
		noSecret(t, err)
	}
	s.faults.Reset()
	s.faults.Add(fault.Rule{Step: "POST uploads", Fault: fault.Fault{Name: "elsewhere", Status: 202, Header: map[string]string{"Location": other.URL + "/up?_state=granted-token"}}})
	next := published()
	next.Version = "v1.2.4"
	next.Artifacts[0] = repo.BytesArtifact("a.txt", []byte("new\n"))
	_, err := d.Put(t.Context(), next)
	if err == nil || !strings.Contains(err.Error(), "different host") {
		t.Errorf("upload elsewhere: %v", err)
	}
	noSecret(t, err)
	if len(came) > 0 {
		t.Errorf("another server got %q", came)
	}
}

func TestDockerCredentials(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		given.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	auth := "cm9ib3Q6Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5" // robot:correct-horse-battery
	plain := write("plain.json", `{"auths":{"registry.example.com":{"auth":"`+auth+`"},"https://index.docker.io/v1/":{"identitytoken":"`+refresh+`"}}}`, 0o600)
	odd := write("odd.json", `{"auths":{"registry.example.com":{"auth":"Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5"}}}`, 0o600) // without a colon
	garbage := write("garbage.json", `{"auths": "correct-horse-battery`, 0o600)
	missing := write("helper.json", `{"credHelpers":{"registry.example.com":"does-not-exist"}}`, 0o600)
	none := filepath.Join(dir, "none.json")
	robot := Credential{UserName: user, Password: password}
	for _, tc := range []struct {
		name, host string
		files      []string
		want       Credential
		err        string
	}{
		{"stored", "registry.example.com", []string{plain}, robot, ""},
		{"of Docker Hub", "docker.io", []string{plain}, Credential{RefreshToken: refresh}, ""},
		{"of another host", "other.example.com", []string{plain}, Credential{}, ""},
		{"no file", "registry.example.com", []string{none}, Credential{}, ""},
		{"no file first", "registry.example.com", []string{none, plain}, robot, ""},
		{"no files at all", "registry.example.com", nil, Credential{}, ""},
		{"a broken entry", "registry.example.com", []string{odd}, Credential{}, "log in again with `docker login registry.example.com`"},
		{"a broken file", "registry.example.com", []string{garbage}, Credential{}, "garbage.json is not readable, or not JSON"},
		{"no helper", "registry.example.com", []string{missing}, Credential{}, "credential helper for registry.example.com that is not installed"},
	} {
		got, err := Credentials(Credential{}, tc.files...)(t.Context(), tc.host)
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, %v", tc.name, got == tc.want, err)
		}
		noSecret(t, err, got)
	}
	if runtime.GOOS == "windows" {
		t.Skip("the helper of this test is a shell script")
	}
	write("docker-credential-ours", "#!/bin/sh\nread -r host\n[ \"$1 $host\" = 'get registry.example.com' ] || { echo 'credentials not found in native keychain'; exit 1; }\necho '{\"Username\":\"robot\",\"Secret\":\""+password+"\"}'\n", 0o700)
	write("docker-credential-angry", "#!/bin/sh\necho 'will not give "+password+"'; exit 1\n", 0o700)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	helper := write("ours.json", `{"credsStore":"ours"}`, 0o600)
	if got, err := Credentials(Credential{}, helper)(t.Context(), "registry.example.com"); err != nil || got != robot {
		t.Errorf("%v", err)
	}
	if got, err := Credentials(Credential{}, helper)(t.Context(), "other.example.com"); err != nil || got != (Credential{}) {
		t.Errorf("%v", err)
	}
	angry := write("angry.json", `{"credsStore":"angry"}`, 0o600)
	_, err := Credentials(Credential{}, angry)(t.Context(), "registry.example.com")
	if err == nil {
		t.Error("no error of a helper")
	}
	noSecret(t, err)
	// The reason arrives with the refusal of the registry.
	s := serve(t)
	wantToken(s, 9)
	_, err = s.open(func(o *Options) { o.Credential = Credentials(Credential{}, angry) }).Put(t.Context(), published())
	if err == nil || !strings.Contains(err.Error(), "angry.json stores or names a helper for cannot be read") {
		t.Errorf("%v", err)
	}
}
