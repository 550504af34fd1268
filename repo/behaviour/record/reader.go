package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
)

// Bounds of what is read: a line is an object with what surrounds it, and API servers
// refuse objects of more than 1.5 MB.
const (
	maxLine    = 16 << 20
	batchBytes = 1 << 20
	maxFaults  = 20
)

// Fault is a line that cannot be used.
type Fault struct {
	File string
	Line int
	Err  error
}

func (f *Fault) Error() string { return fmt.Sprintf("%s:%d: %v", f.File, f.Line, f.Err) }

// Unwrap returns the reason.
func (f *Fault) Unwrap() error { return f.Err }

// ErrCut says that a recording ends within a line or within its compressed data.
var ErrCut = errors.New("the recording is cut off here; what comes before was judged")

// batch is some lines, and what became of them.
type batch struct {
	lines  [][]byte
	first  int
	events []*Event
	faults []*Fault
	ready  chan struct{}
}

// Read reads a recording, gzipped or not, and hands over its events in the order of the
// lines. Lines that cannot be used become faults, of which twenty are returned; a
// recording that is cut off gives one that wraps ErrCut. The error is set if reading
// fails, if a line is too long, or if ctx is done.
func Read(ctx context.Context, name string, in io.Reader, next func(*Event)) (faults []*Fault, err error) {
	buffered := bufio.NewReaderSize(in, 256<<10)
	if magic, _ := buffered.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer func() { _ = z.Close() }() // reading has found what is wrong
		buffered = bufio.NewReaderSize(z, 1<<20)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := max(1, runtime.GOMAXPROCS(0))
	todo, ordered := make(chan *batch, workers), make(chan *batch, 2*workers)
	for range workers {
		go func() {
			var p parser
			for b := range todo {
				b.parse(&p, name)
				close(b.ready)
			}
		}()
	}
	var readErr error
	go func() {
		defer close(ordered)
		defer close(todo)
		readErr = split(ctx, buffered, func(b *batch) bool {
			for _, c := range []chan *batch{ordered, todo} {
				select {
				case c <- b:
				case <-ctx.Done():
					return false
				}
			}
			return true
		})
	}()
	for b := range ordered {
		select {
		case <-b.ready:
		case <-ctx.Done():
			return faults, ctx.Err()
		}
		for _, e := range b.events {
			next(e)
		}
		if room := maxFaults - len(faults); room > 0 {
			faults = append(faults, b.faults[:min(room, len(b.faults))]...)
		}
	}
	if err := ctx.Err(); err != nil {
		return faults, err
	}
	if cut, ok := errors.AsType[*cutError](readErr); ok {
		return append(faults, &Fault{name, cut.line, ErrCut}), nil
	}
	if readErr != nil {
		return faults, fmt.Errorf("%s: %w", name, readErr)
	}
	return faults, nil
}

type cutError struct{ line int }

func (e *cutError) Error() string { return ErrCut.Error() }

// split makes batches of lines.
func split(ctx context.Context, in *bufio.Reader, send func(*batch) bool) error {
	number, size := 1, 0
	b := &batch{first: 1, ready: make(chan struct{})}
	flush := func() bool {
		if len(b.lines) == 0 {
			return true
		}
		ok := send(b)
		b, size = &batch{first: number, ready: make(chan struct{})}, 0
		return ok
	}
	for ctx.Err() == nil {
		line, err := readLine(in)
		end := errors.Is(err, io.EOF)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum):
			flush()
			return &cutError{number}
		case err != nil && !end:
			flush()
			return err
		case end && len(bytes.TrimSpace(line)) > 0 && line[len(bytes.TrimRight(line, " \t\r"))-1] != '}':
			flush()
			return &cutError{number}
		}
		if len(line) > 0 {
			b.lines = append(b.lines, line)
			size += len(line)
		}
		number++
		if end {
			flush()
			return nil
		}
		if size >= batchBytes && !flush() {
			break
		}
	}
	return ctx.Err()
}

// readLine reads a line with its end; the bytes belong to the caller.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line has more than %d MB", maxLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (b *batch) parse(p *parser, name string) {
	b.events = make([]*Event, 0, len(b.lines))
	for i, line := range b.lines {
		number := b.first + i
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, err := decode(p, line)
		if err != nil {
			b.faults = append(b.faults, &Fault{name, number, err})
			continue
		}
		e.File, e.Line = name, number
		b.events = append(b.events, e)
	}
	b.lines = nil
}

// Decode reads one line.
func Decode(line []byte) (*Event, error) { return decode(&parser{}, line) }

func decode(p *parser, line []byte) (*Event, error) {
	doc, err := p.parse(line)
	if err != nil {
		return nil, err
	}
	all := Value{doc, 0}
	e := &Event{Type: all.Get("type").Str(), Initial: all.Get("initial").True(), Writers: p.writers}
	if all.Kind() != Map {
		return nil, errors.New("the line is not a JSON object")
	}
	at, ok := parseTime(all.Get("at").Str())
	if !ok {
		return nil, errors.New(`the line has no time in "at"`)
	}
	e.At = at
	switch e.Type {
	case Added, Modified, Deleted:
		for _, key := range [...]string{"obj", "object"} {
			if o := all.Get(key); o.Kind() == Map {
				e.Object = o
			}
		}
		if e.APIVersion() == "" || e.Kind() == "" || e.Object.Get("metadata", "name").Str() == "" {
			return nil, fmt.Errorf("the event %s has no object with apiVersion, kind and metadata.name", e.Type)
		}
	case "BOOKMARK":
	default:
		e.Note = all
	}
	return e, nil
}
