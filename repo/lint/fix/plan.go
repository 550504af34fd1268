package fix

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
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
	var edits []edit
	for _, f := range findings {
		e, reason := prepare(data, f)
		if reason != "" {
			refused = append(refused, Refusal{f, reason})
			continue
		}
		edits = append(edits, e)
	}
	slices.SortStableFunc(edits, func(x, y edit) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.end, y.end))
	})
	edits = disjoint(edits)
	p := &plan{data: data}
	edits = p.sound(edits)
	refused = append(refused, p.refused...)
	if len(edits) == 0 {
		return nil, refused
	}
	out := &File{Name: name, Old: data, New: apply(data, edits)}
	for _, e := range edits {
		out.Fixed = append(out.Fixed, e.findings...)
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

// edit is a byte range of the old text with what takes its place.
type edit struct {
	start, end int
	text       string
	// whole is set if the range was meant to be a whole scalar.
	whole    bool
	findings []*lint.Finding
}

// prepare checks an edit against the text of the file. An edit of a whole file
// is made as small as it can be.
func prepare(data []byte, f *lint.Finding) (_ edit, reason string) {
	e := f.Edit
	switch {
	case e.Linted != string(data):
		return edit{}, "the file has changed since it was checked"
	case e.Start < 0 || e.End < e.Start || e.End > len(data):
		return edit{}, "the place is outside the file"
	}
	old := data[e.Start:e.End]
	out := edit{start: e.Start, end: e.End, text: e.Text, findings: []*lint.Finding{f}}
	if e.End-e.Start == len(data) || bytes.ContainsRune(old, '\n') || len(old) == 0 {
		out = trim(data, out)
	} else {
		out.whole = true
		if strings.ContainsRune("&!*", rune(old[0])) {
			return edit{}, fmt.Sprintf("the value is written with %s; change it by hand", [...]string{'&': "an anchor", '!': "a tag", '*': "an alias"}[old[0]])
		}
	}
	if out.start == out.end && out.text == "" {
		return edit{}, "the edit changes nothing"
	}
	// New lines end like those around them.
	if strings.Contains(out.text, "\n") && bytes.Contains(data, []byte("\r\n")) {
		out.text = strings.ReplaceAll(strings.ReplaceAll(out.text, "\r\n", "\n"), "\n", "\r\n")
	}
	return out, ""
}

// trim drops the lines that the old and the new text have in common at both ends.
// An entry that is added to a list shares lines with its neighbours; of the two
// ways to cut it out, the one that begins with its dash is right.
func trim(data []byte, e edit) edit {
	old, text := strings.SplitAfter(string(data[e.start:e.end]), "\n"), strings.SplitAfter(e.text, "\n")
	out := trimmed(e, old, text, true)
	if first := strings.TrimSpace(out.text); out.start == out.end && !strings.HasPrefix(first, "-") {
		if other := trimmed(e, old, text, false); other.start == other.end && strings.HasPrefix(strings.TrimSpace(other.text), "-") {
			return other
		}
	}
	return out
}

// trimmed begins with the lines at the start or with those at the end.
func trimmed(e edit, old, text []string, head bool) edit {
	// A text with the other kind of line ends differs in nothing else.
	same := func(a, b string) bool {
		return strings.TrimRight(a, "\r\n") == strings.TrimRight(b, "\r\n") && strings.HasSuffix(a, "\n") == strings.HasSuffix(b, "\n")
	}
	front := func() {
		for len(old) > 0 && len(text) > 0 && same(old[0], text[0]) {
			e.start += len(old[0])
			old, text = old[1:], text[1:]
		}
	}
	if head {
		front()
	}
	for len(old) > 0 && len(text) > 0 && same(old[len(old)-1], text[len(text)-1]) {
		e.end -= len(old[len(old)-1])
		old, text = old[:len(old)-1], text[:len(text)-1]
	}
	front()
	e.text = strings.Join(text, "")
	return e
}

// disjoint joins equal edits and leaves out those that overlap an earlier one.
// Two insertions at one place would depend on their order.
func disjoint(edits []edit) []edit {
	var out []edit
	for _, e := range edits {
		if len(out) > 0 {
			last := &out[len(out)-1]
			if last.start == e.start && last.end == e.end && last.text == e.text {
				last.findings = append(last.findings, e.findings...)
				continue
			}
			if e.start < last.end || e.start == last.start {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

// apply makes edits that are sorted and do not overlap.
func apply(data []byte, edits []edit) []byte {
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(data[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(data[at:])
	return out.Bytes()
}

// plan chooses the edits of one file whose result means what it should.
type plan struct {
	data    []byte
	refused []Refusal
}

// sound returns the edits that can be made together, halving the list around
// those that cannot.
func (p *plan) sound(edits []edit) []edit {
	err := p.check(edits)
	switch {
	case err == nil:
		return edits
	case len(edits) == 1:
		p.refuse(edits, err)
		return nil
	}
	half := len(edits) / 2
	left, right := p.sound(edits[:half:half]), p.sound(edits[half:])
	both := append(left[:len(left):len(left)], right...)
	if err := p.check(both); err != nil {
		p.refuse(right, err)
		return left
	}
	return both
}

func (p *plan) refuse(edits []edit, err error) {
	for _, e := range edits {
		for _, f := range e.findings {
			p.refused = append(p.refused, Refusal{f, err.Error()})
		}
	}
}

func (p *plan) check(edits []edit) error {
	if len(edits) == 0 {
		return nil
	}
	return compare(p.data, apply(p.data, edits), edits)
}
