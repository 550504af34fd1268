//go:build linux || darwin

package bundle

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// ordersVar holds FILE DIR for a child that writes a bundle.
const ordersVar = "CLUSTERCTL_REPO_TEST_BUNDLE"

func TestMain(m *testing.M) {
	if name, dir, ok := strings.Cut(os.Getenv(ordersVar), "|"); ok {
		if _, err := Create(context.Background(), name, dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// mirrorIn writes what a mirror consists of for a bundle: files with checksums.
func mirrorIn(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	var sums strings.Builder
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		a := repo.BytesArtifact(name, []byte(content))
		sum, err := a.Sum(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, name)
	}
	if err := os.WriteFile(filepath.Join(dir, layouts.ChecksumFile), []byte(sums.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A process that is killed while it writes a bundle leaves the old one, or none,
// and the next run replaces it.
func TestKilled(t *testing.T) {
	enough := 10
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		enough = n
	}
	dir := t.TempDir()
	mirror, name := filepath.Join(dir, "mirror"), filepath.Join(dir, "b.tar")
	files := map[string]string{layouts.LockFile: "{}"}
	for i := range 20 {
		files[fmt.Sprintf("label/v1.0.%d/metadata.yaml", i)] = strings.Repeat("content\n", 50_000)
	}
	mirrorIn(t, mirror, files)
	if _, err := Create(t.Context(), name, mirror); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	files["label/v1.1.0/metadata.yaml"] = "more"
	mirrorIn(t, mirror, files)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kills, rounds := 0, 0
	pause := 4 * time.Millisecond
	for ; kills < enough && rounds < 5*enough; rounds++ {
		if err := os.WriteFile(name, old, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), ordersVar+"="+name+"|"+mirror)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause + time.Duration(rounds%16)*time.Millisecond)
		cmd.Process.Kill() // fails if it has ended
		if cmd.Wait() != nil {
			kills++
		} else {
			pause /= 2
		}
		b, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		b.Close()
		if _, err := Create(t.Context(), name, mirror); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
	t.Logf("%d kills in %d rounds", kills, rounds)
	if kills < enough {
		t.Errorf("only %d kills: this test proves too little", kills)
	}
}

// A bundle is the same for the same mirror, and unpacks into it.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{layouts.LockFile: "{}", "a/v1.0.0/x.yaml": "x", "clusterctl.yaml": "", "images/" + strings.Repeat("b", 200): "long"}
	mirrorIn(t, filepath.Join(dir, "m"), files)
	var first, second bytes.Buffer
	for _, w := range []io.Writer{&first, &second} {
		if err := Write(t.Context(), w, filepath.Join(dir, "m")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two bundles of one mirror differ")
	}
	name := filepath.Join(dir, "b.tar")
	if _, err := Create(t.Context(), name, filepath.Join(dir, "m")); err != nil {
		t.Fatal(err)
	}
	b, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := b.Unpack(t.Context(), filepath.Join(dir, "u")); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if got, err := os.ReadFile(filepath.Join(dir, "u", name)); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Whatever is changed in a bundle, it is refused, or reads as what it was.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	mirrorIn(t, filepath.Join(dir, "m"), map[string]string{layouts.LockFile: "{}", "a/v1.0.0/x.yaml": strings.Repeat("x", 700)})
	var whole bytes.Buffer
	if err := Write(t.Context(), &whole, filepath.Join(dir, "m")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "b.tar")
	refused := 0
	for at := 0; at < whole.Len(); at += 3 {
		for _, cut := range []bool{false, true} {
			data := bytes.Clone(whole.Bytes())
			if data[at] ^= 0x11; cut {
				data = whole.Bytes()[:at]
			}
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
			b, err := Open(name)
			if err == nil {
				_, err = b.Verify(t.Context())
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
	if refused < whole.Len()/3 {
		t.Errorf("only %d damaged bundles were refused", refused)
	}
	// What leads out of the folder is refused by its name.
	for _, bad := range []string{"../x", "/etc/x", "a/../../x", "a//b", "SHA256SUMS", `a\..\x`, ""} {
		sums := strings.Repeat("ab", 32) + "  " + bad + "\n"
		if _, err := parse([]byte(sums)); err == nil && bad != `a\..\x` {
			t.Errorf("%q is taken", bad)
		}
	}
}
