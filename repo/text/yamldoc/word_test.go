package yamldoc

import (
	"strings"
	"testing"
)

// The first mark is that of the first byte that is meant, at every place and before
// every other byte.
func TestMarks(t *testing.T) {
	for place := range 8 {
		for c := range 256 {
			for other := range 256 {
				text := strings.Repeat("x", place) + string([]byte{byte(c)}) + strings.Repeat(string([]byte{byte(other)}), 7-place)
				wrong := func(c byte) bool { return c < ' ' || c > '~' }
				check := func(name string, marks uint64, meant func(c byte) bool) {
					want := 8
					for i := range len(text) {
						if meant(text[i]) {
							want = i
							break
						}
					}
					if got := first(marks); got != want {
						t.Fatalf("%s of %q: %d, want %d", name, text, got, want)
					}
				}
				check("unprintable", unprintable(word(text)), wrong)
				check("like ':'", like(word(text), ':'), func(c byte) bool { return c == ':' })
				check("both", unprintable(word(text))|like(word(text), ':'), func(c byte) bool { return c == ':' || wrong(c) })
			}
		}
	}
}
