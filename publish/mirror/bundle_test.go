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

// A bundle is the same for the same mirror, and holds all of it.
func TestPack(t *testing.T) {
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
	for name, content := range files {
		if got, err := b.read(name); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestExport writes a mirror whole, in the place of what was there, or not at all.
func TestExport(t *testing.T) {
	dir := given.MemoryDir(t)
	at, stick := filepath.Join(dir, "mirror"), filepath.Join(dir, "stick")
	given.NoError(t, os.Mkdir(stick, 0o755))
	_, own := twoPlaces()
	mirrored(t, []Want{{From: own, Provider: foo}}, toFolder(t, at))
	bundle, link := filepath.Join(stick, "b.tar"), filepath.Join(dir, "b.tar")
	sum := given.Value(Export(t.Context(), at, bundle))(t)
	first := given.Read(t, bundle)
	if sumOf(first) != sum {
		t.Error("it returns another checksum")
	}
	sound(t, bundle)
	// A link is followed, and what killed runs left goes away.
	if err := os.Symlink(filepath.Join("stick", "b.tar"), link); err != nil {
		t.Skip("no symbolic links here")
	}
	left := filepath.Join(stick, layouts.WorkPrefix+"bundle-b.tar")
	given.File(t, filepath.Join(left, "part"), "half")
	mirrored(t, []Want{{From: own, Provider: foo, Version: selector(t, "v0.9.0")}}, toFolder(t, at))
	given.Value(Export(t.Context(), at, link))(t)
	second := given.Read(t, bundle)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || bytes.Equal(first, second) {
		t.Errorf("the link was replaced, or the file was not: %v", err)
	}
	for name, spoil := range map[string]func() error{
		"damaged":           func() error { return os.WriteFile(filepath.Join(at, layouts.ConfigFile), []byte("x"), 0o644) },
		"with another file": func() error { return os.WriteFile(filepath.Join(at, "x"), nil, 0o644) },
		"in a folder":       func() error { bundle = filepath.Join(dir, "none", "b.tar"); return nil },
		"a folder":          func() error { bundle = stick; return nil },
	} {
		given.NoError(t, spoil())
		if _, err := Export(t.Context(), at, bundle); err == nil {
			t.Errorf("%s: it is written", name)
		}
		bundle = filepath.Join(stick, "b.tar")
		if !bytes.Equal(given.Read(t, bundle), second) {
			t.Errorf("%s: the bundle changed", name)
		}
		given.NoError(t, os.RemoveAll(filepath.Join(at, "x")))
		mirrored(t, []Want{{From: own, Provider: foo}}, toFolder(t, at))
	}
	if entries, err := os.ReadDir(stick); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
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
				for name := range b.places {
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

// TestFromBundle makes the mirror that would be there without the bundle, and a second
// run that transfers nothing.
func TestFromBundle(t *testing.T) {
	dir := given.MemoryDir(t)
	wants, opts, _, _ := scene(t, filepath.Join(dir, "near"), nil, nil)
	mirrored(t, wants, opts)
	given.Value(Export(t.Context(), opts.Dir, filepath.Join(dir, "b.tar")))(t)
	b := given.Value(OpenBundle(filepath.Join(dir, "b.tar")))(t)
	defer b.Close()
	carried, lock, err := b.Wants()
	given.NoError(t, err)
	if len(carried) != len(lock.Releases) || len(carried) < 2 {
		t.Errorf("%d of %d releases", len(carried), len(lock.Releases))
	}
	far := signing(toFolder(t, filepath.Join(dir, "far")))
	for _, unchanged := range []bool{false, true} {
		for _, o := range mirrored(t, carried, far).Outcomes {
			if o.Unchanged != unchanged {
				t.Errorf("%+v", o)
			}
		}
		sameTree(t, far.Dir, opts.Dir)
	}
	if _, err := carried[0].From.Fetch(t.Context(), "v9.9.9"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a release that is not there: %v", err)
	}
}

// TestComplete: a wanted part is found by its provider, by its file or, if neither is given,
// by all labels.
func TestComplete(t *testing.T) {
	locked := []*Locked{{ReleaseName: ReleaseName{Provider: foo.Label()}, Components: "infrastructure-components.yaml"}}
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
