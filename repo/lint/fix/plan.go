package fix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
)

// File is a file with edits made in memory.
type File struct {
	// Name is how findings name the file.
	Name     string
	Old, New []byte
	// Fixed are the findings whose edits are in New, in the order of the file.
	Fixed []*lint.Finding
}

// Refusal is an edit that was not made.
type Refusal struct {
	Finding *lint.Finding
	// Reason completes "not fixed:".
	Reason string
}

// Plan makes the edits of findings in one file with the content data. Edits that
// overlap an earlier one are left out without a refusal: linting the result
// brings them again. It returns nil if no edit can be made. Renames are not its
// business.
func Plan(name string, data []byte, findings []*lint.Finding) (*File, []Refusal) {
	if f := proven(name, data, findings); f != nil {
		return f, nil
	}
	var refused []Refusal
	var changes []change
	for _, f := range findings {
		c, reason := prepare(data, f)
		if reason != "" {
			refused = append(refused, Refusal{f, reason})
			continue
		}
		changes = append(changes, c)
	}
	slices.SortStableFunc(changes, func(x, y change) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End))
	})
	p := &plan{data: string(data)}
	changes = p.sound(disjoint(changes))
	refused = append(refused, p.refused...)
	text, err := p.make(changes)
	if len(changes) == 0 || err != nil {
		return nil, refused
	}
	out := &File{Name: name, Old: data, New: []byte(text)}
	for _, c := range changes {
		out.Fixed = append(out.Fixed, c.findings...)
	}
	return out, refused
}

// proven makes the edit of a whole file that needs no comparison; nil if there is
// none. Findings with other edits come again when the result is linted.
func proven(name string, data []byte, findings []*lint.Finding) *File {
	var out *File
	for _, f := range findings {
		e := f.Edit
		if !e.Proven || e.Linted != string(data) || e.Start != 0 || e.End != len(data) {
			continue
		}
		if out == nil {
			out = &File{Name: name, Old: data, New: []byte(e.Text)}
		}
		if string(out.New) == e.Text {
			out.Fixed = append(out.Fixed, f)
		}
	}
	return out
}

// change is an edit with the findings that ask for it.
type change struct {
	edit.Splice
	findings []*lint.Finding
}

// prepare checks an edit against the text of the file.
func prepare(data []byte, f *lint.Finding) (_ change, reason string) {
	e := f.Edit
	switch {
	case e.Linted != string(data):
		return change{}, "the file has changed since it was checked"
	case e.Start < 0 || e.End < e.Start || e.End > len(data):
		return change{}, "the place is outside the file"
	case string(data[e.Start:e.End]) == e.Text:
		return change{}, "the edit changes nothing"
	}
	for mark, name := range map[string]string{"&": "an anchor", "!": "a tag", "*": "an alias"} {
		if strings.HasPrefix(string(data[e.Start:e.End]), mark) {
			return change{}, fmt.Sprintf("the value is written with %s; change it by hand", name)
		}
	}
	return change{edit.Splice{Start: e.Start, End: e.End, Text: e.Text}, []*lint.Finding{f}}, ""
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

// plan chooses the changes of one file whose result means what it should.
type plan struct {
	data    string
	refused []Refusal
}

// sound returns the changes that can be made together, halving the list around
// those that cannot.
func (p *plan) sound(changes []change) []change {
	_, err := p.make(changes)
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
	if _, err := p.make(both); err != nil {
		p.refuse(right, err)
		return left
	}
	return both
}

func (p *plan) refuse(changes []change, err error) {
	for _, c := range changes {
		for _, f := range c.findings {
			p.refused = append(p.refused, Refusal{f, err.Error()})
		}
	}
}

// make returns the text after changes.
func (p *plan) make(changes []change) (string, error) {
	if len(changes) == 0 {
		return p.data, nil
	}
	var splices []edit.Splice
	for _, c := range changes {
		splices = append(splices, c.Splice)
	}
	return edit.Replace(p.data, splices)
}
