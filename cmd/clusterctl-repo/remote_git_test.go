package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestRemoteGit has the servers of TestAdversaries answer the git that kustomize
// starts: the build ends, asks for no password, prints nothing raw, and leaves
// nothing behind.
func TestRemoteGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	harm := map[string]evil{"a question for a password": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Www-Authenticate", `Basic realm="`+r.Host+`"`)
		w.WriteHeader(http.StatusUnauthorized)
	}}
	for _, name := range []string{"silence", "a flood of spaces", "an echo as HTML", "redirects in a circle"} {
		harm[name] = evils[name]
	}
	for name, do := range harm {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				do(w, r, http.NotFoundHandler())
			}))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
			dir, temp := t.TempDir(), t.TempDir()
			for name, value := range map[string]string{"TMPDIR": temp, "GIT_SSL_NO_VERIFY": "1", "HOME": dir, "GIT_CONFIG_NOSYSTEM": "1"} {
				t.Setenv(name, value)
			}
			for name, text := range map[string]string{
				"clusterctl-repo.yaml":      "apiVersion: clusterctl-repo.dev/v1alpha1\nkind: Config\nremoteBases: true\ndiscovery: {disabled: true}\nproviders:\n- type: infrastructure\n  name: foo\n  components: {path: config}\n  metadata: metadata.yaml\n",
				"metadata.yaml":             "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nreleaseSeries:\n- {major: 1, minor: 0, contract: v1beta2}\n",
				"config/kustomization.yaml": "resources:\n- " + s.URL + "/acme/provider.git//config?ref=main&timeout=1\n",
			} {
				given.File(t, filepath.Join(dir, "src", filepath.FromSlash(name)), text)
			}
			t.Chdir(dir)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var printed safeBuffer
			most := highWater()
			code := program.Main(ctx, []string{"--timeout", "1s", "--retries", "0", "build", "src", "--version", "v1.0.0", "--allow=remote", "--out", "out"}, cli.IO{
				In: strings.NewReader(""), Out: &printed, Err: &printed, Dir: dir, Transport: s.Client().Transport,
				LookupEnv: func(string) (string, bool) { return "", false },
			})
			text := printed.String()
			switch mb := most() >> 20; {
			case code != cli.ExitFailed:
				t.Errorf("exits with %d:\n%s", code, text)
			case ctx.Err() != nil:
				t.Error("does not end")
			case transport.Printable(text) != text:
				t.Errorf("shows control characters:\n%q", text)
			case len(text) > 100<<10:
				t.Errorf("prints %d bytes", len(text))
			case mb > memory(300): // the floods are larger by an order of magnitude
				t.Errorf("uses %d MB", mb)
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
				t.Error("writes a release")
			}
			left, err := os.ReadDir(temp)
			if err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}
