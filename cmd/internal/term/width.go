package term

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Width is the number of columns of the terminal that w is; 0 if it is none.
func Width(w io.Writer) int {
	for {
		inner, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			break
		}
		w = inner.Unwrap()
	}
	f, ok := w.(*os.File)
	if !ok || !isTerminal(f) {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// Columns is how wide text for people is on w: 80 columns, or fewer in a narrow terminal.
func Columns(w io.Writer) int {
	const wide = 80
	if columns := Width(w); columns > 0 {
		return min(wide, columns)
	}
	return wide
}

// Wrap puts words after what a line begins with, and continues in the next one where the
// width ends, indented by a number of columns.
func Wrap(line, text string, width, indent int) string {
	var out strings.Builder
	begun := false
	for _, word := range strings.Fields(text) {
		if begun && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out.WriteString(line + "\n")
			line, begun = strings.Repeat(" ", indent), false
		}
		if begun {
			line += " "
		}
		line, begun = line+word, true
	}
	return out.String() + line
}

// Fill breaks the paragraphs of a text at a width. Lines that begin with a space, and the
// items of lists, stay as they are.
func Fill(text string, width int) string {
	var out []string
	var words []string
	flush := func() {
		if len(words) > 0 {
			out = append(out, Wrap("", strings.Join(words, " "), width, 0))
		}
		words = nil
	}
	for _, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == ' ' || strings.HasPrefix(line, "- ") {
			flush()
			out = append(out, line)
			continue
		}
		words = append(words, line)
	}
	flush()
	return strings.Join(out, "\n")
}

// Fold breaks long lines at a width, but those that begin with a space. What follows two
// spaces is a column, and its continuation stays there.
func Fold(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len(line) > width && line[0] != ' ' {
			column := 0
			if at := strings.LastIndex(line, "  "); at > 0 {
				column = at + 2
			}
			lines[i] = Wrap(line[:column], line[column:], width, column)
		}
	}
	return strings.Join(lines, "\n")
}
