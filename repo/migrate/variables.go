package migrate

import (
	"fmt"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
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
	if last == nil {
		for name, n := range gone {
			f.uses[name] -= n
		}
	}
	slices.Sort(last)
	return last
}

// converts remembers that the value of one expression means something else now. One
// that is also used where its value stays what it was is reported: one value cannot
// fit both.
func (o *object) converts(e *edit.Entry, name string) {
	f := o.file
	if f.converted == nil {
		f.converted = map[string]int{}
	}
	if f.converted[name]++; f.converted[name] == 1 && f.shared[name] > 0 {
		times := "once"
		if n := f.shared[name]; n > 1 {
			times = fmt.Sprintf("%d times", n)
		}
		o.manual(e,
			fmt.Sprintf("%s is a number of seconds here, but is also used %s, where seconds may be wrong", name, times),
			"use another variable here")
	}
}
