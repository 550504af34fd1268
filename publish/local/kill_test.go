//go:build linux || darwin

package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestMain lets the tests below start this test binary again as a publisher of its own.
func TestMain(m *testing.M) { given.Main(m, publisher) }

// publisher holds what a child process can do, by order. The first argument is
// the root.
var publisher = map[string]func(args []string) error{
	// die ROOT STEP MOMENT: publishes v1.0.0 and kills itself there.
	"die": func(args []string) error {
		d, err := New(args[0])
		if err != nil {
			return err
		}
		d, _ = d.hook(func(step int, m moment, _ string) error {
			if strconv.Itoa(step) == args[1] && string(m) == args[2] {
				given.Kill()
			}
			return nil
		})
		_, err = d.Put(context.Background(), sample("v1.0.0"))
		return err
	},
	// race ROOT VERSION VARIANT: publishes when its input ends, and says how
	// it went.
	"race": func(args []string) error {
		d, err := New(args[0])
		if err != nil {
			return err
		}
		r := release(args[1], "infrastructure-components.yaml", strings.Repeat("x", 1<<20), "metadata.yaml", args[2])
		fmt.Println("ready")
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
		got, err := d.Put(context.Background(), r)
		_, conflict := errors.AsType[*publish.ConflictError](err)
		switch {
		case conflict:
			fmt.Println("conflict")
		case err != nil:
			return err
		case got.Unchanged:
			fmt.Println("unchanged")
		default:
			fmt.Println("published")
		}
		return nil
	},
}

func TestKilledAtEveryStep(t *testing.T) {
	steps := stepsOf(t)
	rename := slices.IndexFunc(steps, func(s string) bool { return strings.HasPrefix(s, "rename") })
	for at, name := range steps {
		for _, when := range []moment{before, half, after} {
			if when == half && !strings.HasPrefix(name, "write") {
				continue
			}
			root := given.MemoryDir(t)
			out, err := given.Child(t, "die", root, strconv.Itoa(at), string(when)).CombinedOutput()
			if !given.Killed(err) {
				t.Fatalf("%s %s: the publisher lives: %v\n%s", when, name, err, out)
			}
			want := at > rename || at == rename && when == after
			if got := settled(t, root, "v1.0.0"); got != want {
				t.Errorf("%s %s: visible is %v, want %v", when, name, got, want)
			}
		}
	}
}

func TestConcurrentPublishers(t *testing.T) {
	const publishers = 6
	for name, tc := range map[string]struct {
		version, variant func(p int) string
		want             map[string]int
	}{
		"equal content":   {func(int) string { return "v1.0.0" }, func(int) string { return "x" }, map[string]int{"published": 1, "unchanged": publishers - 1}},
		"other content":   {func(int) string { return "v1.0.0" }, strconv.Itoa, map[string]int{"published": 1, "conflict": publishers - 1}},
		"other versions":  {func(p int) string { return fmt.Sprintf("v1.%d.0", p) }, strconv.Itoa, map[string]int{"published": publishers}},
		"two per version": {func(p int) string { return fmt.Sprintf("v1.%d.0", p/2) }, func(p int) string { return strconv.Itoa(p / 2) }, map[string]int{"published": publishers / 2, "unchanged": publishers / 2}},
	} {
		t.Run(name, func(t *testing.T) {
			for range share.Of(1, 5) {
				root := given.MemoryDir(t)
				plant(t, root, "A", true)
				type running struct {
					*exec.Cmd
					in  io.Closer
					out *bufio.Reader
				}
				var all []running
				for p := range publishers {
					cmd := given.Child(t, "race", root, tc.version(p), tc.variant(p))
					in := given.Value(cmd.StdinPipe())(t)
					out := given.Value(cmd.StdoutPipe())(t)
					given.NoError(t, cmd.Start())
					all = append(all, running{cmd, in, bufio.NewReader(out)})
				}
				for _, p := range all {
					if line, err := p.out.ReadString('\n'); line != "ready\n" {
						t.Fatalf("%q %v", line, err)
					}
				}
				for _, p := range all {
					p.in.Close()
				}
				got := map[string]int{}
				won := map[string]int{}
				for i, p := range all {
					said, err := io.ReadAll(p.out)
					if err := errors.Join(err, p.Wait()); err != nil {
						t.Errorf("%v\n%s", err, said)
					}
					word := strings.TrimSpace(string(said))
					got[word]++
					if word == "published" {
						won[tc.version(i)] = i
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(tc.want) {
					t.Errorf("got %v, want %v", got, tc.want)
				}
				for version, p := range won {
					data, err := os.ReadFile(filepath.Join(root, "infrastructure-foo", version, "metadata.yaml"))
					if err != nil || string(data) != tc.variant(p) {
						t.Errorf("%s holds %q %v, but %q won", version, data, err, tc.variant(p))
					}
				}
				if got, want := len(tree(t, root)), 1+4*len(won); got != want {
					t.Errorf("%d entries, want %d: %v", got, want, tree(t, root))
				}
			}
		})
	}
}

func TestReadOnlyDestination(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	root := given.MemoryDir(t)
	d := destination(t, root)
	given.Value(d.Put(t.Context(), sample("v1.0.0")))(t)
	for _, name := range []string{"infrastructure-foo", "."} {
		name = filepath.Join(root, name)
		given.NoError(t, os.Chmod(name, 0o555))
		defer os.Chmod(name, 0o755)
	}
	before := tree(t, root)
	if got, err := d.Put(t.Context(), sample("v1.0.0")); err != nil || !got.Unchanged {
		t.Errorf("what is there already: %+v %v", got, err)
	}
	for what, do := range map[string]func(context.Context, *repo.Release) (publish.Result, error){"put": d.Put, "plan": d.Plan} {
		if _, err := do(t.Context(), sample("v1.1.0")); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s of a new version: %v", what, err)
		}
	}
	other := sample("v1.0.0")
	other.Provider.Name = "bar"
	if _, err := d.Put(t.Context(), other); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a new provider: %v", err)
	}
	if after := tree(t, root); !slices.Equal(before, after) {
		t.Errorf("changed from %v to %v", before, after)
	}
}

// Between opening a lock file and locking it, a cleaner may have been there.
func TestLockOfARemovedFileIsWorthNothing(t *testing.T) {
	d := destination(t, given.MemoryDir(t))
	dir := "infrastructure-foo/" + layouts.WorkPrefix + "A"
	plant(t, d.root, "A", true)
	root := given.Value(os.OpenRoot(d.root))(t)
	defer root.Close()
	f := given.Value(root.OpenFile(lockFile(dir), os.O_RDWR, 0))(t)
	defer f.Close()
	cleaner, _ := d.hook(func(_ int, m moment, name string) error {
		if m == before && strings.HasPrefix(name, "remove") {
			if err := hold(root, lockFile(dir), f); !errors.Is(err, errLocked) {
				t.Errorf("while the folder is removed: %v", err)
			}
		}
		return nil
	})
	disk := given.Value(cleaner.open(d.root))(t)
	defer disk.close()
	cleaner.clean(disk, "infrastructure-foo")
	if err := hold(root, lockFile(dir), f); !errors.Is(err, errLocked) {
		t.Errorf("after the folder was removed: %v", err)
	}
	plant(t, d.root, "A", true)
	if err := hold(root, lockFile(dir), f); !errors.Is(err, errLocked) {
		t.Errorf("after another file took its place: %v", err)
	}
}
