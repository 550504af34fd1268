package edit

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff returns the change from one text to another in the unified format, as
// patch and git apply read it; nothing if they are equal.
func Diff(name string, before, after []byte) string {
	text := string(diff.Diff("a/"+name, before, "b/"+name, after))
	return text[strings.Index(text, "\n")+1:] // without the line that names the program
}
