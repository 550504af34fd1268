package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// splitter cuts a stream into pieces: one for each JSON value or YAML document,
// and for Lists, whose items come first, one for each item. Only one piece is in
// memory at a time.
type splitter struct {
	name string
	in   *bufio.Reader
	line int // of what is read next
	emit func(piece) error
	// whole is set if the line read last ends with a line break.
	whole     bool
	documents int
	// behind is what stands on the line of a marker, which begins a document.
	behind []byte
}

func newSplitter(name string, in io.Reader, emit func(piece) error) *splitter {
	return &splitter{name: name, in: bufio.NewReaderSize(in, 1<<16), line: 1, emit: emit}
}

// failure is a problem that ends the reading of a stream.
func (s *splitter) failure(line int, format string, args ...any) error {
	return &yamldoc.Error{File: s.name, Pos: yamldoc.Pos{Line: line, Column: 1}, Err: fmt.Errorf(format, args...)}
}

// run reads to the end.
func (s *splitter) run() error {
	if bom, err := s.in.Peek(3); err == nil && string(bom) == "\xef\xbb\xbf" {
		_, _ = s.in.Discard(3)
	}
	for {
		if s.behind != nil {
			if err := s.document(); err != nil {
				return err
			}
			continue
		}
		ahead, err := s.in.Peek(1)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.failure(s.line, "%w", err)
		}
		switch b := ahead[0]; {
		case b == '\n':
			s.line++
			fallthrough
		case b == '\r', b == '\t', b == ' ' && s.startsJSON():
			_, _ = s.in.Discard(1)
		case b == '{' || b == '[':
			err = s.value()
		default:
			err = s.document()
		}
		if err != nil {
			return err
		}
	}
}

// startsJSON reports whether the blanks that come next lead to JSON or to nothing,
// so that they can be skipped. In YAML they count.
func (s *splitter) startsJSON() bool {
	for n := 1; n < 1<<10; n++ {
		ahead, err := s.in.Peek(n)
		if err != nil {
			return true // nothing but blanks
		}
		switch ahead[n-1] {
		case ' ', '\t', '\r':
		case '{', '[', '\n':
			return true
		default:
			return false
		}
	}
	return false
}

// readLine returns a line with its end, or io.EOF. The line is valid until the
// next call.
func (s *splitter) readLine(buf []byte) ([]byte, error) {
	buf = buf[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		buf = append(buf, part...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(buf) > 0:
			s.line++
			s.whole = err == nil
			return buf, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(buf) > files.MaxSize:
			return nil, errTooLarge
		}
	}
}

var errTooLarge = fmt.Errorf("one object has more than the %d bytes that are read into memory", files.MaxSize)

// marker reports whether a line ends a document, and what stands behind it.
func marker(line []byte) (rest []byte, ok bool) {
	for _, m := range []string{"---", "..."} {
		after, found := bytes.CutPrefix(line, []byte(m))
		if found && (len(after) == 0 || strings.IndexByte(" \t\r\n", after[0]) >= 0) {
			rest = bytes.TrimSpace(after)
			if len(rest) > 0 && rest[0] == '#' {
				rest = nil
			}
			return rest, true
		}
	}
	return nil, false
}

// indent counts the blanks before a line that says something, or returns -1.
func indent(line []byte) int {
	for i, b := range line {
		switch b {
		case ' ':
			continue
		case '\n', '\r', '#', '\t':
			return -1
		}
		return i
	}
	return -1
}

// isItem reports whether what follows the indentation is an entry of a list.
func isItem(rest []byte) bool {
	return rest[0] == '-' && (len(rest) == 1 || strings.IndexByte(" \r\n", rest[1]) >= 0)
}

// document reads a YAML document. If it is a List in block style its items are
// handed out one by one: a line that is indented like the first one and begins
// with a dash begins an item, because whatever belongs to an item is indented
// more.
func (s *splitter) document() error {
	var (
		head, item []byte // the document without its items, and the current item
		line       []byte
		first      = s.line
		itemLine   int
		inItems    = false // behind the line "items:"
		depth      = -1    // of the dashes, once known
		list       listHead
	)
	flush := func() error {
		if item == nil {
			return nil
		}
		p := piece{data: item, line: itemLine, yaml: true, apiVersion: list.apiVersion, kind: list.kind}
		item = nil
		return s.emit(p)
	}
	if s.behind != nil {
		head, first, s.behind = s.behind, s.line-1, nil
	}
	for {
		var err error
		line, err = s.readLine(line)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s.failure(s.line, "%w", err)
		}
		if rest, ok := marker(line); ok {
			if len(rest) > 0 {
				s.behind = append(bytes.Clone(rest), '\n')
			}
			break
		}
		if len(head)+len(item) > files.MaxSize {
			return s.failure(s.line, "%w", errTooLarge)
		}
		at := indent(line)
		if inItems && at >= 0 {
			if depth < 0 && isItem(line[at:]) {
				depth = at
				list = headOf(head)
			}
			switch {
			case at == depth && isItem(line[at:]):
				if err := flush(); err != nil {
					return err
				}
				itemLine = s.line - 1
				item = append(item, line...)
				item[at] = ' '
				continue
			case depth >= 0 && at > depth:
			default:
				inItems = false
				if err := flush(); err != nil {
					return err
				}
			}
		}
		if item != nil {
			item = append(item, line...)
			continue
		}
		if depth >= 0 {
			// Keep the lines of the rest where they are, for messages.
			head = append(head, bytes.Repeat([]byte("\n"), max(0, s.line-1-first-bytes.Count(head, []byte("\n"))))...)
		}
		head = append(head, line...)
		if bytes.Equal(bytes.TrimRight(line, " \r\n"), []byte("items:")) {
			inItems = true
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return nil
	}
	if err := s.emit(piece{data: head, line: first, yaml: true, cut: depth >= 0}); err != nil {
		return err
	}
	if s.documents++; !s.whole && (s.documents > 1 || depth >= 0) {
		return s.failure(s.line-1,
			"the file ends in the middle of a line; what comes after it is missing, or it needs a line break")
	}
	return nil
}

// listHead is what the lines before the items of a YAML list say about them.
type listHead struct{ apiVersion, kind string }

func headOf(lines []byte) listHead {
	var h listHead
	for line := range bytes.Lines(lines) {
		if v, ok := bytes.CutPrefix(line, []byte("apiVersion:")); ok {
			h.apiVersion = strings.Trim(strings.TrimSpace(string(v)), `"'`)
		}
		if v, ok := bytes.CutPrefix(line, []byte("kind:")); ok {
			h.kind = strings.TrimSuffix(strings.Trim(strings.TrimSpace(string(v)), `"'`), listSuffix)
		}
	}
	return h
}

// value reads a JSON value. Of an array, and of the array "items" in an object,
// the elements are handed out one by one.
func (s *splitter) value() error {
	j := scanner{splitter: s, first: s.line}
	b, err := j.byte()
	if err != nil {
		return err
	}
	if b == '[' {
		return j.elements("", "")
	}
	return j.object()
}

// scanner reads JSON byte by byte. It only knows strings, braces and brackets, so
// that what is wrong inside one element does not hide the others.
type scanner struct {
	*splitter
	first int // line of the value
}

func (j *scanner) byte() (byte, error) {
	b, err := j.in.ReadByte()
	if errors.Is(err, io.EOF) {
		return 0, j.failure(j.first, "the file ends before the object that begins here is complete")
	}
	if err != nil {
		return 0, j.failure(j.line, "%w", err)
	}
	if b == '\n' {
		j.line++
	}
	return b, nil
}

// token returns the next byte that is no blank.
func (j *scanner) token() (byte, error) {
	for {
		b, err := j.byte()
		if err != nil || b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b, err
		}
	}
}

// rest appends what is left of a value that begins with b. Of a number or word
// the byte behind it is not read.
func (j *scanner) rest(to []byte, b byte) ([]byte, error) {
	to = append(to, b)
	switch b {
	case '{', '[', '"':
	default:
		for {
			ahead, err := j.in.Peek(1)
			if err != nil || strings.IndexByte(",]} \t\r\n", ahead[0]) >= 0 {
				return to, nil
			}
			_, _ = j.in.Discard(1)
			to = append(to, ahead[0])
		}
	}
	var end jsonEnd
	if end.feed(to[len(to)-1:]) > 0 {
		return to, nil
	}
	for {
		// Whole buffers at once: this is the part that one processor does for all.
		if _, err := j.in.Peek(1); err != nil {
			_, err = j.byte()
			return to, err
		}
		chunk, _ := j.in.Peek(j.in.Buffered())
		n := end.feed(chunk)
		done := n > 0
		if !done {
			n = len(chunk)
		}
		to = append(to, chunk[:n]...)
		j.line += bytes.Count(chunk[:n], []byte("\n"))
		_, _ = j.in.Discard(n)
		if done {
			return to, nil
		}
		if len(to) > files.MaxSize {
			return to, j.failure(j.first, "%w", errTooLarge)
		}
	}
}

// jsonEnd looks for the end of a value that begins with a quote, brace or bracket.
type jsonEnd struct {
	depth         int
	text, escaped bool
}

// feed takes the next bytes. It returns how many of them belong to the value if it
// ends among them, and 0 if it does not.
func (e *jsonEnd) feed(chunk []byte) int {
	for i := 0; i < len(chunk); i++ {
		b := chunk[i]
		switch {
		case e.escaped:
			e.escaped = false
			continue
		case e.text:
			// To what means something in a text.
			switch {
			case b == '\\':
				e.escaped = true
				continue
			case b != '"':
				continue
			}
			e.text = false
		case b == '"':
			e.text = true
			continue
		case b == '{' || b == '[':
			e.depth++
			continue
		case b == '}' || b == ']':
			e.depth--
		default:
			continue
		}
		if e.depth <= 0 && !e.text {
			return i + 1
		}
	}
	return 0
}

// elements hands out the elements of an array, behind its bracket.
func (j *scanner) elements(apiVersion, kind string) error {
	for {
		b, err := j.token()
		if err != nil {
			return err
		}
		switch b {
		case ']':
			return nil
		case ',':
			continue
		case '}':
			return j.failure(j.line, "a closing brace has no matching opening brace")
		}
		p := piece{line: j.line, apiVersion: apiVersion, kind: kind}
		inner := scanner{splitter: j.splitter, first: j.line}
		if p.data, err = inner.rest(nil, b); err != nil {
			return err
		}
		if err := j.emit(p); err != nil {
			return err
		}
	}
}

// object reads an object, behind its brace. What is no JSON is left to the parser
// as a whole.
func (j *scanner) object() error {
	text := []byte{'{'}
	cut := false
	var fields map[string]string
	for {
		b, err := j.token()
		if err != nil {
			return err
		}
		if b == '}' {
			return j.emit(piece{data: append(text, '}'), line: j.first, cut: cut})
		}
		if b == ',' {
			text = append(text, ',')
			continue
		}
		if b != '"' {
			return j.whole(text, b)
		}
		from := len(text)
		if text, err = j.rest(text, b); err != nil {
			return err
		}
		key := strings.Trim(string(text[from:]), `"`)
		if b, err = j.token(); err != nil {
			return err
		}
		if b != ':' {
			return j.whole(text, b)
		}
		text = append(text, ':')
		if b, err = j.token(); err != nil {
			return err
		}
		if key == "items" && b == '[' && !cut {
			if err := j.elements(fields["apiVersion"], strings.TrimSuffix(fields["kind"], listSuffix)); err != nil {
				return err
			}
			text, cut = append(text, "[]"...), true
			continue
		}
		from = len(text)
		if text, err = j.rest(text, b); err != nil {
			return err
		}
		if key == "apiVersion" || key == "kind" {
			if fields == nil {
				fields = map[string]string{}
			}
			fields[key] = strings.Trim(string(text[from:]), `"`)
		}
	}
}

// whole reads the rest of an object that is no JSON.
func (j *scanner) whole(text []byte, b byte) error {
	depth := 1
	for {
		text = append(text, b)
		switch b {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			return j.emit(piece{data: text, line: j.first})
		}
		if len(text) > files.MaxSize {
			return j.failure(j.first, "%w", errTooLarge)
		}
		var err error
		if b, err = j.byte(); err != nil {
			return err
		}
	}
}
