package tree

import "strings"

// Split cuts a text into documents, each with the separator line before it. In a
// row they are the text.
func Split(text string) []string {
	var out []string
	start := 0
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			end = len(text)
		} else {
			end += at + 1
		}
		if at > start && isSeparator(text[at:end]) {
			out = append(out, text[start:at])
			start = at
		}
		at = end
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// isSeparator reports whether a line begins a document.
func isSeparator(line string) bool {
	if !strings.HasPrefix(line, "---") {
		return false
	}
	rest := strings.TrimRight(line[3:], "\r\n")
	return rest == "" || rest[0] == ' ' || rest[0] == '\t'
}
