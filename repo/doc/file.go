package doc

import (
	"fmt"
	"slices"
	"sync"
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

// File is a text with its name, able to tell line and column of any byte.
// It is safe for concurrent use.
type File struct {
	// Name is shown in messages: the path as the user would type it.
	Name string
	// Data is the raw content; it must not change.
	Data []byte

	once  sync.Once
	lines []int // offset of the first byte of each line
}

// NewFile returns a File over data, which must not change afterwards.
func NewFile(name string, data []byte) *File { return &File{Name: name, Data: data} }

func (f *File) index() []int {
	f.once.Do(func() {
		f.lines = append(f.lines, 0)
		for i, b := range f.Data {
			if b == '\n' {
				f.lines = append(f.lines, i+1)
			}
		}
	})
	return f.lines
}

// Pos returns the line and column of the byte at offset. Offsets outside the
// file are clamped to its ends.
func (f *File) Pos(offset int) Pos {
	offset = min(max(offset, 0), len(f.Data))
	lines := f.index()
	i, found := slices.BinarySearch(lines, offset)
	if !found {
		i--
	}
	return Pos{Line: i + 1, Column: utf8.RuneCount(f.Data[lines[i]:offset]) + 1}
}

// Offset returns the byte offset of a position, the inverse of Pos. Columns
// past the end of a line are clamped to it.
func (f *File) Offset(p Pos) int {
	lines := f.index()
	if p.Line < 1 {
		return 0
	}
	if p.Line > len(lines) {
		return len(f.Data)
	}
	off := lines[p.Line-1]
	for c := 1; c < p.Column && off < len(f.Data) && f.Data[off] != '\n'; c++ {
		_, w := utf8.DecodeRune(f.Data[off:])
		off += w
	}
	return off
}

// Line returns the text of a line, counted from 1, without its line break.
func (f *File) Line(n int) string {
	lines := f.index()
	if n < 1 || n > len(lines) {
		return ""
	}
	end := len(f.Data)
	if n < len(lines) {
		end = lines[n] - 1
	}
	line := f.Data[lines[n-1]:end]
	if len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	return string(line)
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
