package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror/documents"
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

// TestMirrorInABundle: a dry run reads it where it is, and a run that changes nothing leaves its bytes.
func TestMirrorInABundle(t *testing.T) {
	bundle := filepath.Join(given.MemoryDir(t), "b.tar")
	options := func(dry bool) Options {
		opts := toFolder(t, Staging(bundle))
		opts.Bundle, opts.DryRun = bundle, dry
		return opts
	}
	_, own := twoPlaces()
	var first []byte
	for i, tc := range []struct{ dry, unchanged, made bool }{{true, false, false}, {false, false, true}, {true, true, true}, {false, true, true}} {
		opens := own.opens()
		result := mirrored(t, []Want{{From: own, Provider: foo}}, options(tc.dry))
		for _, o := range result.Outcomes {
			if o.Unchanged != tc.unchanged {
				t.Errorf("run %d: %+v", i, o)
			}
		}
		data, err := os.ReadFile(bundle)
		if (err == nil) != tc.made || tc.unchanged && (own.opens() > opens || !bytes.Equal(data, first)) {
			t.Errorf("run %d opened %d files and left %d bytes, %v", i, own.opens()-opens, len(data), err)
		}
		first = data
		if left, err := os.Stat(Staging(bundle)); err == nil {
			t.Errorf("run %d left %s", i, left.Name())
		}
	}
}

// TestParseSums returns the lines before the first invalid one.
func TestParseSums(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for text, want := range map[string]string{
		"": "", sum + "  a\n": "a", sum + "  a\n" + sum + "  b/c\n": "a b/c", sum + "  a\n" + sum + "  b": "a!line 2 is not", sum + " a\n": "!line 1 is not", sum[1:] + "  a\n": "!line 1 is not",
		sum + "  ../a\n": "!line 1 is not", sum + "  .\n": "!line 1 is not", sum + "  a\n" + sum + "  a\n": "a!line 2 lists \"a\" again", "\n": "!line 1 is not",
	} {
		list, err := parseSums([]byte(text))
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		listed, wanted, bad := strings.Cut(want, "!")
		if strings.Join(names, " ") != listed || (err != nil) != bad || bad && !strings.HasPrefix(err.Error(), wanted) {
			t.Errorf("%q: %v, %v", text, names, err)
		}
	}
}

// TestShelf: providers that share a release must agree on the files that both have.
func TestShelf(t *testing.T) {
	dir := t.TempDir()
	lock, files := &documents.Lock{}, map[string]string{}
	for _, release := range []struct {
		of                     layouts.Provider
		version, name, content string
	}{{foo, "v1.0.0", "a", "1"}, {bar, "v1.0.0", "a", "1"}, {foo, "v1.1.0", "a", "1"}, {bar, "v1.1.0", "a", "2"}} {
		a := repo.BytesArtifact(release.name, []byte(release.content)).Stating(sumOf([]byte(release.content)))
		r := &repo.Release{Provider: release.of, Version: release.version, Artifacts: []*repo.Artifact{a}}
		lock.Releases = append(lock.Releases, documents.LockOf(r, "x", "", r))
		files[release.of.Label()+"/"+release.version+"/"+release.name] = release.content
	}
	mirrorIn(t, filepath.Join(dir, "m"), files)
	given.File(t, filepath.Join(dir, "b.tar"), string(packed(t, filepath.Join(dir, "m"))))
	b := given.Value(OpenBundle(filepath.Join(dir, "b.tar")))(t)
	defer b.Close()
	s := shelf{b, lock, func(*documents.Locked) bool { return true }}
	if r, err := s.Fetch(t.Context(), "v1.0.0"); err != nil || len(r.Artifacts) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := s.Fetch(t.Context(), "v1.1.0"); err == nil || !strings.Contains(err.Error(), "two providers share the release") {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := s.Fetch(t.Context(), "v1.2.0"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestComplete: a wanted part is found by its provider, by its file or, if neither is given,
// by all labels.
func TestComplete(t *testing.T) {
	locked := []*documents.Locked{{ReleaseName: documents.ReleaseName{Provider: foo.Label()}, Components: "infrastructure-components.yaml"}}
	for i, tc := range []struct {
		part   part
		labels []string
		want   bool
	}{
		{part{provider: foo}, nil, true}, {part{provider: bar}, nil, false}, {part{file: "infrastructure-components.yaml"}, nil, true}, {part{file: "x.yaml"}, nil, false},
		{part{}, []string{foo.Label()}, true}, {part{}, []string{foo.Label(), bar.Label()}, false},
	} {
		if got := complete([]part{tc.part}, locked, tc.labels); got != tc.want {
			t.Errorf("%d: %t", i, got)
		}
	}
}
