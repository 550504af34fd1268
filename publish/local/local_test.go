package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/publishtest"
)

var foo = layouts.Provider{Type: layouts.Infrastructure, Name: "foo"}

var release = publishtest.Summed

// sample returns the release that belongs to a version.
func sample(version string) *repo.Release {
	return release(version, "infrastructure-components.yaml", "kind: List\n", "metadata.yaml", version, "cluster-template.yaml", strings.Repeat("a: b\n", 20000))
}

func destination(t testing.TB, root string) *Folder {
	t.Helper()
	return given.Value(New(root))(t)
}

// tree lists everything below root, with contents of links and lengths of
// files.
func tree(t testing.TB, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			name += "/"
		case info.Mode().IsRegular():
			name += fmt.Sprintf(" %d", info.Size())
		}
		out = append(out, filepath.ToSlash(name))
		return nil
	})
	given.NoError(t, err)
	return out
}

// holds checks that the published version is exactly r.
func holds(t testing.TB, d *Folder, r *repo.Release) {
	t.Helper()
	if whole, err := seen(t.Context(), d, r); !whole {
		t.Errorf("%s: %v", r.Version, err)
	}
}

// clusterctl lists the folders below <root>/<label> that parse as a version
// (GetVersions) and joins <root>, <label>, <version> and <file> (GetFile).
func TestPublishedFolderIsLaidOutAsClusterctlReadsIt(t *testing.T) {
	root := filepath.Join(t.TempDir(), "not", "there yet")
	d := destination(t, root)
	versions := []string{"v1.10.0", "v1.2.0", "v1.10.0-rc.1"}
	for _, v := range versions {
		got := given.Value(d.Put(t.Context(), sample(v)))(t)
		if want := (publish.Result{Where: filepath.Join(root, "infrastructure-foo", v)}); !cmp.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	want := []string{"infrastructure-foo/"}
	for _, v := range []string{"v1.10.0", "v1.10.0-rc.1", "v1.2.0"} {
		dir := "infrastructure-foo/" + v + "/"
		want = append(want, dir, dir+"SHA256SUMS 265", dir+"cluster-template.yaml 100000", dir+"infrastructure-components.yaml 11", fmt.Sprintf("%smetadata.yaml %d", dir, len(v)))
	}
	if diff := cmp.Diff(want, tree(t, root)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	data, err := os.ReadFile(filepath.Join(root, "infrastructure-foo", "v1.2.0", "metadata.yaml"))
	if err != nil || string(data) != "v1.2.0" {
		t.Errorf("%q %v", data, err)
	}
	got, err := shelf{d, foo}.Versions(t.Context())
	if diff := cmp.Diff([]string{"v1.2.0", "v1.10.0-rc.1", "v1.10.0"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	read := given.Value(folder.Open(t.Context(), root))(t)
	if len(read.Providers) != 1 || read.Providers[0].Provider != foo || len(read.Providers[0].Releases) != 3 || len(read.Oddities)+len(read.Providers[0].Oddities) != 0 {
		t.Errorf("repo/source/folder reads something else")
	}
}

func TestURL(t *testing.T) {
	d := &Folder{root: "/srv/a b#c"}
	if runtime.GOOS == "windows" {
		d.root = `C:\srv\a b#c`
	}
	for _, tc := range []struct {
		p             layouts.Provider
		version, file string
		want          string // after the root
	}{
		{foo, "v1.0.0", "infrastructure-components.yaml", "/infrastructure-foo/v1.0.0/infrastructure-components.yaml"},
		{foo, "latest", "infrastructure-components.yaml", "/infrastructure-foo/latest/infrastructure-components.yaml"},
		{foo, "", "x.yaml", ""},
		{foo, "newest", "x.yaml", ""},
		{foo, "v1.0.0", "", ""},
		{foo, "v1.0.0", "../x", ""},
		{layouts.Provider{}, "latest", "x.yaml", ""},
		{layouts.Provider{Type: layouts.Addon, Name: "../x"}, "v1.0.0", "x.yaml", ""},
	} {
		got, err := shelf{d, tc.p}.URL(tc.version, tc.file)
		if tc.want == "" {
			if err == nil {
				t.Errorf("%v: got %s, want an error", tc, got)
			}
			continue
		}
		rest, ok := strings.CutSuffix(got, "/srv/a%20b%23c"+tc.want)
		if err != nil || !ok || rest != "file://" && rest != "file:///C:" {
			t.Errorf("%v: got %s %v", tc, got, err)
		}
	}
}

func TestNothingPublished(t *testing.T) {
	root := filepath.Join(given.MemoryDir(t), "r")
	d := destination(t, root)
	if got, err := (shelf{d, foo}).Versions(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("got %v %v", got, err)
	}
	if _, err := (shelf{d, foo}).Fetch(t.Context(), "v1.0.0"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Lstat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading made the folder: %v", err)
	}
	for _, p := range []layouts.Provider{{}, {Type: layouts.Addon, Name: ".."}, {Type: layouts.Addon, Name: "x/../.."}} {
		if _, err := (shelf{d, p}).Versions(t.Context()); err == nil {
			t.Errorf("versions of %v", p)
		}
		if _, err := (shelf{d, p}).Fetch(t.Context(), "v1.0.0"); err == nil {
			t.Errorf("release of %v", p)
		}
	}
	for _, v := range []string{"", ".", "..", "latest", "v1.0.0/../v1.0.0"} {
		if _, err := (shelf{d, foo}).Fetch(t.Context(), v); err == nil {
			t.Errorf("version %q", v)
		}
	}
}

func TestSecondPut(t *testing.T) {
	root := given.MemoryDir(t)
	d := destination(t, root)
	given.Value(d.Put(t.Context(), sample("v1.0.0")))(t)
	dir := filepath.Join(root, "infrastructure-foo", "v1.0.0")
	past := time.Unix(1e9, 0)
	names := []string{dir, filepath.Dir(dir), root, filepath.Join(dir, "metadata.yaml")}
	for _, name := range names {
		given.NoError(t, os.Chtimes(name, past, past))
	}
	before := tree(t, root)
	got, err := d.Put(t.Context(), sample("v1.0.0"))
	if want := (publish.Result{Unchanged: true, Where: dir}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("equal content: %+v %v", got, err)
	}
	other := release("v1.0.0", "infrastructure-components.yaml", "kind: Lost\n", "metadata.yaml", "v1.0.0", "new.yaml", "")
	_, err = d.Put(t.Context(), other)
	conflict, ok := errors.AsType[*publish.ConflictError](err)
	if !ok {
		t.Fatalf("other content: %v", err)
	}
	want := publish.Difference{Changed: []string{"SHA256SUMS", "infrastructure-components.yaml"}, Missing: []string{"new.yaml"}, Extra: []string{"cluster-template.yaml"}}
	if diff := cmp.Diff(want, conflict.Difference); diff != "" || conflict.Where != dir {
		t.Errorf("%s (-want +got)\n%s", conflict.Where, diff)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.ModTime().Equal(past) {
			t.Errorf("%s was touched: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

// What is in the way is refused before anything is written.
func TestObstacles(t *testing.T) {
	mkdir := func(name string) error { return os.MkdirAll(name, 0o755) }
	file := func(name string) error {
		return errors.Join(mkdir(filepath.Dir(name)), os.WriteFile(name, []byte("x"), 0o644))
	}
	link := func(target, name string) error {
		return errors.Join(mkdir(filepath.Dir(name)), mkdir(target), os.Symlink(target, name))
	}
	for name, tc := range map[string]struct {
		make func(root string) error
		want string
	}{
		"root is a file":          {file, "not a directory"},
		"label is a file":         {func(r string) error { return file(r + "/infrastructure-foo") }, "is not a folder"},
		"label is a link inside":  {func(r string) error { return link(r+"/x", r+"/infrastructure-foo") }, "is a symbolic link"},
		"label is a link outside": {func(r string) error { return link(r+"-x", r+"/infrastructure-foo") }, "is a symbolic link"},
		"label is a loop": {func(r string) error {
			return errors.Join(mkdir(r), os.Symlink("infrastructure-foo", r+"/infrastructure-foo"))
		}, "is a symbolic link"},
		"label in other case":    {func(r string) error { return mkdir(r + "/Infrastructure-Foo") }, "only by case"},
		"version is a file":      {func(r string) error { return file(r + "/infrastructure-foo/v1.0.0-rc.1") }, "is not a folder"},
		"version is a link":      {func(r string) error { return link(r+"/x", r+"/infrastructure-foo/v1.0.0-rc.1") }, "is a symbolic link"},
		"version in other case":  {func(r string) error { return file(r + "/infrastructure-foo/v1.0.0-RC.1/metadata.yaml") }, "only by case"},
		"version is empty":       {func(r string) error { return mkdir(r + "/infrastructure-foo/v1.0.0-rc.1") }, "not published"},
		"version holds a folder": {func(r string) error { return mkdir(r + "/infrastructure-foo/v1.0.0-rc.1/x") }, "only published x"},
	} {
		t.Run(name, func(t *testing.T) {
			top := given.MemoryDir(t)
			root := filepath.Join(top, "r")
			given.NoError(t, tc.make(root))
			before := tree(t, top)
			d, r := destination(t, root), sample("v1.0.0-rc.1")
			refusing := []func(context.Context, *repo.Release) (publish.Result, error){d.Plan, d.Put}
			_, err := d.Plan(t.Context(), r)
			if _, conflict := errors.AsType[*publish.ConflictError](err); !conflict {
				refusing = append(refusing, d.Replace) // that replaces a conflict
			}
			for _, do := range refusing {
				if _, err := do(t.Context(), r); err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %q", err, tc.want)
				}
			}
			if diff := cmp.Diff(before, tree(t, top)); diff != "" {
				t.Errorf("(-before +after)\n%s", diff)
			}
		})
	}
}

// A link does not hinder what has another name.
func TestLinksBesideARelease(t *testing.T) {
	root := given.MemoryDir(t)
	d := destination(t, root)
	given.Value(d.Put(t.Context(), sample("v1.0.0")))(t)
	given.NoError(t, os.Symlink("v1.0.0", filepath.Join(root, "infrastructure-foo", "current")))
	given.NoError(t, os.Symlink("infrastructure-foo", filepath.Join(root, "foo")))
	given.Value(d.Put(t.Context(), sample("v1.1.0")))(t)
	holds(t, d, sample("v1.1.0"))
}

// TestWritable also runs as root, for whom every file is writable.
func TestWritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	given.NoError(t, os.WriteFile(file, nil, 0o644))
	for name, want := range map[string]error{dir: nil, filepath.Join(dir, "a", "b"): nil, file: syscall.ENOTDIR} {
		if err := Writable(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

func TestRootMayBeALink(t *testing.T) {
	top := given.MemoryDir(t)
	given.NoError(t, os.Mkdir(filepath.Join(top, "store"), 0o755))
	if err := os.Symlink("store", filepath.Join(top, "r")); err != nil {
		t.Skip(err)
	}
	d := destination(t, filepath.Join(top, "r"))
	r := sample("v1.0.0")
	given.Value(d.Put(t.Context(), r))(t)
	holds(t, d, r)
	holds(t, destination(t, filepath.Join(top, "store")), r)
}

func TestPutRefusesWrongChecksums(t *testing.T) {
	root := filepath.Join(given.MemoryDir(t), "r")
	r := sample("v1.0.0")
	for i, a := range r.Artifacts {
		if a.Name == "metadata.yaml" {
			r.Artifacts[i] = repo.BytesArtifact(a.Name, []byte("other"))
		}
	}
	_, err := destination(t, root).Put(t.Context(), r)
	if _, ok := errors.AsType[*repo.ChecksumError](err); !ok {
		t.Errorf("got %v", err)
	}
	if got := tree(t, root); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestPutRefusesWhatCheckRefuses(t *testing.T) {
	root := filepath.Join(given.MemoryDir(t), "r")
	r := sample("v1.0.0")
	r.Artifacts = append(r.Artifacts, repo.BytesArtifact("../x", nil))
	if _, err := destination(t, root).Put(t.Context(), r); err == nil {
		t.Error("published")
	}
	if _, err := os.Lstat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Error("something was touched")
	}
}

// plant makes what a publisher that died leaves behind.
func plant(t testing.TB, root, name string, withLock bool) string {
	t.Helper()
	dir := filepath.Join(root, "infrastructure-foo", layouts.WorkPrefix+name)
	given.File(t, filepath.Join(dir, "release", "metadata.yaml"), "half")
	if withLock {
		given.NoError(t, os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600))
	}
	return dir
}

func TestOnlyStagingOfTheDeadIsRemoved(t *testing.T) {
	root := given.MemoryDir(t)
	d := destination(t, root)
	r := sample("v1.0.0")
	disk := given.Value(openDisk(root))(t)
	defer disk.close()
	for _, unchanged := range []bool{false, true} {
		dead := []string{plant(t, root, "A", true), plant(t, root, "B", false)}
		alive := given.Value(stage(t.Context(), disk, "infrastructure-foo"))(t)
		got, err := d.Put(t.Context(), r)
		if err != nil || got.Unchanged != unchanged {
			t.Errorf("%+v %v", got, err)
		}
		for _, dir := range dead {
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		}
		if _, err := os.Lstat(d.path(alive.release())); err != nil {
			t.Errorf("staging of a living publisher: %v", err)
		}
		alive.close(false)
	}
	clean(t, root)
}

// A reader finds a version at every moment of its replacements.
func TestReplaceIsOneStep(t *testing.T) {
	root := given.MemoryDir(t)
	d, steps := destination(t, root).hook(func(int, moment, string) error { return nil })
	file := filepath.Join(root, "infrastructure-foo", "v1.0.0", "metadata.yaml")
	var stop atomic.Bool
	var reader sync.WaitGroup
	missing := 0
	for i := range 200 {
		r := &repo.Release{Provider: foo, Version: "v1.0.0", Artifacts: []*repo.Artifact{repo.BytesArtifact("metadata.yaml", []byte(strconv.Itoa(i)))}}
		given.Value(d.Replace(t.Context(), r))(t)
		if i == 0 {
			reader.Go(func() {
				for !stop.Load() {
					if _, err := os.ReadFile(file); err != nil {
						missing++
					}
				}
			})
		}
	}
	stop.Store(true)
	reader.Wait()
	if slices.ContainsFunc(*steps, func(s string) bool { return strings.HasSuffix(s, "/old") }) {
		t.Skip("folders cannot be exchanged here")
	}
	if missing > 0 {
		t.Errorf("the version was away %d times", missing)
	}
}

func TestReplace(t *testing.T) {
	root := given.MemoryDir(t)
	d := destination(t, root)
	for _, step := range []struct {
		content   string
		unchanged bool
	}{{"one", false}, {"one", true}, {"two", false}, {"two", true}} {
		r := release("v1.0.0", "metadata.yaml", step.content)
		if result, err := d.Replace(t.Context(), r); err != nil || result.Unchanged != step.unchanged {
			t.Fatalf("%s: unchanged %v, %v", step.content, result.Unchanged, err)
		}
		holds(t, d, r)
		clean(t, root)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Replace(cancelled, release("v1.0.0", "metadata.yaml", "three")); err == nil {
		t.Error("a cancelled replacement succeeded")
	}
	holds(t, d, release("v1.0.0", "metadata.yaml", "two"))
}

// Folders that cannot be exchanged, or that are gone by then, are moved.
func TestReplaceWithoutExchange(t *testing.T) {
	one, two := sample("v1.0.0"), release("v1.0.0", "infrastructure-components.yaml", "kind: Other\n", "metadata.yaml", "v1.0.0")
	for name, tc := range map[string]struct {
		exchange, away error // of the first step, and of the one that takes its place
		fails          bool
	}{
		"no exchange":        {errors.ErrUnsupported, nil, false},
		"no exchange, moved": {errors.ErrUnsupported, fs.ErrNotExist, false},
		"broken":             {syscall.EIO, nil, true},
		"broken later":       {errors.ErrUnsupported, syscall.EIO, true},
	} {
		root := given.MemoryDir(t)
		d := destination(t, root)
		given.Value(d.Put(t.Context(), one))(t)
		faulty, _ := d.hook(func(_ int, m moment, step string) error {
			switch {
			case m != before:
			case strings.HasPrefix(step, "exchange"):
				return tc.exchange
			case strings.HasSuffix(step, "/old") && errors.Is(tc.away, fs.ErrNotExist):
				return os.RemoveAll(filepath.Join(root, "infrastructure-foo", "v1.0.0"))
			case strings.HasSuffix(step, "/old"):
				return tc.away
			}
			return nil
		})
		want := two
		if _, err := faulty.Replace(t.Context(), two); tc.fails {
			want = one
			if !errors.Is(err, syscall.EIO) || !strings.HasPrefix(err.Error(), "write infrastructure-foo v1.0.0 to "+root+": ") {
				t.Errorf("%s: %v", name, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		holds(t, d, want)
	}
}

// overlay is a disk on which folders that were there before cannot be renamed, as
// those of a lower layer of overlayfs.
type overlay struct{ disk }

func (o overlay) rename(from, to string) error {
	if from == "infrastructure-foo/v1.0.0" {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
	}
	return o.disk.rename(from, to)
}

func (o overlay) exchange(one, other string) error {
	return fmt.Errorf("exchange %s and %s: %w", one, other, syscall.EXDEV)
}

func TestFoldersThatCannotBeRenamed(t *testing.T) {
	root := given.MemoryDir(t)
	d := destination(t, root)
	one := sample("v1.0.0")
	given.Value(d.Put(t.Context(), one))(t)
	lower := &Folder{root: root, open: func(root string) (disk, error) {
		disk, err := openDisk(root)
		return overlay{disk}, err
	}}
	two := release("v1.0.0", "infrastructure-components.yaml", "kind: Other\n", "metadata.yaml", "v1.0.0")
	if _, err := lower.Replace(t.Context(), two); err == nil || !strings.Contains(err.Error(), "cannot be replaced, because") {
		t.Errorf("%v", err)
	}
	holds(t, d, one)
	given.Value(lower.Put(t.Context(), sample("v1.1.0")))(t)
	note, err := lower.Remove(t.Context(), foo, "v1.0.0")
	if err != nil || !strings.Contains(note, "file by file") {
		t.Errorf("%q, %v", note, err)
	}
	if versions, err := (shelf{d, foo}).Versions(t.Context()); err != nil || !slices.Equal(versions, []string{"v1.1.0"}) {
		t.Errorf("%q, %v", versions, err)
	}
	clean(t, root)
}
