package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// mirrorIn writes what a mirror consists of for a bundle: files with checksums.
func mirrorIn(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	var sums strings.Builder
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		given.File(t, path, content)
		a := repo.BytesArtifact(name, []byte(content))
		sum := given.Value(a.Sum(t.Context()))(t)
		fmt.Fprintf(&sums, "%s  %s\n", sum, name)
	}
	given.NoError(t, os.WriteFile(filepath.Join(dir, layouts.ChecksumFile), []byte(sums.String()), 0o644))
}

// packed returns the mirror in a folder as a bundle.
func packed(t *testing.T, dir string) []byte {
	t.Helper()
	root := given.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	var b bytes.Buffer
	given.NoError(t, pack(t.Context(), &b, root))
	return b.Bytes()
}

// A bundle is the same for the same mirror, and unpacks into it.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{layouts.LockFile: "{}", "a/v1.0.0/x.yaml": "x", "clusterctl.yaml": "", "images/" + strings.Repeat("b", 200): "long"}
	mirrorIn(t, filepath.Join(dir, "m"), files)
	first := packed(t, filepath.Join(dir, "m"))
	if !bytes.Equal(first, packed(t, filepath.Join(dir, "m"))) {
		t.Error("two bundles of one mirror differ")
	}
	name := filepath.Join(dir, "b.tar")
	given.NoError(t, os.WriteFile(name, first, 0o644))
	b := given.Value(OpenBundle(name))(t)
	defer b.Close()
	root, err := beside{dir: filepath.Join(dir, "u")}.open()
	given.NoError(t, err)
	defer root.Close()
	given.NoError(t, b.unpack(t.Context(), root))
	for name, content := range files {
		if got, err := os.ReadFile(filepath.Join(dir, "u", name)); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Whatever is changed in a bundle, it is refused, or reads as what it was.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	mirrorIn(t, filepath.Join(dir, "m"), map[string]string{layouts.LockFile: `{"schemaVersion":1}`, "a/v1.0.0/x.yaml": strings.Repeat("x", 700)})
	whole := packed(t, filepath.Join(dir, "m"))
	name := filepath.Join(dir, "b.tar")
	refused := 0
	for at := 0; at < len(whole); at += 3 {
		for _, cut := range []bool{false, true} {
			data := bytes.Clone(whole)
			if data[at] ^= 0x11; cut {
				data = whole[:at]
			}
			given.NoError(t, os.WriteFile(name, data, 0o644))
			b, err := OpenBundle(name)
			if err == nil {
				for _, name := range b.names {
					f, fileErr := b.File(name)
					if fileErr == nil {
						_, fileErr = f.Sum(t.Context())
					}
					err = errors.Join(err, fileErr)
				}
				// The verifier finds what reading finds.
				report, checkErr := Check(t.Context(), name, 1)
				if checkErr != nil || err != nil && !slices.ContainsFunc(report.Problems, func(p Problem) bool { return p.Kind == Damaged }) {
					t.Errorf("byte %d: verify finds %+v, %v", at, report, checkErr)
				}
				a, fileErr := b.File("a/v1.0.0/x.yaml")
				if err == nil && fileErr == nil {
					if got, readErr := a.Bytes(); readErr != nil || string(got) != strings.Repeat("x", 700) {
						t.Errorf("byte %d: %q, %v", at, got, readErr)
					}
				}
				b.Close()
			}
			if err != nil {
				refused++
			}
		}
	}
	given.NoError(t, os.WriteFile(name, whole[:bytes.Index(whole, []byte("xxx"))+1], 0o644))
	if _, err := OpenBundle(name); err == nil || !strings.Contains(err.Error(), `ends within "a/v1.0.0/x.yaml"`) {
		t.Errorf("cut within a file: %v", err)
	}
	if refused < len(whole)/3 {
		t.Errorf("only %d damaged bundles were refused", refused)
	}
	// What leads out of the folder is refused by its name.
	for _, bad := range []string{"../x", "/etc/x", "a/../../x", "a//b", "SHA256SUMS", `a\..\x`, ""} {
		sums := strings.Repeat("ab", 32) + "  " + bad + "\n"
		if _, err := parseIndex([]byte(sums)); err == nil && bad != `a\..\x` {
			t.Errorf("%q is taken", bad)
		}
	}
}
