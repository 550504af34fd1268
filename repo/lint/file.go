package lint

import (
	"bytes"
	"errors"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/doc"
	"github.com/clusterctl-repo/clusterctl-repo/repo/vars"
)

// File is one file of a release, parsed on demand and once. Its methods are
// safe for concurrent use.
type File struct {
	Artifact *repo.Artifact
	// Kind is what clusterctl does with the file.
	Kind layouts.FileKind
	// Raw is the text; it is never nil, but empty if the file cannot be read.
	Raw *doc.File

	template func() (*vars.Template, *vars.Error)
	docs     func() parsed
}

type parsed struct {
	stream *doc.Stream
	text   *vars.Text // nil if nothing was substituted
	err    error      // why there is no stream
}

func newFile(a *repo.Artifact, kind layouts.FileKind, data []byte) *File {
	f := &File{Artifact: a, Kind: kind, Raw: doc.NewFile(a.Path, data)}
	f.template = sync.OnceValues(func() (*vars.Template, *vars.Error) {
		t, err := vars.Parse(data)
		var at *vars.Error
		if errors.As(err, &at) {
			return nil, at
		}
		return t, nil
	})
	f.docs = sync.OnceValue(f.parse)
	return f
}

// substituted reports whether clusterctl replaces variables in the file.
func (f *File) substituted() bool {
	switch f.Kind {
	case layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass:
		return true
	}
	return false
}

// Template returns the variables of the file. For a file that clusterctl does
// not substitute, and if the syntax is wrong, the template is nil.
func (f *File) Template() (*vars.Template, *vars.Error) {
	if !f.substituted() {
		return nil, nil
	}
	return f.template()
}

// Docs returns the documents as clusterctl parses them: after substitution,
// with a sample for every variable that has no default. Positions refer to the
// raw file. It is nil if the variables cannot be parsed or substituted.
func (f *File) Docs() *doc.Stream { return f.docs().stream }

// SubstituteErr says why variables that can be parsed cannot be substituted; it
// is nil in nearly all files (see vars.Template.Execute).
func (f *File) SubstituteErr() error { return f.docs().err }

// DocsWith is Docs with another sample for the variables that have no default.
// It parses the file anew.
func (f *File) DocsWith(sample func(name string) string) *doc.Stream {
	t, _ := f.Template()
	if t == nil {
		return nil
	}
	return f.substitute(t, sample).stream
}

// Sample is the value that stands for a variable without a default.
func Sample(name string) string {
	switch name {
	case "CLUSTER_NAME":
		return "my-cluster"
	case "NAMESPACE":
		return "default"
	case "KUBERNETES_VERSION":
		return "v1.34.0"
	case "CONTROL_PLANE_MACHINE_COUNT", "WORKER_MACHINE_COUNT":
		return "1"
	}
	return "x-" + strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

func (f *File) parse() parsed {
	t, bad := f.Template()
	switch {
	case bad != nil:
		return parsed{}
	case t == nil:
		return parsed{stream: doc.Parse(f.Raw)}
	case len(t.Refs()) == 0 && len(t.Escapes()) == 0:
		if nul := bytes.IndexByte(f.Raw.Data, 0); nul >= 0 { // where substitution ends
			return parsed{stream: doc.ParseText(f.Raw, f.Raw.Data[:nul], func(off int) int { return off })}
		}
		return parsed{stream: doc.Parse(f.Raw)}
	}
	p := f.substitute(t, Sample)
	if healthy(p.stream) {
		return p
	}
	// A variable alone on its line stands for lines of YAML. With nothing in
	// its place the rest of the file can be read.
	blocks := f.blockVariables(t)
	if len(blocks) == 0 {
		return p
	}
	q := f.substitute(t, func(name string) string {
		if blocks[name] {
			return ""
		}
		return Sample(name)
	})
	if healthy(q.stream) {
		return q
	}
	return p
}

func (f *File) substitute(t *vars.Template, sample func(string) string) parsed {
	defaults := map[string]bool{}
	for _, v := range t.Variables() {
		defaults[v.Name] = v.Default != nil
	}
	text, err := t.Execute(func(name string) (string, bool) {
		switch has, listed := defaults[name]; {
		case name == "CLUSTER_NAME" || name == "NAMESPACE" || strings.HasSuffix(name, "_MACHINE_COUNT"):
			return Sample(name), true // clusterctl always sets these
		case has:
			return "", false
		case !listed:
			return "", false // only nested: clusterctl does not ask for it
		}
		return sample(name), true
	})
	if err != nil {
		return parsed{err: err}
	}
	return parsed{stream: doc.ParseText(f.Raw, text.Data, text.RawOffset), text: text}
}

func healthy(s *doc.Stream) bool {
	if s == nil || s.Err != nil {
		return false
	}
	for _, d := range s.Docs {
		if d.Err != nil {
			return false
		}
	}
	return true
}

// blockVariables returns the variables that stand alone on a line somewhere.
func (f *File) blockVariables(t *vars.Template) map[string]bool {
	out := map[string]bool{}
	for _, r := range t.Refs() {
		if f.Alone(r) {
			out[r.Name] = true
		}
	}
	return out
}

// Alone reports whether an expression has its line for itself, but for blanks.
func (f *File) Alone(r vars.Ref) bool {
	before := bytes.TrimRight(f.Raw.Data[:r.Start], " \t")
	after := bytes.TrimLeft(f.Raw.Data[r.End:], " \t\r")
	return (len(before) == 0 || before[len(before)-1] == '\n') && (len(after) == 0 || after[0] == '\n')
}

// Variable reports whether a scalar came, in part or whole, from a variable, so
// that its value is only a sample or a default. It returns the expression.
func (f *File) Variable(d *doc.Document, n *doc.Node) (ref vars.Ref, ok bool) {
	p := f.docs()
	if p.text == nil || n == nil {
		return vars.Ref{}, false
	}
	start, end := d.Offsets(n)
	i, ok := p.text.Substituted(start, end)
	if !ok {
		return vars.Ref{}, false
	}
	t, _ := f.Template()
	return t.Refs()[i], true
}
