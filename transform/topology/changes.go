package topology

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/clusterclass"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Change is a value of an object that a patch adds, removes or replaces.
type Change struct {
	// Path leads to the value, as in spec.files[1].
	Path string
	// Before and After are nil where there is none.
	Before, After any
	// Cause names the patch and the variables that it reads.
	Cause string
}

// differ looks for changes, and for the operation that made them.
type differ struct {
	// states are the object before patches and after each operation, with its cause.
	states []object
	causes []string
	out    []Change
}

// mostStates bounds the memory for states, in bytes.
const mostStates = 64 << 20

// changes compares an object with what it was before patches.
func (g *generator) changes(p *extension.Part, t *patch.Template, after object) []Change {
	if !g.Changes || len(t.Writes) == 0 {
		return nil
	}
	d := differ{states: []object{plain(p.Patched(plain(p.Template)))}, causes: []string{""}}
	now := encoded(p.Template)
	for _, w := range t.Writes {
		if len(t.Writes)*len(t.Object) > mostStates {
			break
		}
		next, err := patch.ApplyJSON(now, encoded([]any{w.Step}))
		if err == nil {
			next, err = patch.Keep(now, next, contract.NewestCore)
		}
		if err == nil { // otherwise it works only together with those around it
			now = next
			d.states, d.causes = append(d.states, plain(p.Patched(plain(json.RawMessage(now))))), append(d.causes, cause(w))
		}
	}
	d.diff(nil, d.states[0], after)
	return d.out
}

// cause names the patch of an operation, and the variables that decide about it.
func cause(w patch.Write) string {
	text := fmt.Sprintf("patch %q", w.Patch.Name)
	if names := w.Reads(); len(names) == 1 {
		text += ", variable " + names[0]
	} else if len(names) > 1 {
		text += ", variables " + phrase.And(names)
	}
	if names := clusterclass.Reads(w.Patch.EnabledIf.Str()); len(names) > 0 {
		text += ", enabled by " + phrase.And(names)
	}
	return text
}

// diff adds the changes of a value, those of each part of it if several operations made them.
func (d *differ) diff(path []string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	times, cause := d.history(func(s object) any { return at(s, path) })
	a, isMap := before.(object)
	b, isMaps := after.(object)
	x, isList := before.([]any)
	y, isLists := after.([]any)
	several := before == nil && times > 1
	switch {
	case isMaps && (isMap || several && len(b) > 0):
		keys := maps.Clone(b)
		maps.Copy(keys, a)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			d.diff(append(slices.Clip(path), key), a[key], b[key])
		}
	case isLists && (isList || several):
		d.list(slices.Clip(path), x, y)
	default:
		d.out = append(d.out, Change{crd.Join(path), before, after, cause})
	}
}

// list compares lists: element by element if elements keep their places, otherwise by what is
// in one of them only.
func (d *differ) list(path []string, before, after []any) {
	keep := true
	for i := range d.states[1:] {
		x, _ := at(d.states[i], path).([]any)
		y, _ := at(d.states[i+1], path).([]any)
		keep = keep && (len(x) == len(y) || len(x) < len(y) && reflect.DeepEqual(x, y[:len(x)]))
	}
	element := func(list []any, i int) any {
		if i < len(list) {
			return list[i]
		}
		return nil
	}
	for i := range max(len(before), len(after)) {
		path, whole := append(path, fmt.Sprintf("[%d]", i)), path
		if keep {
			d.diff(path, element(before, i), element(after, i))
			continue
		}
		for _, v := range []*Change{{Before: element(before, i)}, {After: element(after, i)}} {
			other, value := after, v.Before
			if value == nil {
				other, value = before, v.After
			}
			in := func(list []any) bool {
				return slices.ContainsFunc(list, func(w any) bool { return reflect.DeepEqual(value, w) })
			}
			if value != nil && !in(other) {
				v.Path = crd.Join(path)
				_, v.Cause = d.history(func(s object) any { l, _ := at(s, whole).([]any); return in(l) })
				d.out = append(d.out, *v)
			}
		}
	}
}

// history counts how often what is seen of the object changed, and returns the last cause.
func (d *differ) history(see func(object) any) (times int, cause string) {
	cause = "several operations together"
	for i := range d.states[1:] {
		if !reflect.DeepEqual(see(d.states[i]), see(d.states[i+1])) {
			times, cause = times+1, d.causes[i+1]
		}
	}
	return times, cause
}

// at follows a path with elements of lists; nil if it leads nowhere.
func at(v any, path []string) any {
	for _, step := range path {
		if m, ok := v.(object); ok {
			v = m[step]
			continue
		}
		list, _ := v.([]any)
		i, err := strconv.Atoi(strings.Trim(step, "[]"))
		if err != nil || i < 0 || i >= len(list) {
			return nil
		}
		v = list[i]
	}
	return v
}
