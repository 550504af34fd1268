package term

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Form is the syntax of what is written, which decides how characters are
// escaped.
type Form int

const (
	// Text is for people: terminals, logs, Markdown.
	Text Form = iota
	JSON
	// XML is for XML and HTML.
	XML
)

// Writer writes unchecked texts so that no terminal and no CI
// system takes a part of them for a command: characters that cannot be seen or
// that move others are escaped, and so is what begins a workflow command of GitHub
// (actions/runner: ActionCommand), or the like of Azure and TeamCity. Line ends and
// tabs stay. It is safe for concurrent use.
type Writer struct {
	w    io.Writer
	form Form

	mu sync.Mutex
	// tail is the end of what was written as long as it is open what it means.
	tail []byte
	// within is set if something visible stands in the line.
	within bool
	// out is room for what is written.
	out bytes.Buffer
}

// NewWriter returns a Writer of a form. Flush must be called in the end.
func NewWriter(w io.Writer, form Form) *Writer { return &Writer{w: w, form: form} }

func (w *Writer) Unwrap() io.Writer { return w.w }

// Columns is the width of the terminal that is written to; 0 if it is none.
func (w *Writer) Columns() int { return Width(w) }

func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for done := 0; done < len(p); {
		part := p[done:min(len(p), done+chunk)]
		done += len(part)
		if len(w.tail) > 0 {
			part = append(w.tail, part...)
		}
		w.out.Reset()
		rest := w.escape(&w.out, part, false)
		w.tail = append([]byte(nil), rest...)
		if _, err := w.w.Write(w.out.Bytes()); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// chunk is how much is written at once, in bytes: a text may be as large as its
// input.
const chunk = 1 << 16

// Flush writes what was kept back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out bytes.Buffer
	w.escape(&out, w.tail, true)
	w.tail = nil
	if out.Len() == 0 {
		return nil
	}
	_, err := w.w.Write(out.Bytes())
	return err
}

// escape returns a text as one line for people.
func escape(text string) string {
	var out bytes.Buffer
	w := Writer{w: &out, within: true}
	w.escape(&out, []byte(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text)), true)
	return out.String()
}

// escape writes data and returns the end of it that is still open, unless it is
// all that comes.
func (w *Writer) escape(out *bytes.Buffer, data []byte, all bool) (rest []byte) {
	for i := 0; i < len(data); {
		if n := plain(data[i:]); n > 0 && (w.within || data[i] != ':') {
			out.Write(data[i : i+n])
			i, w.within = i+n, true
			continue
		}
		c := data[i]
		switch {
		case c == '\n':
			out.WriteByte(c)
			w.within = false
			i++
			continue
		case c == '\t' || c == ' ':
			out.WriteByte(c)
			i++
			continue
		case c == '\r':
			if i+1 == len(data) && !all {
				return data[i:]
			}
			if i+1 < len(data) && data[i+1] == '\n' {
				out.WriteByte(c)
				i++
				continue
			}
		case c == '#':
			n, command, open := hashCommand(data[i:])
			if open && !all {
				return data[i:]
			}
			if command {
				out.WriteByte('#')
				out.WriteString(w.code('#'))
				out.Write(data[i+2 : i+n])
				i, w.within = i+n, true
				continue
			}
		case c == ':' && !w.within:
			if i+1 == len(data) && !all {
				return data[i:]
			}
			if i+1 < len(data) && data[i+1] == ':' {
				out.WriteString(w.code(':'))
				i, w.within = i+1, true
				continue
			}
		case c == '\x1b':
			n, code, open := painted(data[i:])
			if open && !all {
				return data[i:]
			}
			if code != "" {
				out.WriteString(code)
				i += n
				continue
			}
		}
		if c >= ' ' && c < 0x7f {
			out.WriteByte(c)
			i, w.within = i+1, true
			continue
		}
		if !all && !utf8.FullRune(data[i:]) {
			return data[i:]
		}
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			w.invalid(out, c)
		case unicode.IsPrint(r):
			out.Write(data[i : i+n])
		default:
			out.WriteString(w.code(r))
		}
		i, w.within = i+n, true
	}
	return nil
}

// plain returns how many characters data begin with that mean nothing but
// themselves within a line.
func plain(data []byte) int {
	for i, c := range data {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return i
		}
	}
	return len(data)
}

// longest is how long the word in a command such as ##vso[ may be.
const longest = 16

// hashCommand reports whether data begin with ## and [, with at most a word in
// between, and how long that is; open is set if more data decide it.
func hashCommand(data []byte) (n int, command, open bool) {
	if len(data) == 1 {
		return 0, false, true
	}
	if data[1] != '#' {
		return 0, false, false
	}
	for n = 2; n < 2+longest; n++ {
		switch {
		case n == len(data):
			return 0, false, true
		case data[n] == '[':
			return n, true, false
		case data[n]|0x20 < 'a' || data[n]|0x20 > 'z':
			return 0, false, false
		}
	}
	return 0, false, false
}

// code is the escape of a character.
func (w *Writer) code(r rune) string {
	switch {
	case w.form == XML:
		return fmt.Sprintf("&#%d;", r)
	case w.form == JSON && r > 0xffff:
		r -= 0x10000
		return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
	case w.form == JSON, r > 0xff && r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\x%02x`, r)
}

func (w *Writer) invalid(out *bytes.Buffer, c byte) {
	if w.form == Text {
		fmt.Fprintf(out, `\x%02x`, c)
		return
	}
	out.WriteRune(utf8.RuneError)
}

// paint marks are told from escape codes in texts by a secret that is new in each
// process.
var secret = sync.OnceValue(func() string { return "\x1b" + rand.Text() + "[" })

// painted returns the escape code that data begin with, if it is one of Style, and
// how long its mark is; open is set if more data decide it.
func painted(data []byte) (n int, code string, open bool) {
	mark := secret()
	if len(data) < len(mark) {
		return 0, "", strings.HasPrefix(mark, string(data))
	}
	if !bytes.HasPrefix(data, []byte(mark)) {
		return 0, "", false
	}
	for n = len(mark); n < len(data) && n < len(mark)+8; n++ {
		if data[n] == 'm' {
			return n + 1, "\x1b[" + string(data[len(mark):n+1]), false
		}
	}
	return 0, "", n == len(data)
}
