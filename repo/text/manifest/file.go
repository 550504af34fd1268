// Package manifest is a file of a release as clusterctl reads it: text with
// variables, the text that comes out when they have values, and its documents,
// each made once and leading back to the raw file.
//
// It must not know rules, nor where the file comes from.
package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// File is one file, parsed on demand. Its methods are safe for concurrent use.
type File struct {
	Artifact *repo.Artifact
	// Kind is what clusterctl does with the file.
	Kind layouts.FileKind
	// Raw is the text.
	Raw *yamldoc.File

	// each is called with every document, once it is parsed.
	each func(*yamldoc.Document)
	made atomic.Pointer[made]
}

// made is what was made of a file, each part on demand and once.
type made struct {
	template func() (*vars.Template, *vars.Error)
	reading  func() reading
	objects  func() []*Object
	memo     sync.Map
}

// reading is what clusterctl makes of the file.
type reading struct {
	stream *yamldoc.Stream
	text   *vars.Text // nil if nothing was substituted
	err    error
	fault  *vars.Error // of a substitution that failed
}

// New returns the file with the given content.
func New[T string | []byte](a *repo.Artifact, kind layouts.FileKind, data T) *File {
	return NewEach(a, kind, data, func(*yamldoc.Document) {})
}

// Read is New for an artifact that is not read yet.
func Read(a *repo.Artifact, kind layouts.FileKind) (*File, error) {
	data, err := a.Text()
	if err != nil {
		return nil, err
	}
	return New(a, kind, data), nil
}

// Components are the objects that clusterctl installs with a release; none if there are no
// components, or they cannot be read.
func Components(r *repo.Release) []*Object {
	if a := r.Components(); a != nil {
		if f, err := Read(a, layouts.Components); err == nil {
			return f.Objects()
		}
	}
	return nil
}

// NewEach is New with a function that is called with every document as soon as it
// is parsed, concurrently with others, and may replace its Root.
func NewEach[T string | []byte](a *repo.Artifact, kind layouts.FileKind, data T, each func(*yamldoc.Document)) *File {
	return &File{Artifact: a, Kind: kind, Raw: yamldoc.NewFile(a.Path, data), each: each}
}

func (f *File) parts() *made {
	if m := f.made.Load(); m != nil {
		return m
	}
	m := &made{}
	m.template = sync.OnceValues(func() (*vars.Template, *vars.Error) {
		t, err := vars.Parse(f.Raw.Data)
		var at *vars.Error
		if errors.As(err, &at) {
			return nil, at
		}
		return t, nil
	})
	m.reading = sync.OnceValue(f.read)
	m.objects = sync.OnceValue(f.list)
	if !f.made.CompareAndSwap(nil, m) {
		if first := f.made.Load(); first != nil {
			return first // another goroutine asked at the same time
		}
	}
	return m
}

// Forget lets go of all that was made of the text, which takes many times the memory
// of it. It is made again on demand: equal, but with other documents and
// nodes than before.
func (f *File) Forget() {
	f.made.Store(nil)
	f.Raw.Forget()
}

// Memo returns what compute makes of the file, made once for each key until the file
// is told to forget. A key is of a type of its own, as in context.WithValue.
func (f *File) Memo(key any, compute func() any) any {
	memo := &f.parts().memo
	once, ok := memo.Load(key)
	if !ok {
		once, _ = memo.LoadOrStore(key, sync.OnceValue(compute))
	}
	return once.(func() any)()
}

// substituted reports whether clusterctl replaces variables in the file.
func (f *File) substituted() bool {
	kinds := []layouts.FileKind{layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass}
	return slices.Contains(kinds, f.Kind) && !f.Artifact.Literal
}

// Template returns the variables of the file. It is nil for a file that
// clusterctl does not substitute, and if the syntax is wrong.
func (f *File) Template() (*vars.Template, *vars.Error) {
	if !f.substituted() {
		return nil, nil
	}
	return f.parts().template()
}

// Docs returns the documents as clusterctl parses them: after substitution,
// with a sample for every variable that has no default. Positions refer to the
// raw file. It is nil if the substitution fails; Err says why.
func (f *File) Docs() *yamldoc.Stream { return f.parts().reading().stream }

// DocsWith is Docs with another sample for the variables that have no default.
// It parses the file again.
func (f *File) DocsWith(sample func(name string) string) *yamldoc.Stream {
	t, _ := f.Template()
	if t == nil {
		return nil
	}
	return f.substitute(t, sample).stream
}

// Text returns what Docs were parsed from; nil if that is the raw file, or if
// the substitution fails.
func (f *File) Text() *vars.Text { return f.parts().reading().text }

// Err returns why the variables cannot be parsed or replaced, with a position.
func (f *File) Err() error { return f.parts().reading().err }

// Fault returns the expression that can be parsed but not replaced; nil in
// nearly all files (see vars.Template.Execute).
func (f *File) Fault() *vars.Error { return f.parts().reading().fault }

// options are the variables that clusterctl sets itself when it renders a
// template (clusterctl: client/config.go, templateOptionsToVariables), with
// what stands for them here.
var options = map[string]string{
	"CLUSTER_NAME":                "my-cluster",
	"NAMESPACE":                   "default",
	"CONTROL_PLANE_MACHINE_COUNT": "1",
	"WORKER_MACHINE_COUNT":        "1",
}

// IsOption reports whether clusterctl gives a variable a value in this file
// whatever the user does.
func (f *File) IsOption(name string) bool {
	_, ok := options[name]
	return ok && f.Kind != layouts.Components
}

// Sample is the value that stands for a variable without a default.
func Sample(name string) string {
	if v, ok := options[name]; ok {
		return v
	}
	if name == "KUBERNETES_VERSION" {
		return "v1.34.0"
	}
	return "x-" + strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

// Written returns a text about the file with the variables in the place of their samples,
// which no user has ever seen.
func (f *File) Written(text string) string {
	t, _ := f.Template()
	if t == nil || !strings.Contains(text, "x-") {
		return text
	}
	type key struct{}
	names := f.Memo(key{}, func() any {
		longestFirst := func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) } // FOO_A before FOO
		needed := maps.Clone(t.Needed())
		// A sample that is text of the file as well may stand for that.
		maps.DeleteFunc(needed, func(name string, is bool) bool {
			return !is || !strings.HasPrefix(Sample(name), "x-") || strings.Contains(f.Raw.Data, Sample(name))
		})
		return slices.SortedFunc(maps.Keys(needed), longestFirst)
	}).([]string)
	for _, name := range names {
		sample := Sample(name)
		if !strings.Contains(text, sample) {
			continue
		}
		parts := strings.Split(text, sample)
		for i := range parts[:len(parts)-1] {
			if before := parts[i]; before != "" && isWord(before[len(before)-1]) {
				parts[i] += sample // the end of another word
			} else {
				parts[i] += "${" + name + "}"
			}
		}
		text = strings.Join(parts, "")
	}
	return text
}

func isWord(b byte) bool { return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

func (f *File) read() reading {
	t, bad := f.Template()
	switch {
	case bad != nil:
		return reading{err: f.Raw.Errorf(bad.Offset, "clusterctl refuses the whole file because of this expression: %w", bad.Err)}
	case t == nil:
		return reading{stream: yamldoc.ParseEach(f.Raw, f.Raw.Data, nil, f.each)}
	case len(t.Refs()) == 0 && len(t.Escapes()) == 0:
		if nul := strings.IndexByte(f.Raw.Data, 0); nul >= 0 { // where substitution ends
			return reading{stream: yamldoc.ParseEach(f.Raw, f.Raw.Data[:nul], func(off int) int { return off }, f.each)}
		}
		return reading{stream: yamldoc.ParseEach(f.Raw, f.Raw.Data, nil, f.each)}
	}
	r := f.substitute(t, Sample)
	if r.err != nil || healthy(r.stream) {
		return r
	}
	// A variable alone on its line stands for lines of YAML. With nothing in
	// its place more of the file can be read.
	blocks := f.blockVariables(t)
	if len(blocks) == 0 {
		return r
	}
	without := f.substitute(t, func(name string) string {
		if blocks[name] {
			return ""
		}
		return Sample(name)
	})
	if without.err == nil && broken(without.stream) < broken(r.stream) {
		return without
	}
	return r
}

// broken counts the documents that cannot be read.
func broken(s *yamldoc.Stream) (n int) {
	if s.Err != nil {
		n++
	}
	for _, d := range s.Docs {
		if d.Err != nil {
			n++
		}
	}
	return n
}

// execute replaces the variables.
func (f *File) execute(t *vars.Template, sample func(string) string) (*vars.Text, error) {
	needed, cut := t.Needed(), map[string]bool{}
	for _, r := range t.Refs() {
		cut[r.Name] = cut[r.Name] || r.Op == ":"
	}
	return t.Execute(func(name string) (string, bool) {
		switch {
		case f.IsOption(name):
			return Sample(name), true // the user has no say in these
		case needed[name] && cut[name]:
			return strings.ReplaceAll(sample(name), "-", ""), true // a part could be a dash
		case needed[name]:
			return sample(name), true
		}
		return "", false // a default, or only nested: clusterctl does not ask for it
	})
}

func (f *File) substitute(t *vars.Template, sample func(string) string) reading {
	text, err := f.execute(t, sample)
	if err != nil {
		var at *vars.Error
		if errors.As(err, &at) {
			return reading{fault: at, err: f.Raw.Errorf(at.Offset, "clusterctl cannot replace this expression: %w", at.Err)}
		}
		return reading{err: fmt.Errorf("%s: %w", f.Raw.Name, err)}
	}
	return reading{stream: yamldoc.ParseEach(f.Raw, text.Data, text.RawOffset, f.each), text: text}
}

func healthy(s *yamldoc.Stream) bool { return s != nil && s.Problem() == nil }

// Parses reports whether all documents can be read.
func (f *File) Parses() bool { return healthy(f.Docs()) }

// Healthy reports whether all documents can be read and tell which object they are.
// In a file that is not, something may be where it seems to be missing.
func (f *File) Healthy() bool {
	return f.Parses() && len(f.Docs().Lost) == 0 && strings.IndexByte(f.Raw.Data, 0) < 0 &&
		!slices.ContainsFunc(f.Docs().Docs, func(d *yamldoc.Document) bool { return !Identified(d) })
}

// MayHold reports whether an object may be in a part of the file that cannot be understood: its name
// is there, a variable, or a document of its kind without a name. Empty texts stand for any.
func (f *File) MayHold(kind, name string) bool {
	s := f.Docs()
	if s == nil || s.Err != nil {
		return true
	}
	holds := func(text string) bool { return strings.Contains(text, kind) && strings.Contains(text, name) }
	for _, d := range s.Docs {
		if d.Err == nil && Identified(d) && !joined(d) {
			continue
		}
		start, end := d.Range()
		unnamed := d.Err == nil && d.Root.Get("metadata", "name") == nil && d.Root.Get("kind").Str() == kind
		open := false
		if text := f.Text(); text != nil && d.Root.Get("kind").Str() == "" {
			_, open = text.Substituted(start, end)
		}
		if unnamed || open || holds(d.Text()[start:end]) {
			return true
		}
	}
	if i := strings.IndexByte(f.Raw.Data, 0); i >= 0 && holds(f.Raw.Data[i:]) {
		return true // where clusterctl stops
	}
	return slices.ContainsFunc(s.Lost, func(pos yamldoc.Pos) bool { return holds(f.Raw.Data[f.Raw.Offset(pos):]) })
}

// CutAt reports whether a value ends where a file does, without a line feed: the file may have
// been cut off there.
func (f *File) CutAt(end yamldoc.Pos) bool {
	data := f.Raw.Data
	return !strings.HasSuffix(data, "\n") && !end.IsZero() && strings.Trim(data[f.Raw.Offset(end):], ": \t") == ""
}

// joined reports whether a document is two objects without a line between them.
func joined(d *yamldoc.Document) bool {
	return len(phrase.Only(d.Root.Fields(), func(f yamldoc.Field) bool { return f.Name == "kind" })) > 1
}

// Identified reports whether a document tells its kind and its name, and is one object, not a list.
func Identified(d *yamldoc.Document) bool {
	named := d.Root.Get("metadata", "name").Str() != "" || d.Root.Get("metadata", "generateName") != nil
	return named && d.Root.Get("apiVersion").Str() != "" && d.Root.Get("kind").Str() != "" &&
		!d.Root.Get("items").Is(yamldoc.List)
}

// blockVariables returns the variables that have a line for themselves
// somewhere.
func (f *File) blockVariables(t *vars.Template) map[string]bool {
	out := map[string]bool{}
	for _, r := range t.Refs() {
		if !f.IsOption(r.Name) && f.Alone(r) {
			out[r.Name] = true
		}
	}
	return out
}

// Alone reports whether an expression has its line for itself, but for blanks.
func (f *File) Alone(r vars.Ref) bool {
	before := strings.TrimRight(f.Raw.Data[:r.Start], " \t")
	after := strings.TrimLeft(f.Raw.Data[r.End:], " \t\r")
	return (len(before) == 0 || before[len(before)-1] == '\n') && (len(after) == 0 || after[0] == '\n')
}

// Variable reports whether a scalar came, in part or whole, from a variable, so
// that its value is only a sample or a default. It returns the expression. A
// length, ${#A}, is not such a scalar if nothing else makes a text of it: it is a
// number whatever the variable holds.
func (f *File) Variable(d *yamldoc.Document, n *yamldoc.Node) (ref vars.Ref, ok bool) {
	text := f.Text()
	if text == nil || n == nil {
		return vars.Ref{}, false
	}
	start, end := d.Offsets(n)
	i, ok := text.Substituted(start, end)
	if !d.Placed() {
		start, end = d.Range()
		i, ok = text.Holding(start, end, n.Text())
	}
	if !ok {
		return vars.Ref{}, false
	}
	t, _ := f.Template()
	ref = t.Refs()[i]
	return ref, ref.Op != "len" || !n.Is(yamldoc.Int)
}

// Default returns the variable whose default is all of a scalar; "" if there is none.
func (f *File) Default(d *yamldoc.Document, n *yamldoc.Node) string {
	r, ok := f.Variable(d, n)
	if !ok || !r.IsDefault() || r.Default == "" || f.IsOption(r.Name) {
		return ""
	}
	start, end := d.Offsets(n)
	if strings.Trim(f.Raw.Data[f.Text().RawOffset(start):f.Text().RawOffset(end)], `"'`) != f.Raw.Data[r.Start:r.End] {
		return ""
	}
	return r.Name
}
