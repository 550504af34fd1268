package text

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/gotypes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var documentRules = &lint.Family{Prefix: "YAML", Title: "Documents and objects", Kinds: view.Substituted}

// cause says which rule explains why a document cannot be parsed, so that one
// fault gives one finding.
type cause struct {
	rule    string
	message string
	at      yamldoc.Pos
}

// causeOf explains the error of a document.
func causeOf(f *lint.File, d *yamldoc.Document) cause {
	why := d.Err.Err
	if inner := errors.Unwrap(why); inner != nil {
		why = inner // without "not YAML"
	}
	err := why.Error()
	start, end := d.Range()
	text := d.Text()[start:end]
	line := f.Raw.Line(d.Err.Pos.Line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case !utf8.ValidString(text):
		off := invalidUTF8(f.Raw.Data)
		return cause{"YAML004", fmt.Sprintf("the byte %#02x is not UTF-8: %s", f.Raw.Data[off], err), f.Raw.Pos(off)}
	case strings.HasPrefix(text, "%"):
		return cause{"YAML004", "clusterctl does not read YAML directives", d.Err.Pos}
	case errors.Is(why, yamldoc.ErrControl):
		return cause{"YAML004", err, d.Err.Pos}
	case strings.Contains(indent, "\t"):
		return cause{"YAML004", "a tab cannot indent a line: " + err, d.Err.Pos}
	case errors.Is(why, yamldoc.ErrEscape):
		return cause{"YAML001", err, d.Err.Pos}
	case errors.Is(why, yamldoc.ErrNumber), errors.Is(why, yamldoc.ErrKey):
		return cause{"YAML010", err, d.Err.Pos}
	}
	// A default may be to blame, in this line or in the one before.
	rs := view.Refs(f)
	from := f.Raw.Offset(yamldoc.Pos{Line: max(1, d.Err.Pos.Line-1), Column: 1})
	to := f.Raw.Offset(yamldoc.Pos{Line: d.Err.Pos.Line + 1, Column: 1})
	i, _ := slices.BinarySearchFunc(rs, from, func(r vars.Ref, off int) int { return cmp.Compare(r.Start, off) })
	for ; i < len(rs) && rs[i].Start < to; i++ {
		r := rs[i]
		if r.Depth > 0 || !r.IsDefault() || f.IsOption(r.Name) {
			continue
		}
		switch {
		case strings.Contains(r.Default, `"`) && insideQuotes(f, r.Start):
			return cause{"VAR021", fmt.Sprintf("the quotes in the default of %s end the quotes around it: %s", expression(f, &r), err), d.Err.Pos}
		case r.End < to && strings.ContainsAny(r.Default[:min(len(r.Default), 1)], `"'`) && isCutShort(f, r.Start, r.End):
			return cause{"VAR021", fmt.Sprintf("the value ends with the quotes in the default of %s, but more text follows: %s", expression(f, &r), err), d.Err.Pos}
		case punctuation().MatchString(r.Default) && !strings.Contains(r.Default, "\n"):
			return cause{"VAR022", fmt.Sprintf("the default %q of %s is not in quotes: %s", r.Default, r.Name, err), d.Err.Pos}
		}
	}
	first := d.RawOffset(start)
	for _, r := range rs {
		if r.Start < first || r.Start > to {
			continue
		}
		if lines := strings.Count(r.Default, "\n"); r.Depth == 0 && lines > 0 {
			return cause{"YAML001", fmt.Sprintf("the default of %s ends %d lines below, so its closing brace is probably missing: %s", r.Name, lines, err), f.Raw.Pos(r.Start)}
		}
	}
	if errors.Is(why, yamldoc.ErrAnchor) {
		return cause{"YAML012", err + " in this document", d.Err.Pos}
	}
	return cause{"YAML001", "the document is not valid YAML: " + err, d.Err.Pos}
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8.
func invalidUTF8(data string) int {
	for off := 0; off < len(data); {
		r, width := utf8.DecodeRuneInString(data[off:])
		if r == utf8.RuneError && width == 1 {
			return off
		}
		off += width
	}
	return 0
}

// isCutShort reports whether a value may begin at start and more text follows end. A key in
// quotes needs no space after its colon in a flow collection, which a bracket on its line
// makes likely.
func isCutShort(f *lint.File, start, end int) bool {
	line, rest := f.Raw.Data[lineStart(f, start):start], f.Raw.Data[end:]
	quoted := strings.HasSuffix(line, `":`) || strings.HasSuffix(line, `':`)
	switch before := strings.TrimRight(line, " \t"); {
	case before == "" || quoted && strings.ContainsAny(line, "{["):
	case strings.ContainsAny(before[len(before)-1:], ",[{"):
		if strings.HasPrefix(rest, ":") {
			return false // the default is such a key
		}
	case !strings.ContainsAny(before[len(before)-1:], ":-") || before == line:
		return false
	}
	rest = strings.TrimPrefix(rest, ":")
	return rest != "" && strings.IndexByte(" \t\r\n,]}", rest[0]) < 0
}

// insideQuotes reports whether a double quote is open on the line before off.
func insideQuotes(f *lint.File, off int) bool {
	before := f.Raw.Data[lineStart(f, off):off]
	return (strings.Count(before, `"`)-strings.Count(before, `\"`))%2 == 1
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML001", Name: "document-parses", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Every document must be a YAML mapping",
	Source: "clusterctl util/yaml/yaml.go, ToUnstructured",
	Why:    "clusterctl refuses the whole file, with a message that prints the document instead of a line number.",
	Fix:    "Write every document as a mapping with apiVersion, kind and metadata.",
	Check: func(p *lint.Pass) {
		reportCauses(p)
		s := p.File.Docs()
		if s == nil {
			return
		}
		others := sync.OnceValue(func() []*yamldoc.Stream { return view.OtherSamples(p.File) })
		for i, d := range s.Docs {
			if d.Err != nil || d.Root.Is(yamldoc.Map) || endsInNUL(p.File, i) {
				continue
			}
			if _, ok := p.File.Variable(d, d.Root); ok && readable(others(), len(s.Docs), i) {
				continue // its value may be a mapping
			}
			p.Node(d, d.Root, "document %d of the file is %s, not a mapping", d.Index, d.Root.Kind.Noun())
		}
	},
})

var _ = documentRules.AddAll(lint.Rule{
	ID: "YAML002", Name: "separator-line", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Lines that begin with --- must not contain anything else",
	Source: "k8s.io/apimachinery/pkg/util/yaml, YAMLReader",
	Why:    "clusterctl splits the file at this line, even inside a quoted string. Only spaces or a comment may follow the dashes.",
	Fix:    "Move the text after the dashes to the next line, or indent the line if it is not a separator.",
	Check: func(p *lint.Pass) {
		if s := p.File.Docs(); s != nil && s.Err != nil {
			text := s.Err.Err.Error()
			var split *yamldoc.SplitError
			if errors.As(s.Err.Err, &split) {
				text = split.Text
				if split.TooMany {
					p.Report(view.AtPos(p.File, s.Err.Pos, split.Error()))
					return
				}
			}
			p.Report(view.AtPos(p.File, s.Err.Pos, "text follows the separator ---: "+short(text)))
		}
	},
}, lint.Rule{
	ID: "YAML016", Name: "document-lost", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A document must begin after a line feed and a separator line",
	Source: "k8s.io/apimachinery/pkg/util/yaml, YAMLReader; sigs.k8s.io/yaml, Unmarshal",
	Why:    "clusterctl silently drops the objects that follow: it splits files at line feeds only, and reads only one document of each part.",
	Fix:    "End the lines with a line feed, and put --- on its own line between documents.",
	Check: func(p *lint.Pass) {
		if s := p.File.Docs(); s != nil {
			for _, pos := range s.Lost {
				p.Report(view.AtPos(p.File, pos, "clusterctl drops everything from here to the next line with ---, because it reads only one document of each part"))
			}
		}
	},
}, lint.Rule{
	ID: "YAML003", Name: "duplicate-key", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "A mapping should not have duplicate keys",
	Source: "sigs.k8s.io/yaml, Unmarshal",
	Why:    "clusterctl uses the last entry and silently drops the others.",
	Fix:    "Merge the entries, or remove the wrong one.",
	Check: func(p *lint.Pass) {
		view.Objects(p.File, func(d *yamldoc.Document) {
			view.Each(d.Root, func(n *yamldoc.Node) {
				view.Repeated(n, func(first, again *yamldoc.Field) {
					f := lint.At(p.File, d, again.Key(), "the key %q is already on line %d; only the last one is used", again.Name, d.Pos(first.Key()).Line)
					if n == d.Root {
						f = f.Because(view.Document(p.File, d)) // two documents without a line between them
					}
					p.Report(f)
				})
			})
		})
	},
})

// maybeTyped are the plain scalars that might be no text.
var maybeTyped = phrase.Pattern(`^[-+.]?[0-9]|^(?i:y|n|yes|no|on|off)$`)

// reread returns what becomes of a plain scalar that is a boolean or a number,
// or "" if it stays as it is written.
func reread(n *yamldoc.Node) string {
	switch v := n.Value().(type) {
	case bool:
		if s := strconv.FormatBool(v); !strings.EqualFold(s, n.Text()) {
			return s
		}
	case float64:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if i, err := strconv.ParseInt(s, 10, 64); err == nil && n.Kind == yamldoc.Int {
			s = strconv.FormatInt(i, 10)
		}
		if s != strings.TrimPrefix(n.Text(), "+") {
			return s
		}
	}
	return ""
}

// versionLike is a number that was probably meant as a version.
var versionLike = phrase.Pattern(`^[0-9]+\.[0-9]*0$`)

var _ = documentRules.Add(lint.Rule{
	ID: "YAML004", Name: "encoding", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Files must be UTF-8 without tab indentation, control characters and directives",
	Source: "sigs.k8s.io/yaml, Unmarshal",
	Why:    "clusterctl refuses the whole file, and at best names a line within the document.",
	Fix:    "Save the file as UTF-8, indent with spaces, and remove the directive.",
	Check:  reportCauses,
})

var _ = documentRules.Add(lint.Rule{
	ID: "YAML010", Name: "not-in-json", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Values and keys must exist in JSON",
	Source: "sigs.k8s.io/yaml, YAMLToJSON",
	Why:    "clusterctl refuses the whole file: JSON has neither infinity nor keys that are null, lists or mappings.",
	Fix:    "Put the value or key in quotes.",
	Check:  reportCauses,
})

var _ = documentRules.Add(lint.Rule{
	ID: "YAML012", Name: "unknown-anchor", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "An alias must name an anchor of the same document",
	Source: "sigs.k8s.io/yaml, Unmarshal",
	Why:    "clusterctl refuses the whole file, because anchors are only known within their document.",
	Fix:    "Repeat the anchor in this document, or write the value instead. If the * is literal, put it in quotes.",
	Check:  reportCauses,
})

// reportCauses reports the documents that cannot be parsed for a cause that this
// rule explains. If other values of required variables help, it is a warning.
func reportCauses(p *lint.Pass) {
	s := p.File.Docs()
	if s == nil {
		return
	}
	var others []*yamldoc.Stream
	for i, d := range s.Docs {
		if d.Err == nil || endsInNUL(p.File, i) {
			continue
		}
		c := causeOf(p.File, d)
		if c.rule != p.Rule.ID {
			continue
		}
		if others == nil {
			others = view.OtherSamples(p.File)
		}
		f := view.AtPos(p.File, c.at, c.message)
		f.Severity = lint.Error
		if readable(others, len(s.Docs), i) {
			f.Severity = lint.Warning
			f.Message += "; whether it can depends on the values of variables"
		}
		p.Report(f)
	}
}

// endsInNUL reports whether a document is the last one before a NUL byte, where clusterctl stops.
func endsInNUL(f *lint.File, index int) bool { // VAR019
	return index == len(f.Docs().Docs)-1 && f.Kind != layouts.Metadata && strings.Contains(f.Raw.Data, "\x00")
}

// readable reports whether a document is a mapping in one of the streams.
func readable(streams []*yamldoc.Stream, docs, index int) bool {
	return slices.ContainsFunc(streams, func(s *yamldoc.Stream) bool {
		return s.Err == nil && len(s.Docs) == docs && s.Docs[index].Err == nil && s.Docs[index].Root.Is(yamldoc.Map)
	})
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML005", Name: "number-changes", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "Numbers should keep their value",
	Source: "clusterctl util/yaml/yaml.go, ToUnstructured",
	Why:    "clusterctl changes the number, because it holds all numbers as 64-bit floats: integers beyond 2^53 are rounded, and 1.10 becomes 1.1.",
	Fix:    "Put the value in quotes if it is a string.",
	Check:  numberChanges,
})

// sameInteger reports whether two texts write the same integer, such as 0x10 and 16.
func sameInteger(a, b string) bool {
	x, ok := new(big.Int).SetString(a, 0)
	y, also := new(big.Int).SetString(b, 10)
	return ok && also && x.Cmp(y) == 0
}

func numberChanges(p *lint.Pass) {
	view.Objects(p.File, func(d *yamldoc.Document) {
		view.Each(d.Root, func(n *yamldoc.Node) {
			switch {
			case n.Style != yamldoc.Plain:
			case n.Kind == yamldoc.Float && versionLike().MatchString(n.Text()) && reread(n) != "":
				if _, ok := p.File.Variable(d, n); !ok {
					p.Node(d, n, "%s is a number and becomes %s", n.Text(), reread(n))
				}
			case n.Kind == yamldoc.Int || n.Kind == yamldoc.Float && !strings.ContainsAny(n.Text(), ".eE"):
				if v, _ := n.Value().(float64); math.Abs(v) >= view.MaxExact && reread(n) != "" && !sameInteger(n.Text(), reread(n)) {
					if _, ok := p.File.Variable(d, n); !ok {
						p.Node(d, n, "%s is too large for clusterctl and becomes %s", n.Text(), reread(n))
					}
				}
			}
		})
	})
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML006", Name: "yes-no-word", Severity: lint.Warning, Proof: lint.Clusterctl,
	Yields: []string{"YAML009", "TPL012", "TPL015", "TOP001", "COMP018"},
	Title:  "Words that YAML 1.1 reads as booleans should be in quotes",
	Source: "sigs.k8s.io/yaml (YAML 1.1)",
	Why:    "clusterctl reads y, n, yes, no, on and off as true and false, in keys as well as values.",
	Fix:    "Put the word in quotes, or write true or false.",
	Check:  yesNoWord,
})

func yesNoWord(p *lint.Pass) {
	view.Objects(p.File, func(d *yamldoc.Document) {
		view.Each(d.Root, func(n *yamldoc.Node) {
			if n.Kind == yamldoc.Bool {
				if word := reread(n); word != "" {
					if _, ok := p.File.Variable(d, n); !ok {
						f := lint.At(p.File, d, n, "%s is read as %s", n.Text(), word)
						f.Edit = lint.Replace(p.File, d, n, word) // the same value for every reader
						p.Report(f)
					}
				}
				return
			}
			for i := range n.Fields() {
				f := &n.Fields()[i]
				if (f.Name == "true" || f.Name == "false") && f.Key().Kind == yamldoc.Bool && !f.Merged && !strings.EqualFold(f.Key().Text(), f.Name) {
					p.Node(d, f.Key(), "the key %s is read as %q", f.Key().Text(), f.Name)
				}
			}
		})
	})
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML007", Name: "object-identity", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Every document must have apiVersion, kind and metadata.name",
	Source: "Kubernetes API conventions, section Objects",
	Why:    "The API server refuses the object in the middle of the installation.",
	Fix:    "Add the field as a string.",
	Yields: []string{"YAML003"},
	Check:  view.EachObject(objectIdentity),
})

func objectIdentity(p *lint.Pass, o *manifest.Object) {
	var missing []string
	for _, path := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}} {
		name := strings.Join(path, ".")
		n := o.Get(path...)
		ok := func(n *yamldoc.Node) bool { return n.Str() != "" }
		switch {
		case o.IsList() && name == "metadata.name":
		case n == nil && name == "metadata.name" && o.Get("metadata", "generateName") != nil:
			p.On(o, o.Get("metadata", "generateName"),
				"generateName instead of metadata.name: clusterctl asks for objects by name")
		case n == nil || n.Is(yamldoc.Null):
			missing = append(missing, name)
		case !n.Is(yamldoc.String):
			view.Judge(p, o, n, ok, func(value string) lint.Finding {
				return lint.On(o, n, "%s must be a string, but %s is %s", name, cmp.Or(value, "it"), n.Kind.Noun())
			})
		case n.Text() == "":
			view.Judge(p, o, n, ok, func(string) lint.Finding { return lint.On(o, n, "%s is empty", name) })
		}
	}
	if len(missing) > 0 {
		n := o.Get(strings.Split(missing[0], ".")...) // where it is null
		p.Report(lint.On(o, n, "document %d of the file has no %s", o.Doc.Index, phrase.And(missing)).
			Perhaps(view.Document(o.File, o.Doc), view.FieldOf(o, missing[0])))
	}
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML008", Name: "list-object", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "A document must not be a List",
	Source: "clusterctl client/repository/components.go, addCommonLabels and fixTargetNamespace",
	Why:    "Users lose the items on delete, upgrade and move, because clusterctl adds neither namespace nor labels nor image overrides to them.",
	Fix:    "Make every item a separate document.",
	Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		if o.IsList() {
			p.On(o, o.Get("kind"), "clusterctl treats this %s with %s as one object", o.Kind, phrase.Count(len(o.Get("items").List()), "item"))
		}
	}),
})

var _ = documentRules.Add(lint.Rule{
	ID: "YAML009", Name: "label-values", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Values of labels and annotations must be strings",
	Source: "clusterctl client/repository/components.go, addCommonLabels; apimachinery unstructured, GetLabels",
	Why:    "Selectors no longer match: clusterctl ignores all labels if one is not a string, and writes only its own two. In a template the API server refuses the object.",
	Fix:    "Put the value in quotes.",
	Check: func(p *lint.Pass) {
		isText := func(n *yamldoc.Node) bool { return n.Is(yamldoc.String) || n.Is(yamldoc.Null) } // null is an empty text
		for _, o := range p.File.Objects() {
			for _, field := range []string{"labels", "annotations"} {
				all := o.Get("metadata", field)
				for _, f := range all.Fields() {
					if isText(f.Value) || all.Get(f.Name) != f.Value { // a merge key or a second entry hides it
						continue
					}
					finding := lint.On(o, f.Value, "the value of %s %s is %s, not a string", strings.TrimSuffix(field, "s"), f.Name, f.Value.Kind.Noun())
					finding.Edit = lint.Replace(p.File, o.Doc, f.Value, strconv.Quote(f.Value.Text()))
					view.Judge(p, o, f.Value, isText, func(string) lint.Finding { return finding })
				}
			}
		}
	},
})

var _ = documentRules.Add(lint.Rule{
	ID: "YAML013", Name: "object-name", Severity: lint.Error, Proof: lint.APIServer,
	Title:  "Names must be valid names of their kind",
	Source: "apimachinery api/validation, NameIsDNSSubdomain; Kubernetes, section Object Names and IDs",
	Why:    "The API server refuses the object in the middle of the installation.",
	Fix:    "Use lower-case letters, digits, dashes and dots.",
	Check: view.EachObject(func(p *lint.Pass, o *manifest.Object) {
		n := o.Get("metadata", "name")
		if n.Str() == "" || o.Kind == "" || o.Kind == "Namespace" || o.IsList() {
			return // others are for YAML007 and COMP002
		}
		if why := crd.NameProblem(o.Group, o.Kind, n.Text()); why != "" {
			view.Judge(p, o, n, func(n *yamldoc.Node) bool {
				return n.Str() != "" && crd.NameProblem(o.Group, o.Kind, n.Text()) == ""
			}, func(value string) lint.Finding {
				return lint.On(o, n, "%q is not a valid %s name: %s", value, o.Kind, why)
			})
		}
	}),
})

var _ = documentRules.Add(lint.Rule{
	ID: "YAML011", Name: "duplicate-object", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Documents must not define the same object twice",
	Source: "clusterctl client/repository/components.go, fixTargetNamespace",
	Why:    "The later object overwrites the earlier one, because clusterctl applies all objects to one namespace.",
	Fix:    "Remove one of them, or rename it.",
	Check:  duplicateObject,
})

func duplicateObject(p *lint.Pass) {
	type identity struct{ group, kind, name string }
	seen, place := map[identity]*manifest.Object{}, map[*manifest.Object]int{}
	for i, o := range p.File.Objects() {
		id := identity{o.Group, o.Kind, o.Name}
		place[o] = i
		if id.kind == "" || id.name == "" || o.IsList() {
			continue
		}
		first := seen[id]
		if first == nil {
			seen[id] = o
			continue
		}
		n, before := o.Get("metadata", "name"), first.Get("metadata", "name")
		f := lint.On(o, n, "%s %s is already defined on %s", id.kind, id.name, p.Where(first, before))
		if o.Is("", "Namespace") {
			f = f.Because("namespace " + id.name) // COMP001
		}
		if first.Namespace != o.Namespace {
			f.Message += ", and clusterctl puts both into the same namespace"
		}
		if sameText(first.Doc, o.Doc) {
			f.Severity = lint.Warning
			f.Message += " with the same content"
			f = f.Because(fmt.Sprintf("%s again after %d", p.File.Raw.Name, i-place[first])) // with those around it
		}
		if r, ok := view.From(first, before); !view.DiffersByVariable(o, n, first) {
			f.Severity = cmp.Or(f.Severity, p.Rule.Severity) // whatever the value is
		} else if ok && f.Severity == lint.Off {
			f.Unless(r.Name)
		}
		p.Report(f)
	}
}

// sameText reports whether two documents are written the same.
func sameText(a, b *yamldoc.Document) bool {
	text := func(d *yamldoc.Document) string {
		start, end := d.Range()
		return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(d.Text()[start:end]), "---"))
	}
	return text(a) == text(b)
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML015", Name: "not-writable", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Values and keys must be ones that clusterctl can write",
	Source: "sigs.k8s.io/yaml, Marshal; clusterctl util/yaml/yaml.go, FromUnstructured",
	Why:    "clusterctl reads the file and fails when it prints the objects, with a message that names no line. It writes the objects as JSON and reads that as YAML, which refuses control characters and keys of more than about 1,000 characters.",
	Fix:    "Remove the character, or write the bytes in base64; shorten the key to less than 1,000 characters. The characters <, > and & count six times.",
	Check:  view.EachObject(notWritable),
})

// namespaced reports whether clusterctl puts its namespace into a field of the object,
// as fixTargetNamespace does besides metadata.
func namespaced(o *yamldoc.Node, f *yamldoc.Field) bool {
	if f.Name != "namespace" {
		return false
	}
	service := func(n *yamldoc.Node) bool { return f == n.Get("clientConfig", "service").Field("namespace") }
	switch o.Get("kind").Str() {
	case "RoleBinding", "ClusterRoleBinding":
		return slices.ContainsFunc(o.Get("subjects").List(), func(n *yamldoc.Node) bool { return f == n.Field("namespace") })
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		return slices.ContainsFunc(o.Get("webhooks").List(), service)
	case "CustomResourceDefinition":
		return service(o.Get("spec", "conversion", "webhook"))
	}
	return false
}

// notWritable looks at what is left when clusterctl prints an object: neither a
// namespace or label that it overwrites nor a field that its Go types do not have.
func notWritable(p *lint.Pass, o *manifest.Object) {
	o.Doc.Unwritable(func(f *yamldoc.Field) bool {
		switch {
		case f == o.Get("metadata").Field("namespace"):
			return !layouts.ClusterScopedByClusterctl[o.Kind]
		case p.File.Kind == layouts.Components && (f == o.Get("metadata", "labels").Field(layouts.ProviderLabel) || namespaced(o.Doc.Root, f)):
			return true
		}
		unknown := false
		view.Misfits(o, func(problem gotypes.Problem) {
			unknown = unknown || (problem.Kind == gotypes.Unknown || problem.Kind == gotypes.Unseen) && f.IsKey(problem.Node)
		})
		return unknown && o.Kind != view.ClusterKind // of which clusterctl prints the original
	}, func(n *yamldoc.Node, err error) {
		p.On(o, n, "clusterctl reads %q but cannot write it: %v", short(n.Text()), err)
	})
}
