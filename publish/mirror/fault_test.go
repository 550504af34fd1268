package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// watched is a destination that asks before and after each step.
type watched struct {
	publish.Destination
	name string
	hook func(step string) error
}

func (w watched) around(step string, do func() error) error {
	if err := w.hook("before " + step + " " + w.name); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return w.hook("after " + step + " " + w.name)
}

func (w watched) Fetch(ctx context.Context, version string) (r *repo.Release, err error) {
	err = w.around("fetch "+version, func() (err error) { r, err = w.Destination.Fetch(ctx, version); return err })
	return r, err
}

func (w watched) Put(ctx context.Context, r *repo.Release) (result publish.Result, err error) {
	err = w.around("put "+r.Version, func() (err error) { result, err = w.Destination.Put(ctx, r); return err })
	return result, err
}

func (w watched) Verify(ctx context.Context, r *repo.Release) error {
	return w.around("verify "+r.Version, func() error { return w.Destination.Verify(ctx, r) })
}

func (w watched) URL(version, file string) (url string, err error) {
	err = w.around("url "+version, func() (err error) { url, err = w.Destination.URL(version, file); return err })
	return url, err
}

func watch(opts Options, hook func(step string) error) Options {
	of := opts.To.Of
	opts.To.Of = func(p layouts.Provider) (publish.Destination, error) {
		d, err := of(p)
		return watched{d, p.Label(), hook}, err
	}
	return opts
}

// recorder is a hook that counts steps, and fails at one of them.
type recorder struct {
	mu    sync.Mutex
	steps []string
	at    int
	fail  func() error
}

func (r *recorder) hook(step string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, step)
	if len(r.steps)-1 == r.at && r.fail != nil {
		return r.fail()
	}
	return nil
}

var errInjected = errors.New("injected fault")

// scene is a mirror of two places, one step after the other.
func scene(t testing.TB, dir string, r *recorder, body func(step string, content []byte) io.Reader) (wants []Want, opts Options, shared, own *place) {
	shared, own = twoPlaces()
	for _, p := range []*place{shared, own} {
		p.body = body
		if r != nil {
			p.hook = r.hook
		}
	}
	opts = signing(toFolder(t, dir))
	opts.Jobs = 1
	if r != nil {
		opts = watch(opts, r.hook)
	}
	return wantsOf(shared, own, t), opts, shared, own
}

// flawless makes the mirror that a run without faults makes, and returns the
// steps of the run.
func flawless(t testing.TB) (dir string, steps []string) {
	dir = given.MemoryDir(t)
	r := &recorder{at: -1}
	wants, opts, _, _ := scene(t, dir, r, nil)
	mirrored(t, wants, opts)
	return dir, r.steps
}

// completed checks that a second run without faults finishes the first one.
func completed(t *testing.T, dir, want string) {
	t.Helper()
	wants, opts, _, _ := scene(t, dir, nil, nil)
	mirrored(t, wants, opts)
	sameTree(t, dir, want)
	noTrace(t, dir)
	if _, err := os.Stat(filepath.Join(dir, journalFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
}

// broken checks what must hold after a run that failed.
func broken(t *testing.T, dir string, shared, own *place) {
	t.Helper()
	allWhole(t, dir, shared, own)
	noTrace(t, dir)
	for name, content := range tree(t, dir) {
		if slices.Contains(layouts.RootFiles, name) && len(content) == 0 && name != layouts.ImageListFile {
			t.Errorf("%s is empty", name)
		}
	}
}

func TestFaultAtEveryStep(t *testing.T) {
	want, steps := flawless(t)
	if len(steps) < 45 {
		t.Fatalf("only %d steps: %v", len(steps), steps)
	}
	for name, fault := range map[string]error{"error": errInjected, "gone": fs.ErrNotExist} {
		for at, step := range steps {
			if (at+len(name))%share.Of(2, 1) != 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s at %d %s", name, at, step), func(t *testing.T) {
				dir := given.MemoryDir(t)
				r := &recorder{at: at, fail: func() error { return fault }}
				wants, opts, shared, own := scene(t, dir, r, nil)
				_, err := Run(t.Context(), wants, opts)
				// What is not there at the destination is what is to be done,
				// and what is not there at a place is not the latest.
				tolerated := name == "gone" && (strings.Contains(step, "fetch") || strings.Contains(step, "open"))
				if err == nil && !tolerated || err != nil && !tolerated && !errors.Is(err, fault) {
					t.Errorf("got %v", err)
				}
				broken(t, dir, shared, own)
				if err == nil {
					return
				}
				// Index files vouch only for what is there.
				if _, statErr := os.Stat(filepath.Join(dir, layouts.ChecksumFile)); statErr == nil {
					t.Error("the run failed, but there are checksums")
				}
				completed(t, dir, want)
			})
		}
	}
}

func TestSecondRunKeepsWhatIsDone(t *testing.T) {
	_, steps := flawless(t)
	last := 0
	for i, s := range steps {
		if strings.HasPrefix(s, "before put") {
			last = i
		}
	}
	dir := given.MemoryDir(t)
	r := &recorder{at: last, fail: func() error { return errInjected }}
	wants, opts, _, _ := scene(t, dir, r, nil)
	if _, err := Run(t.Context(), wants, opts); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	r = &recorder{at: -1}
	wants, opts, _, _ = scene(t, dir, r, nil)
	result := mirrored(t, wants, opts)
	unchanged, opened := 0, 0
	for _, o := range result.Outcomes {
		if o.Unchanged {
			unchanged++
		}
	}
	for _, s := range r.steps {
		if strings.Contains(s, ": open ") {
			opened++
		}
	}
	// Only the last release is copied: its components are read to find out
	// whose they are, and in a full copy. The one on metadata is that of latest.
	if unchanged < len(result.Outcomes)-2 || opened > 8 {
		t.Errorf("%d of %d unchanged, %d files opened: %v", unchanged, len(result.Outcomes), opened, r.steps)
	}
}

func TestBrokenContent(t *testing.T) {
	want, steps := flawless(t)
	half := func(content []byte) io.Reader { return bytes.NewReader(content[:len(content)/2]) }
	for name, damage := range map[string]func(content []byte) io.Reader{
		"truncated":  half,
		"empty":      func([]byte) io.Reader { return bytes.NewReader(nil) },
		"broken off": func(c []byte) io.Reader { return io.MultiReader(half(c), failing{errInjected}) },
		"too long":   func(c []byte) io.Reader { return io.MultiReader(bytes.NewReader(c), strings.NewReader("more")) },
		"other": func(c []byte) io.Reader {
			c = slices.Clone(c)
			c[len(c)-1] ^= 1
			return bytes.NewReader(c)
		},
	} {
		for at, step := range steps {
			if !strings.Contains(step, ": open ") {
				continue
			}
			t.Run(fmt.Sprintf("%s at %d %s", name, at, step), func(t *testing.T) {
				dir := given.MemoryDir(t)
				r := &recorder{at: -1}
				// What is looked at meanwhile comes sooner or later, so it is the
				// same file that counts, as often as it was opened before.
				before := 0
				for _, s := range steps[:at] {
					if s == step {
						before++
					}
				}
				wants, opts, shared, own := scene(t, dir, r, func(opened string, content []byte) io.Reader {
					r.mu.Lock()
					defer r.mu.Unlock()
					if opened == step {
						if before--; before == -1 {
							return damage(content)
						}
					}
					return bytes.NewReader(content)
				})
				if _, err := Run(t.Context(), wants, opts); err == nil {
					t.Error("it passes")
				}
				broken(t, dir, shared, own)
				completed(t, dir, want)
			})
		}
	}
}

// A folder that stands where a file should go appears in the middle of a run.
func TestFilesBesideCannotBeWritten(t *testing.T) {
	want, steps := flawless(t)
	for _, name := range append(slices.Clone(layouts.RootFiles), journalFile) {
		for _, at := range []int{0, len(steps) - 1} {
			if name == journalFile && at > 0 {
				continue // it is open by then
			}
			dir := given.MemoryDir(t)
			r := &recorder{at: at, fail: func() error { return os.Mkdir(filepath.Join(dir, name), 0o755) }}
			wants, opts, shared, own := scene(t, dir, r, nil)
			if _, err := Run(t.Context(), wants, opts); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
			given.NoError(t, os.Remove(filepath.Join(dir, name)))
			broken(t, dir, shared, own)
			completed(t, dir, want)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestStopAtEveryStep(t *testing.T) {
	want, steps := flawless(t)
	for at := range steps {
		dir := given.MemoryDir(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		r := &recorder{at: at, fail: func() error { cancel(errInjected); return nil }}
		wants, opts, shared, own := scene(t, dir, r, nil)
		_, err := Run(ctx, wants, opts)
		if err != nil && !errors.Is(err, errInjected) {
			t.Errorf("%d %s: %v", at, steps[at], err)
		}
		broken(t, dir, shared, own)
		completed(t, dir, want)
		cancel(nil)
	}
}

// Several faults in a row, at random.
func TestRandomFaults(t *testing.T) {
	sequences := share.Of(15, 50)
	want, steps := flawless(t)
	failed := 0
	for seed := range uint64(sequences) {
		random := rand.New(rand.NewPCG(seed, 7))
		dir := given.MemoryDir(t)
		for range 1 + random.IntN(4) {
			r := &recorder{at: random.IntN(len(steps)), fail: func() error { return errInjected }}
			wants, opts, shared, own := scene(t, dir, r, nil)
			opts.Jobs = 1 + random.IntN(4)
			if _, err := Run(t.Context(), wants, opts); err != nil {
				failed++
				if !errors.Is(err, errInjected) {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			broken(t, dir, shared, own)
		}
		completed(t, dir, want)
	}
	if failed < sequences {
		t.Errorf("only %d faults in %d sequences", failed, sequences)
	}
}

func TestJobs(t *testing.T) {
	for _, jobs := range []int{1, 3, 16} {
		var mu sync.Mutex
		reading, most := 0, 0
		var wants []Want
		for i := range 8 {
			p := layouts.Provider{Type: layouts.Addon, Name: fmt.Sprintf("p%d", i)}
			files := filesOf(p, "v1.0.0")
			for n := range 5 {
				files = append(files, fmt.Sprintf("extra-%d.txt", n), strings.Repeat("x", 100+n))
			}
			from := newPlace(fmt.Sprintf("https://p%d", i), map[string][]string{"v1.0.0": files})
			from.body = func(_ string, content []byte) io.Reader {
				return io.MultiReader(hookReader(func() {
					mu.Lock()
					reading++
					most = max(most, reading)
					mu.Unlock()
					runtime.Gosched()
				}), bytes.NewReader(content), hookReader(func() {
					runtime.Gosched()
					mu.Lock()
					reading--
					mu.Unlock()
				}))
			}
			wants = append(wants, Want{From: from, Version: selector(t, "v1.0.0")})
		}
		opts := toFolder(t, given.MemoryDir(t))
		opts.Jobs = jobs
		mirrored(t, wants, opts)
		if most > jobs || most < min(jobs, 2) {
			t.Errorf("%d jobs: %d files were read at the same time", jobs, most)
		}
	}
}

// hookReader is an empty reader that calls a function once.
func hookReader(do func()) io.Reader {
	var once sync.Once
	return readerFunc(func([]byte) (int, error) {
		once.Do(do)
		return 0, io.EOF
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestMemoryIsFlat(t *testing.T) {
	const size = 120 << 20
	sum := repo.NewArtifact("x", "x", size, func() (io.ReadCloser, error) { return io.NopCloser(io.LimitReader(zeros{}, size)), nil })
	digest := given.Value(sum.Sum(t.Context()))(t)
	for name, stated := range map[string]bool{"streamed": true, "kept on disk": false} {
		large := repo.NewArtifact("large.bin", "https://x/large.bin", size, func() (io.ReadCloser, error) { return io.NopCloser(io.LimitReader(zeros{}, size)), nil })
		if stated {
			large = large.Stating(digest)
		}
		from := &fixed{&repo.Release{Version: "v1.0.0", Path: "https://x/v1.0.0"}}
		for files := filesOf(foo, "v1.0.0"); len(files) > 0; files = files[2:] {
			from.r.Artifacts = append(from.r.Artifacts, repo.BytesArtifact(files[0], []byte(files[1])))
		}
		from.r.Artifacts = append(from.r.Artifacts, large)
		from.r.Sort()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		dir := t.TempDir()
		mirrored(t, []Want{{From: from}}, toFolder(t, dir))
		runtime.ReadMemStats(&after)
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 16 {
			t.Errorf("%s: %d MB were allocated", name, mb)
		}
	}
}

// fixed is a source with one release.
type fixed struct{ r *repo.Release }

func (f *fixed) String() string                                       { return "https://x" }
func (f *fixed) Versions(context.Context) ([]string, error)           { return []string{f.r.Version}, nil }
func (f *fixed) Fetch(context.Context, string) (*repo.Release, error) { return f.r, nil }
