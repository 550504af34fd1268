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
	"github.com/clusterctl-repo/clusterctl-repo/test/fakes/fault"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/publishtest"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
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
	stepsOf(t)
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
	d, r := destination(t, root), sample(version)
	visible, bad := seen(t.Context(), d, r)
	got, err := d.Put(t.Context(), r)
	if bad != nil || err != nil || got.Unchanged != visible {
		t.Errorf("visible: %t, %v; the next publish: %+v, %v", visible, bad, got, err)
	}
	holds(t, d, r)
	clean(t, root)
	return visible
}

// seen says whether readers see a version whole; what differs is an error.
func seen(ctx context.Context, d *Folder, r *repo.Release) (bool, error) {
	versions, err := shelf{d, r.Provider}.Versions(ctx)
	if err != nil || !slices.Contains(versions, r.Version) {
		return false, err
	}
	got, err := shelf{d, r.Provider}.Fetch(ctx, r.Version)
	if err == nil {
		err = errors.Join(publish.Conflict(ctx, got, r), repo.VerifyChecksums(ctx, got))
	}
	return err == nil, err
}

// clean fails if a publisher left something of its work.
func clean(t testing.TB, root string) {
	t.Helper()
	if i := slices.IndexFunc(tree(t, root), func(s string) bool { return strings.Contains(s, layouts.WorkPrefix) }); i >= 0 {
		t.Errorf("left behind: %s", tree(t, root)[i])
	}
}

// injector applies rules to the steps of a disk, by their verbs: a status is the number of
// an error, which strikes before the step, after it if that is handled, and in the middle of
// a write if that has bytes.
type injector struct {
	rules  []fault.Rule
	seen   []int
	log    []fault.Entry
	struck string // the last step that failed, and when
}

func (i *injector) Add(rules ...fault.Rule) { i.rules = append(i.rules, rules...) }
func (i *injector) Reset()                  { i.rules, i.seen = nil, nil }
func (i *injector) Log() []fault.Entry      { return i.log }
func (i *injector) ClearLog()               { i.log = nil }

func (i *injector) hook(m moment, step string) error {
	verb, _, _ := strings.Cut(step, " ")
	if m == before {
		i.log = append(i.log, fault.Entry{Step: verb})
	}
	i.seen = append(i.seen, make([]int, len(i.rules)-len(i.seen))...)
	for n, r := range i.rules {
		if r.Step != "" && r.Step != verb {
			continue
		}
		if m == before {
			i.seen[n]++
		}
		first := max(r.Nth, 1)
		if i.seen[n] < first || r.Times >= 0 && i.seen[n] >= first+max(r.Times, 1) {
			continue
		}
		when := before
		switch {
		case r.Fault.Handled:
			when = after
		case r.Fault.Bytes > 0:
			when = half
		}
		if m != when {
			continue
		}
		if r.Fault.Call != nil {
			r.Fault.Call()
		}
		if r.Fault.Status != 0 {
			i.struck = string(m) + " " + verb
			return syscall.Errno(r.Fault.Status)
		}
	}
	return nil
}

func place(testing.TB) publishtest.Place {
	var faults []fault.Fault
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EROFS, syscall.EACCES, syscall.EIO} {
		for n, when := range []moment{before, half, after} {
			faults = append(faults, fault.Fault{Name: fmt.Sprint(errno, " ", when), Status: int(errno), Bytes: int64(n % 2), Handled: n == 2})
		}
	}
	return publishtest.Place{
		Release: sample("v1.0.0"), Other: release("v1.0.0", "metadata.yaml", "other"), Start: spot, Faults: faults,
		Lasts: func(fault.Fault) bool { return true }, // a disk is not asked again
		Vital: []string{"mkdir", "lock", "write", "rename", "sync"}, Rare: []string{"rmdir"}, Late: []string{"remove", "rmdir"},
		Every: share.Of(4, 1), Sequences: share.Of(40, 250),
	}
}

func spot(t testing.TB) *publishtest.Spot {
	d, faults := destination(t, given.MemoryDir(t)), new(injector)
	return &publishtest.Spot{
		Faults: faults,
		Open: func(after func(), _ time.Duration) publish.Destination {
			watched, _ := d.hook(func(_ int, m moment, step string) error {
				err := faults.hook(m, step)
				if after != nil {
					after()
				}
				return err
			})
			return given.Value(watched.Site().Of(foo))(t)
		},
		Seen: func(r *repo.Release) (bool, error) { return seen(t.Context(), d, r) },
		Tidy: func(r *repo.Release) {
			if holds(t, d, r); len(tree(t, d.root)) != 2+len(r.Artifacts) {
				t.Errorf("there is more, or less: %v", tree(t, d.root))
			}
		},
		First: func(visible bool, failure error) {
			if len(faults.rules) > 1 || faults.rules[0].Times < 0 || faults.struck == "" {
				return
			}
			// A rename that is reported as failed, but was done, and staging that stays are
			// no failure of the publish.
			moment, verb, _ := strings.Cut(faults.struck, " ")
			if fails := verb != "remove" && faults.struck != "after rename"; fails != errors.Is(failure, syscall.Errno(faults.rules[0].Fault.Status)) || !fails && failure != nil {
				t.Errorf("%s %s: %v", moment, verb, failure)
			}
			if left := tree(t, d.root); !visible && len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		},
	}
}

func TestFaults(t *testing.T) { publishtest.Run(t, place) }

// Between the look at the destination and the rename, somebody else may put
// something there.
func TestSomethingAppearsBeforeTheRename(t *testing.T) {
	for name, tc := range map[string]struct {
		appear   func(dir string) error
		conflict bool
	}{
		"half a release": {func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("v1.0.0"), 0o644))
		}, true},
		"empty folder": {func(dir string) error { return os.Mkdir(dir, 0o755) }, true},
		"file":         {func(dir string) error { return os.WriteFile(dir, []byte("x"), 0o644) }, false},
		"link":         {func(dir string) error { return os.Symlink(".", dir) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := given.MemoryDir(t)
			var there []string
			d, _ := destination(t, root).hook(func(_ int, m moment, name string) error {
				if m == before && strings.HasPrefix(name, "rename") {
					if err := tc.appear(filepath.Join(root, "infrastructure-foo", "v1.0.0")); err != nil {
						t.Error(err)
					}
					there = tree(t, filepath.Join(root, "infrastructure-foo", "v1.0.0"))
				}
				return nil
			})
			_, err := d.Put(t.Context(), sample("v1.0.0"))
			if _, conflict := errors.AsType[*publish.ConflictError](err); conflict != tc.conflict || err == nil {
				t.Errorf("got %v", err)
			}
			if now := tree(t, filepath.Join(root, "infrastructure-foo", "v1.0.0")); !slices.Equal(there, now) {
				t.Errorf("what was there changed from %v to %v", there, now)
			}
			clean(t, root)
		})
	}
}

// tampering is what others do to a version on the disk.
var tampering = map[string]func(dir string) error{
	"changed": func(dir string) error {
		return os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("v1.0.1"), 0o644)
	},
	"replaced": func(dir string) error {
		old, other := filepath.Join(dir, "metadata.yaml"), filepath.Join(filepath.Dir(filepath.Dir(dir)), "other")
		info, err := os.Stat(old)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(other, []byte("v1.0.1"), info.Mode()), os.Chtimes(other, info.ModTime(), info.ModTime()), os.Rename(other, old))
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
	"touched": func(dir string) error {
		return os.Chtimes(filepath.Join(dir, "metadata.yaml"), time.Time{}, time.Unix(1, 0))
	},
}

// What reaches the disk is not taken on trust, before the switch and after it.
func TestReadBackFindsTampering(t *testing.T) {
	for verb, visible := range map[string]bool{"sync infrastructure-foo/.": false, "rename": true} {
		for name, tamper := range tampering {
			root := given.MemoryDir(t)
			d, _ := destination(t, root).hook(func(_ int, m moment, step string) error {
				if m != after || !strings.HasPrefix(step, verb) {
					return nil
				}
				_, dir, _ := strings.Cut(step, " ")
				return tamper(filepath.Join(root, dir))
			})
			_, err := d.Put(t.Context(), sample("v1.0.0"))
			if same := name == "touched"; same != (err == nil) || !same && !strings.Contains(err.Error(), "read back") {
				t.Errorf("%s after %s: %v", name, verb, err)
			}
			versions, err := shelf{d, foo}.Versions(t.Context())
			if want := visible || name == "touched"; err != nil || (len(versions) > 0) != want {
				t.Errorf("%s after %s: versions %v %v", name, verb, versions, err)
			}
		}
	}
}

// Verify reads what changed since Put, and nothing that Put has read.
func TestVerifyFindsTampering(t *testing.T) {
	r := sample("v1.0.0")
	for name, tamper := range tampering {
		to := given.Value(destination(t, given.MemoryDir(t)).Site().Of(foo))(t)
		given.NoError(t, tamper(given.Value(to.Put(t.Context(), r))(t).Where))
		err := to.Verify(t.Context(), r)
		if same := name == "touched"; same != (err == nil) || !same && !strings.Contains(err.Error(), "read back") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	d := destination(t, given.MemoryDir(t))
	to := given.Value(d.Site().Of(foo))(t)
	dir := given.Value(to.Put(t.Context(), r))(t).Where
	was, ok := d.read.Load(dir)
	if !ok || !same(was.([]fs.FileInfo), dir) {
		t.Fatal("it does not know what Put has read")
	}
	given.NoError(t, to.Verify(t.Context(), r))
	given.NoError(t, os.Chmod(filepath.Join(dir, "metadata.yaml"), 0o400))
	if same(was.([]fs.FileInfo), dir) {
		t.Error("other rights are not noticed")
	}
	given.NoError(t, to.Verify(t.Context(), r))
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(share.Of(100, 300))*time.Millisecond)
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
