// Package pattern holds regular expressions that are compiled when they are first
// used, so that commands which do not need them start without them.
//
// It must not know what they match.
package pattern

import (
	"regexp"
	"sync"
)

// New returns a function that compiles the expression at its first call. Like
// regexp.MustCompile, that call panics if the expression is not valid.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
