package edit

import (
	"bytes"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
)

// mask replaces what is computed before the text becomes YAML by letters and digits
// of the same length: expressions ${…} of clusterctl and actions {{…}} of Go templates.
// One that has its lines for itself becomes a comment. The structure of the text
// can then be read, and every offset is that of the text.
func mask(text string) string {
	if !strings.Contains(text, "${") && !strings.Contains(text, "{{") {
		return text
	}
	out := []byte(text)
	if t, err := vars.Parse(out); err == nil {
		for _, r := range t.Refs() {
			if r.Depth == 0 {
				cover(out, r.Start, r.End)
			}
		}
	}
	for at := 0; ; {
		i := bytes.Index(out[at:], []byte("{{"))
		if i < 0 {
			return string(out)
		}
		i += at
		j := bytes.Index(out[i:], []byte("}}"))
		if j < 0 {
			return string(out)
		}
		at = i + j + 2
		cover(out, i, at)
	}
}

// cover hides one expression.
func cover(text []byte, start, end int) {
	alone := blankBefore(text, start) && blankAfter(text, end)
	for i := start; i < end; i++ {
		switch c := text[i]; {
		case c == '\n' || c == '\r' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z':
		default:
			text[i] = 'x'
		}
	}
	if !alone {
		return
	}
	text[start] = '#'
	for i := start; i < end; i++ {
		if text[i] == '\n' && i+1 < end && text[i+1] != '\n' && text[i+1] != '\r' {
			text[i+1] = '#'
		}
	}
}

// blankBefore reports whether only blanks, or comments that stand for other
// expressions, are between the beginning of the line and an offset.
func blankBefore(text []byte, at int) bool {
	line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
	line = bytes.TrimLeft(line, " \t")
	return len(line) == 0 || line[0] == '#'
}

func blankAfter(text []byte, at int) bool {
	line := text[at:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	line = bytes.TrimSpace(line)
	return len(line) == 0 || bytes.HasPrefix(line, []byte("{{")) || line[0] == '#'
}
