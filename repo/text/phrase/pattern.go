package phrase

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first used, so
// that commands that do not need it need not wait for it.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
