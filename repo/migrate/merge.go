package migrate

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/tree"
)

// kustomize merges the maps of arguments of the old version key by key, but
// replaces the lists of the new one, because it does not know their keys. A patch
// therefore has to repeat the arguments of what it is merged into.

// argument is one entry of a map of arguments, or item of a list of them.
type argument struct{ name, key, value string }

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
	for _, chunk := range tree.Split(strings.ReplaceAll(text, "\r\n", "\n")) {
		d, err := tree.Parse(chunk, 0)
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

// arguments reads a map or list of arguments.
func arguments(n *tree.Node) []argument {
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
	if k.held == nil {
		k.held = map[string][]holding{}
	}
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

// effective are the arguments of an object at a path in what a kustomization
// builds, before one of its patches.
func (k *kustomizations) effective(name, before string, want holding, depth int) []argument {
	if depth > maxFolders {
		return nil
	}
	var out []argument
	for _, part := range k.parts[name] {
		if part == before {
			break
		}
		if k.is[part] {
			out = mergeArguments(out, k.effective(part, "", want, depth+1))
			continue
		}
		for _, h := range k.held[part] {
			if h.kind == want.kind && h.path == want.path && matches(want.name, h.name) {
				out = mergeArguments(out, h.args)
			}
		}
	}
	for _, u := range k.uses[name] {
		if u.unit == before {
			break
		}
		for _, h := range k.held[u.unit] {
			target := h.name
			if u.targeted {
				target = u.name
			}
			if h.kind == want.kind && h.path == want.path && (target == want.name || matches(target, want.name) || want.name == "") {
				out = mergeArguments(out, h.args)
			}
		}
	}
	return out
}

// base returns what a patch has to repeat of the arguments at a path; sure is
// false if that differs between the kustomizations that use the patch.
func (k *kustomizations) base(unit string, kind, name, at string) (args []argument, sure bool) {
	sure = true
	first := true
	visit := func(user string, u use) {
		want := holding{kind: kind, name: name, path: at}
		if u.targeted {
			want.name = u.name
		}
		got := k.effective(user, unit, want, 0)
		// What a component patches comes from the kustomizations that include it.
		parents := k.users[user]
		for _, parent := range parents {
			above := k.effective(parent, user, want, 0)
			all := mergeArguments(above, got)
			if !first && !sameArguments(args, all) {
				sure = false
			}
			args, first = all, false
		}
		if len(parents) == 0 {
			if !first && !sameArguments(args, got) {
				sure = false
			}
			args, first = got, false
		}
	}
	for user, uses := range k.uses {
		for _, u := range uses {
			if u.unit == unit {
				visit(user, u)
			}
		}
	}
	return args, sure
}

func sameArguments(a, b []argument) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	return true
}

// inlineUnit names a patch inside a kustomization.
func inlineUnit(kustomization string, line int) string {
	return path.Join(kustomization, "patch", strings.Repeat("i", line))
}

// repeat adds the arguments that a merged patch must repeat, as items of a list.
func (o *object) repeat(e *tree.Entry, list *tree.Node) {
	if !o.partial || o.file.opts.base == nil {
		return
	}
	base, sure := o.file.opts.base(o.kind.Kind, o.root.Text("metadata", "name"), o.row.Path)
	if !sure {
		o.manual(e, "kustomize replaces lists, and the patch is merged into objects with different "+e.Name, "write all arguments of each object into a patch for it", true)
		return
	}
	for _, a := range base {
		if slices.ContainsFunc(list.Entries, func(e *tree.Entry) bool { return e.Value.Text("name") == a.name }) {
			continue
		}
		if strings.Contains(a.value, "\n") {
			o.manual(e, "kustomize replaces lists, so the patch must repeat the argument "+a.name, "add it", true)
			continue
		}
		fields := tree.NewMap(list)
		fields.Insert(0, tree.NewEntry("name", tree.NewLeaf(a.key)))
		fields.Insert(1, tree.NewEntry("value", tree.NewLeaf(a.value)))
		at := slices.IndexFunc(list.Entries, func(e *tree.Entry) bool { return e.Value.Text("name") > a.name })
		if at < 0 {
			at = len(list.Entries)
		}
		list.Insert(at, tree.NewItem(fields))
	}
}
