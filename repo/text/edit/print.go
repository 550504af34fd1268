package edit

import "strings"

// String returns the text of the document.
func (d *Document) String() string {
	var out strings.Builder
	for _, line := range d.head {
		out.WriteString(line + "\n")
	}
	if d.Root != nil {
		if d.Root.Kind == Leaf || d.Root.Flow {
			d.Root.flowText(&out)
			out.WriteString("\n")
		} else {
			d.Root.write(&out, false)
		}
	}
	for _, line := range d.tail {
		out.WriteString(line + "\n")
	}
	if text := out.String(); d.end == "" {
		return strings.TrimSuffix(text, "\n")
	}
	return out.String()
}

// Text returns the text of a block collection or scalar as a document of its own.
func (n *Node) String() string {
	var out strings.Builder
	if n.Kind == Leaf || n.Flow {
		n.flowText(&out)
		return out.String()
	}
	n.write(&out, false)
	return out.String()
}

// write prints a block collection. Inline is set if the first entry continues a
// line.
func (n *Node) write(out *strings.Builder, inline bool) {
	for i, e := range n.Entries {
		if !inline || i > 0 {
			for _, line := range e.Lead {
				out.WriteString(line + "\n")
			}
			// Comments that came before the first key of an item stand above its dash.
			for at := e; at.compact(); at = at.Value.Entries[0] {
				for _, line := range at.Value.Entries[0].Lead {
					out.WriteString(line + "\n")
				}
			}
			out.WriteString(strings.Repeat(" ", n.Indent))
		}
		if n.Kind == Map {
			out.WriteString(e.Key + ":")
		} else {
			out.WriteString("-")
		}
		out.WriteString(e.props)
		e.writeValue(out)
		for _, line := range e.Tail {
			out.WriteString(line + "\n")
		}
	}
}

func (e *Entry) writeValue(out *strings.Builder) {
	v := e.Value
	if v.Kind == Leaf || v.Flow || len(v.Entries) == 0 {
		var text strings.Builder
		v.flowText(&text)
		t := text.String()
		if t != "" && e.gap == "" && t[0] != '\n' && t[0] != ' ' {
			out.WriteString(" ")
		} else if t != "" {
			out.WriteString(e.gap)
		}
		if lead := firstLead(v); len(lead) > 0 {
			t += " # " + strings.Join(lead, " ")
		}
		if head, content, ok := strings.Cut(t, "\n"); ok && (t[0] == '|' || t[0] == '>') {
			t = head + e.Comment + "\n" + content
		} else {
			t += e.Comment
		}
		out.WriteString(t + "\n")
		return
	}
	if e.compact() {
		out.WriteString(strings.Repeat(" ", max(1, v.Indent-e.owner.Indent-1)))
		v.write(out, true)
		return
	}
	out.WriteString(e.Comment + "\n")
	v.write(out, false)
}

// compact reports whether the value begins on the line of the dash.
func (e *Entry) compact() bool {
	return e.owner.Kind == List && !e.below && e.Value.Kind != Leaf && !e.Value.Flow && len(e.Value.Entries) > 0
}

// firstLead is never set for flow collections; it exists so that no comment can
// be lost if one was moved there.
func firstLead(n *Node) []string {
	var out []string
	for _, e := range n.Entries {
		for _, line := range append(e.Lead, e.Tail...) {
			if t := strings.TrimLeft(strings.TrimSpace(line), "# "); t != "" {
				out = append(out, t)
			}
		}
	}
	return out
}

// Indented moves a value so that its keys or dashes are at a column.
func (n *Node) Indented(column int) {
	if n.Kind != Leaf && !n.Flow {
		n.Shift(column - n.Indent)
	}
}

// Shift moves a value by some columns; of a scalar the lines after its first.
func (n *Node) Shift(by int) {
	if n.Kind == Leaf || n.Flow {
		first, more, ok := strings.Cut(n.Raw, "\n")
		if ok && by != 0 {
			y := n.y
			n.Raw = first + "\n" + strings.Join(shifted(strings.Split(more, "\n"), by), "\n")
			n.masked, n.y = mask(n.Raw), y
		}
		return
	}
	n.Indent += by
	for _, e := range n.Entries {
		e.Shift(by)
	}
}

// Shift moves an entry with its comments by some columns.
func (e *Entry) Shift(by int) {
	e.ShiftComments(by)
	e.Value.Shift(by)
}

// ShiftComments moves only the lines before and after an entry.
func (e *Entry) ShiftComments(by int) {
	e.Lead, e.Tail = shifted(e.Lead, by), shifted(e.Tail, by)
}

func shifted(lines []string, by int) []string {
	var out []string
	for _, line := range lines {
		switch {
		case strings.TrimSpace(line) == "":
		case by > 0:
			line = strings.Repeat(" ", by) + line
		default:
			line = line[min(-by, indentOf(line)):]
		}
		out = append(out, line)
	}
	return out
}
