package yamldoc

import "strings"

// Inline parses the text of a scalar as documents of its own, as for a patch that
// stands inside another file. Their positions are those in the raw file: exact
// for a literal block (|) and for text on one line, otherwise the nearest line
// or the beginning of the scalar.
func (d *Document) Inline(n *Node) *Stream {
	text := n.Text()
	start := d.Pos(n)
	if n.Style != Block {
		from := d.File.Offset(start)
		if i := strings.Index(d.File.Data[from:d.File.Offset(d.End(n))], text); i >= 0 {
			return ParseText(d.File, text, func(off int) int { return from + i + off })
		}
		return ParseText(d.File, text, func(int) int { return from })
	}
	// The content begins on the line below the header, with some indentation.
	inside := NewFile("", text)
	last := d.File.Pos(len(d.File.Data)).Line
	return ParseText(d.File, text, func(off int) int {
		p := inside.Pos(off)
		line := min(start.Line+p.Line, last)
		column := p.Column
		if content := inside.Line(p.Line); content != "" {
			column += max(0, len([]rune(d.File.Line(line)))-len([]rune(content)))
		}
		return d.File.Offset(Pos{Line: line, Column: column})
	})
}
