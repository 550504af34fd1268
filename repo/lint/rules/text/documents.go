package text

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var documentRules = &lint.Family{Prefix: "YAML", Title: "Documents and objects"}

// cause says which rule explains why a document cannot be parsed, so that one
// fault gives one finding.
type cause struct {
	rule    string
	message string
	at      yamldoc.Pos
}

// causeOf explains the error of a document.
func causeOf(f *lint.File, d *yamldoc.Document) cause {
	err := strings.TrimPrefix(d.Err.Err.Error(), "not YAML: ")
	start, end := d.Range()
	text := d.Text()[start:end]
	line := f.Raw.Line(d.Err.Pos.Line)
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case !utf8.Valid(text):
		off := invalidUTF8(f.Raw.Data)
		return cause{"YAML004", fmt.Sprintf("the byte %#02x is not UTF-8: %s", f.Raw.Data[off], err), f.Raw.Pos(off)}
	case bytes.HasPrefix(text, []byte("%")):
		return cause{"YAML004", "clusterctl does not read YAML directives", d.Err.Pos}
	case strings.Contains(err, "control characters"):
		return cause{"YAML004", err, d.Err.Pos}
	case strings.Contains(indent, "\t"):
		return cause{"YAML004", "a tab cannot indent a line: " + err, d.Err.Pos}
	case strings.Contains(err, "no number that JSON can hold"), strings.Contains(err, "cannot be a mapping key"):
		return cause{"YAML010", err, d.Err.Pos}
	}
	// A default may be to blame, in this line or in the one before.
	rs := view.Refs(f)
	from := f.Raw.Offset(yamldoc.Pos{Line: max(1, d.Err.Pos.Line-1), Column: 1})
	to := f.Raw.Offset(yamldoc.Pos{Line: d.Err.Pos.Line + 1, Column: 1})
	i, _ := slices.BinarySearchFunc(rs, from, func(r vars.Ref, off int) int { return cmp.Compare(r.Start, off) })
	for ; i < len(rs) && rs[i].Start < to; i++ {
		r := rs[i]
		if r.Depth > 0 || !view.IsDefault(r.Op) || f.IsOption(r.Name) {
			continue
		}
		switch {
		case strings.Contains(r.Default, `"`) && insideQuotes(f, r.Start):
			return cause{"VAR021", fmt.Sprintf("the quotes in the default of %s end the quotes around it: %s", expression(f, &r), err), d.Err.Pos}
		case punctuation().MatchString(r.Default):
			return cause{"VAR022", fmt.Sprintf("the default %q of %s is not in quotes: %s", r.Default, r.Name, err), d.Err.Pos}
		}
	}
	if strings.Contains(err, "unknown anchor") {
		return cause{"YAML012", err + " in this document", d.Err.Pos}
	}
	return cause{"YAML001", "the document cannot be parsed: " + err, d.Err.Pos}
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8.
func invalidUTF8(data []byte) int {
	for off := 0; off < len(data); {
		r, width := utf8.DecodeRune(data[off:])
		if r == utf8.RuneError && width == 1 {
			return off
		}
		off += width
	}
	return 0
}

// insideQuotes reports whether a double quote is open on the line before off.
func insideQuotes(f *lint.File, off int) bool {
	before := f.Raw.Data[lineStart(f, off):off]
	return (bytes.Count(before, []byte(`"`))-bytes.Count(before, []byte(`\"`)))%2 == 1
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML001", Name: "document-parses", Since: "v0.1.0",
	Title:    "Every document is a YAML mapping",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl util/yaml/yaml.go, ToUnstructured",
	Why:    "Clusterctl parses the file as a whole. One document that is no mapping makes all of it unusable, and the message prints the document instead of a line.",
	Fix:    "Correct the document.",
	Kinds:  view.Substituted, Check: documentParses,
})

func documentParses(p *lint.Pass) {
	reportCauses(p)
	s := p.File.Docs()
	if s == nil {
		return
	}
	others := sync.OnceValue(func() []*yamldoc.Stream { return view.OtherSamples(p.File) })
	for i, d := range s.Docs {
		if d.Err != nil || d.Root.Is(yamldoc.Map) {
			continue
		}
		if _, ok := p.File.Variable(d, d.Root); ok && readable(others(), len(s.Docs), i) {
			continue // its value may be a mapping
		}
		p.Node(d, d.Root, "document %d of the file is %s, not a mapping", d.Index, d.Root.Kind.Noun())
	}
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML002", Name: "separator-line", Since: "v0.1.0",
	Title:    "Lines that begin with --- hold nothing else",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "k8s.io/apimachinery/pkg/util/yaml, YAMLReader",
	Why:    "Clusterctl splits files into documents at such lines before it parses them. Only blanks or a comment may follow the dashes, also inside a quoted text.",
	Fix:    "Put what follows the dashes on the next line, or indent the line if it is no separator.",
	Kinds:  view.Substituted, Check: separatorLine,
})

func separatorLine(p *lint.Pass) {
	if s := p.File.Docs(); s != nil && s.Err != nil {
		p.Report(view.AtPos(p.File, s.Err.Pos, "text follows the separator ---: "+short([]byte(strings.TrimPrefix(s.Err.Err.Error(), "invalid Yaml document separator: ")))))
	}
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML003", Name: "duplicate-key", Since: "v0.1.0",
	Title:    "No mapping has a key twice",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "sigs.k8s.io/yaml, Unmarshal",
	Why:    "The last one wins and the others are gone, without a word.",
	Fix:    "Merge the entries, or remove the wrong one.",
	Kinds:  view.Substituted, Check: duplicateKey,
})

func duplicateKey(p *lint.Pass) {
	view.Objects(p.File, func(d *yamldoc.Document) {
		view.Each(d.Root, func(n *yamldoc.Node) {
			view.Repeated(n, func(first, again *yamldoc.Field) {
				p.Node(d, again.Key(), "the key %q stands already in line %d, and only the last one counts", again.Name, d.Pos(first.Key()).Line)
			})
		})
	})
}

// maybeTyped are the plain scalars that might be no text.
var maybeTyped = view.Pattern(`^[-+.]?[0-9]|^(?i:y|n|yes|no|on|off)$`)

// reread returns what becomes of a plain scalar that is a boolean or a number,
// or "" if it stays as it is written.
func reread(n *yamldoc.Node) string {
	switch v := n.Value().(type) {
	case bool:
		if s := strconv.FormatBool(v); !strings.EqualFold(s, n.Text) {
			return s
		}
	case float64:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if i, err := strconv.ParseInt(s, 10, 64); err == nil && n.Kind == yamldoc.Int {
			s = strconv.FormatInt(i, 10)
		}
		if s != strings.TrimPrefix(n.Text, "+") {
			return s
		}
	}
	return ""
}

// versionLike is a number that was probably meant as a version.
var versionLike = view.Pattern(`^[0-9]+\.[0-9]*0$`)

var _ = documentRules.Add(lint.Rule{
	ID: "YAML004", Name: "encoding", Since: "v0.1.0",
	Title:    "Files are UTF-8 without tabs for indentation, control characters and directives",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "sigs.k8s.io/yaml, Unmarshal",
	Why:    "Clusterctl refuses the whole file, and names at best a line inside the document.",
	Fix:    "Save the file as UTF-8, indent with spaces, remove the directive.",
	Kinds:  view.Substituted, Check: reportCauses,
})

var _ = documentRules.Add(lint.Rule{
	ID: "YAML010", Name: "not-in-json", Since: "v0.1.0",
	Title:    "Values and keys exist in JSON",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "sigs.k8s.io/yaml, YAMLToJSON",
	Why:    "Clusterctl converts documents to JSON, which knows neither infinity nor keys that are null, lists or mappings.",
	Fix:    "Put the value or key in quotes.",
	Kinds:  view.Substituted, Check: reportCauses,
})

var _ = documentRules.Add(lint.Rule{
	ID: "YAML012", Name: "unknown-anchor", Since: "v0.1.0",
	Title:    "An alias names an anchor of the same document",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "sigs.k8s.io/yaml, Unmarshal",
	Why:    "Anchors end with their document. Clusterctl refuses the whole file.",
	Fix:    "Repeat the anchor in this document, or write the value out. If the * is text, put it in quotes.",
	Kinds:  view.Substituted, Check: reportCauses,
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
		if d.Err == nil {
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

// readable reports whether a document is a mapping in one of the streams.
func readable(streams []*yamldoc.Stream, docs, index int) bool {
	for _, s := range streams {
		if s.Err == nil && len(s.Docs) == docs && s.Docs[index].Err == nil && s.Docs[index].Root.Is(yamldoc.Map) {
			return true
		}
	}
	return false
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML005", Name: "number-changes", Since: "v0.1.0",
	Title:    "Numbers keep their value",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "clusterctl util/yaml/yaml.go, ToUnstructured",
	Why:    "Clusterctl holds every number as a 64 bit float: integers beyond 2^53 are rounded, and a version such as 1.10 comes out as 1.1.",
	Fix:    "Put the value in quotes if it is a text.",
	Kinds:  view.Substituted, Check: numberChanges,
})

func numberChanges(p *lint.Pass) {
	view.Objects(p.File, func(d *yamldoc.Document) {
		view.Each(d.Root, func(n *yamldoc.Node) {
			switch {
			case n.Style != yamldoc.Plain:
			case n.Kind == yamldoc.Float && versionLike().MatchString(n.Text) && reread(n) != "":
				if _, ok := p.File.Variable(d, n); !ok {
					p.Node(d, n, "%s is a number and becomes %s", n.Text, reread(n))
				}
			case n.Kind == yamldoc.Int || n.Kind == yamldoc.Float && !strings.ContainsAny(n.Text, ".eE"):
				if v, _ := n.Value().(float64); math.Abs(v) > view.MaxExact && reread(n) != "" {
					if _, ok := p.File.Variable(d, n); !ok {
						p.Node(d, n, "%s is too large for clusterctl and becomes %s", n.Text, reread(n))
					}
				}
			}
		})
	})
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML006", Name: "yes-no-word", Since: "v0.1.0",
	Title:    "Words that YAML 1.1 takes for booleans stand in quotes",
	Severity: lint.Warning, Proof: lint.Clusterctl,
	Source: "sigs.k8s.io/yaml (YAML 1.1)",
	Why:    "y, n, yes, no, on and off turn into true and false, as keys as well as values.",
	Fix:    "Put the word in quotes, or write true or false.",
	Kinds:  view.Substituted, Check: yesNoWord,
})

func yesNoWord(p *lint.Pass) {
	view.Objects(p.File, func(d *yamldoc.Document) {
		view.Each(d.Root, func(n *yamldoc.Node) {
			if n.Kind == yamldoc.Bool {
				if word := reread(n); word != "" {
					if _, ok := p.File.Variable(d, n); !ok {
						f := lint.At(p.File, d, n, "%s is read as %s", n.Text, word)
						f.Edit = lint.Replace(p.File, d, n, word) // the same for everybody
						p.Report(f)
					}
				}
				return
			}
			for i := range n.Fields {
				f := &n.Fields[i]
				if f.Key().Kind == yamldoc.Bool && !f.Merged && !strings.EqualFold(f.Key().Text, f.Name) {
					p.Node(d, f.Key(), "the key %s is read as %q", f.Key().Text, f.Name)
				}
			}
		})
	})
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML007", Name: "object-identity", Since: "v0.1.0",
	Title:    "Every document has apiVersion, kind and metadata.name",
	Severity: lint.Error, Proof: lint.APIServer,
	Source: "Kubernetes API conventions, section Objects",
	Why:    "Clusterctl passes the document on, and the API server refuses it in the middle of the installation.",
	Fix:    "Add the field, as a text.",
	Kinds:  view.Substituted, Check: objectIdentity,
})

func objectIdentity(p *lint.Pass) {
	view.Objects(p.File, func(d *yamldoc.Document) {
		for _, path := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}} {
			name := strings.Join(path, ".")
			n := d.Root.Get(path...)
			switch {
			case isList(d) && name == "metadata.name":
			case n == nil && name == "metadata.name" && d.Root.Get("metadata", "generateName") != nil:
				p.Node(d, d.Root.Get("metadata", "generateName"), "generateName instead of metadata.name: clusterctl asks for objects by name")
			case n == nil || n.Is(yamldoc.Null):
				p.Node(d, n, "document %d of the file has no %s", d.Index, name)
			case !n.Is(yamldoc.String):
				if _, ok := p.File.Variable(d, n); !ok {
					p.Node(d, n, "%s must be a text, and %s is %s", name, view.ScalarText(n), n.Kind.Noun())
				}
			case n.Text == "":
				if _, ok := p.File.Variable(d, n); !ok {
					p.Node(d, n, "%s is empty", name)
				}
			}
		}
	})
}

// isList reports whether a document is a list of objects.
func isList(d *yamldoc.Document) bool {
	return strings.HasSuffix(d.Root.Get("kind").Str(), "List") && d.Root.Get("items").Is(yamldoc.List)
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML008", Name: "list-object", Since: "v0.1.0",
	Title:    "No document is a List",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/components.go, addCommonLabels and fixTargetNamespace",
	Why:    "Clusterctl does not look into lists: the items get neither namespace nor labels nor image overrides, so they are lost on delete, upgrade and move.",
	Fix:    "Make every item a document of its own.",
	Kinds:  view.Substituted, Check: listObject,
})

func listObject(p *lint.Pass) {
	view.Objects(p.File, func(d *yamldoc.Document) {
		if isList(d) {
			p.Node(d, d.Root.Get("kind"), "clusterctl passes this %s with %d items on as one object", d.Root.Get("kind").Str(), len(d.Root.Get("items").List()))
		}
	})
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML009", Name: "label-values", Since: "v0.1.0",
	Title:    "Values of labels and annotations are texts",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/components.go, addCommonLabels; apimachinery unstructured, GetLabels",
	Why:    "With one value that is no text clusterctl sees no labels at all and replaces them by its own two: selectors no longer match. In a template the API server refuses the object.",
	Fix:    "Put the value in quotes.",
	Kinds:  view.Substituted, Check: labelValues,
})

func labelValues(p *lint.Pass) {
	view.Objects(p.File, func(d *yamldoc.Document) {
		for _, field := range []string{"labels", "annotations"} {
			for _, f := range view.Fields(d.Root.Get("metadata", field)) {
				if f.Value.Is(yamldoc.String) || f.Value.Is(yamldoc.Null) { // null is an empty text
					continue
				}
				if _, ok := p.File.Variable(d, f.Value); ok {
					continue
				}
				finding := lint.At(p.File, d, f.Value, "the value of %s %s is %s, not a text", strings.TrimSuffix(field, "s"), f.Name, f.Value.Kind.Noun())
				finding.Edit = lint.Replace(p.File, d, f.Value, strconv.Quote(f.Value.Text))
				p.Report(finding)
			}
		}
	})
}

var _ = documentRules.Add(lint.Rule{
	ID: "YAML011", Name: "duplicate-object", Since: "v0.1.0",
	Title:    "No two documents describe the same object",
	Severity: lint.Error, Proof: lint.Clusterctl,
	Source: "clusterctl client/repository/components.go, fixTargetNamespace",
	Why:    "Clusterctl moves all objects into one namespace and applies them in turn, so the later one overwrites the earlier one.",
	Fix:    "Remove one of them, or give it another name.",
	Kinds:  view.Substituted, Check: duplicateObject,
})

func duplicateObject(p *lint.Pass) {
	type identity struct{ group, kind, name string }
	seen := map[identity]*yamldoc.Document{}
	view.Objects(p.File, func(d *yamldoc.Document) {
		group, _, ok := strings.Cut(d.Root.Get("apiVersion").Str(), "/")
		if !ok {
			group = ""
		}
		id := identity{group, d.Root.Get("kind").Str(), d.Root.Get("metadata", "name").Str()}
		if id.kind == "" || id.name == "" || isList(d) {
			return
		}
		first := seen[id]
		if first == nil {
			seen[id] = d
			return
		}
		name := d.Root.Get("metadata", "name")
		f := lint.At(p.File, d, name, "%s %s stands already in line %d", id.kind, id.name, first.Pos(first.Root.Get("metadata", "name")).Line)
		if a, b := first.Root.Get("metadata", "namespace").Str(), d.Root.Get("metadata", "namespace").Str(); a != b {
			f.Message += ", and clusterctl puts both into the same namespace"
		}
		if sameText(first, d) {
			f.Severity = lint.Warning
			f.Message += " with the same content"
		}
		p.Report(f)
	})
}

// sameText reports whether two documents are written the same.
func sameText(a, b *yamldoc.Document) bool {
	text := func(d *yamldoc.Document) []byte {
		start, end := d.Range()
		return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(d.Text()[start:end]), []byte("---")))
	}
	return bytes.Equal(text(a), text(b))
}
