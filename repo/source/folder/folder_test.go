package folder_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// grow makes a tree from lines: "path" is a file that holds its own path,
// "path/" a folder, "path -> target" a symbolic link.
func grow(t testing.TB, root, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		name, target, link := strings.Cut(strings.TrimSpace(line), " -> ")
		full := filepath.Join(root, filepath.FromSlash(name))
		var err error
		switch {
		case name == "":
			continue
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		default:
			if err = os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				break
			}
			if link {
				err = os.Symlink(target, full)
			} else {
				err = os.WriteFile(full, []byte(name), 0o644)
			}
		}
		given.NoError(t, err)
	}
}

// show prints a repository, one fact a line, paths relative to root.
func show(root string, r *repo.Repository) string {
	var b strings.Builder
	odd := func(list []repo.Oddity) {
		for _, o := range list {
			rel, err := filepath.Rel(root, o.Path)
			if err != nil {
				rel = o.Path
			}
			fmt.Fprintf(&b, "%s: %s\n", o.Kind, filepath.ToSlash(rel))
			if o.Why == "" {
				b.WriteString("(without a reason)\n")
			}
		}
	}
	odd(r.Oddities)
	for _, p := range r.Providers {
		fmt.Fprintf(&b, "%s %q\n", p.Type, p.Name)
		odd(p.Oddities)
		for _, v := range p.Releases {
			fmt.Fprintf(&b, "%s =", v.Version)
			for _, a := range v.Artifacts {
				fmt.Fprintf(&b, " %s", a.Name)
			}
			fmt.Fprintln(&b)
			odd(v.Oddities)
		}
	}
	return b.String()
}

func unindent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// TestFlat: what make leaves in a folder, or a user downloads from a release, has no
// folders for provider and version.
func TestFlat(t *testing.T) {
	for name, tc := range map[string]struct{ tree, open, want string }{
		"what make leaves": {`
			src/go.mod
			src/out/control-plane-components.yaml
			src/out/metadata.yaml
			src/out/cluster-template.yaml
			src/out/notes/x`, "src/out", " = cluster-template.yaml control-plane-components.yaml metadata.yaml"},
		"named after its version": {`
			dist/v1.2.3/infrastructure-components.yaml`, "dist/v1.2.3", "v1.2.3 = infrastructure-components.yaml"},
		"without components": {`
			out/metadata.yaml
			out/cluster-template.yaml`, "out", " = cluster-template.yaml metadata.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			grow(t, root, tc.tree)
			dir := filepath.Join(root, filepath.FromSlash(tc.open))
			_, err := folder.Open(t.Context(), dir)
			if not, ok := errors.AsType[*folder.NotRepositoryError](err); !ok || !not.Flat {
				t.Errorf("opened as a repository: %v", err)
			}
			r := given.Value(folder.Flat(t.Context(), dir))(t)
			got := r.Version + " ="
			for _, a := range r.Artifacts {
				got += " " + a.Name
			}
			if got != tc.want || r.Provider.Type != "" {
				t.Errorf("got %q of %q, want %q", got, r.Provider, tc.want)
			}
		})
	}
	for name, tc := range map[string]struct{ tree, open string }{
		"a source tree":             {"src/go.mod\nsrc/metadata.yaml\n", "src"},
		"a source tree, components": {"src/config/x\nsrc/infrastructure-components.yaml\n", "src"},
		"a repository":              {"in/addon-foo/v1.0.0/addon-components.yaml\n", "in"},
	} {
		root := t.TempDir()
		grow(t, root, tc.tree)
		_, err := folder.Open(t.Context(), filepath.Join(root, tc.open))
		if not, ok := errors.AsType[*folder.NotRepositoryError](err); ok && not.Flat {
			t.Errorf("%s is taken for a flat folder", name)
		}
	}
}

func TestOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		tree, open string
		want       string
	}{
		"root": {`
			cluster-api/v1.10.0/core-components.yaml
			infrastructure-foo/v1.2.0/metadata.yaml
			infrastructure-foo/v1.10.0/metadata.yaml
			infrastructure-foo/v1.10.0-rc.1/metadata.yaml
			infrastructure-foo/v1.10.0/infrastructure-components.yaml`, ".", `
			CoreProvider "cluster-api"
			v1.10.0 = core-components.yaml
			InfrastructureProvider "foo"
			v1.2.0 = metadata.yaml
			v1.10.0-rc.1 = metadata.yaml
			v1.10.0 = infrastructure-components.yaml metadata.yaml`},
		"label": {`
			x/addon-foo/v1.0.0/addon-components.yaml`, "x/addon-foo", `
			AddonProvider "foo"
			v1.0.0 = addon-components.yaml`},
		"version": {`
			x/addon-foo/v1.0.0/addon-components.yaml
			x/addon-foo/v1.0.0/metadata.yaml`, "x/addon-foo/v1.0.0", `
			AddonProvider "foo"
			v1.0.0 = addon-components.yaml metadata.yaml`},
		"version with components of any name": {`
			addon-foo/v1.0.0/custom.yaml`, "addon-foo/v1.0.0", `
			AddonProvider "foo"
			v1.0.0 = custom.yaml`},
		"version under a wrong name": {`
			addon-foo/v1.0/addon-components.yaml`, "addon-foo/v1.0", `
			AddonProvider "foo"
			v1.0 = addon-components.yaml`},
		"label that is none": {`
			aws/v1.0.0/infrastructure-components.yaml`, "aws", `
			InfrastructureProvider ""
			label: aws
			v1.0.0 = infrastructure-components.yaml`},
		"label with wrong versions only": {`
			addon-foo/v1.0/addon-components.yaml
			addon-foo/latest/metadata.yaml`, "addon-foo", `
			AddonProvider "foo"
			version: addon-foo/latest
			version: addon-foo/v1.0`},
		"root with wrong versions only": {`
			addon-foo/v1.0/addon-components.yaml`, ".", `
			AddonProvider "foo"
			version: addon-foo/v1.0`},
		"root with wrong labels only": {`
			aws/v1.0.0/infrastructure-components.yaml
			docs/guide.md`, ".", `
			label: aws
			entry: docs`},
		"root in a git repository with tooling": {`
			.git/HEAD
			.gitignore
			go.mod
			README.md
			addon-foo/v1.0.0/metadata.yaml`, ".", `
			hidden: .git
			hidden: .gitignore
			entry: README.md
			entry: go.mod
			AddonProvider "foo"
			v1.0.0 = metadata.yaml`},
		"cert-manager belongs there": {`
			cert-manager/v1.21.1/cert-manager.yaml
			addon-foo/v1.0.0/metadata.yaml`, ".", `
			AddonProvider "foo"
			v1.0.0 = metadata.yaml`},
		"what a mirror has in its root belongs there": {`
			cert-manager/v1.21.1/cert-manager.yaml
			capi-operator/addon-foo-v1.0.0.yaml
			overrides/addon-foo/v1.0.0/metadata.yaml
			mirror.lock.json
			images.txt
			images.json
			SHA256SUMS
			addon-foo/v1.0.0/metadata.yaml`, ".", `
			AddonProvider "foo"
			v1.0.0 = metadata.yaml`},
		"but not as something else": {`
			capi-operator
			images.txt/v1.0.0/metadata.yaml
			addon-foo/images.json
			addon-foo/v1.0.0/metadata.yaml`, ".", `
			entry: capi-operator
			label: images.txt
			AddonProvider "foo"
			entry: addon-foo/images.json
			v1.0.0 = metadata.yaml`},
		"versions without v": {`
			addon-foo/0.9.0/metadata.yaml
			addon-foo/v0.9.0/metadata.yaml`, ".", `
			AddonProvider "foo"
			0.9.0 = metadata.yaml
			v0.9.0 = metadata.yaml`},
		"junk between versions": {`
			addon-foo/v1.0.0/metadata.yaml
			addon-foo/.clusterctl-repo-X/release/metadata.yaml
			addon-foo/notes.txt
			addon-foo/old/backup.tar
			addon-foo/v2.0.0`, ".", `
			AddonProvider "foo"
			hidden: addon-foo/.clusterctl-repo-X
			entry: addon-foo/notes.txt
			entry: addon-foo/old
			entry: addon-foo/v2.0.0
			v1.0.0 = metadata.yaml`},
		"junk in a version": {`
			addon-foo/v1.0.0/metadata.yaml
			addon-foo/v1.0.0/.DS_Store
			addon-foo/v1.0.0/docs/guide.md`, ".", `
			AddonProvider "foo"
			v1.0.0 = metadata.yaml
			hidden: addon-foo/v1.0.0/.DS_Store
			sub-folder: addon-foo/v1.0.0/docs`},
		"empty version": {`
			addon-foo/v1.0.0/`, ".", `
			AddonProvider "foo"
			v1.0.0 =`},
		"names that differ by case": {`
			addon-foo/v1.0.0/Metadata.yaml
			addon-foo/v1.0.0/metadata.yaml
			addon-foo/v1.0.0-RC.1/metadata.yaml
			addon-foo/v1.0.0-rc.1/metadata.yaml
			Addon-foo/README`, ".", `
			entry: Addon-foo
			case: addon-foo
			AddonProvider "foo"
			case: addon-foo/v1.0.0-rc.1
			v1.0.0-RC.1 = metadata.yaml
			v1.0.0-rc.1 = metadata.yaml
			v1.0.0 = Metadata.yaml metadata.yaml
			case: addon-foo/v1.0.0/metadata.yaml`},
		"linked versions are not listed by clusterctl": {`
			addon-foo/v1.0.0/metadata.yaml
			addon-foo/v1.0.1 -> v1.0.0
			addon-foo/v1.0 -> v1.0.0
			addon-foo/v1.0.2 -> v1.0.0/metadata.yaml`, ".", `
			AddonProvider "foo"
			symlink: addon-foo/v1.0
			symlink: addon-foo/v1.0.1
			entry: addon-foo/v1.0.2
			v1.0.0 = metadata.yaml`},
		"linked labels are read by clusterctl": {`
			addon-foo/v1.0.0/metadata.yaml
			addon-bar -> addon-foo`, ".", `
			AddonProvider "bar"
			v1.0.0 = metadata.yaml
			AddonProvider "foo"
			v1.0.0 = metadata.yaml`},
		"linked files are read within the folder only": {`
			secret
			in/addon-foo/v1.0.0/metadata.yaml
			in/addon-foo/v1.0.0/a.yaml -> metadata.yaml
			in/addon-foo/v1.0.0/b.yaml -> ../../../secret
			in/addon-foo/v1.0.0/c.yaml -> /etc/passwd
			in/addon-foo/v1.0.0/d.yaml -> nowhere
			in/addon-foo/v1.0.0/e.yaml -> e.yaml
			in/addon-foo/v1.0.0/f.yaml -> ../v1.0.0`, "in", `
			AddonProvider "foo"
			v1.0.0 = a.yaml metadata.yaml
			unreadable: in/addon-foo/v1.0.0/b.yaml
			unreadable: in/addon-foo/v1.0.0/c.yaml
			broken: in/addon-foo/v1.0.0/d.yaml
			unreadable: in/addon-foo/v1.0.0/e.yaml
			sub-folder: in/addon-foo/v1.0.0/f.yaml`},
		"cycles and exits above the files": {`
			out/addon-foo/v1.0.0/metadata.yaml
			in/addon-foo/v1.0.0/metadata.yaml
			in/addon-foo/v1.0.1 -> ../../out/addon-foo/v1.0.0
			in/addon-foo/v1.0.2 -> .
			in/addon-foo/v1.0.3 -> v1.0.3
			in/addon-out -> ../out/addon-foo
			in/addon-self -> .
			in/addon-up -> ..
			in/addon-loop -> addon-loop`, "in", `
			unreadable: in/addon-loop
			unreadable: in/addon-out
			unreadable: in/addon-up
			AddonProvider "foo"
			unreadable: in/addon-foo/v1.0.1
			symlink: in/addon-foo/v1.0.2
			unreadable: in/addon-foo/v1.0.3
			v1.0.0 = metadata.yaml
			AddonProvider "self"
			entry: in/addon-self/addon-foo
			unreadable: in/addon-self/addon-loop
			unreadable: in/addon-self/addon-out
			symlink: in/addon-self/addon-self
			unreadable: in/addon-self/addon-up`},
		"a linked root is followed": {`
			store/addon-foo/v1.0.0/metadata.yaml
			repo -> store`, "repo", `
			AddonProvider "foo"
			v1.0.0 = metadata.yaml`},
		"a linked version that was asked for is followed": {`
			store/abc/metadata.yaml
			addon-foo/v1.0.0 -> ../store/abc`, "addon-foo/v1.0.0", `
			AddonProvider "foo"
			symlink: addon-foo/v1.0.0
			v1.0.0 = metadata.yaml`},
		"a version shares files with another one": {sharing, "in", `
			entry: in/common
			AddonProvider "foo"
			unreadable: in/addon-foo/v1.0.3
			v1.0.0 = metadata.yaml
			v1.0.1 = metadata.yaml shared.yaml
			unreadable: in/addon-foo/v1.0.1/secret.yaml
			v1.0.2 = metadata.yaml`},
		"the label of such a version": {sharing, "in/addon-foo", `
			AddonProvider "foo"
			unreadable: in/addon-foo/v1.0.3
			v1.0.0 = metadata.yaml
			v1.0.1 = metadata.yaml shared.yaml
			unreadable: in/addon-foo/v1.0.1/secret.yaml
			v1.0.2 = metadata.yaml`},
		"such a version": {sharing, "in/addon-foo/v1.0.1", `
			AddonProvider "foo"
			v1.0.1 = metadata.yaml shared.yaml
			unreadable: in/addon-foo/v1.0.1/secret.yaml`},
		"another such version": {sharing, "in/addon-foo/v1.0.2", `
			AddonProvider "foo"
			v1.0.2 = metadata.yaml`},
		"a repository named like a label": {`
			x
			core-x/addon-foo/v1.0.0/metadata.yaml
			core-x/addon-foo/v1.0.0/a.yaml -> ../../../x`, "core-x", `
			AddonProvider "foo"
			v1.0.0 = metadata.yaml
			unreadable: core-x/addon-foo/v1.0.0/a.yaml`},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS != "linux" && strings.Contains(name, "case") {
				t.Skip("the file system may not tell names apart by case")
			}
			root := t.TempDir()
			grow(t, root, tc.tree)
			dir := filepath.Join(root, filepath.FromSlash(tc.open))
			got := given.Value(folder.Open(t.Context(), dir))(t)
			if diff := cmp.Diff(unindent(tc.want), show(root, got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, p := range got.Providers {
				for _, r := range p.Releases {
					if r.Provider != p.Provider {
						t.Errorf("release %s belongs to %v, its provider is %v", r.Path, r.Provider, p.Provider)
					}
					for _, a := range r.Artifacts {
						if _, err := a.Sum(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
			}
		})
	}
}

// TestOpenLinkThatLeaves demands of a link what the root of its repository says of it.
func TestOpenLinkThatLeaves(t *testing.T) {
	root := t.TempDir()
	grow(t, root, sharing+"\n\t\t\tin/addon-out -> ../elsewhere\n\t\t\telsewhere/v1.0.0/metadata.yaml")
	for _, dir := range []string{"in/addon-foo/v1.0.3", "in/addon-out", "in/addon-out/v1.0.0"} {
		if _, err := folder.Open(t.Context(), filepath.Join(root, dir)); err == nil || !strings.Contains(err.Error(), "leads out of the repository") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// sharing is a repository with links inside it and out of it.
const sharing = `
			secret
			out/metadata.yaml
			in/common/shared.yaml
			in/addon-foo/v1.0.0/metadata.yaml
			in/addon-foo/v1.0.1/metadata.yaml -> ../v1.0.0/metadata.yaml
			in/addon-foo/v1.0.1/shared.yaml -> ../../common/shared.yaml
			in/addon-foo/v1.0.1/secret.yaml -> ../../../secret
			in/addon-foo/v1.0.2/metadata.yaml
			in/addon-foo/v1.0.3 -> ../../out`

func TestOpenRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		tree, open, want string
		is               error
	}{
		"missing":              {"", "nowhere", "does not exist", fs.ErrNotExist},
		"missing version":      {"addon-foo/v1.0.0/metadata.yaml", "addon-foo/v1.0.1", `does not exist; did you mean "v1.0.0"? (known: v1.0.0)`, fs.ErrNotExist},
		"file":                 {"f", "f", "it is a file", nil},
		"bundle":               {"b.tar", "b.tar", "clusterctl-repo mirror FILE --to FOLDER", nil},
		"empty":                {"d/", "d", "the folder is empty", nil},
		"source tree":          {"s/go.mod\ns/metadata.yaml\ns/config/default/kustomization.yaml\ns/templates/cluster-template.yaml", "s", "source tree; build its releases with clusterctl-repo build", nil},
		"built source":         {"s/go.mod\ns/out/addon-foo/v1.0.0/metadata.yaml", "s", "source tree", nil},
		"tagged source":        {"v1.0.0/go.mod\nv1.0.0/metadata.yaml", "v1.0.0", "source tree", nil},
		"release in source":    {"s/go.mod\ns/metadata.yaml\ns/releases/v0.1.0/metadata.yaml\ns/releases/v0.1.0/infrastructure-components.yaml", "s", "source tree", nil},
		"version in source":    {"s/PROJECT\ns/metadata.yaml\ns/v0.1.0/infrastructure-components.yaml", "s", "source tree", nil},
		"components in source": {"s/config/default/kustomization.yaml\ns/metadata.yaml\ns/infrastructure-components.yaml", "s", "source tree", nil},
		"hidden configuration": {"s/.clusterctl-repo.yaml\ns/infrastructure-components.yaml", "s", "source tree", nil},
		"named like a label":   {"cluster-api/go.mod\ncluster-api/v1.0.0/core-components.yaml", "cluster-api", "source tree", nil},
		"label in source":      {"addon-foo/Makefile\naddon-foo/out/metadata.yaml", "addon-foo", "source tree", nil},
		"other files":          {"d/a.txt\nd/e/b.txt", "d", "holds no releases", nil},
		"only staging":         {"d/addon-foo/.clusterctl-repo-X/release/metadata.yaml", "d", "holds no releases", nil},
		"link that leaves":     {"d/addon-foo -> ../x\nx/v1.0.0/metadata.yaml", "d", "holds no releases", nil},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			grow(t, root, tc.tree)
			dir := filepath.Join(root, tc.open)
			_, err := folder.Open(t.Context(), dir)
			if !errors.Is(err, folder.ErrNotRepository) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Fatalf("got %v", err)
			}
			parts := []string{dir, tc.want}
			if e, _ := errors.AsType[*folder.NotRepositoryError](err); tc.is == nil && !e.Source && !e.File {
				parts = append(parts, "expected")
			}
			for _, part := range parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestOpenTakesRelativePaths(t *testing.T) {
	root := t.TempDir()
	grow(t, root, "addon-foo/v1.0.0/metadata.yaml")
	t.Chdir(filepath.Join(root, "addon-foo", "v1.0.0"))
	for _, dir := range []string{".", "..", "../..", "../v1.0.0/"} {
		got, err := folder.Open(t.Context(), dir)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if want := "AddonProvider \"foo\"\nv1.0.0 = metadata.yaml\n"; show(".", got) != want {
			t.Errorf("%s: got\n%s", dir, show(".", got))
		}
	}
}

func TestOpenStopsWithItsContext(t *testing.T) {
	root := t.TempDir()
	grow(t, root, "addon-foo/v1.0.0/metadata.yaml")
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := folder.Open(ctx, root); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// A file may turn into something else between listing and opening.
func TestArtifactThatChangedCannotBeOpened(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"gone":   os.Remove,
		"folder": func(f string) error { return errors.Join(os.Remove(f), os.Mkdir(f, 0o755)) },
		"exit":   func(f string) error { return errors.Join(os.Remove(f), os.Symlink("/etc/hostname", f)) },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			grow(t, root, "addon-foo/v1.0.0/metadata.yaml")
			got := given.Value(folder.Open(t.Context(), root))(t)
			a := got.Providers[0].Releases[0].Artifacts[0]
			given.NoError(t, change(a.Path))
			if f, err := a.Open(); err == nil {
				f.Close()
				t.Error("it was opened")
			} else if !strings.Contains(err.Error(), a.Path) {
				t.Errorf("%v does not name %s", err, a.Path)
			}
		})
	}
}

func TestHugeFileIsListedAndNotSwallowed(t *testing.T) {
	root := t.TempDir()
	grow(t, root, "addon-foo/v1.0.0/addon-components.yaml")
	name := filepath.Join(root, "addon-foo", "v1.0.0", "addon-components.yaml")
	given.NoError(t, os.Truncate(name, repo.MaxFileSize+1)) // sparse
	got := given.Value(folder.Open(t.Context(), root))(t)
	a := got.Providers[0].Releases[0].Artifacts[0]
	if a.Size != repo.MaxFileSize+1 {
		t.Errorf("size %d", a.Size)
	}
	if _, err := a.Bytes(); err == nil {
		t.Error("it was read into memory")
	}
}

// The memory for a repository does not depend on what its files hold.
func TestThousandVersionsStayOnDisk(t *testing.T) {
	const versions, files, size = 1000, 3, 64 << 10
	root := t.TempDir()
	for v := range versions {
		for f := range files {
			name := filepath.Join(root, "addon-foo", fmt.Sprintf("v1.%d.0", v), fmt.Sprintf("f%d.yaml", f))
			given.File(t, name, "")
			given.NoError(t, os.Truncate(name, size)) // sparse
		}
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	got := given.Value(folder.Open(t.Context(), root))(t)
	releases := got.Providers[0].Releases
	if len(releases) != versions || releases[versions-1].Version != "v1.999.0" {
		t.Fatalf("%d releases, the last is %s", len(releases), releases[len(releases)-1].Version)
	}
	var read int64
	for _, r := range releases {
		for _, a := range r.Artifacts {
			f := given.Value(a.Open())(t)
			n, err := io.Copy(io.Discard, f)
			f.Close()
			given.NoError(t, err)
			read += n
		}
	}
	after := heap()
	runtime.KeepAlive(got)
	if read != versions*files*size {
		t.Errorf("read %d bytes", read)
	}
	if grown := int64(after) - int64(before); grown > 4<<20 {
		t.Errorf("%d bytes of files hold %d bytes of memory", read, grown)
	} else {
		t.Logf("%d bytes of files hold %d bytes of memory", read, grown)
	}
}

func TestCorpus(t *testing.T) {
	releases := share.Corpus(t, "releases")
	got := given.Value(folder.Open(t.Context(), releases))(t)
	entries := given.Value(os.ReadDir(releases))(t)
	if len(got.Providers)+len(got.Oddities) != len(entries) || len(got.Providers) == 0 {
		t.Errorf("%d entries became %d providers and %d oddities", len(entries), len(got.Providers), len(got.Oddities))
	}
	for _, p := range got.Providers {
		one, err := folder.Open(t.Context(), p.Path)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(one.Providers) != 1 || one.Providers[0].Provider != p.Provider || len(one.Providers[0].Releases) != len(p.Releases) {
			t.Errorf("%s alone reads otherwise", p.Path)
		}
		for _, r := range p.Releases {
			one, err := folder.Open(t.Context(), r.Path)
			if err != nil {
				t.Error(err)
				continue
			}
			if v := one.Providers[0].Releases[0]; v.Provider != r.Provider || v.Version != r.Version || len(v.Artifacts) != len(r.Artifacts) {
				t.Errorf("%s alone reads otherwise", r.Path)
			}
		}
	}
	corpus := share.Corpus(t, "sources")
	sources, _ := os.ReadDir(corpus)
	for _, e := range sources {
		if _, err := folder.Open(t.Context(), filepath.Join(corpus, e.Name())); !errors.Is(err, folder.ErrNotRepository) {
			t.Errorf("source tree %s: %v", e.Name(), err)
		}
	}
}

// Whatever the folders are called, reading does not fail in an unknown way and
// loses nothing: each folder is a release or an oddity.
func FuzzFolderNames(f *testing.F) {
	for _, s := range [][2]string{{"infrastructure-foo", "v1.0.0"}, {"cluster-api", "latest"}, {"aws", "1.0"}, {"Addon-x", "v1.0.0-RC.1+b"}, {"addon-", "v01.0.0"}, {".git", "v1.0.0"}, {"cert-manager", "v1.21.1"}, {"addon-é", "v1.0.0\n"}, {"control-plane-a b", " v1.0.0"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, label, version string) {
		root := t.TempDir()
		for _, name := range []string{label, version} {
			if !fs.ValidPath(name) || strings.ContainsAny(name, "/\\\x00") || name == "." || len(name) > 200 {
				t.Skip()
			}
		}
		dir := filepath.Join(root, label, version)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Skip(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "metadata.yaml"), nil, 0o644); err != nil {
			t.Skip(err)
		}
		got, err := folder.Open(t.Context(), root)
		if err != nil {
			if !errors.Is(err, folder.ErrNotRepository) {
				t.Fatal(err)
			}
			_, labelErr := layouts.ParseLabel(label)
			_, versionErr := layouts.ParseVersion(version)
			if labelErr == nil && versionErr == nil && label[0] != '.' {
				t.Fatalf("%q/%q: %v", label, version, err)
			}
			return
		}
		facts := len(got.Oddities)
		for _, p := range got.Providers {
			if p.Label() != label {
				t.Errorf("label %q became %q", label, p.Label())
			}
			facts += len(p.Releases) + len(p.Oddities)
			for _, r := range p.Releases {
				if r.Version != version {
					t.Errorf("version %q became %q", version, r.Version)
				}
			}
		}
		if facts != 1 && label != "cert-manager" {
			t.Errorf("%q/%q gave %d facts:\n%s", label, version, facts, show(root, got))
		}
	})
}
