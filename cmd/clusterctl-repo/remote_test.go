package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/github"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/gitlab"
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/proxy"
)

// guarded runs the program and fails if it prints one of the secrets, which
// are parted by spaces.
func guarded(secrets string, world cli.IO, run func(cli.IO) int) int {
	var printed bytes.Buffer
	world.Out, world.Err = io.MultiWriter(world.Out, &printed), io.MultiWriter(world.Err, &printed)
	code := run(world)
	for secret := range strings.FieldsSeq(secrets) {
		if strings.Contains(printed.String(), secret) {
			fmt.Fprintln(os.Stderr, "THE PROGRAM PRINTED A SECRET")
			return 99
		}
	}
	return code
}

// The tokens of the forges.
const (
	gitHubToken = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	gitLabToken = "glpat-Zw3ksQvR4yNUpTbX7aCe"
)

// forges are the servers of one script.
type forges struct {
	gitHub *github.Server
	gitLab *gitlab.Server
}

// TestRemoteScripts runs the command lines in testdata/remote against a GitHub,
// a GitLab and a registry, which the program finds under their real names
// through a proxy, as clusterctl does.
func TestRemoteScripts(t *testing.T) {
	runScripts(t, testscript.Params{
		Dir: "testdata/remote",
		Setup: func(env *testscript.Env) error {
			f := &forges{gitHub: github.New(github.Options{}), gitLab: gitlab.New(gitlab.Options{})}
			f.gitHub.AddToken(github.Token{Secret: gitHubToken, Right: github.Admin})
			f.gitHub.AddRepository(github.Repository{Owner: "acme", Name: "provider", Former: []string{"acme/former"}})
			f.gitHub.AddRepository(github.Repository{Owner: "acme", Name: "secret", Private: true})
			f.gitHub.AddRepository(github.Repository{Owner: "acme", Name: "infrastructure-foo"})
			f.gitHub.AddRepository(github.Repository{Owner: "acme", Name: "bootstrap-foo"})
			f.gitHub.AddRepository(github.Repository{Owner: "kubernetes-sigs", Name: "cluster-api-provider-azure"})
			f.gitLab.AddToken(gitlab.Token{Secret: gitLabToken, User: "publisher"})
			for _, path := range []string{"acme/provider", "acme/teams/provider"} {
				f.gitLab.AddProject(gitlab.Project{Path: path, Members: map[string]gitlab.Role{"publisher": gitlab.Maintainer}})
			}
			hosts := proxy.Hosts{}.Add(f.gitHub, github.Hosts("github.com")...).Add(f.gitLab, gitlab.Hosts("gitlab.example.com")...)
			raw := http.FileServer(http.Dir(filepath.Join(env.WorkDir, "raw")))
			hosts["raw.githubusercontent.com"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if raw.ServeHTTP(w, r); r.Header.Get("Authorization") != "" {
					t.Errorf("%s was asked for with a credential", r.URL)
				}
			})
			p, err := proxy.New(env.WorkDir, hosts)
			if err != nil {
				return err
			}
			// The same servers on this machine, without encryption.
			tb := env.T().(testing.TB)
			f.gitHub.Listen(tb)
			f.gitLab.Listen(tb)
			images := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
			env.Defer(func() {
				p.Close()
				images.Close()
				if leaks := append(f.gitHub.Leaks(), f.gitLab.Leaks()...); len(leaks) > 0 {
					t.Errorf("credentials went to the storage: %v", leaks)
				}
			})
			env.Vars = append(env.Vars, p.Env()...)
			env.Setenv("SECRETS", gitHubToken+" "+gitLabToken)
			env.Setenv("GH_TOKEN", gitHubToken)
			env.Setenv("GITLAB_TOKEN", gitLabToken)
			env.Setenv("REGISTRY", strings.TrimPrefix(images.URL, "http://"))
			env.Setenv("GITHUB", strings.TrimSuffix(f.gitHub.APIURL(), "/"))
			env.Setenv("GITLAB", f.gitLab.URL())
			env.Setenv("HOME", env.WorkDir)
			env.Values[forges{}] = f
			return nil
		},
		Cmds: map[string]scriptCmd{
			"secrets": noSecrets,
			"break":   breakForge,
			"github":  lookAtGitHub,
		},
	})
}

// noSecrets fails if a file of the script holds a token.
func noSecrets(ts *testscript.TestScript, neg bool, args []string) {
	if !neg || len(args) > 0 {
		ts.Fatalf("usage: ! secrets")
	}
	root := ts.Getenv("WORK")
	ts.Check(filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		for secret := range strings.FieldsSeq(ts.Getenv("SECRETS")) {
			if bytes.Contains(data, []byte(secret)) {
				ts.Fatalf("%s holds a secret", path)
			}
		}
		return err
	}))
}

// breakForge makes a forge fail: break github|gitlab STEP NTH FAULT, with a name
// from the list of faults of the forge; "break github" ends all faults.
func breakForge(ts *testscript.TestScript, neg bool, args []string) {
	f := ts.Value(forges{}).(*forges)
	injector, faults := f.gitHub.Faults, github.Faults()
	if len(args) > 0 && args[0] == "gitlab" {
		injector, faults = f.gitLab.Faults, gitlab.Faults()
	}
	injector.Reset()
	if len(args) == 1 {
		return
	}
	if neg || len(args) != 4 {
		ts.Fatalf("usage: break FORGE [STEP NTH FAULT]")
	}
	var nth int
	if _, err := fmt.Sscan(args[2], &nth); err != nil {
		ts.Fatalf("%v", err)
	}
	for _, broken := range faults {
		if broken.Name == args[3] {
			injector.Add(fault.Rule{Step: args[1], Nth: nth, Times: fault.Always, Fault: broken})
			return
		}
	}
	ts.Fatalf("there is no fault %q; there are %v", args[3], faults)
}

// lookAtGitHub prints the releases of a repository into a file: github OWNER/REPO FILE.
func lookAtGitHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: github OWNER/REPO FILE")
	}
	var b strings.Builder
	for _, r := range ts.Value(forges{}).(*forges).gitHub.Releases(args[0]) {
		fmt.Fprintf(&b, "%s draft=%v prerelease=%v: %s\n", r.Tag, r.Draft, r.Prerelease, strings.Join(r.Names(), " "))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o600))
}
