package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// unfixed is a finding whose edit was not made.
type unfixed struct {
	Finding *lint.Finding
	// Reason completes "not fixed:".
	Reason string
}

// plan is a file with edits that are made in memory.
type plan struct {
	old, new string
	// fixed are the findings whose edits are in new, in the order of the file.
	fixed   []*lint.Finding
	refused []unfixed
}

// planned makes the edits of findings in a file. Edits that overlap an earlier one
// are left out without a refusal: linting the result brings them again. Renames are
// not its business.
func planned(data string, findings []*lint.Finding) *plan {
	p := &plan{old: data, new: data}
	var changes []change
	for _, f := range findings {
		e, reason := f.Edit, ""
		switch {
		case e.Linted != data:
			reason = "the file has changed since it was checked"
		case e.Start < 0 || e.End < e.Start || e.End > len(data):
			reason = "the place is outside the file"
		case e.Proven && e.End-e.Start == len(data):
			// Nothing needs to be compared. The other edits come again.
			if p.new == data || p.new == e.Text {
				p.new, p.fixed = e.Text, append(p.fixed, f)
			}
			continue
		case data[e.Start:e.End] == e.Text:
			reason = "the edit changes nothing"
		case e.Start < e.End && strings.IndexByte("&!*", data[e.Start]) >= 0:
			name := map[byte]string{'&': "an anchor", '!': "a tag", '*': "an alias"}[data[e.Start]]
			reason = fmt.Sprintf("the value is written with %s; change it by hand", name)
		default:
			changes = append(changes, change{edit.Splice{Start: e.Start, End: e.End, Text: e.Text}, []*lint.Finding{f}})
			continue
		}
		p.refused = append(p.refused, unfixed{f, reason})
	}
	if p.fixed != nil {
		p.refused = nil
		return p
	}
	slices.SortStableFunc(changes, func(x, y change) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End))
	})
	p.fixed = phrase.Flat(p.sound(disjoint(changes)), func(c change) []*lint.Finding { return c.findings })
	return p
}

// change is an edit with the findings that ask for it.
type change struct {
	edit.Splice
	findings []*lint.Finding
}

// disjoint joins equal changes and leaves out those that overlap an earlier one.
// Two insertions at one place would depend on their order.
func disjoint(changes []change) []change {
	var out []change
	for _, c := range changes {
		if len(out) > 0 {
			last := &out[len(out)-1]
			if last.Splice == c.Splice {
				last.findings = append(last.findings, c.findings...)
				continue
			}
			if c.Start < last.End || c.Start == last.Start {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// sound makes the changes that can be made together, halving the list around those
// that cannot, and returns them.
func (p *plan) sound(changes []change) []change {
	if len(changes) == 0 {
		return nil
	}
	err := p.make(changes)
	switch {
	case err == nil:
		return changes
	case len(changes) == 1:
		p.refuse(changes, err)
		return nil
	}
	half := len(changes) / 2
	left, right := p.sound(changes[:half:half]), p.sound(changes[half:])
	both := append(left[:len(left):len(left)], right...)
	if err := p.make(both); err != nil {
		p.refuse(right, err)
		return p.sound(left)
	}
	return both
}

func (p *plan) refuse(changes []change, err error) {
	for _, c := range changes {
		for _, f := range c.findings {
			p.refused = append(p.refused, unfixed{f, err.Error()})
		}
	}
}

// make sets the text after changes; it stays what it is if they cannot be made.
func (p *plan) make(changes []change) error {
	text, err := edit.Replace(p.old, phrase.List(changes, func(c change) edit.Splice { return c.Splice }))
	if err == nil {
		p.new = text
	}
	return err
}
