package phrase

import (
	"iter"
	"regexp"
	"strings"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first used, because
// most commands use few of them.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// LinesWith visits the lines of a text that contain a part. A pattern is then tried on few
// lines, because patterns are much slower than a search for a part.
func LinesWith(text, part string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			at := strings.Index(text, part)
			if at < 0 {
				return
			}
			start := strings.LastIndexByte(text[:at], '\n') + 1
			line, rest, _ := strings.Cut(text[start:], "\n")
			if !yield(line) {
				return
			}
			text = rest
		}
	}
}
