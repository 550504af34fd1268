// Package share says how many of many cases a test tries: a small, fixed share of
// them, or all with TESTS=all, as in make test-all.
//
// It must not know any test.
package share

import "os"

// All reports whether tests try all their cases.
func All() bool { return os.Getenv("TESTS") == "all" }

// Of returns how many cases a test tries: few, or all.
func Of(few, all int) int {
	if All() {
		return all
	}
	return few
}
