package migrate

import (
	"bytes"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
)

// object is one object that is being rewritten.
type object struct {
	file    *file
	kind    *table.Kind
	root    *edit.Node
	name    string
	step    int
	partial bool

	row table.Row
	// after is the entry that was put after another one last, so that fields keep
	// their order.
	after map[*edit.Entry]*edit.Entry
	// made are the entries that were created on the way to a moved one.
	made map[*edit.Entry]bool
	// anchorLine is the line of what has none of its own; pathOnly is set where no
	// value is needed; stuck says why a value could not be converted.
	anchorLine int
	pathOnly   bool
	stuck      string
}

// migrate carries out the table.
func (o *object) migrate() {
	o.after, o.made = map[*edit.Entry]*edit.Entry{}, map[*edit.Entry]bool{}
	unknown := o.unknown()
	if o.kind.Kind == "ClusterClass" {
		o.patches()
	}
	for _, row := range o.kind.Rows {
		o.carry(row)
	}
	o.tidy()
	version := o.root.Get("apiVersion")
	o.bump(version, o.kind)
	for _, u := range unknown {
		o.row = table.Row{Path: u.path}
		o.manual(u.entry, o.kind.Kind+" "+u.version+" has no field "+u.path, "remove it, or correct its name")
	}
}

// carry carries out one row for every place it is about.
func (o *object) carry(row table.Row) {
	o.row = row
	base, from, to := split(row.Path, row.To)
	for _, n := range nodes(o.root, base) {
		if len(from) == 0 { // the items of a list themselves
			continue
		}
		e := n.At(from...)
		if e == nil {
			if row.Default != "" && !o.partial {
				o.fill(n.At(from[:len(from)-1]...), from[len(from)-1])
			}
			continue
		}
		if row.Dropped() {
			o.drop(e)
			continue
		}
		if !o.convert(e) {
			continue
		}
		if row.Also != "" {
			_, _, also := split(row.Path, row.Also)
			copied := edit.NewEntry(e.Name, e.Value.Clone())
			o.place(n, copied, from, also)
		}
		if !slices.Equal(from, to) {
			o.place(n, e, from, to)
		}
	}
}

// fill writes the default of a field into a map that is there.
func (o *object) fill(parent *edit.Entry, name string) {
	if parent == nil || !parent.Value.IsMap() || o.row.IfEmpty && len(parent.Value.Entries) > 0 {
		return
	}
	e := edit.NewEntry(name, edit.NewLeaf(o.row.Default))
	if len(parent.Value.Entries) == 0 && !parent.Value.Flow {
		parent.Set(edit.NewMap(parent.Owner()))
	}
	parent.Value.Insert(0, e)
}

// split takes a row's paths apart: the way to the innermost list item, and from
// there the old and the new field.
func split(path, to string) (base string, from, dst []string) {
	if i := strings.LastIndex(path, "[]"); i >= 0 {
		base, path = path[:i+2], strings.TrimPrefix(path[i+2:], ".")
		if j := strings.LastIndex(to, "[]"); j >= 0 {
			to = strings.TrimPrefix(to[j+2:], ".")
		}
	}
	if path != "" {
		from = strings.Split(path, ".")
	}
	if to != "" {
		dst = strings.Split(to, ".")
	}
	return base, from, dst
}

// nodes returns the maps at a path that ends with a list, or the root.
func nodes(root *edit.Node, base string) []*edit.Node {
	out := []*edit.Node{root}
	if base == "" {
		return out
	}
	for _, part := range strings.Split(strings.TrimSuffix(base, "[]"), "[]") {
		path := strings.Split(strings.TrimPrefix(part, "."), ".")
		var next []*edit.Node
		for _, n := range out {
			for _, item := range entries(n, path...) {
				if item.Value.IsMap() {
					next = append(next, item.Value)
				}
			}
		}
		out = next
	}
	return out
}

// place moves an entry from one path below n to another. An entry that is not in
// the tree is only put there.
func (o *object) place(n *edit.Node, e *edit.Entry, from, to []string) {
	common := 0
	for common < len(from)-1 && common < len(to)-1 && from[common] == to[common] {
		common++
	}
	at := n
	if common > 0 {
		at = n.At(from[:common]...).Value
	}
	name := to[len(to)-1]
	target := n.At(to...)
	if target != nil && target != e {
		o.join(n, e, target, to)
		return
	}
	if e.Owner() == at && len(to) == common+1 {
		e.Rename(name)
		return
	}
	anchor := at.Get(from[common])
	indent, flow := 0, false
	index := at.Index(anchor)
	if owner := e.Owner(); owner != nil {
		indent, flow = owner.Indent, owner.Flow
		i := owner.Detach(e)
		gone := o.prune(owner, at)
		if owner == at {
			index, gone = i, true
		}
		if !gone {
			index++
		}
	} else {
		indent, flow = at.Indent, at.Flow
		index++
	}
	if last := o.after[anchor]; last != nil && last.Owner() == at {
		index = at.Index(last) + 1
	}
	o.insert(at, e, to[common:], min(index, len(at.Entries)), indent, flow, anchor)
	e.Rename(name)
}

// insert puts an entry below at, and creates what is missing on the way.
func (o *object) insert(at *edit.Node, e *edit.Entry, path []string, index, indent int, flow bool, anchor *edit.Entry) {
	top := true
	for _, name := range path[:len(path)-1] {
		next := at.Get(name)
		if next == nil {
			next = edit.NewEntry(name, edit.NewMap(at))
			if top {
				next.Lead = e.TakeLead()
				next.ShiftComments(at.Indent - indent)
				at.Insert(index, next)
				o.after[anchor] = next
			} else {
				at.Insert(len(at.Entries), next)
			}
			o.made[next] = true
		} else if !next.Value.IsMap() {
			next.Set(edit.NewMap(at))
		}
		if next.Value.Flow && len(next.Value.Entries) == 0 && !at.Flow {
			next.Set(edit.NewMap(at))
		}
		at, index, top = next.Value, len(next.Value.Entries), false
	}
	if at.Flow && !flow {
		at.Unflow()
	}
	if !at.Flow && !flow {
		e.Shift(at.Indent - indent)
	}
	at.Insert(min(index, len(at.Entries)), e)
	if top {
		o.after[anchor] = e
	}
}

// prune removes maps that were emptied, up to one that stays, and reports whether
// an entry of that one was removed.
func (o *object) prune(n, stop *edit.Node) bool {
	for n != stop && len(n.Entries) == 0 {
		e := n.Parent()
		if e == nil {
			return false
		}
		owner := e.Owner()
		owner.Remove(e)
		if owner == stop {
			return true
		}
		n = owner
	}
	return false
}

// join merges a map into one that is there already. Anything else is left where
// it is, because only one of the two can be meant.
func (o *object) join(n *edit.Node, e, target *edit.Entry, to []string) {
	switch {
	case e.Value.Empty() && e.Owner() != nil:
		e.Owner().Remove(e)
		return
	case e.Owner() == nil || !e.Value.IsMap() || !target.Value.IsMap():
		if e.Owner() != nil {
			o.manual(e, "the object sets both "+e.Name+" and "+strings.Join(to, "."), "keep the intended one")
		}
		return
	}
	for _, child := range slices.Clone(e.Value.Entries) {
		if other := target.Value.Get(child.Name); other != nil {
			o.join(n, child, other, append(to[:len(to):len(to)], child.Name))
			continue
		}
		indent, flow := e.Value.Indent, e.Value.Flow
		e.Value.Detach(child)
		o.insert(target.Value, child, []string{child.Name}, len(target.Value.Entries), indent, flow, nil)
	}
	if len(e.Value.Entries) == 0 {
		e.Owner().Remove(e)
	}
}

// drop removes a field. Its comments stay. A variable that is used nowhere else
// stays too, in a comment, because users may set it.
func (o *object) drop(e *edit.Entry) {
	text := entryText(e)
	owner := e.Owner()
	if o.row.Path != "status" {
		o.report(Note, e, "dropped "+o.row.Path+": "+o.row.Why, "")
	}
	var kept []string
	last := o.file.release(text)
	if len(last) > 0 {
		indent := strings.Repeat(" ", owner.Indent)
		for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			kept = append(kept, indent+"# "+strings.TrimPrefix(line, indent))
		}
	}
	if kept == nil {
		owner.Remove(e)
	} else {
		// The text contains the comments inside; only those before and after remain.
		lead, tail := e.Lead, e.Tail
		i := owner.Detach(e)
		owner.Leave(i, slices.Concat(lead, kept, tail))
	}
	o.prune(owner, o.root)
}

// entryText is an entry as it is written, without the lines before and after it.
func entryText(e *edit.Entry) string {
	lone := &edit.Node{Kind: e.Owner().Kind, Indent: e.Owner().Indent}
	c := *e
	c.Lead, c.Tail = nil, nil
	lone.Entries = []*edit.Entry{&c}
	lone.Adopt()
	return lone.String()
}

// bump writes the new version of a migrated kind.
func (o *object) bump(e *edit.Entry, k *table.Kind) {
	if e == nil || e.Value.Kind != edit.Leaf {
		return
	}
	for _, v := range k.From {
		if edit.Unquote(e.Value.Raw) == k.Group+"/"+v {
			e.Value.SetRaw(strings.Replace(e.Value.Raw, k.Group+"/"+v, k.APIVersion(), 1))
			return
		}
	}
}

// report adds a finding about a field.
func (o *object) report(level Level, e *edit.Entry, message, help string) {
	o.file.result.add(Finding{
		Level: level, File: o.file.name, Line: o.line(e), Object: o.name, Path: o.row.Path,
		Message: message, Help: help,
	})
}

// line is that of an entry in the old text, or of what is around it.
func (o *object) line(e *edit.Entry) int {
	for e != nil {
		if e.Line > 0 {
			return e.Line
		}
		e = e.Owner().Parent()
	}
	if o.anchorLine > 0 || len(o.root.Entries) == 0 {
		return o.anchorLine
	}
	return o.root.Entries[0].Line
}

// manual reports that something is left to do and marks its line, so that a later
// run still knows it.
func (o *object) manual(e *edit.Entry, message, help string) {
	o.report(Manual, e, message, help)
	e.Note(todo(o.file.opts.Contract) + message + "; " + help)
}

// todo is how the comments begin that mark what is left to do.
func todo(c *table.Contract) string { return "TODO migrate to " + c.To + ": " }

// remaining adds what the comments of earlier runs say is left to do.
func (r *Result) remaining(name string, old []byte, c *table.Contract) *Result {
	type task struct{ message, help string }
	said := map[task]int{} // by this run, which finds some of it again
	for _, f := range r.Findings {
		said[task{f.Message, f.Help}]++
	}
	n := 0
	for line := range bytes.Lines(old) {
		n++
		_, text, ok := strings.Cut(string(line), "# "+todo(c))
		if !ok {
			continue
		}
		f := Finding{Level: Manual, File: name, Line: n, Message: strings.TrimSpace(text), Help: "do it, and remove the comment"}
		if i := strings.LastIndex(f.Message, "; "); i >= 0 {
			f.Message, f.Help = f.Message[:i], f.Message[i+2:]
		}
		if said[task{f.Message, f.Help}]--; said[task{f.Message, f.Help}] < 0 {
			r.add(f)
		}
	}
	return r
}
