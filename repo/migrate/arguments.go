package migrate

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate/table"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// argumentList are the names of the arguments at one path, in the order that they
// have in each object after the operations so far. A patch finds an item of a list
// only by its place.
//
// Operations of one list take place together. Whether those of another list did is
// not known, because a patch can be switched off.
type argumentList struct {
	objects [][]placed
	// base counts the items of each object that no patch has added.
	base []int
	// changed are the operations that changed the list last.
	changed *edit.Node
	// moved is set when they moved items that no patch has added.
	moved bool
	// before are the names that the list may have if they do not take place, others
	// those that it may have whether or not they do, at places that are not known.
	before, others []string
}

// placed is an argument with the text of its value; template says that the text is
// that of a template, unsure that the value cannot be written in one line.
type placed struct {
	argument
	template, unsure bool
}

// place makes arguments those of a list.
func place(args []argument, template bool) []placed {
	return phrase.List(args, func(a argument) placed { return placed{a, template, strings.Contains(a.value, "\n")} })
}

func namesOf(args []placed) []string {
	return phrase.List(args, func(p placed) string { return p.name })
}

// arguments are those at a path of the selected kind.
func (p *operations) arguments(path []string) *argumentList {
	key := p.kind.Group + "/" + p.kind.Kind + joined(path)
	a := p.lists[key]
	if a == nil {
		a = &argumentList{}
		if p.places != nil {
			for _, args := range p.places(strings.Join(path, ".")) {
				a.put(place(args, false))
			}
		} else {
			for _, t := range p.targets {
				if e := follow(t, path); e != nil {
					a.put(place(arguments(e.Value), false))
				}
			}
		}
		p.lists[key] = a
	}
	if a.changed != nil && a.changed != p.list {
		a.settle()
	}
	return a
}

// put begins with the arguments of one more object.
func (a *argumentList) put(args []placed) {
	a.objects = append(a.objects, args)
	a.base = append(a.base, len(args))
}

// settle forgets the places that depend on whether a patch takes place.
func (a *argumentList) settle() {
	a.others = append(a.others, a.before...)
	for i, args := range a.objects {
		if a.moved {
			a.base[i] = 0
		}
		a.others = append(a.others, namesOf(args[a.base[i]:])...)
		a.objects[i] = slices.Clip(args[:a.base[i]])
	}
	a.changed, a.moved, a.before = nil, false, nil
}

// index is the place of an argument, the same in every object. It is -1 if that is
// not known; somewhere says whether the argument may be there nevertheless.
func (a *argumentList) index(name string) (index int, somewhere bool) {
	if slices.Contains(a.others, name) {
		return -1, true
	}
	index = -1
	for i, args := range a.objects {
		at := slices.IndexFunc(args, func(p placed) bool { return p.name == name })
		if i > 0 && at != index || at >= a.base[i] && len(a.others) > 0 {
			return -1, true
		}
		index = at
	}
	return index, false
}

// add appends an argument to every object.
func (a *argumentList) add(list *edit.Node, arg placed) {
	if len(a.objects) == 0 {
		a.put(nil)
	}
	for i := range a.objects {
		a.objects[i] = append(slices.Clip(a.objects[i]), arg)
	}
	a.changed = list
}

// remove takes an argument out of every object.
func (a *argumentList) remove(list *edit.Node, index int) {
	for i, args := range a.objects {
		a.before = append(a.before, namesOf(args[index:])...)
		a.objects[i] = slices.Delete(slices.Clone(args), index, index+1)
		if index < a.base[i] {
			a.base[i]--
			a.moved = true
		}
	}
	a.changed = list
}

// replaced notes the arguments that an operation on something around them leaves.
func (p *operations) replaced(item *edit.Entry, op string, segments []string, rows []table.Row) {
	for _, row := range rows {
		path := strings.Split(row.Path, ".")
		if row.Value != table.Args || len(path) < len(segments) || op == "test" {
			continue
		}
		a := p.arguments(path)
		value := edit.NewMap(item.Value)
		if e := item.Value.Get("value"); e != nil {
			value = e.Value
		} else if e := item.Value.At("valueFrom", "template"); e != nil {
			if n := templateTree(e.Value); n != nil {
				value = n
			}
		}
		var left []argument
		if len(path) == len(segments) {
			left = arguments(value)
		} else if e := follow(value, path[len(segments):]); e != nil {
			left = arguments(e.Value)
		}
		a.replace(p.list, place(left, item.Value.Get("value") == nil))
	}
}

// replace puts arguments in the place of all others.
func (a *argumentList) replace(list *edit.Node, args []placed) {
	if len(a.objects) == 0 {
		a.put(nil)
	}
	a.before, a.others = append(a.before, a.others...), nil
	for i, old := range a.objects {
		a.before = append(a.before, namesOf(old)...)
		a.objects[i], a.base[i] = args, 0
	}
	a.changed, a.moved = list, true
}

// one are the arguments if they are known, and the same in every object.
func (a *argumentList) one() ([]placed, bool) {
	if len(a.objects) == 0 || len(a.others) > 0 {
		return nil, false
	}
	for _, other := range a.objects {
		if !slices.Equal(a.objects[0], other) {
			return nil, false
		}
	}
	return a.objects[0], !slices.ContainsFunc(a.objects[0], func(p placed) bool { return p.unsure })
}

// patched is the argument that an operation writes, with the text of its value.
func patched(item *edit.Entry, name string) placed {
	arg := placed{argument: argument{name: name, key: asText(name)}, unsure: true}
	if e := item.Value.Get("value"); e != nil {
		arg.value = e.Value.String()
		arg.unsure = strings.Contains(arg.value, "\n")
	} else if e := item.Value.At("valueFrom", "variable"); e != nil {
		variable := edit.Unquote(e.Value.Raw)
		arg.value, arg.template = "{{ toJson ."+variable+" }}", true
		arg.unsure = strings.ContainsAny(variable, "[]-/ ") || edit.HasVariables(variable)
	} else if e := item.Value.At("valueFrom", "template"); e != nil {
		text, ok := oneLine(e.Value.Raw)
		arg.value, arg.template = text, true
		arg.unsure = !ok || strings.HasPrefix(text, "{{-") || strings.HasSuffix(text, "-}}")
	}
	return arg
}

// whole makes an operation on one item of a list one that writes all of it, because
// patches of classes cannot name an item. It is false if the list is not known.
func (p *operations) whole(item *edit.Entry, op string, list []string, args *argumentList, index int, arg placed) bool {
	all, ok := args.one()
	if !ok || op != "remove" && arg.unsure {
		return false
	}
	all = slices.Clone(all)
	if op == "remove" {
		all = slices.Delete(all, index, index+1)
	} else {
		arg.key = all[index].key
		all[index] = arg
	}
	template := slices.ContainsFunc(all, func(p placed) bool { return p.template })
	if template && slices.ContainsFunc(all, func(p placed) bool { return !p.template && strings.Contains(p.value, "{{") }) {
		return false
	}
	setText(item.Value.Get("op"), "replace")
	setText(item.Value.Get("path"), joined(list))
	e := item.Value.Get("value")
	if from := item.Value.Get("valueFrom"); from != nil {
		from.Rename("value")
		e = from
	} else if e == nil {
		e = item.Value.Add("value", "")
	}
	items := edit.NewList(item.Value, p.object.step)
	for _, a := range all {
		items.Insert(len(items.Entries), a.item(items))
	}
	switch {
	case template:
		holder := edit.NewMap(item.Value)
		from := holder.Add("template", "")
		e.Rename("valueFrom")
		e.Set(holder)
		setTemplate(from, items)
	case len(all) == 0:
		e.Value.SetRaw("[]")
	default:
		e.Set(items)
	}
	args.replace(p.list, all)
	return true
}
