package examples

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// mark says which repositories have a line of an archive.
type mark byte

const (
	both     mark = ' '
	badOnly  mark = '-'
	goodOnly mark = '+'
	own      mark = '!' // both, but the base does not have it
	dropped  mark = '~' // neither, but the base has it
)

// in reports whether one side has the line; side is badOnly or goodOnly.
func (m mark) in(side mark) bool { return m == both || m == own || m == side }

// line is a line of an archive.
type line struct {
	mark mark
	text string
	want *Want // in the bad repository, without its place
}

// newLine reads a line, given without its mark.
func newLine(m mark, text string) (line, error) {
	l := line{mark: m, text: strings.TrimSuffix(text, "\n")}
	found := wantComment().FindStringSubmatchIndex(l.text)
	if found == nil {
		return l, nil
	}
	if !m.in(badOnly) {
		return l, fmt.Errorf("a finding is expected in a line that bad does not have: %q", l.text)
	}
	var err error
	l.want, err = newWant(l.text[found[2]:found[3]], l.text[found[4]:found[5]])
	l.text = l.text[:found[0]]
	return l, err
}

func newLines(data, marks string) ([]line, error) {
	var out []line
	for text := range strings.Lines(data) {
		m, rest := both, "\n"
		if text != "\n" { // whose mark is often lost
			m, rest = mark(text[0]), text[1:]
		}
		if !strings.ContainsRune(marks, rune(m)) {
			return nil, fmt.Errorf("line %q must begin with one of %q", text, marks)
		}
		l, err := newLine(m, rest)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// document is a file of the base with the changes of an example.
type document []*object

// object is an object of a file.
type object struct {
	kind, name string
	// base are the lines in the base.
	base []string
	// edits are the changes, sorted by place; they do not overlap.
	edits []edit
	// lacking are the sides that do not have the object.
	lacking []mark
}

// edit puts lines in the place of n lines of the base.
type edit struct {
	at, n int
	lines []line
}

func (o *object) String() string { return strings.TrimSpace(o.kind + " " + o.name) }

// newDocument reads a file of the base.
func newDocument(text string) document {
	var out document
	for part := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), separator) {
		o := &object{base: strings.Split(part, "\n")}
		o.identify(o.base)
		out = append(out, o)
	}
	return out
}

// identify sets the kind and the name from the lines of the object.
func (o *object) identify(lines []string) {
	for _, l := range lines {
		if kind, ok := strings.CutPrefix(l, "kind: "); ok {
			o.kind = kind
		}
		if name, ok := strings.CutPrefix(l, "  name: "); ok && o.name == "" {
			o.name = name
		}
	}
}

// find returns the object of the base with a kind and, if it is given, a name.
func (d document) find(kindName string) (*object, error) {
	kind, name, _ := strings.Cut(kindName, " ")
	var found []*object
	for _, o := range d {
		if o.base != nil && o.kind == kind && (name == "" || o.name == name) {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("the base has %d objects %s: %s", len(found), kindName, []*object(d))
	}
	return found[0], nil
}

// change applies the parts of a .diff.
func (d *document) change(data string) error {
	before, parts, _ := strings.Cut("\n"+data, "\n@@ ")
	if before != "" {
		return errors.New("the base has this file, so that each part needs a heading @@ KIND NAME")
	}
	for part := range strings.SplitSeq(parts, "\n@@ ") {
		heading, lines, _ := strings.Cut(strings.TrimSuffix(part, "\n")+"\n", "\n")
		if err := d.part(heading, lines); err != nil {
			return fmt.Errorf("@@ %s: %w", heading, err)
		}
	}
	return nil
}

// part applies one part.
func (d *document) part(heading, data string) error {
	for _, action := range []struct {
		words   string
		lacking []mark
	}{{"without ", []mark{badOnly, goodOnly}}, {"bad without ", []mark{badOnly}}} {
		name, ok := strings.CutPrefix(heading, action.words)
		if !ok {
			continue
		}
		if data != "" {
			return errors.New("lines under a heading that has none")
		}
		o, err := d.find(name)
		if err == nil {
			o.lacking = action.lacking
		}
		return err
	}
	if heading == "new" {
		lines, err := newLines(data, " -+")
		if err == nil {
			*d = append(*d, newObject(lines))
		}
		return err
	}
	o, err := d.find(heading)
	if err != nil {
		return err
	}
	lines, err := newLines(data, " -+!~")
	if err != nil {
		return err
	}
	return o.change(lines)
}

// newObject is an object that the base does not have.
func newObject(lines []line) *object {
	o := &object{edits: []edit{{lines: lines}}}
	for _, side := range []mark{goodOnly, badOnly} {
		var text []string
		for _, l := range lines {
			if l.mark.in(side) {
				text = append(text, l.text)
			}
		}
		if o.identify(text); text == nil {
			o.lacking = append(o.lacking, side)
		}
	}
	return o
}

// change puts lines in the place of the only lines of the base that they fit.
func (o *object) change(lines []line) error {
	// One side is what the base has, or the lines around the change are.
	var places []edit
	for _, side := range []mark{goodOnly, badOnly, both} {
		for _, e := range o.fit(lines, side) {
			if !slices.ContainsFunc(places, func(p edit) bool { return p.at == e.at && p.n == e.n }) &&
				(side != both || len(places) == 0) {
				places = append(places, e)
			}
		}
	}
	if len(places) != 1 {
		return fmt.Errorf("these lines fit %d places of the object in the base, want 1", len(places))
	}
	at, end := places[0].at, places[0].at+places[0].n
	for _, e := range o.edits {
		if e.at < end && at < e.at+e.n {
			return errors.New("these lines overlap another part")
		}
	}
	o.edits = append(o.edits, places[0])
	slices.SortFunc(o.edits, func(a, b edit) int { return a.at - b.at })
	return nil
}

// fit returns the places where the base has the lines of one side, or for both
// those that are no change. The latter must be around the change.
func (o *object) fit(lines []line, side mark) []edit {
	var want []string
	inBase := func(l line) bool { return l.mark == both || l.mark == dropped || l.mark == side }
	for _, l := range lines {
		if inBase(l) {
			want = append(want, l.text)
		}
	}
	var out []edit
	for at := 0; want != nil && at+len(want) <= len(o.base); at++ {
		open := side == both && (at > 0 && !inBase(lines[0]) || at+len(want) < len(o.base) && !inBase(lines[len(lines)-1]))
		if !open && slices.Equal(o.base[at:at+len(want)], want) {
			out = append(out, edit{at, len(want), lines})
		}
	}
	return out
}

// writer writes one side of a file.
type writer struct {
	strings.Builder
	path string
	side mark
	n    int // lines so far
	// wants and shown are what the archive expects in the file and shows of it.
	wants []Want
	shown []fragment
}

func (w *writer) put(lines ...string) {
	for _, l := range lines {
		w.WriteString(l + "\n")
	}
	w.n += len(lines)
}

// show writes lines of the archive, which are a part of the object or the whole
// file.
func (w *writer) show(object string, lines []line) {
	before := w.Len()
	f := fragment{Path: w.path, Object: object, Line: w.n + 1}
	for _, l := range lines {
		if !l.mark.in(w.side) {
			continue
		}
		w.put(l.text)
		if l.want != nil && w.side == badOnly {
			want := *l.want
			want.Path, want.Line = w.path, w.n
			w.wants = append(w.wants, want)
		}
	}
	if f.Text = w.String()[before:]; f.Text != "" {
		w.shown = append(w.shown, f)
	}
}

// document writes all objects that the side has.
func (w *writer) document(d document) {
	for _, o := range d {
		switch {
		case slices.Contains(o.lacking, w.side):
			if len(o.lacking) == 1 {
				w.shown = append(w.shown, fragment{Path: w.path, Object: o.String(), Missing: true})
			}
			continue
		case w.n > 0:
			w.put("---")
		}
		if o.lacking != nil && o.base != nil { // the archive does not show it
			w.show(o.String(), phrase.List(o.base, func(l string) line { return line{mark: both, text: l} }))
			continue
		}
		at := 0
		for _, e := range o.edits {
			w.put(o.base[at:e.at]...)
			w.show(o.String(), e.lines)
			at = e.at + e.n
		}
		w.put(o.base[at:]...)
	}
}
