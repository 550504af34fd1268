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
	// Before and After are nil where there is none, or a list of one value.
	Before, After []any
	// Cause names the patch and the variables that it reads.
	Cause string
}

// state is the object after one more operation.
type state struct {
	value object
	cause string
}

// differ looks for changes, and for the operation that made them.
type differ struct {
	states []state
	out    []Change
}

// mostStates bounds the memory for states, in bytes.
const mostStates = 64 << 20

// changes compares an object with what it was before patches.
func (g *generator) changes(p *extension.Part, t *patch.Template, after object) []Change {
	if !g.Changes || len(t.Writes) == 0 {
		return nil
	}
	d := differ{states: []state{{value: plain(p.Patched(plain(p.Template)))}}}
	now := encoded(p.Template)
	for _, w := range t.Writes {
		if len(t.Writes)*len(t.Object) > mostStates {
			break
		}
		before, err := now, error(nil)
		if now, err = patch.ApplyJSON(now, encoded([]any{w.Step})); err == nil {
			now, err = patch.Keep(before, now, contract.NewestCore)
		}
		if err != nil { // only together with operations around it
			now = before
			continue
		}
		d.states = append(d.states, state{plain(p.Patched(plain(json.RawMessage(now)))), cause(w)})
	}
	d.diff(nil, d.states[0].value, after)
	return d.out
}

// cause names the patch of an operation, and the variables that decide about it.
func cause(w patch.Write) string {
	text := fmt.Sprintf("patch %q", w.Patch.Name)
	if names := w.Reads(); len(names) > 0 {
		text += ", " + strings.TrimPrefix(phrase.Count(len(names), "variable"), fmt.Sprint(len(names), " ")) + " " + phrase.And(names)
	}
	if names := clusterclass.Reads(w.Patch.EnabledIf.Str()); len(names) > 0 {
		text += ", enabled by " + phrase.And(names)
	}
	return text
}

func (d *differ) diff(path []string, before, after any) {
	path = slices.Clip(path)
	if reflect.DeepEqual(before, after) {
		return
	}
	a, isMap := before.(object)
	b, isMaps := after.(object)
	if isMap && isMaps || before == nil && isMaps && len(b) > 0 && d.times(path) > 1 {
		keys := map[string]bool{}
		for key := range a {
			keys[key] = true
		}
		for key := range b {
			keys[key] = true
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			d.diff(append(path, key), a[key], b[key])
		}
		return
	}
	x, isList := before.([]any)
	y, isLists := after.([]any)
	if isLists && (isList || before == nil && d.times(path) > 1) {
		d.list(path, x, y)
		return
	}
	d.add(path, before, after, d.last(func(s state) any { return at(s.value, path) }))
}

// list compares lists: element by element where patches only append, otherwise by what is
// in one of them only.
func (d *differ) list(path []string, before, after []any) {
	grows := true
	for i := 1; i < len(d.states); i++ {
		x, _ := at(d.states[i-1].value, path).([]any)
		y, _ := at(d.states[i].value, path).([]any)
		grows = grows && (len(x) == len(y) || len(x) < len(y) && reflect.DeepEqual(x, y[:len(x)]) || len(x) == 0)
	}
	for i := 0; grows && i < max(len(before), len(after)); i++ {
		var x, y any
		if i < len(before) {
			x = before[i]
		}
		if i < len(after) {
			y = after[i]
		}
		d.diff(append(path, fmt.Sprintf("[%d]", i)), x, y)
	}
	if grows {
		return
	}
	only := func(list, other []any, report func(i int, v any, cause string)) {
		for i, v := range list {
			in := func(l []any) bool { return slices.ContainsFunc(l, func(w any) bool { return reflect.DeepEqual(v, w) }) }
			if !in(other) {
				report(i, v, d.last(func(s state) any { l, _ := at(s.value, path).([]any); return in(l) }))
			}
		}
	}
	only(before, after, func(i int, v any, cause string) { d.add(append(path, fmt.Sprintf("[%d]", i)), v, nil, cause) })
	only(after, before, func(i int, v any, cause string) { d.add(append(path, fmt.Sprintf("[%d]", i)), nil, v, cause) })
}

func (d *differ) add(path []string, before, after any, cause string) {
	c := Change{Path: crd.Join(path), Cause: cause}
	if before != nil {
		c.Before = []any{before}
	}
	if after != nil {
		c.After = []any{after}
	}
	d.out = append(d.out, c)
}

// times counts how often a value changed.
func (d *differ) times(path []string) (n int) {
	for i := 1; i < len(d.states); i++ {
		if !reflect.DeepEqual(at(d.states[i-1].value, path), at(d.states[i].value, path)) {
			n++
		}
	}
	return n
}

// last is the cause of the last change of what is seen of the object.
func (d *differ) last(see func(state) any) string {
	for i := len(d.states) - 1; i > 0; i-- {
		if !reflect.DeepEqual(see(d.states[i-1]), see(d.states[i])) {
			return d.states[i].cause
		}
	}
	return "several operations together"
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
