package integrations

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// noReleases is a server that has no releases.
func noReleases(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
}

// releases serves the release v1.2.3, which is the latest too, for the platform
// of this machine. The program in it prints its arguments.
func releases(t *testing.T, damage bool) string {
	t.Helper()
	const program = "#!/bin/sh\necho released \"$@\"\n"
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: "clusterctl-repo", Mode: 0o755, Size: int64(len(program))})
	_, writeErr := w.Write([]byte(program))
	given.NoError(t, errors.Join(err, writeErr, w.Close(), z.Close()))
	hash := sha256.Sum256(archive.Bytes())
	name := archiveOfThisMachine()
	data := archive.Bytes()
	if damage {
		data = append(data, "more"...)
	}
	files := map[string][]byte{
		"SHA256SUMS": []byte(strings.Repeat("0", 64) + "  " + name + ".sbom\n" + hex.EncodeToString(hash[:]) + "  " + name + "\n"),
		name:         data,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, base := range []string{"/download/v1.2.3/", "/latest/download/"} {
			if file, ok := strings.CutPrefix(r.URL.Path, base); ok && files[file] != nil {
				_, _ = w.Write(files[file])
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestActionDownloads(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the archive here is that of another system")
	}
	// Go must not be needed, nor asked.
	noGo := t.TempDir()
	fake(t, noGo, "go", 7, "")
	for _, tt := range []struct {
		name, version, ref string
		damage             bool
		code               int
		log                string
	}{
		{name: "a version", version: "v1.2.3", log: "released lint -o github --fail-on=error -- ."},
		{name: "the latest", version: "latest", log: "released lint"},
		{name: "nothing", log: "released lint"},
		{name: "the tag of the action", ref: "v1.2.3", log: "released lint"},
		{name: "another version than the tag", version: "v1.2.3", ref: "v9.9.9", log: "released lint"},
		{name: "a wrong checksum", version: "v1.2.3", damage: true, code: 3, log: "nothing was installed"},
		{name: "a release that does not exist", version: "v1.2.4", code: 7, log: "compiling clusterctl-repo@v1.2.4"},
		{name: "a commit", ref: "0123456789abcdef", code: 7, log: "compiling clusterctl-repo@0123456789abcdef"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, file := range []string{"action.yml", ".github/actions/setup/action.yml"} {
				a := newActionOf(t, file, map[string]string{"version": tt.version, "releases": releases(t, tt.damage)})
				a.contexts["github.action_ref"] = tt.ref
				a.path = noGo + string(os.PathListSeparator) + a.path
				a.run(t)
				want := tt.log
				if file != "action.yml" && strings.HasPrefix(want, "released") {
					want = "released --version"
					path := a.output(t, "path")
					if path == "" || a.added != filepath.Dir(path) {
						t.Errorf("%s: the program is %q, and %q was added to the PATH", file, path, a.added)
					}
				}
				if a.exitCode != tt.code || !strings.Contains(a.log.String(), want) {
					t.Errorf("%s: exit code %d, want %d and %q in:\n%s", file, a.exitCode, tt.code, want, &a.log)
				}
				if tt.damage && strings.Contains(a.log.String(), "released") {
					t.Errorf("%s: what has a wrong checksum was run:\n%s", file, &a.log)
				}
			}
		})
	}
}

func archiveOfThisMachine() string {
	return fmt.Sprintf("clusterctl-repo_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
}
