package migrate

import (
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// target is what JSON patches of kustomize apply to.
type target struct {
	kind *table.Kind
	name string
}

// kustomizations are the kustomization files among others.
type kustomizations struct {
	contract *table.Contract
	files    map[string]*source
	is       map[string]bool
	// parts are the files and folders that a kustomization is made of, users the
	// kustomizations that name a patch or a component.
	parts, users map[string][]string
	// uses are the patches of each kustomization in their order, held the arguments
	// of each file and patch.
	uses map[string][]use
	held map[string][]holding
	// patches are what the JSON patches of each unit make of arguments.
	patches map[string][]argumentPatch
	// part has the files that kustomizations are made of.
	part map[string]bool
	// added are the fields that JSON patches add to, by kind; "" is any kind.
	added map[string][]string
	// classes are the fields that patches of classes add to, by kind.
	classes map[string][]string
	// current is the kustomization that is being migrated.
	current string
}

// newKustomizations finds the kustomization files and marks the patches that they
// name.
func newKustomizations(all []*source, c *table.Contract) *kustomizations {
	k := &kustomizations{
		contract: c, files: map[string]*source{}, is: map[string]bool{}, parts: map[string][]string{}, users: map[string][]string{}, uses: map[string][]use{},
		held: map[string][]holding{}, patches: map[string][]argumentPatch{}, part: map[string]bool{}, added: map[string][]string{}, classes: map[string][]string{},
	}
	for _, s := range all {
		k.files[s.name] = s
		k.learn(s.name, string(s.data))
		for kind, paths := range classAdditions(string(s.data), c) {
			k.classes[kind] = append(k.classes[kind], paths...)
		}
	}
	for _, s := range all {
		switch path.Base(s.name) {
		case "kustomization.yaml", "kustomization.yml", "Kustomization":
			k.is[s.name] = true
			k.mark(s)
		}
	}
	return k
}

// read parses a kustomization file; nil if that is not possible.
func read(data []byte) *edit.Document {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	d, err := edit.Parse(text, 0)
	if err != nil || d.Anchors || !d.Root.IsMap() {
		return nil
	}
	return d
}

// entries are the items of the list at a path.
func entries(n *edit.Node, path ...string) []*edit.Entry {
	if e := n.At(path...); e != nil && e.Value.IsList() {
		return e.Value.Entries
	}
	return nil
}

// mark marks the files that one kustomization uses as patches.
func (k *kustomizations) mark(s *source) {
	d := read(s.data)
	if d == nil {
		return
	}
	file := func(name string) *source {
		f := k.files[path.Join(path.Dir(s.name), name)]
		if f != nil {
			k.users[f.name] = append(k.users[f.name], s.name)
		}
		return f
	}
	for _, list := range []string{"resources", "bases", "components"} {
		for _, e := range entries(d.Root, list) {
			name := path.Join(path.Dir(s.name), edit.Unquote(e.Value.Raw))
			for _, base := range []string{"", "/kustomization.yaml", "/kustomization.yml", "/Kustomization"} {
				if k.files[name+base] != nil {
					k.parts[s.name] = append(k.parts[s.name], name+base)
					k.part[name+base] = true
					if list == "components" {
						k.users[name+base] = append(k.users[name+base], s.name)
					}
				}
			}
		}
	}
	for _, e := range entries(d.Root, "patchesStrategicMerge") {
		if f := file(edit.Unquote(e.Value.Raw)); f != nil {
			f.partial = true
			k.uses[s.name] = append(k.uses[s.name], use{unit: f.name})
		} else {
			k.inlineUse(s, e, use{})
		}
	}
	for _, list := range []string{"patches", "patchesJson6902"} {
		for _, e := range entries(d.Root, list) {
			if !e.Value.IsMap() {
				continue
			}
			u := use{kind: e.Value.Text("target", "kind"), name: e.Value.Text("target", "name"), targeted: e.Value.Get("target") != nil}
			if p := e.Value.Get("patch"); p != nil {
				k.inlineUse(s, p, u)
			}
			if e.Value.Text("path") == "" {
				continue
			}
			f := file(e.Value.Text("path"))
			if f == nil {
				continue
			}
			k.additions(u.kind, string(f.data))
			u.unit = f.name
			k.uses[s.name] = append(k.uses[s.name], u)
			if patchList(string(f.data)) == nil {
				f.partial = true
				continue
			}
			k.learnPatches(u.unit, string(f.data))
			if t := k.target(e.Value); t != nil {
				f.list = t
			}
		}
	}
}

// inlineUse remembers a patch inside a kustomization.
func (k *kustomizations) inlineUse(s *source, e *edit.Entry, u use) {
	_, content, ok := strings.Cut(e.Value.Raw, "\n")
	if !ok {
		return
	}
	u.unit = inlineUnit(s.name, e.Line)
	text, _ := dedent(content)
	k.additions(u.kind, text)
	k.learn(u.unit, text)
	k.learnPatches(u.unit, text)
	k.uses[s.name] = append(k.uses[s.name], u)
}

// additions remembers the fields that a list of JSON patches adds to.
func (k *kustomizations) additions(kind, text string) {
	for _, e := range patchList(text) {
		if segments := pointer(e.Value.Text("path")); len(segments) > 1 {
			k.added[kind] = append(k.added[kind], dotted(segments))
		}
	}
}

// patched reports whether a JSON patch adds to a field, or to something in it.
func (k *kustomizations) patched(kind, field string) bool {
	return within(k.added[kind], field) || within(k.added[""], field)
}

// patchList are the JSON patches of a text; nil if it is another one.
func patchList(text string) []*edit.Entry {
	d, err := edit.Parse(strings.ReplaceAll(text, "\r\n", "\n"), 0)
	if err != nil || !d.Root.IsList() {
		return nil
	}
	return d.Root.Entries
}

// target reads what a patch applies to; nil if it is not of a migrated kind.
func (k *kustomizations) target(patch *edit.Node) *target {
	e := patch.Get("target")
	if e == nil {
		return nil
	}
	t := e.Value
	for i := range k.contract.Kinds {
		kind := &k.contract.Kinds[i]
		if kind.Kind != t.Text("kind") {
			continue
		}
		group, version := t.Text("group"), t.Text("version")
		if (group == "" || group == kind.Group) && (version == "" || slices.Contains(kind.From, version)) {
			return &target{kind, t.Text("name")}
		}
	}
	return nil
}

// targets are the migrated objects that the patches of a file may apply to: those
// of the same folder for classes, for patches of kustomize those that the
// kustomizations are made of.
func (k *kustomizations) targets(s *source) map[string][]*edit.Node {
	out := map[string][]*edit.Node{}
	take := func(other *source) {
		if other == nil || other == s || other.partial || other.list != nil {
			return
		}
		for key, nodes := range other.seen {
			out[key] = append(out[key], nodes...)
		}
	}
	if !k.is[s.name] && s.list == nil && !s.partial {
		for name, other := range k.files {
			if path.Dir(name) == path.Dir(s.name) {
				take(other)
			}
		}
		return out
	}
	seen := map[string]bool{}
	var down, up func(name string)
	down = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		take(k.files[name])
		for _, part := range k.parts[name] {
			down(part)
		}
	}
	above := map[string]bool{}
	up = func(name string) {
		if above[name] {
			return
		}
		above[name] = true
		if k.is[name] {
			down(name)
		}
		for _, user := range k.users[name] {
			up(user)
		}
	}
	up(s.name)
	return out
}

// file migrates a kustomization file: its patches and their targets.
func (k *kustomizations) file(name string, s *source, o Options) *Result {
	d := read(s.data)
	if d == nil || strings.Contains(string(s.data), "\r") {
		return &Result{New: s.data}
	}
	k.current = s.name
	f := newFile(name, s, o)
	f.opts.Partial = true
	for _, list := range []string{"patches", "patchesJson6902"} {
		for _, e := range entries(d.Root, list) {
			t := k.target(e.Value)
			if p := e.Value.Get("patch"); p != nil {
				k.inline(f, d, p, t)
			}
			if t == nil {
				continue
			}
			if v := e.Value.At("target", "version"); v != nil &&
				slices.Contains(t.kind.From, edit.Unquote(v.Value.Raw)) {
				setText(v, t.kind.To)
			}
		}
	}
	for _, e := range entries(d.Root, "patchesStrategicMerge") {
		k.inline(f, d, e, nil)
	}
	k.replacements(d.Root)
	return f.write(d, s.data, "the kustomization cannot be edited safely", "migrate its patches by hand")
}

// newFile is a file that is one document.
func newFile(name string, s *source, o Options) *file {
	text := string(s.data)
	return &file{name: name, opts: o, result: &Result{New: s.data}, step: listStep(text), uses: countVariables(text)}
}

// write is the result of such a file.
func (f *file) write(d *edit.Document, old []byte, message, help string) *Result {
	after, err := d.Result()
	if err != nil {
		message += ": " + err.Error()
		return &Result{New: old, Left: 1, Findings: []Finding{{Level: Manual, File: f.name, Line: 1, Message: message, Help: help}}}
	}
	f.result.New = []byte(after)
	return f.result
}

// inline migrates a patch in the text of a kustomization.
func (k *kustomizations) inline(f *file, d *edit.Document, e *edit.Entry, t *target) {
	head, text, indent, ok := literal(e.Value.Raw)
	if e.Value.Kind != edit.Leaf || !ok {
		return
	}
	now := text
	if p, err := edit.Parse(text+"\n", e.Line); err == nil && p.Root.IsList() {
		if t != nil {
			k.run(f, p.Root, t, inlineUnit(k.current, e.Line))
			now = strings.TrimSuffix(p.String(), "\n")
		}
	} else {
		f.opts.base = func(kind, name, at string) ([]argument, bool) {
			return k.base(inlineUnit(k.current, e.Line), kind, name, at)
		}
		now = strings.TrimSuffix(strings.Join(f.documents(edit.Split(text+"\n"), e.Line), ""), "\n")
	}
	if now != text {
		e.Value.SetRaw(head + "\n" + reindent(now, indent))
	}
}

// run migrates the list of JSON patches of a unit.
func (k *kustomizations) run(f *file, list *edit.Node, t *target, unit string) {
	o := &object{file: f, kind: t.kind, root: &edit.Node{Kind: edit.Map}, name: strings.TrimSpace("patch of " + t.kind.Kind + " " + t.name), step: f.step, partial: true}
	targets := phrase.Only(f.opts.Targets[t.kind.Group+"/"+t.kind.Kind], func(n *edit.Node) bool {
		return t.name == "" || n.Text("metadata", "name") == t.name
	})
	p := operations{object: o, kind: t.kind, list: list, targets: targets, created: map[string]bool{}, lists: map[string]*argumentList{}}
	p.places = func(path string) [][]argument { return k.places(unit, t, path) }
	p.migrate()
}

// operations migrates a file that is a list of JSON patches.
func (k *kustomizations) operations(name string, s *source, o Options) *Result {
	text := string(s.data)
	d, err := edit.Parse(text, 0)
	if err != nil || d.Anchors || strings.Contains(text, "\r") || !d.Root.IsList() {
		return &Result{New: s.data}
	}
	f := newFile(name, s, o)
	k.run(f, d.Root, s.list, s.name)
	return f.write(d, s.data, "the patches cannot be edited safely", "migrate them by hand")
}

// replacements migrates the kinds and field paths of replacements.
func (k *kustomizations) replacements(root *edit.Node) {
	one := func(selector *edit.Node, field *edit.Entry) {
		t := k.target(&edit.Node{Kind: edit.Map, Entries: []*edit.Entry{edit.NewEntry("target", selector.Clone())}})
		if t == nil {
			return
		}
		if v := selector.Get("version"); v != nil {
			setText(v, t.kind.To)
		}
		if field != nil && field.Value.Kind == edit.Leaf {
			if to, ok := movedPath(t.kind, edit.Unquote(field.Value.Raw)); ok {
				setText(field, to)
			}
		}
	}
	for _, e := range entries(root, "replacements") {
		if source := e.Value.Get("source"); source != nil && source.Value.IsMap() {
			one(source.Value, source.Value.Get("fieldPath"))
		}
		for _, t := range entries(e.Value, "targets") {
			selector := t.Value.Get("select")
			if selector == nil || !selector.Value.IsMap() {
				continue
			}
			for _, f := range entries(t.Value, "fieldPaths") {
				one(selector.Value.Clone(), f)
			}
			one(selector.Value, nil)
		}
	}
}

// movedPath is the new place of a field; ok is false if it stays or its value changes.
func movedPath(k *table.Kind, field string) (to string, ok bool) {
	for _, row := range k.Rows {
		if strings.Contains(row.Path, "[]") || row.Dropped() || row.Default != "" || row.Path == row.To {
			continue
		}
		if field == row.Path || strings.HasPrefix(field, row.Path+".") {
			return row.To + field[len(row.Path):], true
		}
	}
	return field, false
}
