// Package migrate rewrites manifests from one contract of Cluster API to the next
// as a careful person would: it changes what the tables say and leaves comments,
// order, quotes, blank lines and variables alone.
//
// It must not know where texts come from, or print.
package migrate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
)

// Level says what is left to do.
type Level int

// The levels.
const (
	// Note: something was dropped or moved for a reason that is worth knowing.
	Note Level = iota
	// Users must write other values for a variable than before.
	Users
	// Manual: something is left to do by hand.
	Manual
)

var levelNames = [...]string{"note", "users", "manual"}

// String names the level as in JSON.
func (l Level) String() string { return levelNames[l] }

// Finding is something that a person should know about a migration.
type Finding struct {
	Level Level
	// File and Line are the place in the text before the migration.
	File string
	Line int
	// Object is kind and name, Path the field in the old version.
	Object, Path string
	// Message says what was done or could not be done, Help what to do.
	Message, Help string
	// Go are the lines of types to add to the code of a provider; mostly none.
	Go []string
}

// Options for a migration.
type Options struct {
	// Contract is the step to make.
	Contract *table.Contract
	// Partial is set for texts that are merged into others, such as patches of
	// kustomize. Values that mean "not set" are kept in them.
	Partial bool
	// Targets are migrated objects of other files by group/kind, to which patches
	// in this one may apply.
	Targets map[string][]*edit.Node
	// patched reports whether a JSON patch adds to a field of a kind.
	patched func(kind, path string) bool
	// base says what a merged patch must repeat of the arguments at a path.
	base func(kind, name, path string) (args []argument, sure bool)
}

// Result is a migrated text.
type Result struct {
	// New is the text; the old one if nothing changes.
	New []byte
	// Migrated counts the objects of old versions that were rewritten.
	Migrated int
	// Left counts those that were not.
	Left     int
	Findings []Finding
}

// Changed reports whether the text differs from another.
func (r *Result) Changed(old []byte) bool { return !bytes.Equal(r.New, old) }

// Text migrates the documents of a text. What cannot be read or edited safely
// stays as it is, and a finding says why.
func Text(name string, data []byte, o Options) *Result {
	r, _ := text(name, data, o)
	return r.remaining(name, data, o.Contract)
}

// text is Text with the migrated objects by group/kind.
func text(name string, data []byte, o Options) (*Result, map[string][]*edit.Node) {
	r := &Result{New: data}
	if !bytes.Contains(data, []byte("cluster.x-k8s.io")) {
		return r, nil
	}
	content, windows := string(data), false
	if strings.Contains(content, "\r") {
		windows = true
		content = strings.ReplaceAll(content, "\r\n", "\n")
		if strings.Contains(content, "\r") || strings.ReplaceAll(content, "\n", "\r\n") != string(data) {
			if old(content, o.Contract) {
				r.Left++
				r.add(Finding{Level: Manual, File: name, Line: 1, Message: "the file mixes line endings", Help: "write all lines with one kind of line ending, and migrate again"})
			}
			return r, nil
		}
	}
	f := &file{name: name, opts: o, step: listStep(content), added: classAdditions(content, o.Contract)}
	migrated := ""
	for again := true; again; {
		r = &Result{New: data}
		f.result, f.uses, f.seen, f.converted = r, countVariables(content), nil, map[string]int{}
		migrated = strings.Join(f.documents(edit.Split(content), 0), "")
		// How often a variable is used elsewhere is known at the end, and said then.
		again = f.shared == nil && f.share()
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	if windows {
		migrated = strings.ReplaceAll(migrated, "\n", "\r\n")
	}
	r.New = []byte(migrated)
	return r, f.seen
}

func (r *Result) add(f Finding) { r.Findings = append(r.Findings, f) }

// old reports whether a text names an old version of a kind that has a new one.
func old(text string, c *table.Contract) bool {
	for _, k := range c.Kinds {
		for _, v := range k.From {
			if strings.Contains(text, k.Group+"/"+v) {
				return true
			}
		}
	}
	return false
}

// mentions reports whether a text that cannot be read seems to hold an object of
// an old version.
func mentions(text string, c *table.Contract) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "- ")
		if value, ok := strings.CutPrefix(line, "apiVersion:"); ok {
			group, version, _ := strings.Cut(strings.Trim(strings.TrimSpace(value), `"'`), "/")
			for _, k := range c.Kinds {
				if k.Group == group && slices.Contains(k.From, version) {
					return true
				}
			}
		}
	}
	return false
}

// file is one text with what its documents share.
type file struct {
	name   string
	opts   Options
	result *Result
	step   int // see listStep
	// uses counts the expressions of each variable, left those that remain.
	uses map[string]int
	// converted counts the expressions whose values were converted, shared the
	// others of the same variables, once that is known.
	converted, shared map[string]int
	// added are the fields that patches of classes add to, by kind.
	added map[string][]string
	// seen are the migrated objects by group/kind.
	seen map[string][]*edit.Node
}

// share finds the variables of which only some expressions were converted.
func (f *file) share() bool {
	f.shared = map[string]int{}
	for name, n := range f.converted {
		if others := f.uses[name] - n; others > 0 {
			f.shared[name] = others
		}
	}
	return len(f.shared) > 0
}

// documents migrates documents. Classes come last, because their patches depend on
// what the templates have become.
func (f *file) documents(chunks []string, before int) []string {
	out := make([]string, len(chunks))
	for _, last := range []bool{false, true} {
		line := before
		for i, chunk := range chunks {
			if strings.Contains(chunk, "jsonPatches") == last {
				out[i] = f.document(chunk, line)
			}
			line += strings.Count(chunk, "\n")
		}
	}
	return out
}

// document migrates one document, or returns it as it is.
func (f *file) document(text string, before int) string {
	if !old(text, f.opts.Contract) {
		return text
	}
	findings, migrated, left := len(f.result.Findings), f.result.Migrated, f.result.Left
	back := func(line int, err error) string {
		f.result.Findings = f.result.Findings[:findings]
		f.result.Migrated, f.result.Left = migrated, left+1
		f.result.add(Finding{
			Level: Manual, File: f.name, Line: max(line, before+1),
			Message: fmt.Sprintf("the document cannot be edited safely: %v", err),
			Help:    "migrate it by hand; the rest of the file is migrated",
		})
		return text
	}
	d, err := edit.Parse(text, before)
	if err != nil {
		if !mentions(text, f.opts.Contract) {
			return text
		}
		line := 0
		if at, ok := errors.AsType[*edit.Error](err); ok {
			line = at.Line
		}
		return back(line, err)
	}
	if d.Root == nil {
		return text
	}
	f.value(d, d.Root)
	out, err := d.Result()
	if err != nil {
		return back(before+1, fmt.Errorf("the result would be wrong (%w)", err))
	}
	return out
}

// value migrates an object, the items of a list of objects, or what is nested in
// an object of another kind.
func (f *file) value(d *edit.Document, n *edit.Node) {
	if !n.IsMap() {
		return
	}
	if items := n.Get("items"); n.Text("kind") == "List" && items != nil && items.Value.IsList() {
		for _, e := range items.Value.Entries {
			f.value(d, e.Value)
		}
		return
	}
	k := f.opts.Contract.Find(n.Text("apiVersion"), n.Text("kind"))
	if k == nil {
		group, _, _ := strings.Cut(n.Text("apiVersion"), "/")
		if known := f.opts.Contract.Kind(group, n.Text("kind")); known != nil {
			f.remember(known, n)
		}
		f.nested(n)
		return
	}
	o := &object{file: f, kind: k, root: n, step: f.step, partial: f.opts.Partial}
	o.name = strings.TrimSpace(k.Kind + " " + n.Text("metadata", "name"))
	message, help := "", ""
	switch {
	case d.Anchors:
		message, help = "the document has anchors, aliases or merge keys, so one line can be the value of several fields", "write the values in full, and migrate again"
	case n.Closed():
		message, help = "the object has a collection in braces or brackets that cannot be edited safely, for example because of a comment or a tag in it", "write it in block style, and migrate again"
	}
	if message != "" {
		f.result.Left++
		f.result.add(Finding{Level: Manual, File: f.name, Line: n.Entries[0].Line, Object: o.name, Message: message, Help: help})
		return
	}
	f.result.Migrated++
	o.migrate()
	f.remember(k, n)
}

// remember keeps an object for the patches that apply to it.
func (f *file) remember(k *table.Kind, n *edit.Node) {
	if f.seen == nil {
		f.seen = map[string][]*edit.Node{}
	}
	f.seen[k.Group+"/"+k.Kind] = append(f.seen[k.Group+"/"+k.Kind], n)
}

// listStep is how deep most lists of a text are indented below their keys.
func listStep(text string) int {
	inner, outer, key := 0, 0, -1
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if strings.HasPrefix(t, "- ") && key >= 0 {
			if indent > key {
				inner++
			} else if indent == key {
				outer++
			}
		}
		key = -1
		if strings.HasSuffix(t, ":") && !strings.HasPrefix(t, "#") {
			key = indent + len(t) - len(strings.TrimLeft(t, "- "))
		}
	}
	if outer > inner {
		return 0
	}
	return 2
}
