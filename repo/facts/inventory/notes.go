package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
)

// Note is something about a variable that clusterctl does not tell.
type Note struct {
	Kind    noteKind `json:"kind" doc:"what the note is about"`
	Message string   `json:"message" doc:"the note as text, without the name of the variable"`
	Places  []Place  `json:"places" doc:"the expressions that it is about"`
}

// noteKind tells notes apart for programs.
type noteKind string

// The kinds of notes.
const (
	noteNested          noteKind = "nested"
	noteClass           noteKind = "class"
	noteClassName       noteKind = "class-name"
	noteBareUse         noteKind = "bare-use"
	noteUnusedDefault   noteKind = "unused-default"
	noteEmptyDefault    noteKind = "empty-default"
	noteFakeDefault     noteKind = "fake-default"
	noteOptionDefault   noteKind = "option-default"
	noteDefaultsDiffer  noteKind = "defaults-differ"
	noteSometimesNeeded noteKind = "sometimes-needed"
	noteComment         noteKind = "comment"
)

type noteText struct {
	kind noteKind
	text string
}

// noteTexts gives the order of notes, and the message of those that always have
// the same (clusterctl: client/yamlprocessor, simple_processor.go).
var noteTexts = []noteText{
	{noteNested, "only used inside another expression: clusterctl never lists it, and without a value it is empty"},
	{noteClass, ""},
	{noteClassName, "names the ClusterClass: its value decides which ClusterClass file is included, and thus which other variables count"},
	{noteBareUse, "empty here without a value, which clusterctl does not ask for: the first use in the file has a default, but it does not apply to this one"},
	{noteUnusedDefault, "this default never applies: the first use in the file has none, so a value is required"},
	{noteEmptyDefault, "clusterctl treats an empty default as none: a value is required"},
	{noteFakeDefault, "clusterctl shows the arguments of this operator as the default, so the variable looks optional"},
	{noteOptionDefault, "this default never applies: clusterctl always sets the variable"},
	{noteDefaultsDiffer, "the defaults differ"},
	{noteSometimesNeeded, "required here, although it has a default in other files"},
	{noteComment, "replaced even in this comment, so clusterctl lists it and requires a value if there is no default"},
}

// Words are all kinds; see report.Document.
func (noteKind) Words() []string {
	return phrase.List(noteTexts, func(t noteText) string { return string(t.kind) })
}

// notes are those of one variable, each about one place.
type notes []Note

func (n *notes) add(kind noteKind, p Place) { n.say(kind, noteTexts[order(kind)].text, p) }

func (n *notes) say(kind noteKind, text string, p Place) {
	*n = append(*n, Note{kind, text, []Place{p}})
}

// order is the place of a kind in noteTexts.
func order(kind noteKind) int {
	return slices.IndexFunc(noteTexts, func(t noteText) bool { return t.kind == kind })
}

// list has one note for each kind and message.
func (n notes) list() []Note {
	same := phrase.Groups(n, func(n Note) noteText { return noteText{n.Kind, n.Message} })
	all := phrase.List(same, func(same []Note) Note {
		return Note{same[0].Kind, same[0].Message, slices.Concat(phrase.List(same, func(n Note) []Place { return n.Places })...)}
	})
	slices.SortStableFunc(all, func(a, b Note) int { return cmp.Compare(order(a.Kind), order(b.Kind)) })
	return all
}

// defaults reports whether an expression gives its argument for a missing value
// because its author meant it so. In clusterctl :+ and :? do the same.
func defaults(r *vars.Ref) bool { return r.Op == ":-" || r.Op == ":=" || r.Op == "=" }

// noteUse looks at one expression. First is the one that decides for clusterctl
// in this file, nil if there is none.
func noteUse(v *variable, s *source, r, first *vars.Ref, u Use) {
	note := func(k noteKind) { v.notes.add(k, u.Place) }
	if u.Comment {
		note(noteComment)
	}
	if options[v.Name].setIn(s) {
		if r.Default != "" && defaults(r) {
			note(noteOptionDefault)
		}
		return // it has a value, whatever the expressions say
	}
	switch {
	case first == nil:
		note(noteNested)
	case r == first:
		switch {
		case r.Default != "" && !defaults(r):
			note(noteFakeDefault)
		case r.Default == "" && defaults(r):
			note(noteEmptyDefault)
		}
	case first.Default != "" && !defaults(r):
		note(noteBareUse)
	case first.Default == "" && r.Default != "" && defaults(r):
		note(noteUnusedDefault)
	}
}

// noteRelease looks at all files together.
func noteRelease(v *variable) {
	if v.Default != nil {
		for _, p := range v.needs {
			v.notes.add(noteSometimesNeeded, p)
		}
	}
	if len(v.evidence.defaults) > 1 {
		for _, d := range v.evidence.defaults {
			v.notes.add(noteDefaultsDiffer, d.place)
		}
	}
}

// noteClasses adds what the ClusterClasses bring to the templates that pull
// them in.
func noteClasses(sources []*source, get func(string) *variable) {
	type gap struct{ class, name string }
	unlisted := map[gap][]string{} // the templates
	files := map[string]*source{}
	for _, s := range sources {
		files[s.name] = s
	}
	for _, t := range sources {
		pulled := map[string]bool{}
		for _, class := range classesOf(t) {
			for _, r := range class.refs {
				get(r.Name).notes.add(noteClassName, t.place(r))
			}
			c := files[class.file]
			if c == nil || pulled[c.name] {
				continue
			}
			pulled[c.name] = true
			for name := range c.required {
				if _, listed := t.required[name]; !listed && !options[name].always {
					unlisted[gap{c.name, name}] = append(unlisted[gap{c.name, name}], t.name)
				}
			}
		}
	}
	for _, c := range sources {
		if c.kind != layouts.ClusterClass {
			continue
		}
		for name, first := range c.firsts() {
			templates := unlisted[gap{c.name, name}]
			if len(templates) == 0 {
				continue
			}
			need := "it has a default"
			if c.required[name] {
				need = "a value is required"
			}
			get(name).notes.say(noteClass, fmt.Sprintf("not listed for %s, though %s is pulled in from there: %s",
				strings.Join(templates, ", "), c.name, need), c.place(first))
		}
	}
}
