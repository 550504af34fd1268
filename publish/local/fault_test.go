package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// hooked is a disk that asks before, in the middle of (writes only) and after
// each step whether it fails.
type hooked struct {
	disk
	steps *[]string
	hook  func(step int, moment moment, name string) error
}

type moment string

const (
	before moment = "before"
	half   moment = "half"
	after  moment = "after"
)

func (h hooked) step(name string, do func(n int) error) error {
	n := len(*h.steps)
	*h.steps = append(*h.steps, name)
	if err := h.hook(n, before, name); err != nil {
		return err
	}
	if err := do(n); err != nil {
		return err
	}
	return h.hook(n, after, name)
}

func (h hooked) mkdir(name string) error {
	return h.step("mkdir "+name, func(int) error { return h.disk.mkdir(name) })
}

func (h hooked) sync(name string) error {
	return h.step("sync "+name, func(int) error { return h.disk.sync(name) })
}

func (h hooked) rmdir(name string) error {
	return h.step("rmdir "+name, func(int) error { return h.disk.rmdir(name) })
}

func (h hooked) removeAll(name string) error {
	return h.step("remove "+name, func(int) error { return h.disk.removeAll(name) })
}

func (h hooked) rename(from, to string) error {
	return h.step("rename "+to, func(int) error { return h.disk.rename(from, to) })
}

func (h hooked) exchange(one, other string) error {
	return h.step("exchange "+other, func(int) error { return h.disk.exchange(one, other) })
}

func (h hooked) lock(name string, flag int) (lock io.Closer, err error) {
	err = h.step("lock "+name, func(int) (err error) { lock, err = h.disk.lock(name, flag); return err })
	if err != nil && lock != nil {
		lock.Close()
	}
	return lock, err
}

func (h hooked) write(name string, content func(io.Writer) error) error {
	return h.step("write "+name, func(n int) error {
		return h.disk.write(name, func(w io.Writer) error {
			return content(&halfWriter{w: w, hook: func() error { return h.hook(n, half, name) }})
		})
	})
}

// halfWriter calls hook once, after half of the first bytes.
type halfWriter struct {
	w    io.Writer
	hook func() error
}

func (w *halfWriter) Write(p []byte) (int, error) {
	if w.hook == nil {
		return w.w.Write(p)
	}
	hook := w.hook
	w.hook = nil
	n, err := w.w.Write(p[:len(p)/2])
	if err == nil {
		err = hook()
	}
	if err != nil {
		return n, err
	}
	m, err := w.w.Write(p[n:])
	return n + m, err
}

// hook lets hook watch what d does, and returns the steps that it took.
func (d *Folder) hook(hook func(step int, m moment, name string) error) (*Folder, *[]string) {
	steps := new([]string)
	return &Folder{root: d.root, open: func(root string) (disk, error) {
		disk, err := openDisk(root)
		return hooked{disk, steps, hook}, err
	}}, steps
}

// stepsOf returns the steps of a publish in which nothing fails, and pins them: each
// folder is on the disk before the next step relies on it, also for a publisher that
// finds the version of one that may have died before that, and for a removal. Only a
// build folder waits for nothing.
func stepsOf(t *testing.T) []string {
	d, steps := destination(t, given.MemoryDir(t)).hook(func(int, moment, string) error { return nil })
	given.Value(d.Put(t.Context(), sample("v1.0.0")))(t)
	if got := tree(t, d.root); len(got) != 6 {
		t.Fatalf("published %v", got)
	}
	first := *steps
	given.Value(d.Put(t.Context(), sample("v1.0.0")))(t)
	given.Value(d.Remove(t.Context(), foo, "v1.0.0"))(t)
	given.Value(d.Replace(t.Context(), sample("v1.0.0")))(t)
	var verbs []string
	for _, step := range *steps {
		verbs = append(verbs, strings.Fields(step)[0])
	}
	want := "mkdir sync mkdir lock mkdir write write write write sync rename sync remove " +
		"sync " + "mkdir mkdir lock mkdir rename remove sync rmdir " +
		"mkdir mkdir lock mkdir write write write write rename remove"
	if got := strings.Join(verbs, " "); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	return first
}

// TestDurable: the content of a file is on the disk before the file is used, but in
// a build folder.
func TestDurable(t *testing.T) {
	disk := given.Value(openDisk(given.MemoryDir(t)))(t)
	defer disk.close()
	for op, write := range map[string]func(string, func(io.Writer) error) error{"sync": disk.write, "close": volatile{disk}.write} {
		err := write(op, func(w io.Writer) error { return w.(io.Closer).Close() })
		if failed, ok := errors.AsType[*fs.PathError](err); !ok || failed.Op != op {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// settled checks what must hold after a publish of sample(version) ended in
// whatever way: the version is there whole or not at all, and if there is
// something that clusterctl does not list, the next publish succeeds and
// removes it. It reports whether the version was visible before.
func settled(t *testing.T, root, version string) (visible bool) {
	t.Helper()
	d := destination(t, root)
	r := sample(version)
	versions := given.Value(d.Versions(t.Context(), foo))(t)
	visible = slices.Contains(versions, version)
	if visible {
		holds(t, d, r)
	}
	got, err := d.Put(t.Context(), r)
	if err != nil {
		t.Errorf("the next publish: %v", err)
	}
	if got.Unchanged != visible {
		t.Errorf("the next publish: unchanged is %v, but the version was visible: %v", got.Unchanged, visible)
	}
	holds(t, d, r)
	if i := slices.IndexFunc(tree(t, root), func(s string) bool { return strings.Contains(s, layouts.WorkPrefix) }); i >= 0 {
		t.Errorf("the next publish left %s", tree(t, root)[i])
	}
	return visible
}

func TestFaultAtEveryStep(t *testing.T) {
	steps := stepsOf(t)
	rename := slices.IndexFunc(steps, func(s string) bool { return strings.HasPrefix(s, "rename") })
	if rename < 0 {
		t.Fatalf("no rename in %v", steps)
	}
	for _, fault := range []error{syscall.ENOSPC, syscall.EROFS, os.ErrPermission, syscall.EIO} {
		for at, name := range steps {
			for _, when := range []moment{before, half, after} {
				if when == half && !strings.HasPrefix(name, "write") {
					continue
				}
				verb, _, _ := strings.Cut(name, " ")
				t.Run(fmt.Sprintf("%s %d %s %v", when, at, verb, fault), func(t *testing.T) {
					root := given.MemoryDir(t)
					d, _ := destination(t, root).hook(func(n int, m moment, _ string) error {
						if n == at && m == when {
							return fault
						}
						return nil
					})
					_, err := d.Put(t.Context(), sample("v1.0.0"))
					// A rename that is reported as failed, but was done, and
					// staging that stays are no failure of the publish.
					wantErr := !(verb == "remove" || verb == "rename" && when == after)
					if wantErr != (err != nil) || wantErr && (!errors.Is(err, fault) || !strings.HasPrefix(err.Error(), "publish infrastructure-foo v1.0.0 to ")) {
						t.Errorf("got %v, want an error: %v", err, wantErr)
					}
					if left := tree(t, root); at < rename && len(left) > 0 {
						t.Errorf("left behind: %v", left)
					}
					wantVisible := at > rename || at == rename && when == after
					if got := settled(t, root, "v1.0.0"); got != wantVisible {
						t.Errorf("visible: %v, want %v", got, wantVisible)
					}
				})
			}
		}
	}
}

func TestCancelAtEveryStep(t *testing.T) {
	stop := errors.New("stop")
	for at, name := range stepsOf(t) {
		t.Run(strings.Fields(name)[0], func(t *testing.T) {
			root := given.MemoryDir(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			d, _ := destination(t, root).hook(func(n int, _ moment, _ string) error {
				if n == at {
					cancel(stop)
				}
				return nil
			})
			_, err := d.Put(ctx, sample("v1.0.0"))
			if !errors.Is(err, stop) && !strings.HasPrefix(name, "remove") {
				t.Errorf("got %v", err)
			}
			if left := tree(t, root); len(left) > 0 && len(left) != 6 {
				t.Errorf("left behind: %v", left)
			}
			settled(t, root, "v1.0.0")
		})
	}
}

// Between the look at the destination and the rename, somebody else may put
// something there.
func TestSomethingAppearsBeforeTheRename(t *testing.T) {
	for name, tc := range map[string]struct {
		appear    func(root, dir string) error
		unchanged bool
		conflict  bool
	}{
		"equal release": {func(root, _ string) error {
			d, _ := New(root)
			_, err := d.Put(context.Background(), sample("v1.0.0"))
			return err
		}, true, false},
		"other release": {func(root, _ string) error {
			d, _ := New(root)
			_, err := d.Put(context.Background(), release("v1.0.0", "metadata.yaml", "other"))
			return err
		}, false, true},
		"half a release": {func(_, dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("v1.0.0"), 0o644))
		}, false, true},
		"empty folder": {func(_, dir string) error { return os.Mkdir(dir, 0o755) }, false, true},
		"file":         {func(_, dir string) error { return os.WriteFile(dir, []byte("x"), 0o644) }, false, false},
		"link":         {func(_, dir string) error { return os.Symlink(".", dir) }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := given.MemoryDir(t)
			var there []string
			d, _ := destination(t, root).hook(func(_ int, m moment, name string) error {
				if m == before && strings.HasPrefix(name, "rename") {
					if err := tc.appear(root, filepath.Join(root, "infrastructure-foo", "v1.0.0")); err != nil {
						t.Error(err)
					}
					there = tree(t, filepath.Join(root, "infrastructure-foo", "v1.0.0"))
				}
				return nil
			})
			got, err := d.Put(t.Context(), sample("v1.0.0"))
			_, conflict := errors.AsType[*publish.ConflictError](err)
			if got.Unchanged != tc.unchanged || conflict != tc.conflict || (err == nil) != tc.unchanged {
				t.Errorf("got %+v %v", got, err)
			}
			if now := tree(t, filepath.Join(root, "infrastructure-foo", "v1.0.0")); !slices.Equal(there, now) {
				t.Errorf("what was there changed from %v to %v", there, now)
			}
			if got := tree(t, root); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, layouts.WorkPrefix) }) {
				t.Errorf("left behind: %v", got)
			}
		})
	}
}

// What reaches the disk is not taken on trust.
func TestReadBackFindsTampering(t *testing.T) {
	for name, tc := range map[string]struct {
		verb    string
		tamper  func(dir string) error
		visible bool
	}{
		"changed before the switch": {"sync infrastructure-foo/.", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("v1.0.1"), 0o644)
		}, false},
		"lost before the switch":  {"sync infrastructure-foo/.", func(dir string) error { return os.Remove(filepath.Join(dir, "metadata.yaml")) }, false},
		"added before the switch": {"sync infrastructure-foo/.", func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o644) }, false},
		"changed after the switch": {"rename", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("v1.0.1"), 0o644)
		}, true},
		"touched after the switch": {"rename", func(dir string) error {
			return os.Chtimes(filepath.Join(dir, "metadata.yaml"), time.Time{}, time.Unix(1, 0))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			root := given.MemoryDir(t)
			d, _ := destination(t, root).hook(func(_ int, m moment, step string) error {
				if m != after || !strings.HasPrefix(step, tc.verb) {
					return nil
				}
				_, dir, _ := strings.Cut(step, " ")
				return tc.tamper(filepath.Join(root, dir))
			})
			_, err := d.Put(t.Context(), sample("v1.0.0"))
			if same := strings.HasPrefix(name, "touched"); same != (err == nil) || !same && !strings.Contains(err.Error(), "read back") {
				t.Errorf("got %v", err)
			}
			versions, err := d.Versions(t.Context(), foo)
			if err != nil || (len(versions) > 0) != tc.visible {
				t.Errorf("versions %v %v", versions, err)
			}
		})
	}
}

// Verify reads what changed since Put, and nothing that Put has read.
func TestVerifyFindsTampering(t *testing.T) {
	for name, tamper := range map[string]func(dir string) error{
		"nothing": nil,
		"changed": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("v1.0.1"), 0o644)
		},
		"replaced": func(dir string) error {
			old := filepath.Join(dir, "metadata.yaml")
			info, err := os.Stat(old)
			if err != nil {
				return err
			}
			other := filepath.Join(filepath.Dir(filepath.Dir(dir)), "other")
			if err := os.WriteFile(other, []byte("v1.0.1"), info.Mode()); err != nil {
				return err
			}
			if err := os.Chtimes(other, info.ModTime(), info.ModTime()); err != nil {
				return err
			}
			return os.Rename(other, old)
		},
		"longer, but not younger": func(dir string) error {
			name := filepath.Join(dir, "metadata.yaml")
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(name, []byte("v1.0.0 and more"), 0), os.Chtimes(name, info.ModTime(), info.ModTime()))
		},
		"renamed": func(dir string) error {
			return os.Rename(filepath.Join(dir, "metadata.yaml"), filepath.Join(dir, "metadata.yml"))
		},
		"lost":  func(dir string) error { return os.Remove(filepath.Join(dir, "metadata.yaml")) },
		"added": func(dir string) error { return os.WriteFile(filepath.Join(dir, "x.yaml"), nil, 0o644) },
	} {
		root := given.MemoryDir(t)
		d := destination(t, root)
		to := given.Value(d.Site().Of(foo))(t)
		r := sample("v1.0.0")
		result := given.Value(to.Put(t.Context(), r))(t)
		if tamper == nil {
			got, err := to.Fetch(t.Context(), r.Version)
			given.NoError(t, err)
			was, ok := d.read.Load(got.Path)
			if !ok || !same(was.([]fs.FileInfo), got.Path) {
				t.Fatal("it does not know what Put has read")
			}
			given.NoError(t, to.Verify(t.Context(), r))
			given.NoError(t, os.Chmod(filepath.Join(got.Path, "metadata.yaml"), 0o400))
			if same(was.([]fs.FileInfo), got.Path) {
				t.Error("other rights are not noticed")
			}
			given.NoError(t, to.Verify(t.Context(), r))
			continue
		}
		given.NoError(t, tamper(result.Where))
		if err := to.Verify(t.Context(), r); err == nil || !strings.Contains(err.Error(), "read back") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A checksum that was computed before is believed while a file is written, not
// when it is read back.
func TestReadBackFindsWrongChecksums(t *testing.T) {
	root := given.MemoryDir(t)
	r := sample("v1.0.0")
	for i, a := range r.Artifacts {
		r.Artifacts[i] = a.Hashed(repo.Sum{})
	}
	if _, err := destination(t, root).Put(t.Context(), r); err == nil || !strings.Contains(err.Error(), "read back") {
		t.Errorf("got %v", err)
	}
	if left := tree(t, root); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Without locks publishing works, and nothing is taken for stale.
func TestNoLocks(t *testing.T) {
	root := given.MemoryDir(t)
	dead := plant(t, root, "A", true)
	d, _ := destination(t, root).hook(func(_ int, m moment, name string) error {
		if m == before && strings.HasPrefix(name, "lock") {
			return errors.ErrUnsupported
		}
		return nil
	})
	r := sample("v1.0.0")
	given.Value(d.Put(t.Context(), r))(t)
	holds(t, d, r)
	if _, err := os.Lstat(dead); err != nil {
		t.Errorf("staging of unknown state: %v", err)
	}
}

// A cleaner may see a staging folder before its owner has locked it.
func TestStagingTakenForStale(t *testing.T) {
	root := given.MemoryDir(t)
	clean := given.Value(openDisk(root))(t)
	defer clean.close()
	taken := map[string]int{}
	d, _ := destination(t, root).hook(func(_ int, m moment, name string) error {
		// After the folder and before the lock, and after the lock file is
		// there: a cleaner comes along and takes both away.
		if strings.HasPrefix(name, "mkdir") && strings.Contains(name, layouts.WorkPrefix) && !strings.HasSuffix(name, "release") && m == after && taken["folder"] < 2 {
			taken["folder"]++
			destination(t, root).clean(clean, "infrastructure-foo")
		}
		if strings.HasPrefix(name, "mkdir infrastructure-foo/") && m == before && taken["label"] < 2 {
			taken["label"]++
			return clean.rmdir("infrastructure-foo")
		}
		return nil
	})
	r := sample("v1.0.0")
	given.Value(d.Put(t.Context(), r))(t)
	holds(t, d, r)
	if taken["folder"] != 2 || taken["label"] != 2 {
		t.Errorf("taken away: %v", taken)
	}
}

// Cleaners and publishers meet at every moment; no living publisher loses its
// staging folder.
func TestCleanersAndPublishersMeet(t *testing.T) {
	const label = "infrastructure-foo"
	d := destination(t, given.MemoryDir(t))
	disk := given.Value(openDisk(d.root))(t)
	defer disk.close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				d.clean(disk, label)
			}
		})
	}
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				s, err := stage(context.Background(), disk, label)
				if err != nil {
					t.Errorf("stage: %v", err)
					return
				}
				runtime.Gosched()
				for _, name := range []string{s.release(), lockFile(s.dir)} {
					if _, err := os.Lstat(d.path(name)); err != nil {
						t.Errorf("a living publisher lost %v", err)
					}
				}
				s.close(false)
			}
		})
	}
	all.Wait()
	d.clean(disk, label)
	if left := tree(t, d.root); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestConcurrentPublishersInOneProcess(t *testing.T) {
	root := given.MemoryDir(t)
	d := destination(t, root)
	const publishers, versions = 6, 8
	published := make([][versions]bool, publishers)
	var all sync.WaitGroup
	for p := range publishers {
		all.Go(func() {
			for v := range versions {
				got, err := d.Put(context.Background(), sample(fmt.Sprintf("v1.%d.0", v)))
				if err != nil {
					t.Error(err)
				}
				published[p][v] = !got.Unchanged
				// Others that fail take their empty label folder away.
				bad := sample(fmt.Sprintf("v2.%d.0", v))
				bad.Provider = layouts.Provider{Type: layouts.Addon, Name: "foo"}
				bad.Artifacts = append(bad.Artifacts, repo.NewArtifact("z", "z", 1, func() (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }))
				if _, err := d.Put(context.Background(), bad); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for v := range versions {
		count := 0
		for p := range publishers {
			if published[p][v] {
				count++
			}
		}
		if count != 1 {
			t.Errorf("v1.%d.0 was published %d times", v, count)
		}
		holds(t, d, sample(fmt.Sprintf("v1.%d.0", v)))
	}
	want := 1 + versions*5
	if got := tree(t, root); len(got) != want && len(got) != want+1 { // an empty label of those that failed may stay
		t.Errorf("%d entries, want %d: %v", len(got), want, got)
	}
}
