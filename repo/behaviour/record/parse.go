package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
)

// Writer is an entry of managedFields: who wrote which fields, without the fields.
type Writer struct {
	Manager, Operation, Subresource, Time string
	// Fields is a hash of the set of fields.
	Fields uint64
}

// parser makes documents of JSON texts. It can be used again, but not by several
// goroutines at the same time.
type parser struct {
	in      []byte
	pos     int
	depth   int
	text    []byte
	nodes   []node
	writers []Writer
}

// maxDepth bounds the recursion; no object of an API server is as deep.
const maxDepth = 200

var seed = maphash.MakeSeed()

var errEnd = errors.New("the JSON ends too early")

// parse reads one value, which must be all of the text but for spaces. It fails as
// encoding/json does, except that invalid UTF-8 is taken as it is.
func (p *parser) parse(in []byte) (*document, error) {
	p.in, p.pos, p.depth, p.text, p.nodes, p.writers = in, 0, 0, p.text[:0], p.nodes[:0], nil
	p.space()
	if err := p.value(0, 0, ""); err != nil {
		return nil, fmt.Errorf("column %d: %w", p.pos+1, err)
	}
	p.space()
	if p.pos != len(p.in) {
		return nil, fmt.Errorf("column %d: more text after the value", p.pos+1)
	}
	return &document{string(p.text), append([]node(nil), p.nodes...)}, nil
}

func (p *parser) space() {
	for p.pos < len(p.in) {
		switch p.in[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// value reads a value with its key, which is in the text already.
func (p *parser) value(key uint32, keySize uint16, parent string) error {
	if p.pos >= len(p.in) {
		return errEnd
	}
	at := len(p.nodes)
	p.nodes = append(p.nodes, node{key: key, keySize: keySize})
	var err error
	switch c := p.in[p.pos]; c {
	case '{':
		p.nodes[at].kind = Map
		err = p.object(parent)
	case '[':
		p.nodes[at].kind = List
		err = p.list()
	case '"':
		p.nodes[at].kind, p.nodes[at].off = text, uint32(len(p.text))
		err = p.str()
		p.nodes[at].size = uint32(len(p.text)) - p.nodes[at].off
	default:
		err = p.literal(at)
	}
	p.nodes[at].next = uint32(len(p.nodes))
	return err
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("more than %d levels", maxDepth)
	}
	p.pos++
	p.space()
	return nil
}

// more reads what is between elements; it is false at the end.
func (p *parser) more(end byte, first bool) (bool, error) {
	p.space()
	if p.pos >= len(p.in) {
		return false, errEnd
	}
	switch c := p.in[p.pos]; {
	case c == end:
		p.pos++
		p.depth--
		return false, nil
	case first:
		return true, nil
	case c == ',':
		p.pos++
		p.space()
		return true, nil
	}
	return false, fmt.Errorf("unexpected %q", p.in[p.pos])
}

func (p *parser) list() error {
	if err := p.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := p.more(']', first)
		if err != nil || !more {
			return err
		}
		if err := p.value(0, 0, ""); err != nil {
			return err
		}
	}
}

// object leaves out what takes much room and is of no use: the fields of managers,
// which become writers, and what kubectl applied last.
func (p *parser) object(parent string) error {
	if err := p.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := p.more('}', first)
		if err != nil || !more {
			return err
		}
		if p.pos >= len(p.in) || p.in[p.pos] != '"' {
			return errors.New("expected a key")
		}
		key := uint32(len(p.text))
		if err := p.str(); err != nil {
			return err
		}
		size := uint32(len(p.text)) - key
		if size > 1<<16-1 {
			return errors.New("a key is too long")
		}
		p.space()
		if p.pos >= len(p.in) || p.in[p.pos] != ':' {
			return errors.New("expected a colon")
		}
		p.pos++
		p.space()
		name := ""
		switch string(p.text[key:]) {
		case "metadata":
			name = "metadata"
		case "managedFields":
			if parent == "metadata" {
				p.text = p.text[:key]
				if err := p.managers(); err != nil {
					return err
				}
				continue
			}
		case "kubectl.kubernetes.io/last-applied-configuration", "fieldsV1":
			p.text = p.text[:key]
			if _, err := p.skip(); err != nil {
				return err
			}
			continue
		}
		if err := p.value(key, uint16(size), name); err != nil {
			return err
		}
	}
}

// managers reads managedFields.
func (p *parser) managers() error {
	raw, err := p.skip()
	if err != nil {
		return err
	}
	var entries []struct {
		Manager, Operation, Subresource, Time string
		FieldsV1                              json.RawMessage `json:"fieldsV1"`
	}
	if len(raw) > 0 && raw[0] == '[' {
		if err := json.Unmarshal(raw, &entries); err != nil {
			return fmt.Errorf("managedFields: %w", err)
		}
	}
	for _, e := range entries {
		p.writers = append(p.writers, Writer{e.Manager, e.Operation, e.Subresource, e.Time, maphash.Bytes(seed, e.FieldsV1)})
	}
	return nil
}

// skip passes over a value, and returns its text.
func (p *parser) skip() (json.RawMessage, error) {
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(p.in[p.pos:]))
	err := d.Decode(&raw)
	p.pos += int(d.InputOffset())
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errEnd
	}
	return raw, err
}

// str reads a string and appends what it means to the text.
func (p *parser) str() error {
	start, escaped := p.pos, false
	for p.pos++; p.pos < len(p.in); p.pos++ {
		switch c := p.in[p.pos]; {
		case c == '"' && !escaped:
			p.text = append(p.text, p.in[start+1:p.pos]...)
			p.pos++
			return nil
		case c == '"':
			p.pos++
			var text string
			if err := json.Unmarshal(p.in[start:p.pos], &text); err != nil {
				return err
			}
			p.text = append(p.text, text...)
			return nil
		case c == '\\':
			escaped = true
			p.pos++
		case c < ' ':
			return errors.New("a string has a control character")
		}
	}
	p.pos = len(p.in)
	return errEnd
}

// literal reads a number, true, false or null.
func (p *parser) literal(at int) error {
	start := p.pos
	for p.pos < len(p.in) && p.in[p.pos] > ' ' && p.in[p.pos] != ',' && p.in[p.pos] != '}' && p.in[p.pos] != ']' {
		p.pos++
	}
	word := p.in[start:p.pos]
	n := &p.nodes[at]
	switch string(word) {
	case "null":
		n.kind = null
	case "true", "false":
		n.kind = Bool
	default:
		if !json.Valid(word) || len(word) == 0 || word[0] == '"' {
			p.pos = start
			return fmt.Errorf("unexpected %.20q", word)
		}
		n.kind = number
	}
	n.off, n.size = uint32(len(p.text)), uint32(len(word))
	p.text = append(p.text, word...)
	return nil
}
