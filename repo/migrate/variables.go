package migrate

import (
	"fmt"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
)

// countVariables counts the expressions of each variable in a text.
func countVariables(text string) map[string]int {
	out := map[string]int{}
	t, err := vars.Parse([]byte(text))
	if err != nil {
		return out
	}
	for _, r := range t.Refs() {
		out[r.Name]++
	}
	return out
}

// release takes the expressions of a text out of the count and returns the
// variables that would be used nowhere else. Those stay counted.
func (f *file) release(text string) []string {
	var last []string
	gone := countVariables(text)
	for name, n := range gone {
		if f.uses[name] <= n {
			last = append(last, name)
		}
	}
	if len(last) > 0 {
		slices.Sort(last)
		return last
	}
	for name, n := range gone {
		f.uses[name] -= n
	}
	return nil
}

// convert remembers that the value of one expression means something else now.
func (f *file) convert(name string, line int, object, path string) {
	if f.converted == nil {
		f.converted = map[string]*conversion{}
	}
	if f.converted[name] == nil {
		f.converted[name] = &conversion{line: line, object: object, path: path}
	}
	f.converted[name].n++
}

// shared reports variables that are also used where their values stay what they
// were: one value cannot fit both.
func (f *file) shared() {
	for name, c := range f.converted {
		if others := f.uses[name] - c.n; others > 0 {
			f.result.add(Finding{
				Level: Manual, File: f.name, Line: c.line, Object: c.object, Path: c.path,
				Message: fmt.Sprintf("%s is a number of seconds here, but is also used %s where that may be wrong", name, times(others)),
				Help:    "use another variable here",
			})
		}
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
