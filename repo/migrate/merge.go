package migrate

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// kustomize merges the maps of arguments of the old version key by key, but
// replaces the lists of the new one, because it does not know their keys. A patch
// therefore has to repeat the arguments of what it is merged into.

// argument is one entry of a map of arguments, or item of a list of them.
type argument struct{ name, key, value string }

// item is the argument for a list.
func (a argument) item(list *edit.Node) *edit.Entry {
	fields := edit.NewMap(list)
	fields.Add("name", a.key)
	fields.Add("value", a.value)
	return edit.NewItem(fields)
}

// holding are the arguments that a document sets at one path.
type holding struct {
	kind, name, path string
	args             []argument
}

// use is a patch as one kustomization uses it.
type use struct {
	unit       string // the file, or the kustomization and the place in it
	kind, name string // of the target, if there is one
	targeted   bool
}

// holdings lists the arguments of all documents of a text, in either version.
func holdings(text string, c *table.Contract) []holding {
	var out []holding
	if !strings.Contains(text, "xtraArgs") {
		return nil
	}
	for _, chunk := range edit.Split(strings.ReplaceAll(text, "\r\n", "\n")) {
		d, err := edit.Parse(chunk, 0)
		if err != nil || d.Root == nil || d.Anchors || !d.Root.IsMap() {
			continue
		}
		group, _, _ := strings.Cut(d.Root.Text("apiVersion"), "/")
		k := c.Kind(group, d.Root.Text("kind"))
		if k == nil {
			continue
		}
		for _, row := range k.Rows {
			if row.Value != table.Args {
				continue
			}
			if e := d.Root.At(strings.Split(row.Path, ".")...); e != nil {
				if args := arguments(e.Value); len(args) > 0 {
					out = append(out, holding{k.Kind, d.Root.Text("metadata", "name"), row.Path, args})
				}
			}
		}
	}
	return out
}

// arguments reads a map or list of arguments, in the order of the list that they
// become.
func arguments(n *edit.Node) []argument {
	var out []argument
	switch {
	case n.IsMap():
		for _, e := range n.Entries {
			value := e.Value.String()
			if e.Value.Raw == "" {
				value = `""`
			}
			out = append(out, argument{e.Name, asText(strings.TrimRight(e.Key, " ")), value})
		}
		slices.SortStableFunc(out, func(a, b argument) int { return cmp.Compare(a.name, b.name) })
	case n.IsList():
		for _, e := range n.Entries {
			if name := e.Value.Text("name"); name != "" && e.Value.Get("value") != nil {
				out = append(out, argument{name, e.Value.Get("name").Value.Raw, e.Value.Get("value").Value.String()})
			}
		}
	}
	return out
}

// mergeArguments adds or replaces arguments by name.
func mergeArguments(base, over []argument) []argument {
	out := slices.Clone(base)
	for _, a := range over {
		if i := slices.IndexFunc(out, func(b argument) bool { return b.name == a.name }); i >= 0 {
			out[i] = a
		} else {
			out = append(out, a)
		}
	}
	return out
}

// learn remembers the arguments of a file or inline patch.
func (k *kustomizations) learn(unit, text string) {
	if h := holdings(text, k.contract); h != nil {
		k.held[unit] = h
	}
}

// matches reports whether a name is what a target selects, which is a regular
// expression for kustomize.
func matches(selected, name string) bool {
	if selected == "" || selected == name {
		return true
	}
	re, err := regexp.Compile("^(?:" + selected + ")$")
	return err == nil && re.MatchString(name)
}

// argumentPatch is what one JSON patch makes of the arguments at a path: all of
// them are new, or one is added, replaced or removed, in a list by its place.
type argumentPatch struct {
	path, op string
	whole    bool
	at       int // the place in the list; -1 for the name in a map, and for the end
	args     []argument
}

// learnPatches remembers what the JSON patches of a unit make of arguments.
func (k *kustomizations) learnPatches(unit, text string) {
	if k.patches[unit] != nil {
		return
	}
	for _, e := range patchList(text) {
		segments := pointer(e.Value.Text("path"))
		for path := range argumentPaths(k.contract) {
			parts := strings.Split(path, ".")
			a := argumentPatch{path: path, op: e.Value.Text("op"), whole: len(segments) <= len(parts), at: -1}
			common := min(len(segments), len(parts))
			if common == 0 || !slices.Equal(segments[:common], parts[:common]) {
				continue
			}
			value := e.Value.Get("value")
			switch {
			case !a.whole && isIndex(segments[common]):
				if !a.item(segments[common:], value) {
					continue
				}
			case len(segments) > len(parts)+1:
				continue
			case !a.whole:
				a.args = []argument{{name: segments[len(parts)], key: asText(segments[len(parts)])}}
				if value != nil {
					a.args[0].value = strings.TrimSpace(value.Value.String())
				}
			case value != nil:
				a.args = []argument{}
				if list := follow(value.Value, parts[len(segments):]); list != nil {
					a.args = arguments(list.Value)
				} else if len(segments) == len(parts) {
					a.args = arguments(value.Value)
				}
			}
			k.patches[unit] = append(k.patches[unit], a)
		}
	}
}

// item reads a patch of an item of a list, as a migration writes it; ok is false if it
// is another one.
func (p *argumentPatch) item(place []string, value *edit.Entry) (ok bool) {
	if i, err := strconv.Atoi(place[0]); err == nil {
		p.at = i
	}
	switch {
	case len(place) == 2 && place[1] == "value" && value != nil && p.at >= 0:
		p.args = []argument{{value: strings.TrimSpace(value.Value.String())}}
		if p.op == "add" { // to a member, which there is
			p.op = "replace"
		}
	case len(place) > 1:
		return false
	case value != nil:
		p.args = arguments(&edit.Node{Kind: edit.List, Entries: []*edit.Entry{edit.NewItem(value.Value.Clone())}})
	}
	return len(p.args) == 1 || p.op == "remove" && p.at >= 0
}

// argumentPaths are the paths of arguments in all kinds.
func argumentPaths(c *table.Contract) map[string]bool {
	out := map[string]bool{}
	for _, k := range c.Kinds {
		for _, row := range k.Rows {
			if row.Value == table.Args {
				out[row.Path] = true
			}
		}
	}
	return out
}

// apply makes of arguments what a JSON patch does.
func (p argumentPatch) apply(args []argument) []argument {
	switch {
	case p.whole && p.op == "remove":
		return nil
	case p.whole && (p.op == "add" || p.op == "replace"):
		return p.args
	case p.at > len(args), p.at == len(args) && p.op != "add":
		return args // the list is not known
	case p.at >= 0 && p.op == "remove":
		return slices.Delete(slices.Clone(args), p.at, p.at+1)
	case p.at >= 0 && p.op == "add":
		return slices.Insert(slices.Clone(args), p.at, p.args...)
	case p.at >= 0 && p.op == "replace":
		out, arg := slices.Clone(args), p.args[0]
		if arg.name == "" {
			arg.name, arg.key = args[p.at].name, args[p.at].key
		}
		out[p.at] = arg
		return out
	case p.op == "remove":
		return slices.DeleteFunc(slices.Clone(args), func(a argument) bool { return a.name == p.args[0].name })
	case p.op == "add" || p.op == "replace":
		return mergeArguments(args, p.args)
	}
	return args
}

// effective are the arguments of an object at a path in what a kustomization makes
// of those before it, without one of its parts and what comes after. They are in
// the order that they have after the migration; nil if there are none.
func (k *kustomizations) effective(name, until string, want holding, args []argument, depth int) []argument {
	if depth > maxFolders {
		return nil
	}
	out := args
	for _, part := range k.parts[name] {
		if part == until {
			return out
		}
		if k.is[part] {
			if slices.Contains(k.users[part], name) { // a component
				out = k.effective(part, "", want, out, depth+1)
			} else {
				out = mergeArguments(out, k.effective(part, "", want, nil, depth+1))
			}
			continue
		}
		for _, h := range k.held[part] {
			if h.kind == want.kind && h.path == want.path && matches(want.name, h.name) {
				out = mergeArguments(out, h.args)
			}
		}
	}
	for _, u := range k.uses[name] {
		if u.unit == until {
			break
		}
		for _, h := range k.held[u.unit] {
			target := h.name
			if u.targeted {
				target = u.name
			}
			if h.kind == want.kind && h.path == want.path &&
				(target == want.name || matches(target, want.name) || want.name == "") {
				out = repeated(out, h.args)
			}
		}
		if u.kind != "" && u.kind != want.kind || want.name != "" && !matches(u.name, want.name) {
			continue
		}
		for _, p := range k.patches[u.unit] {
			if p.path == want.path {
				out = p.apply(out)
			}
		}
	}
	return out
}

// repeated are the arguments of a merged patch that repeats those before it.
func repeated(base, over []argument) []argument {
	out := slices.Clone(over)
	for _, a := range base {
		if slices.ContainsFunc(out, func(b argument) bool { return a.name == b.name }) {
			continue
		}
		at := slices.IndexFunc(out, func(b argument) bool { return b.name > a.name })
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, a)
	}
	return out
}

// bases are the arguments at a path to which a patch applies, in each kustomization
// that uses it, for the objects with a name; "" is any.
func (k *kustomizations) bases(unit, kind, name, at string) [][]argument {
	var out [][]argument
	for _, user := range slices.Sorted(maps.Keys(k.uses)) {
		for _, u := range k.uses[user] {
			if u.unit != unit {
				continue
			}
			want := holding{kind: kind, name: name, path: at}
			if u.targeted {
				want.name = u.name
			}
			out = append(out, k.before(user, unit, want)...)
		}
	}
	return out
}

// before are the arguments to which a unit of a kustomization applies. What a component
// patches comes from each kustomization that includes it.
func (k *kustomizations) before(user, unit string, want holding) [][]argument {
	if len(k.users[user]) == 0 {
		return [][]argument{k.effective(user, unit, want, nil, 0)}
	}
	return phrase.List(k.users[user], func(parent string) []argument {
		return k.effective(user, unit, want, k.effective(parent, user, want, nil, 0), 0)
	})
}

// base returns what a patch has to repeat of the arguments at a path; sure is
// false if that differs between the kustomizations that use the patch.
func (k *kustomizations) base(unit string, kind, name, at string) (args []argument, sure bool) {
	all := k.bases(unit, kind, name, at)
	for _, other := range all {
		if !sameArguments(all[0], other) {
			return other, false
		}
	}
	if len(all) > 0 {
		args = all[0]
	}
	return args, true
}

// places are the arguments at a path to which JSON patches apply, in their order,
// for each object that has some.
func (k *kustomizations) places(unit string, t *target, at string) [][]argument {
	objects := map[string]bool{}
	for _, held := range k.held {
		for _, h := range held {
			if h.kind == t.kind.Kind && matches(t.name, h.name) {
				objects[h.name] = true
			}
		}
	}
	var out [][]argument
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		for _, user := range slices.Sorted(maps.Keys(k.uses)) {
			if !slices.ContainsFunc(k.uses[user], func(u use) bool { return u.unit == unit }) {
				continue
			}
			out = append(out, k.before(user, unit, holding{kind: t.kind.Kind, name: name, path: at})...)
		}
	}
	return slices.DeleteFunc(out, func(args []argument) bool { return args == nil })
}

func sameArguments(a, b []argument) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x argument) bool { return !slices.Contains(b, x) })
}

// inlineUnit names a patch inside a kustomization.
func inlineUnit(kustomization string, line int) string {
	return path.Join(kustomization, "patch", strings.Repeat("i", line))
}

// repeat adds the arguments that a merged patch must repeat, as items of a list.
func (o *object) repeat(e *edit.Entry, list *edit.Node) {
	if !o.partial || o.file.opts.base == nil {
		return
	}
	base, sure := o.file.opts.base(o.kind.Kind, o.root.Text("metadata", "name"), o.row.Path)
	if !sure {
		o.manual(e, "kustomize replaces lists, and the patch is merged into objects with different "+e.Name,
			"write a separate patch for each object with all its arguments")
		return
	}
	for _, a := range base {
		if slices.ContainsFunc(list.Entries, func(e *edit.Entry) bool { return e.Value.Text("name") == a.name }) {
			continue
		}
		if strings.Contains(a.value, "\n") {
			o.manual(e, "kustomize replaces lists, so the patch must repeat the argument "+a.name, "add it")
			continue
		}
		at := slices.IndexFunc(list.Entries, func(e *edit.Entry) bool { return e.Value.Text("name") > a.name })
		if at < 0 {
			at = len(list.Entries)
		}
		list.Insert(at, a.item(list))
	}
}
