package yamldoc

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Pos is a place in a file: line and column count from 1, columns count
// Unicode code points. The zero Pos means "the file as a whole".
type Pos struct {
	Line, Column int
}

// IsZero reports whether p names no place.
func (p Pos) IsZero() bool { return p.Line == 0 }

// Before orders positions in reading direction.
func (p Pos) Before(q Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column
}

// File is a text with its name, able to tell line and column of any byte. It is safe
// for concurrent use.
type File struct {
	// Name is shown in messages: the path as the user would type it.
	Name string
	// Data is the raw content.
	Data string

	places atomic.Pointer[places]
}

// places are where lines and characters are in a file. Files are much smaller than
// what 32 bits can count.
type places struct {
	lines []int32 // offset of the first byte of each line

	// runes counts the characters before each block of the file, so that a
	// column of a very long line is found without walking the line.
	counting sync.Once
	runes    []int32
}

// blockSize is the distance in bytes between two counts of characters.
const blockSize = 4096

func NewFile[T ~string | ~[]byte](name string, data T) *File {
	return &File{Name: name, Data: string(data)}
}

// Forget lets go of what the file knows about its lines, until it is asked again.
func (f *File) Forget() { f.places.Store(nil) }

func (f *File) find() *places {
	if p := f.places.Load(); p != nil {
		return p
	}
	p := &places{lines: make([]int32, 1, strings.Count(f.Data, "\n")+1)}
	for off := 0; ; {
		i := strings.IndexByte(f.Data[off:], '\n')
		if i < 0 {
			break
		}
		off += i + 1
		p.lines = append(p.lines, int32(off))
	}
	if !f.places.CompareAndSwap(nil, p) {
		if first := f.places.Load(); first != nil {
			return first // another goroutine looked at the same time
		}
	}
	return p
}

// lines are the offsets of the first byte of each line.
func (f *File) lines() []int32 { return f.find().lines }

// counts returns the characters before each block.
func (f *File) counts() []int32 {
	p := f.find()
	p.counting.Do(func() {
		n := int32(0)
		for i := range len(f.Data) {
			if i%blockSize == 0 {
				p.runes = append(p.runes, n)
			}
			if startsRune(f.Data[i]) {
				n++
			}
		}
		p.runes = append(p.runes, n)
	})
	return p.runes
}

// startsRune tells the first byte of a character from those that continue it.
func startsRune(b byte) bool { return b&0xC0 != 0x80 }

// before counts the characters before an offset.
func (f *File) before(offset int) int {
	block := offset / blockSize
	n := int(f.counts()[block])
	for i := block * blockSize; i < offset; i++ {
		if startsRune(f.Data[i]) {
			n++
		}
	}
	return n
}

// Pos returns the line and column of the byte at offset. Offsets outside the
// file are clamped to its ends.
func (f *File) Pos(offset int) Pos {
	offset = min(max(offset, 0), len(f.Data))
	lines := f.lines()
	i, found := slices.BinarySearch(lines, int32(offset))
	if !found {
		i--
	}
	start := int(lines[i])
	if offset-start > blockSize {
		return Pos{Line: i + 1, Column: f.before(offset) - f.before(start) + 1}
	}
	return Pos{Line: i + 1, Column: utf8.RuneCountInString(f.Data[start:offset]) + 1}
}

// Offset returns the byte offset of a position, the inverse of Pos. Columns
// past the end of a line are clamped to it.
func (f *File) Offset(p Pos) int {
	if p.Line < 1 {
		return 0
	}
	if p.Line > len(f.lines()) {
		return len(f.Data)
	}
	off, last := f.span(p.Line)
	c := 1
	if p.Column > blockSize {
		// Jump to the last block of the line that begins before the column.
		first := f.before(off)
		block, _ := slices.BinarySearch(f.counts(), int32(min(first+p.Column, len(f.Data)+1)))
		block = min(block-1, last/blockSize)
		if at := block * blockSize; at > off {
			for at < len(f.Data) && !startsRune(f.Data[at]) {
				at++
			}
			off, c = at, f.before(at)-first+1
		}
	}
	for ; c < p.Column && off < len(f.Data) && f.Data[off] != '\n'; c++ {
		_, w := utf8.DecodeRuneInString(f.Data[off:])
		off += w
	}
	return off
}

// span is where a line that exists begins, and where it ends before its line break.
func (f *File) span(n int) (start, end int) {
	lines := f.lines()
	if n < len(lines) {
		return int(lines[n-1]), int(lines[n]) - 1
	}
	return int(lines[n-1]), len(f.Data)
}

// Line returns the text of a line, counted from 1, without its line break.
func (f *File) Line(n int) string {
	if n < 1 || n > len(f.lines()) {
		return ""
	}
	start, end := f.span(n)
	return strings.TrimSuffix(f.Data[start:end], "\r")
}

// lineEnd returns the position behind the last character of a line.
func (f *File) lineEnd(line int) Pos {
	start, _ := f.span(line)
	return f.Pos(start + len(f.Line(line)))
}

// Excerpt returns the part of a line around a position that fits on a screen,
// and the column it begins with. Lines can have megabytes.
func (f *File) Excerpt(p Pos) (text string, column int) {
	const before, after = 60, 120 // bytes
	if p.Line < 1 || p.Line > len(f.lines()) {
		return "", 1
	}
	first, last := f.span(p.Line)
	at := f.Offset(p)
	start, end := max(first, at-before), min(last, at+after)
	if end-first <= before+after {
		start = first
	}
	for start < at && !startsRune(f.Data[start]) {
		start++
	}
	for end < last && !startsRune(f.Data[end]) {
		end++
	}
	text = strings.TrimSuffix(f.Data[start:max(start, end)], "\r")
	return text, p.Column - utf8.RuneCountInString(f.Data[start:at])
}

// Error is a problem at a place in a file: what, and where. It prints as
// file:line:col: message.
type Error struct {
	File string
	Pos  Pos
	Err  error
}

// Error formats the message with its position.
func (e *Error) Error() string {
	if e.Pos.IsZero() {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Pos.Line, e.Pos.Column, e.Err)
}

// Unwrap returns the problem without its place.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an *Error at a byte offset of f.
func (f *File) Errorf(offset int, format string, args ...any) *Error {
	return &Error{File: f.Name, Pos: f.Pos(offset), Err: fmt.Errorf(format, args...)}
}
