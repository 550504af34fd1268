//go:build linux || darwin

package mirror

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestMain lets the tests below start this test binary again as a mirror of its own.
func TestMain(m *testing.M) { given.Main(m, children) }

// children holds what a child process can do, by order. The first argument is
// the folder of the mirror.
var children = map[string]func(args []string) error{
	// die DIR STEP: kills itself at a step.
	"die": func(args []string) error {
		at, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		r := &recorder{at: at, fail: func() error { given.Kill(); return nil }}
		wants, opts, _, _ := scene(&testing.T{}, args[0], r, nil)
		_, err = Run(context.Background(), wants, opts)
		return err
	},
	// mirror DIR: mirrors.
	"mirror": func(args []string) error {
		wants, opts, _, _ := scene(&testing.T{}, args[0], nil, nil)
		fmt.Println("ready")
		_, err := Run(context.Background(), wants, opts)
		return err
	},
	// repair DIR: restores what is damaged.
	"repair": func(args []string) error {
		fmt.Println("ready")
		return repairScene(args[0], true)
	},
	// prune DIR: keeps the newest version of each provider.
	"prune": func(args []string) error {
		fmt.Println("ready")
		return pruneScene(args[0])
	},
	// limited DIR BYTES: mirrors while no file may grow larger.
	"limited": func(args []string) error {
		err := given.LimitFiles(args[1])
		if err != nil {
			return err
		}
		wants, opts, _, _ := scene(&testing.T{}, args[0], nil, nil)
		if _, err = Run(context.Background(), wants, opts); !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("got %v, want EFBIG", err)
		}
		if !strings.Contains(err.Error(), args[0]) {
			return fmt.Errorf("%w does not tell where", err)
		}
		return nil
	},
}

func TestKilledAtEveryStep(t *testing.T) {
	want, steps := flawless(t)
	for at, step := range steps {
		dir := given.MemoryDir(t)
		if out, err := given.Child(t, "die", dir, strconv.Itoa(at)).CombinedOutput(); !given.Killed(err) {
			t.Fatalf("%s: the mirror lives: %v\n%s", step, err, out)
		}
		// A look that goes ahead may be killed while another release is put into its
		// place; the next run removes what that leaves.
		shared, own := twoPlaces()
		allWhole(t, dir, shared, own)
		completed(t, dir, want)
	}
}

// killing repeats a round in a new folder until enough children were killed: some end
// before.
func killing(t *testing.T, round func(at int, dir string, kill func(within time.Duration, order string))) {
	t.Helper()
	enough := share.Of(5, 200)
	n, at := 0, 0
	for ; n < enough && at < 4*enough; at++ {
		dir := given.MemoryDir(t)
		round(at, dir, func(within time.Duration, order string) {
			if startAndKill(t, within, order, dir) {
				n++
			}
		})
	}
	t.Logf("%d kills in %d rounds", n, at)
	if n < enough {
		t.Errorf("only %d kills: this test proves too little", n)
	}
}

// repairScene repairs a mirror from where it came from, with or without the key.
func repairScene(dir string, key bool) error {
	report, err := Check(context.Background(), dir, 2)
	if err != nil {
		return err
	}
	all, opts, _, _ := scene(&testing.T{}, dir, nil, nil)
	if opts.Repair = true; !key {
		opts.Sign = nil
	}
	var wants []Want
	for _, l := range report.Broken {
		for _, w := range all {
			if w.From.String() == l.Source {
				w.Provider, w.File, w.Version = l.Identity(), l.Components, Exactly(l.Version)
				wants = append(wants, w)
				break
			}
		}
	}
	_, err = Run(context.Background(), wants, opts)
	return err
}

// pruneScene keeps the newest version of each provider in a mirror.
func pruneScene(dir string) error {
	lock, err := ReadLock(dir)
	if err != nil {
		return err
	}
	_, opts, _, _ := scene(&testing.T{}, dir, nil, nil)
	_, err = Prune(context.Background(), lock.Keep(1), nil, opts)
	return err
}

// startAndKill starts a child, kills it after a while, and reports whether it died of
// that.
func startAndKill(t *testing.T, within time.Duration, orders ...string) bool {
	t.Helper()
	cmd := given.Child(t, orders...)
	out := given.Value(cmd.StdoutPipe())(t)
	given.NoError(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	time.Sleep(rand.N(within))
	cmd.Process.Kill() // fails if it has ended
	return given.Killed(cmd.Wait())
}

// sound checks a mirror, in which nothing may be wrong but what is expected.
func sound(t *testing.T, dir string, expected ...problemKind) {
	t.Helper()
	report := given.Value(Check(t.Context(), dir, 2))(t)
	for _, p := range report.Problems {
		if !slices.Contains(expected, p.Kind) {
			t.Errorf("%+v", p)
		}
	}
}

// A repair that is killed leaves every release as it was or as it should be,
// and the next one finishes.
func TestRepairKilled(t *testing.T) {
	want, _ := flawless(t)
	killing(t, func(at int, dir string, kill func(time.Duration, string)) {
		completed(t, dir, want)
		victims, err := filepath.Glob(filepath.Join(dir, "*-*", "v*", "*.yaml"))
		if err != nil || len(victims) < 6 {
			t.Fatalf("%v, %v", victims, err)
		}
		for i, name := range victims {
			switch (i + at) % 3 {
			case 0:
				err = os.WriteFile(name, []byte("damaged"), 0o644)
			case 1:
				err = os.Remove(name)
			}
			given.NoError(t, err)
		}
		for range 3 {
			kill(15*time.Millisecond, "repair")
			sound(t, dir, missing, Damaged, unfinished)
		}
		given.NoError(t, folderOf(t, dir).Sweep())
		given.NoError(t, repairScene(dir, at%2 == 0))
		completed(t, dir, want)
		sound(t, dir)
	})
}

func TestKilledAnywhere(t *testing.T) {
	want, _ := flawless(t)
	killing(t, func(_ int, dir string, kill func(time.Duration, string)) {
		for range 3 {
			kill(15*time.Millisecond, "mirror")
			shared, own := twoPlaces()
			allWhole(t, dir, shared, own)
		}
		completed(t, dir, want)
	})
}

// A prune that is killed takes nothing that stays, and the next one finishes.
func TestPruneKilled(t *testing.T) {
	want, _ := flawless(t)
	killing(t, func(_ int, dir string, kill func(time.Duration, string)) {
		completed(t, dir, want)
		for range 3 {
			kill(5*time.Millisecond, "prune")
			shared, own := twoPlaces()
			allWhole(t, dir, shared, own)
		}
		given.NoError(t, pruneScene(dir))
		sound(t, dir)
		if lock, err := ReadLock(dir); err != nil || len(lock.Keep(1)) > 0 {
			t.Errorf("%+v, %v", lock, err)
		}
	})
}

// A real system call fails, in the file that keeps downloads.
func TestFileTooLargeForTheDisk(t *testing.T) {
	want, _ := flawless(t)
	for _, limit := range []string{"0", "100", "1000", "30000"} {
		dir := given.MemoryDir(t)
		if out, err := given.Child(t, "limited", dir, limit).CombinedOutput(); err != nil {
			t.Errorf("limit %s: %v\n%s", limit, err, out)
		}
		shared, own := twoPlaces()
		broken(t, dir, shared, own)
		completed(t, dir, want)
	}
}
