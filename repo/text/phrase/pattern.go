package phrase

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first used, because
// most commands use few of them.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
