package migrate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// opaque stands for a value that is not in the text.
const opaque = "\x00"

// operations are the JSON patches of one list for one kind.
type operations struct {
	object *object // that the list is in, for reports
	kind   *table.Kind
	list   *edit.Node
	// targets are the migrated objects that the list applies to, as far as known.
	targets []*edit.Node
	// created are the maps that earlier operations create.
	created map[string]bool
	// lists are the arguments that the targets have after the operations so far, by
	// kind and path.
	lists map[string]*argumentList
	// places are the arguments at a path in each target, where they are
	// not those of the targets; nil elsewhere.
	places func(path string) [][]argument
}

// migrate rewrites every operation.
func (p *operations) migrate() {
	for _, item := range slices.Clone(p.list.Entries) {
		if item.Value.IsMap() {
			p.operation(item)
		}
	}
}

// pointer splits a JSON pointer.
func pointer(path string) []string {
	if !strings.HasPrefix(path, "/") {
		return nil
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		segments[i] = yamldoc.PointerPart(s)
	}
	return segments
}

// joined is the inverse of pointer.
func joined(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// isIndex reports whether a segment of a pointer is a place in a list.
func isIndex(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil || s == "-"
}

// dotted is a pointer as the tables write paths.
func dotted(segments []string) string {
	var b strings.Builder
	for i, s := range segments {
		switch {
		case isIndex(s):
			b.WriteString("[]")
		case i > 0:
			b.WriteString("." + s)
		default:
			b.WriteString(s)
		}
	}
	return b.String()
}

// concerns reports whether a row is about a path, something around or inside it.
func concerns(row table.Row, path string) bool {
	switch row.Value {
	case table.Patches, table.Selector:
		return false
	}
	if row.Default != "" {
		return false
	}
	within := func(a, b string) bool { // b is a, or inside it
		return b == a || strings.HasPrefix(b, a) && (b[len(a)] == '.' || b[len(a)] == '[')
	}
	return within(row.Path, path) || within(path, row.Path)
}

// operation rewrites one operation.
func (p *operations) operation(item *edit.Entry) {
	op, segments := item.Value.Text("op"), pointer(item.Value.Text("path"))
	if segments == nil {
		return
	}
	path := dotted(segments)
	var rows []table.Row
	for _, row := range p.kind.Rows {
		if !concerns(row, path) {
			continue
		}
		if row.Value == table.Args && len(segments) > 1 && !isIndex(segments[len(segments)-1]) &&
			row.Path == dotted(segments[:len(segments)-1]) {
			p.argument(item, op, segments)
			return
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	p.replaced(item, op, segments, rows)
	p.object.row = table.Row{Path: path}
	switch op {
	case "add", "replace", "remove", "test":
	default:
		p.object.manual(item, "the operation \""+op+"\" of "+joined(segments)+" is about a field that changes",
			"change the patch by hand")
		return
	}
	s := p.skeleton(item, op, segments)
	for _, row := range rows {
		s.object.carry(row)
		if row.Path == path && row.To != path {
			s.whole = row.To
		}
	}
	if s.object.stuck != "" {
		p.object.manual(item, s.object.stuck, "change the patch by hand")
		s.restore(item)
		return
	}
	p.write(item, op, s)
}

// skeleton is an object that holds nothing but the value of an operation.
type skeleton struct {
	object *object
	bones  map[*edit.Entry]bool
	index  map[*edit.Entry]string
	value  *edit.Entry
	indent int
	// from is the entry in the operation that holds the value, nil if there is none.
	from *edit.Entry
	text bool // the value is a template
	// whole is where all of the value is now, also with what other rows made of it.
	whole string
}

func (p *operations) skeleton(item *edit.Entry, op string, segments []string) *skeleton {
	s := &skeleton{bones: map[*edit.Entry]bool{}, index: map[*edit.Entry]string{}}
	var value *edit.Node
	if e := item.Value.Get("value"); e != nil {
		s.from, value = e, e.Value
	} else if e := item.Value.At("valueFrom", "template"); e != nil {
		if n := templateTree(e.Value); n != nil {
			s.from, value, s.text = e, n, true
		}
	}
	if value == nil {
		value = edit.NewLeaf(opaque)
	}
	root := &edit.Node{Kind: edit.Map}
	if !s.text {
		root.Indent = item.Value.Indent
	}
	s.indent = root.Indent
	at := root
	for i, segment := range segments {
		last := i == len(segments)-1
		var next *edit.Node
		switch {
		case last:
			next = value
		case isIndex(segments[i+1]):
			next = &edit.Node{Kind: edit.List, Indent: root.Indent}
		default:
			next = &edit.Node{Kind: edit.Map, Indent: root.Indent}
		}
		e := edit.NewEntry(segment, next)
		if isIndex(segment) && at.Kind == edit.List {
			e = edit.NewItem(next)
			s.index[e] = segment
		}
		at.Insert(0, e)
		if last {
			s.value = e
		} else {
			s.bones[e] = true
		}
		at = next
	}
	s.object = &object{
		file: p.object.file, kind: p.kind, root: root, name: p.object.name, step: p.object.step, partial: true,
		after: map[*edit.Entry]*edit.Entry{}, made: map[*edit.Entry]bool{}, anchorLine: item.Line, pathOnly: op == "remove",
	}
	s.value.Line = item.Line
	return s
}

// restore puts an untouched value back.
func (s *skeleton) restore(item *edit.Entry) {
	if s.from != nil && !s.text {
		s.from.Set(s.value.Value)
	}
}

// templateTree reads a template that makes a map or a list; nil for others.
func templateTree(v *edit.Node) *edit.Node {
	if v.Kind != edit.Leaf {
		return nil
	}
	text := v.Raw
	if _, content, _, ok := literal(text); ok {
		text = content
	} else if text = edit.Unquote(text); strings.Contains(text, "\n") {
		return nil
	}
	d, err := edit.Parse(text, 0)
	if err != nil || d.Root == nil || d.Anchors || !d.Root.IsMap() && !d.Root.IsList() {
		return nil
	}
	return d.Body()
}

// part is one value at its new path.
type part struct {
	segments []string
	made     int // where the first map that was created on the way is; -1 if none
	entry    *edit.Entry
}

// parts finds what became of the value.
func (s *skeleton) parts() []part {
	var out []part
	var walk func(n *edit.Node, path []string, made int)
	walk = func(n *edit.Node, path []string, made int) {
		for _, e := range n.Entries {
			name := e.Name
			if i, ok := s.index[e]; ok {
				name = i
			}
			here := append(path[:len(path):len(path)], name)
			if s.whole != "" && dotted(here) == s.whole {
				out = append(out, part{here, made, e})
				continue
			}
			m := made
			if s.object.made[e] && m < 0 {
				m = len(path)
			}
			if (s.bones[e] || s.object.made[e]) && e != s.value && e.Value.Kind != edit.Leaf {
				walk(e.Value, here, m)
				continue
			}
			if !s.bones[e] {
				out = append(out, part{here, m, e})
			}
		}
	}
	walk(s.object.root, nil, -1)
	return out
}

// write puts the parts back as operations.
func (p *operations) write(item *edit.Entry, op string, s *skeleton) {
	parts := s.parts()
	if len(parts) == 0 {
		p.object.report(Note, item, "removed the patch of "+item.Value.Text("path")+", which has no effect", "")
		owner := item.Owner()
		owner.Remove(item)
		if len(owner.Entries) == 0 {
			owner.SetRaw("[]")
		}
		return
	}
	place := item
	for i, part := range parts {
		to := item
		if i > 0 {
			to = p.another(item, place)
		}
		place = to
		path, value := part.segments, part.entry
		cut := part.made
		for cut >= 0 && cut < len(path)-1 && !p.missing(path[:cut+1]) {
			cut++
		}
		if cut >= 0 && cut < len(path)-1 && op == "add" {
			key := joined(path[:cut+1])
			if s.from == nil || s.text {
				p.object.manual(to, "the value must be put into "+key+", which the template does not have",
					"add "+key+" with a template that creates all of it")
				s.restore(item)
				return
			}
			if p.created[key] {
				p.object.manual(to, "another patch also creates "+key+", and one would overwrite the other",
					"merge the two patches")
			}
			p.created[key] = true
			for range len(path) - cut - 1 {
				value = value.Owner().Parent()
			}
			path = path[:cut+1]
		}
		setText(to.Value.Get("path"), joined(path))
		p.setValue(to, value, s, i > 0)
	}
}

// another adds an operation like the first after a place.
func (p *operations) another(item, place *edit.Entry) *edit.Entry {
	fields := &edit.Node{Kind: edit.Map, Flow: item.Value.Flow, Indent: item.Value.Indent}
	for _, name := range []string{"op", "path"} {
		e := item.Value.Get(name)
		fields.Add(name, e.Value.Raw)
	}
	e := edit.NewItem(fields)
	p.list.Insert(p.list.Index(place)+1, e)
	return e
}

// setText replaces the text of a scalar, keeping its quotes.
func setText(e *edit.Entry, text string) {
	raw := e.Value.Raw
	if edit.Unquote(raw) == text {
		return
	}
	if raw != "" && (raw[0] == '"' || raw[0] == '\'') {
		text = raw[:1] + text + raw[:1]
	}
	e.Value.SetRaw(text)
}

// setValue writes the value of an operation.
func (p *operations) setValue(to, value *edit.Entry, s *skeleton, fresh bool) {
	if s.from == nil {
		return
	}
	if s.text {
		if !fresh {
			setTemplate(s.from, value.Value)
			return
		}
		holder := to.Value.Add("valueFrom", "")
		holder.Set(edit.NewMap(to.Value))
		setTemplate(holder.Value.Add("template", ""), value.Value)
		return
	}
	e := to.Value.Get("value")
	if e == nil {
		e = to.Value.Add("value", "")
	}
	v := value.Value
	lead := value.TakeLead()
	if v.Kind == edit.Leaf || v.Flow {
		v.Shift(s.indent - value.Owner().Indent)
	} else {
		step := 2
		if v.Kind == edit.List {
			step = p.object.step
		}
		v.Indented(to.Value.Indent + step)
	}
	e.Set(v)
	e.Lead = append(e.Lead, lead...)
	if e.Comment == "" {
		e.Comment = value.Comment
	}
}

// setTemplate writes a value as the text of a template.
func setTemplate(e *edit.Entry, v *edit.Node) {
	v.Indented(0)
	text := strings.TrimSuffix(v.String(), "\n")
	was := e.Value.Raw
	head, content, ok := strings.Cut(was, "\n")
	if ok {
		old, indent := dedent(content)
		if strings.TrimRight(old, "\n") != text {
			e.Value.SetRaw(head + "\n" + reindent(text, indent))
		}
		return
	}
	if was != "" && edit.Unquote(was) == text {
		return
	}
	e.Value.SetRaw("|\n" + reindent(text, e.Owner().Indent+2))
}

// missing reports whether no known target has a map.
func (p *operations) missing(segments []string) bool {
	if p.created[joined(segments)] {
		return true
	}
	for _, t := range p.targets {
		if e := follow(t, segments); e != nil {
			return false
		}
	}
	return true
}

// follow goes down a pointer.
func follow(n *edit.Node, segments []string) *edit.Entry {
	var e *edit.Entry
	for _, s := range segments {
		if n.IsList() {
			i, err := strconv.Atoi(s)
			if err != nil || i >= len(n.Entries) {
				return nil
			}
			e = n.Entries[i]
		} else if e = n.Get(s); e == nil {
			return nil
		}
		n = e.Value
	}
	return e
}

// argument rewrites the patch of one argument, which is an item of a list now.
func (p *operations) argument(item *edit.Entry, op string, segments []string) {
	list, name := segments[:len(segments)-1], segments[len(segments)-1]
	p.object.row = table.Row{Path: dotted(segments)}
	fail := func(why string) {
		p.object.manual(item, "the arguments at "+joined(list)+" are a list now, and "+why, "patch the whole list")
	}
	args, arg := p.arguments(list), patched(item, name)
	index, somewhere := args.index(name)
	switch {
	case index >= 0 && p.places == nil:
		if !p.whole(item, op, list, args, index, arg) {
			fail("the template already has the argument " + name)
		}
		return
	case index >= 0 && op == "remove":
		args.remove(p.list, index)
		setText(item.Value.Get("path"), joined(append(list, strconv.Itoa(index))))
		return
	case index >= 0:
		if op == "add" {
			setText(item.Value.Get("op"), "replace")
		}
		setText(item.Value.Get("path"), joined(append(list, strconv.Itoa(index), "value")))
		return
	case somewhere:
		fail("the place of " + name + " in it depends on the template or on other patches")
		return
	case op != "add":
		fail("no known template has the argument " + name)
		return
	}
	switch {
	case item.Value.Get("value") != nil:
		e := item.Value.Get("value")
		fields := edit.NewMap(item.Value)
		fields.Add("name", asText(name))
		value := edit.NewEntry("value", e.Value)
		value.Comment, e.Comment = e.Comment, ""
		value.Shift(2)
		fields.Insert(1, value)
		e.Set(fields)
	case item.Value.At("valueFrom", "variable") != nil || item.Value.At("valueFrom", "template") != nil:
		e, why := item.Value.At("valueFrom", "template"), "the template has several lines or trims the text around it"
		if variable := item.Value.At("valueFrom", "variable"); variable != nil {
			e, why = variable, "the variable "+edit.Unquote(variable.Value.Raw)+" cannot be named in a template"
		}
		if arg.unsure {
			fail(why)
			return
		}
		e.Rename("template")
		item.Value.Get("valueFrom").Value.Unflow()
		indent := strings.Repeat(" ", e.Owner().Indent+2)
		e.Value.SetRaw("|\n" + indent + "name: " + asText(name) + "\n" + indent + "value: " + arg.value)
		if e.Comment != "" {
			e.Lead, e.Comment = append(e.Lead, strings.Repeat(" ", e.Owner().Indent)+strings.TrimSpace(e.Comment)), ""
		}
	}
	args.add(p.list, arg)
	setText(item.Value.Get("path"), joined(append(list, "-")))
}

// oneLine is the text of a template that has one line.
func oneLine(raw string) (string, bool) {
	head, content, block := strings.Cut(raw, "\n")
	if !block {
		return edit.Unquote(raw), raw != ""
	}
	if !strings.HasPrefix(head, "|") && !strings.HasPrefix(head, ">") || strings.ContainsAny(head, "0123456789+") {
		return "", false
	}
	text, _ := dedent(content)
	text = strings.TrimRight(text, "\n")
	return text, !strings.Contains(text, "\n")
}
