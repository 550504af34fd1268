//go:build linux && amd64

package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// changes are the system calls that change a file system, or what is in a file.
var changes = []uint64{
	syscall.SYS_MKDIRAT, syscall.SYS_UNLINKAT, syscall.SYS_RENAMEAT, 316 /* renameat2 */, syscall.SYS_WRITE, syscall.SYS_PWRITE64,
	syscall.SYS_FTRUNCATE, syscall.SYS_FSYNC, syscall.SYS_FLOCK, 326, /* copy_file_range */
}

// killedAt runs a child under ptrace, kills it before its n-th change of the disk,
// and returns how many changes it came to.
func killedAt(t *testing.T, at int, orders ...string) (steps int, dead bool) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := given.Child(t, orders...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Skipf("processes cannot be traced here: %v", err)
	}
	pid := cmd.Process.Pid
	var ws syscall.WaitStatus
	given.Value(syscall.Wait4(pid, &ws, syscall.WALL, nil))(t)
	const traceSysGood, exitKill = 1, 1 << 20
	given.NoError(t, syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACECLONE|traceSysGood|exitKill))
	err := syscall.PtraceSyscall(pid, 0)
	inside := map[int]bool{}
	for err == nil {
		tid, waitErr := syscall.Wait4(-1, &ws, syscall.WALL, nil)
		if waitErr != nil {
			t.Fatal(waitErr)
		}
		if ws.Exited() || ws.Signaled() {
			if tid != pid {
				continue
			}
			if code := ws.ExitStatus(); !ws.Signaled() && code != 0 {
				t.Fatalf("%v: exit status %d", orders, code)
			}
			return steps, ws.Signaled()
		}
		deliver := 0
		switch sig := ws.StopSignal(); sig {
		case syscall.SIGTRAP | 0x80:
			if inside[tid] = !inside[tid]; !inside[tid] {
				break
			}
			var regs syscall.PtraceRegs
			if syscall.PtraceGetRegs(tid, &regs) == nil && changing(&regs) {
				if steps == at {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it is stopped, and lives
				}
				steps++
			}
		case syscall.SIGTRAP, syscall.SIGSTOP: // of a new thread
		default:
			deliver = int(sig)
		}
		if err = syscall.PtraceSyscall(tid, deliver); err == syscall.ESRCH {
			err = nil // killed meanwhile
		}
	}
	t.Fatal(err)
	return 0, false
}

func changing(r *syscall.PtraceRegs) bool {
	if r.Orig_rax == syscall.SYS_OPENAT {
		return r.Rdx&(syscall.O_CREAT|syscall.O_TRUNC) != 0
	}
	return slices.Contains(changes, r.Orig_rax)
}

// kept is a mirror in a folder below dir, of the kind "signed" with a signature, and of the
// kind "bundle" what is exported of it.
func kept(t testing.TB, kind, dir string) (at string, opts Options) {
	at = filepath.Join(dir, "mirror")
	opts = toFolder(t, at)
	switch kind {
	case "bundle":
		at += ".tar"
	case "signed":
		opts = signing(opts)
	}
	return at, opts
}

// export writes the bundle of a mirror, if it is kept in one.
func export(kind, dir string) error {
	if kind != "bundle" {
		return nil
	}
	_, err := Export(context.Background(), filepath.Join(dir, "mirror"), filepath.Join(dir, "mirror.tar"))
	return err
}

// releasesOf returns the releases that the lock of a mirror lists, and fails if
// one of them is damaged.
func releasesOf(t *testing.T, kind, at string) (out []string) {
	t.Helper()
	report, err := Check(t.Context(), at, 2)
	if err != nil {
		return nil
	}
	for _, p := range report.Problems {
		if p.Kind == Damaged && (kind == "bundle" || p.Provider != "") {
			t.Errorf("%+v", p)
		}
	}
	if kind == "signed" && !signing(Options{}).Vouched(report.Checksums, report.Signature) {
		t.Errorf("%s does not sign what it lies next to: %q", layouts.SignatureFile, report.Signature)
	}
	if report.Lock != nil {
		for _, l := range report.Lock.Releases {
			out = append(out, l.Provider+" "+l.Version)
		}
	}
	return out
}

// one is a want of one release of the scene.
func one(t testing.TB, version string) []Want {
	_, own := twoPlaces()
	return []Want{{From: own, Provider: foo, Version: selector(t, version)}}
}

func init() {
	// keep KIND DIR: mirrors the scene, and exports it.
	children["keep"] = func(args []string) error {
		t := &testing.T{}
		wants, _, _, _ := scene(t, args[1], nil, nil)
		_, opts := kept(t, args[0], args[1])
		opts.Jobs = 1
		if _, err := Run(context.Background(), wants, opts); err != nil {
			return err
		}
		return export(args[0], args[1])
	}
	// one KIND DIR VERSION: mirrors one release.
	children["one"] = func(args []string) error {
		t := &testing.T{}
		_, opts := kept(t, args[0], args[1])
		_, err := Run(context.Background(), one(t, args[2]), opts)
		return err
	}
	// export DIR FILE: writes a bundle.
	children["export"] = func(args []string) error {
		_, err := Export(context.Background(), args[0], args[1])
		return err
	}
	children["mend"] = func(args []string) error { return repairScene(filepath.Join(args[1], "mirror"), true) }
	children["patch"] = func(args []string) error { return repairScene(filepath.Join(args[1], "mirror"), false) }
	children["drop"] = func(args []string) error {
		at, opts := kept(&testing.T{}, args[0], args[1])
		lock, err := ReadLock(at)
		if err != nil {
			return err
		}
		_, err = Prune(context.Background(), lock.Keep(1), nil, opts)
		return err
	}
	children["disk"] = narrow
	// lockless ERRNO VERB ARGS: does something while flock fails.
	children["lockless"] = func(args []string) error {
		errno, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		const load, equal, give, fail, allow = 0x20, 0x15, 0x06, 0x50000, 0x7fff0000
		filter := []syscall.SockFilter{{Code: load}, {Code: equal, Jf: 1, K: syscall.SYS_FLOCK}, {Code: give, K: fail | uint32(errno)}, {Code: give, K: allow}}
		program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		const seccomp, setFilter, allThreads, noNewPrivileges = 317, 1, 1, 38
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, noNewPrivileges, 1, 0); errno != 0 {
			return fmt.Errorf("no filter: %w", errno)
		}
		if _, _, errno := syscall.RawSyscall(seccomp, setFilter, allThreads, uintptr(unsafe.Pointer(&program))); errno != 0 {
			return fmt.Errorf("no filter: %w", errno)
		}
		return children[args[1]](args[2:])
	}
}

// narrow KIND DIR: adds to a mirror on a disk that is too small, until it is large enough, and
// then read-only.
func narrow(args []string) error {
	dir := args[1]
	err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err == nil {
		err = syscall.Mount("none", dir, "tmpfs", 0, "size=1m")
	}
	if err != nil {
		return fmt.Errorf("no mounts: %w", err)
	}
	if err := children["one"]([]string{args[0], dir, "v0.9.0"}); err != nil {
		return err
	}
	full := 0
	for size := 16; ; size += share.Of(16, 4) {
		if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%dk", size)); err == syscall.EINVAL {
			continue // what is there takes more
		} else if err != nil {
			return err
		}
		err := children["keep"](args)
		if err == nil {
			break
		}
		left, _ := filepath.Glob(filepath.Join(dir, ".*"))
		if !errors.Is(err, syscall.ENOSPC) || len(left) > 0 {
			return fmt.Errorf("%d KiB: it left %v: %w", size, left, err)
		}
		if report, err := Check(context.Background(), filepath.Join(dir, "mirror"), 2); err != nil || args[0] == "signed" && !signing(Options{}).Vouched(report.Checksums, report.Signature) {
			return fmt.Errorf("%d KiB: the checksums have no signature: %w", size, err)
		}
		full++
	}
	fmt.Println("the disk was full", full, "times")
	if full < 3 {
		return fmt.Errorf("the disk was full only %d times", full)
	}
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return err
	}
	return children["keep"]([]string{strings.Replace(args[0], "bundle", "folder", 1), dir}) // nothing is new
}

// TestNarrowDisk runs out of room, leaves none of it taken, and finishes with more. On a
// read-only disk a run that has nothing to do works.
func TestNarrowDisk(t *testing.T) {
	for _, kind := range []string{"signed", "bundle"} {
		cmd := given.Child(t, "disk", kind, t.TempDir())
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if _, ran := err.(*exec.ExitError); err != nil && (!ran || strings.Contains(string(out), "no mounts")) {
			t.Skipf("nothing can be mounted here: %v %s", err, out)
		}
		if t.Logf("%s: %s", kind, out); err != nil {
			t.Error(err)
		}
	}
}

// TestKilledAtEveryChange kills a run before each system call that changes the
// disk. What was in the mirror before stays, and the same command finishes.
func TestKilledAtEveryChange(t *testing.T) {
	every := share.Of(23, 1)
	for _, order := range []string{"keep folder", "keep signed", "keep bundle", "drop signed", "mend signed", "patch signed"} {
		verb, kind, _ := strings.Cut(order, " ")
		t.Run(order, func(t *testing.T) {
			total, rounds := 1, 0
			for at := -1; at < total; at += every {
				dir := given.MemoryDir(t)
				where, opts := kept(t, kind, dir)
				mirrored(t, one(t, "v0.9.0"), opts)
				given.NoError(t, export(kind, dir))
				switch verb {
				case "drop":
					mirrored(t, one(t, "v1.2.0"), opts)
				case "mend", "patch":
					given.NoError(t, children["keep"]([]string{kind, dir}))
					given.NoError(t, os.RemoveAll(filepath.Join(where, "bootstrap-bar", "v1.1.0")))
					given.File(t, filepath.Join(where, "cluster-api", "v1.2.0", "metadata.yaml"), "damaged")
					given.File(t, filepath.Join(where, layouts.ImageListFile), "damaged")
				}
				n, dead := killedAt(t, at, verb, kind, dir)
				if at < 0 {
					total = n
					if n < 20 {
						t.Fatalf("it changes the disk only %d times", n)
					}
					continue
				}
				rounds++
				if verb == "mend" || verb == "patch" {
					sound(t, where, missing, Damaged, unfinished)
				} else if before := releasesOf(t, kind, where); verb == "keep" && !slices.Contains(before, "infrastructure-foo v0.9.0") {
					t.Errorf("at %d of %d: it lost what was there and has %v", at, total, before)
				}
				if dead {
					// A repair first, with the key or without, is not in the way.
					if kind == "signed" && rounds%3 > 0 {
						if err := repairScene(where, rounds%3 == 1); err != nil {
							t.Fatalf("at %d of %d: repair fails: %v", at, total, err)
						}
					}
					if err := children[verb]([]string{kind, dir}); err != nil {
						t.Fatalf("at %d of %d: the same command fails: %v", at, total, err)
					}
				}
				want := 6
				if verb == "drop" {
					want = 1
				}
				if after := releasesOf(t, kind, where); len(after) != want {
					t.Errorf("at %d of %d: it has %v", at, total, after)
				}
				sound(t, where)
				if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
					t.Errorf("at %d of %d: it leaves %v, %v", at, total, left, err)
				}
			}
			t.Logf("%d kills at %d changes", rounds, total)
		})
	}
}

// TestRivals lets several processes add a release each to one signed mirror at the same
// time. Those that exit with 0 have added theirs.
func TestRivals(t *testing.T) {
	rounds := share.Of(2, 200)
	versions := []string{"v0.9.0", "v1.2.0", "v1.2.1-rc.0"}
	_, own := twoPlaces()
	versions = slices.DeleteFunc(versions, func(v string) bool { return own.releases[v] == nil })
	if len(versions) < 2 {
		t.Fatal(versions)
	}
	won := 0
	for range rounds {
		dir := given.MemoryDir(t)
		where, _ := kept(t, "signed", dir)
		var want []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 2 {
			for _, v := range versions {
				child := given.Child(t, "one", "signed", dir, v)
				wg.Go(func() {
					out, err := child.CombinedOutput()
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						want = append(want, "infrastructure-foo "+v)
					} else if _, failed := err.(*exec.ExitError); !failed || !strings.Contains(string(out), "another run is working in "+where) {
						t.Errorf("%v: %s", err, out)
					}
				})
			}
		}
		wg.Wait()
		won += len(want)
		got := releasesOf(t, "signed", where)
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("lost %s; it has %v", name, got)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("left %v, %v", entries, err)
		}
	}
	if won < rounds {
		t.Errorf("only %d runs ended in %d rounds", won, rounds)
	}
	t.Logf("%d runs ended in %d rounds", won, rounds)
}

// TestNoLocks: where runs cannot be kept apart, each is refused, and changes nothing.
func TestNoLocks(t *testing.T) {
	for round := range share.Of(3, 40) {
		errno := []syscall.Errno{syscall.EOPNOTSUPP, syscall.ENOLCK, syscall.ENOSYS}[round%3]
		dir := given.MemoryDir(t)
		where, opts := kept(t, "signed", dir)
		if round%2 > 0 {
			mirrored(t, one(t, "v0.9.0"), opts)
		}
		want := tree(t, dir)
		orders := []string{"one signed " + dir + " v1.2.0", "one signed " + dir + " v0.9.0", "keep bundle " + dir, "export " + where + " " + where + ".tar"}
		if round%2 > 0 {
			orders = append(orders, "drop signed "+dir, "mend signed "+dir)
		}
		var all sync.WaitGroup
		for _, order := range orders {
			child := given.Child(t, "lockless", strconv.Itoa(int(errno)), order)
			all.Go(func() {
				out, err := child.CombinedOutput()
				switch text := string(out); {
				case strings.Contains(text, "no filter"):
					t.Log(text)
				case err == nil || !strings.Contains(text, "the file system of "+where+" has no locks") && !strings.HasPrefix(order, "export"):
					t.Errorf("%s: %v: %s", order, err, text)
				}
			})
		}
		all.Wait()
		if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRivalBundles lets several processes write one bundle of different mirrors. It is
// always one of them, whole.
func TestRivalBundles(t *testing.T) {
	versions := []string{"v0.9.0", "v1.2.0"}
	dir := given.MemoryDir(t)
	for _, v := range versions {
		mirrored(t, one(t, v), toFolder(t, filepath.Join(dir, v)))
	}
	bundle := filepath.Join(dir, "b.tar")
	won := 0
	for range share.Of(3, 200) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, v := range slices.Concat(versions, versions) {
			child := given.Child(t, "export", filepath.Join(dir, v), bundle)
			wg.Go(func() {
				out, err := child.CombinedOutput()
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if !strings.Contains(string(out), "another run is working in ") {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
		wg.Wait()
		if got := releasesOf(t, "bundle", bundle); len(got) != 1 {
			t.Errorf("it has %v", got)
		}
		if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
	if won == 0 {
		t.Error("no run ended")
	}
}
