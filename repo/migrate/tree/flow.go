package tree

import "strings"

// open turns the text of a flow collection into entries, if nothing of it would
// be lost when they are written again.
func (n *Node) open() {
	if n == nil || n.Kind != Leaf || len(n.masked) < 2 || n.masked[0] != '{' && n.masked[0] != '[' || strings.Contains(n.masked, "#") || strings.ContainsAny(n.masked, "&*!") {
		return
	}
	if len(n.Raw) != len(n.masked) {
		return
	}
	line := 0
	if n.parent != nil {
		line = n.parent.Line
	}
	f := flowParser{raw: n.Raw, masked: n.masked, line: line}
	got, ok := f.value(0)
	f.blanks()
	if !ok || f.at != len(f.masked) || got.Kind == Leaf {
		return
	}
	n.Kind, n.Flow, n.Entries = got.Kind, true, got.Entries
	for _, e := range n.Entries {
		e.owner = n
	}
}

type flowParser struct {
	raw, masked string
	at, line    int
}

func (f *flowParser) blanks() {
	for f.at < len(f.masked) && strings.IndexByte(" \t\n", f.masked[f.at]) >= 0 {
		if f.masked[f.at] == '\n' {
			f.line++
		}
		f.at++
	}
}

func (f *flowParser) value(depth int) (*Node, bool) {
	f.blanks()
	if f.at == len(f.masked) || depth > maxDepth {
		return nil, false
	}
	switch f.masked[f.at] {
	case '{':
		return f.collection(Map, '}', depth)
	case '[':
		return f.collection(List, ']', depth)
	}
	return f.scalar(",]}")
}

// scalar reads up to one of the ends; a colon before a blank ends a key too.
func (f *flowParser) scalar(ends string) (*Node, bool) {
	start := f.at
	if c := f.masked[f.at]; c == '"' || c == '\'' {
		end := quotedEnd(f.masked[f.at:])
		if end < 0 {
			return nil, false
		}
		f.line += strings.Count(f.masked[f.at:f.at+end], "\n")
		f.at += end
	} else {
		for f.at < len(f.masked) && strings.IndexByte(ends, f.masked[f.at]) < 0 {
			if f.masked[f.at] == ':' && (f.at+1 == len(f.masked) || strings.IndexByte(" \n,]}", f.masked[f.at+1]) >= 0) {
				break
			}
			if strings.IndexByte("{[\n", f.masked[f.at]) >= 0 {
				return nil, false
			}
			f.at++
		}
	}
	text := strings.TrimRight(f.raw[start:f.at], " \t")
	return &Node{Raw: text, masked: f.masked[start : start+len(text)]}, true
}

func (f *flowParser) collection(kind Kind, end byte, depth int) (*Node, bool) {
	n := &Node{Kind: kind, Flow: true}
	start := f.at
	for f.at++; ; {
		f.blanks()
		if f.at == len(f.masked) {
			return nil, false
		}
		if f.masked[f.at] == end {
			f.at++
			n.Raw, n.masked = f.raw[start:f.at], f.masked[start:f.at]
			return n, true
		}
		e := &Entry{Line: f.line, owner: n, gap: " "}
		if kind == Map {
			key, ok := f.scalar(",]}:")
			if !ok {
				return nil, false
			}
			f.blanks()
			if f.at == len(f.masked) || f.masked[f.at] != ':' {
				return nil, false
			}
			f.at++
			e.Key, e.Name = key.Raw, Unquote(key.Raw)
		}
		value, ok := f.entryValue(end, depth)
		if !ok {
			return nil, false
		}
		e.adopt(value)
		n.Entries = append(n.Entries, e)
		f.blanks()
		if f.at < len(f.masked) && f.masked[f.at] == ',' {
			f.at++
		} else if f.at == len(f.masked) || f.masked[f.at] != end {
			return nil, false
		}
	}
}

func (f *flowParser) entryValue(end byte, depth int) (*Node, bool) {
	f.blanks()
	if f.at < len(f.masked) && (f.masked[f.at] == ',' || f.masked[f.at] == end) {
		return NewLeaf(""), true
	}
	return f.value(depth + 1)
}

// flowText writes a flow collection on one line.
func (n *Node) flowText(out *strings.Builder) {
	if n.Kind == Leaf || n.Flow && !n.dirty {
		out.WriteString(n.Raw)
		return
	}
	open, end := "{", "}"
	if n.Kind == List {
		open, end = "[", "]"
	}
	out.WriteString(open)
	for i, e := range n.Entries {
		if i > 0 {
			out.WriteString(", ")
		}
		if n.Kind == Map {
			out.WriteString(e.Key + ": ")
		}
		e.Value.flowText(out)
	}
	out.WriteString(end)
}
