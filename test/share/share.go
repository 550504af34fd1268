// Package share says how many of many cases a test tries: a small, fixed share of
// them, or all with TESTS=all, as in make test-all; and where the files of real providers
// are. Under the race detector, cases that differ only in what is read or answered are
// no others: it tries fewer.
//
// It must not know any test.
package share

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
)

// All reports whether tests try all their cases.
func All() bool { return os.Getenv("TESTS") == "all" }

// Of returns how many cases a test tries: few, or all. A number above that of all is
// a fraction, one in that many. The race detector sees a quarter of a count and half of
// a fraction.
func Of(few, all int) int {
	switch {
	case All():
		return all
	case Race && few > all:
		return 2 * few
	case Race:
		return (few + 3) / 4
	}
	return few
}

// SkipInRace skips a test under the race detector: what it runs at once, other tests
// of its package or of the packages below it run at once as well.
func SkipInRace(t testing.TB) {
	t.Helper()
	if Race && !All() {
		t.Skip("skipped under the race detector: other tests run the same code at once")
	}
}

// Corpus returns a folder of the corpus of real providers, which is in the folder that
// CORPUS names, or in ../shared next to the project. Without it the test is skipped.
func Corpus(t testing.TB, part string) string {
	t.Helper()
	dir, missing := FindCorpus(part)
	if missing != "" {
		t.Skip(missing)
	}
	return dir
}

// FindCorpus is Corpus for what can do without: it says why the folder is missing.
func FindCorpus(part string) (dir, missing string) {
	root := os.Getenv("CORPUS")
	for above, _ := os.Getwd(); root == "" && above != filepath.Dir(above); above = filepath.Dir(above) {
		if at := filepath.Join(above, "shared", "corpus"); exists(at) {
			root = at
		}
	}
	if dir, err := filepath.Abs(filepath.Join(root, part)); root != "" && err == nil && exists(dir) {
		return dir, ""
	}
	return "", "no corpus of real providers; set CORPUS to its folder, which has " + cmp.Or(part, "releases")
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
