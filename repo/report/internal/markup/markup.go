// Package markup writes trees of elements so that XML, SVG and HTML parsers
// read the same from them, whatever the texts are. It must not know what the
// elements mean.
package markup

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Node is an element, a text or a list of nodes. The zero Node is empty.
type Node struct {
	name     string
	attrs    []string // name, value, ...
	text     string   // ready to be written
	children []Node
}

// Attr is an attribute of an element.
type Attr struct{ Name, Value string }

// El makes an element. Names are constants of the program: they are written as
// they are.
func El(name string, attrs []Attr, children ...Node) Node {
	n := Node{name: name, children: children}
	for _, a := range attrs {
		n.attrs = append(n.attrs, a.Name, a.Value)
	}
	return n
}

// Attrs pairs up names and values.
func Attrs(pairs ...string) []Attr {
	out := make([]Attr, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, Attr{pairs[i], pairs[i+1]})
	}
	return out
}

// Text makes a text, to be escaped.
func Text(s string) Node { return Node{text: escape(s, false)} }

// Raw makes the content of a style or script element, which is written as it
// is. It is for constants of the program that have none of the characters <, >
// and &, so that XML and HTML agree on it.
func Raw(s string) Node { return Node{text: s} }

// List makes one node of several.
func List(nodes ...Node) Node { return Node{children: nodes} }

// void are the HTML elements that cannot have an end tag.
func void(name string) bool {
	switch name {
	case "br", "hr", "img", "input", "link", "meta":
		return true
	}
	return false
}

// Write writes a tree.
func Write(w io.Writer, n Node) error {
	var b strings.Builder
	n.write(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (n *Node) write(b *strings.Builder) {
	if n.name != "" {
		b.WriteString("<" + n.name)
		for i := 0; i < len(n.attrs); i += 2 {
			b.WriteString(" " + n.attrs[i] + `="` + escape(n.attrs[i+1], true) + `"`)
		}
		if void(n.name) {
			b.WriteString("/>")
			return
		}
		b.WriteByte('>')
	}
	b.WriteString(n.text)
	for i := range n.children {
		n.children[i].write(b)
	}
	if n.name != "" {
		b.WriteString("</" + n.name + ">")
	}
}

// escape writes a text for elements and attributes. What XML cannot hold, not
// even as a reference, becomes the replacement character.
func escape(s string, attr bool) string {
	plain := func(r rune) bool {
		return r >= ' ' && r < 0x7F && r != '&' && r != '<' && r != '>' && r != '"' && r != '\''
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case plain(r):
			b.WriteByte(byte(r))
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\'':
			b.WriteString("&#39;")
		case attr && r == '\n': // parsers make a blank of it
			b.WriteString("&#10;")
		case attr && r == '\t':
			b.WriteString("&#9;")
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0xA0 || r == 0xFFFE || r == 0xFFFF:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
