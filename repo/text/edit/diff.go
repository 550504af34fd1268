package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// context is how many unchanged lines stand around a change.
const context = 3

// lookahead is how far Diff looks for the next line that both texts have.
const lookahead = 200

// Diff returns the change from one text to another in the unified format, as
// patch and git apply read it; nothing if they are equal.
func Diff(name string, before, after []byte) string {
	if bytes.Equal(before, after) {
		return ""
	}
	a, b := strings.SplitAfter(string(before), "\n"), strings.SplitAfter(string(after), "\n")
	// Behind a final line break there is no line.
	if a[len(a)-1] == "" {
		a = a[:len(a)-1]
	}
	if b[len(b)-1] == "" {
		b = b[:len(b)-1]
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n", name, name)
	for _, h := range hunks(changes(a, b)) {
		h.write(&out, a, b)
	}
	return out.String()
}

// change says that lines of the one text become lines of the other.
type change struct{ a, aEnd, b, bEnd int }

// changes walks along both texts and, after a difference, on from the nearest
// line that both have.
func changes(a, b []string) []change {
	var out []change
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		if i < len(a) && j < len(b) && a[i] == b[j] {
			i, j = i+1, j+1
			continue
		}
		ni, nj := len(a), len(b)
	search:
		for distance := 1; distance <= lookahead; distance++ {
			for x := 0; x <= distance; x++ {
				p, q := i+x, j+distance-x
				if p < len(a) && q < len(b) && a[p] == b[q] || p == len(a) && q == len(b) {
					ni, nj = p, q
					break search
				}
			}
		}
		out = append(out, change{i, ni, j, nj})
		i, j = ni, nj
	}
	return out
}

// hunk is a group of changes that are near each other.
type hunk []change

func hunks(all []change) []hunk {
	var out []hunk
	for _, c := range all {
		if n := len(out); n > 0 {
			last := out[n-1]
			if c.a-last[len(last)-1].aEnd <= 2*context {
				out[n-1] = append(last, c)
				continue
			}
		}
		out = append(out, hunk{c})
	}
	return out
}

func (h hunk) write(out *strings.Builder, a, b []string) {
	first, last := h[0], h[len(h)-1]
	before, after := min(context, first.a), min(context, len(a)-last.aEnd)
	aFrom, aTo := first.a-before, last.aEnd+after
	bFrom, bTo := first.b-before, last.bEnd+after
	span := func(from, to int) string {
		if from == to {
			return fmt.Sprintf("%d,0", from)
		}
		return fmt.Sprintf("%d,%d", from+1, to-from)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(aFrom, aTo), span(bFrom, bTo))
	line := func(mark byte, text string) {
		out.WriteByte(mark)
		out.WriteString(text)
		if !strings.HasSuffix(text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
	at := aFrom
	for _, c := range h {
		for ; at < c.a; at++ {
			line(' ', a[at])
		}
		for ; at < c.aEnd; at++ {
			line('-', a[at])
		}
		for i := c.b; i < c.bEnd; i++ {
			line('+', b[i])
		}
	}
	for ; at < aTo; at++ {
		line(' ', a[at])
	}
}
