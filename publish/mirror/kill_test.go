//go:build linux || darwin

package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// TestMain lets the tests below start this test binary again as a mirror of its own.
func TestMain(m *testing.M) { given.Main(m, children) }

// children holds what a child process can do, by order. The first argument is
// the folder of the mirror.
var children = map[string]func(args []string) error{
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
