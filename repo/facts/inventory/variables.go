package inventory

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

type Variable struct {
	Name     string   `json:"name" doc:"the name of the variable"`
	Type     Type     `json:"type" doc:"what the value must be, as far as its uses and defaults show"`
	Required bool     `json:"required" doc:"at least one file cannot be rendered without a value from the user"`
	Default  *string  `json:"default,omitempty" doc:"the default of the first file that has one; absent if no file has"`
	Meaning  string   `json:"meaning,omitempty" doc:"what the value is for: the comment next to a use, the description of the field in the schema, or else the field; absent if nothing tells"`
	Option   string   `json:"option,omitempty" doc:"what sets the variable on the command line of clusterctl generate cluster; absent for all but five variables"`
	Files    []InFile `json:"files" doc:"the files in which clusterctl lists the variable; empty if it is only used inside other expressions"`
	Uses     []Use    `json:"uses" doc:"all expressions with this name, in the order of files and text"`
	Notes    []Note   `json:"notes,omitempty" doc:"what clusterctl does not show about the variable; absent if there is nothing"`
}

// InFile is an entry of clusterctl's variable map of one file: the first
// expression outside others decides about the default (clusterctl:
// client/yamlprocessor, GetVariableMap). Default is nil if the file requires a
// value.
type InFile struct {
	File    string  `json:"file" doc:"the name of the file in the release"`
	Default *string `json:"default" doc:"the default in this file; null if it has none, so that the file needs a value"`
}

type Use struct {
	Place
	Default string `json:"default,omitempty" doc:"what clusterctl treats as the default of this expression, whatever its operator is; absent if that is empty"`
	Hidden  hidden `json:"hidden,omitempty" doc:"why clusterctl does not list this use: it is nested in another expression, or in a ClusterClass file; absent if it does"`
	Comment bool   `json:"comment,omitempty" doc:"the use is in a YAML comment, which clusterctl replaces like any other; absent if not"`
}

// hidden is the reason why a use is not listed.
type hidden string

const (
	// hiddenNested: the use is inside another expression.
	hiddenNested hidden = "nested"
	// hiddenClass: the use is in a ClusterClass file, which is read only when
	// a template is rendered, not when its variables are listed.
	hiddenClass hidden = "class"
)

// Words are all reasons; see report.Document.
func (hidden) Words() []string { return []string{string(hiddenNested), string(hiddenClass)} }

// Place is where an expression stands. Lines and columns count from 1, columns
// in characters; File is the name in the release.
type Place struct {
	File       string `json:"file" doc:"the name of the file in the release"`
	Line       int    `json:"line" doc:"the line, from 1"`
	Column     int    `json:"column" doc:"the column in Unicode characters, from 1"`
	Expression string `json:"expression" doc:"the text of the expression, such as ${NAME:=default}"`
}

// option is a variable that clusterctl sets from its command line in templates
// and ClusterClasses (clusterctl: client/config.go,
// templateOptionsToVariables).
type option struct {
	flag, meaning string
	// always: also if the flag is not given.
	always bool
	typ    Type
}

var options = map[string]option{
	"CLUSTER_NAME":                {"NAME", "name of the workload cluster", true, text},
	"NAMESPACE":                   {"--target-namespace", "namespace of the workload cluster", true, text},
	"KUBERNETES_VERSION":          {"--kubernetes-version", "Kubernetes version of the workload cluster", false, text},
	"CONTROL_PLANE_MACHINE_COUNT": {"--control-plane-machine-count", "number of control plane machines", true, integer},
	"WORKER_MACHINE_COUNT":        {"--worker-machine-count", "number of worker machines", true, integer},
}

// Variables returns the variables of all components, cluster templates and
// ClusterClasses of a release, sorted by name. Files that cannot be read, or
// that clusterctl refuses because of their expressions, are left out and named
// by the error; the variables of the others are returned with it.
func Variables(ctx context.Context, r *repo.Release) ([]Variable, error) {
	return Parsed(nil).Variables(ctx, r)
}

// Variables is the function Variables, which does not read these files again.
func (p Parsed) Variables(ctx context.Context, r *repo.Release) ([]Variable, error) {
	sources, err := load(ctx, r, p, (*source).lookForVariables)
	if ctx.Err() != nil {
		return nil, err
	}
	return collect(sources, schemasOf(sources)), err
}

// lookForVariables returns what the variables of a release depend on.
func (s *source) lookForVariables(d *yamldoc.Document) *seen {
	found := &seen{spots: s.spots(d)}
	switch s.kind {
	case layouts.Components:
		found.schemas = s.schemas(d)
	case layouts.ClusterTemplate:
		found.class = s.class(d)
	}
	return found
}

type variable struct {
	Variable
	evidence evidence
	notes    notes
	// needs are the places where a file begins to require a value.
	needs []Place
	// told says how well Meaning is known.
	told int
}

// means takes what one use tells about the meaning, if it tells more than others did.
func (v *variable) means(s *source, r *vars.Ref, at site) {
	for i, tell := range []func() string{func() string { return at.named }, func() string { return at.described }, func() string { return s.remark(r) }} {
		if v.told <= i {
			if text := tell(); text != "" {
				v.Meaning, v.told = text, i+1
			}
		}
	}
}

// remark is the comment after an expression on its line, or alone on the lines directly above,
// as far in as its line. Lines that are YAML but for the mark are none, nor are notes of authors.
func (s *source) remark(r *vars.Ref) string {
	const near = 400 // bytes; remarks in longer lines are not for people
	from := max(r.Start-near, 0)
	start := from + strings.LastIndexByte(s.content[from:r.Start], '\n') + 1
	rest, _, _ := strings.Cut(s.content[r.End:min(r.End+near, len(s.content))], "\n")
	before := s.content[start:r.Start]
	if start == from && from > 0 || strings.Contains(before, "#") {
		return ""
	}
	if text, ok := comment(before + "x" + rest); ok {
		return told(text)
	}
	indent := before[:len(before)-len(strings.TrimLeft(before, " "))]
	var block []string
	lines := strings.Split(s.content[max(start-near, 0):max(start-1, 0)], "\n")
	for _, line := range slices.Backward(lines) {
		text, ok := strings.CutPrefix(line, indent+"#")
		if !ok {
			break
		}
		block = append(block, text)
	}
	slices.Reverse(block)
	text := strings.Join(block, "\n")
	words := strings.Fields(text)
	if len(words) < 3 || strings.Contains(words[0], ":") || words[0] == "-" || strings.HasPrefix(words[0], "clusterctl-repo:") {
		return ""
	}
	return told(text)
}

// comment returns the comment that ends a line, of which quotes may hold the mark.
func comment(line string) (text string, ok bool) {
	var quote byte
	for i := 0; i < len(line); i++ {
		c, begins := line[i], i == 0 || strings.IndexByte(" \t[{,", line[i-1]) >= 0
		switch {
		case quote == '"' && c == '\\', quote == '\'' && strings.HasPrefix(line[i:], "''"):
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case begins && (c == '"' || c == '\''):
			quote = c
		case begins && c == '#':
			return line[i+1:], true
		}
	}
	return "", false
}

// forAuthors begins comments that do not tell what a value is for.
var forAuthors = phrase.Pattern(`(?i)^\W*(todo|fixme|xxx|hack|(begin|start|end) of)\b`)

// told is the sentence of a comment for users.
func told(text string) string {
	if forAuthors().MatchString(text) {
		return ""
	}
	return sentence(strings.Clone(text))
}

func collect(sources []*source, schemas schemas) []Variable {
	all := map[string]*variable{}
	get := func(name string) *variable {
		v := all[name]
		if v == nil {
			v = &variable{Variable: Variable{Name: name, Files: []InFile{}}}
			all[name] = v
		}
		return v
	}
	for _, s := range sources {
		sites := sitesOf(s, schemas)
		first := s.firsts()
		for _, listed := range s.template.Variables() {
			v := get(listed.Name)
			v.Files = append(v.Files, InFile{s.name, listed.Default})
			if v.Default == nil {
				v.Default = listed.Default
			}
			if listed.Default == nil && !options[listed.Name].setIn(s) {
				v.needs = append(v.needs, s.place(first[listed.Name]))
			}
		}
		refs := s.template.Refs()
		for i := range refs {
			r := &refs[i]
			v := get(r.Name)
			u := s.use(r, sites[i].comment)
			v.Uses = append(v.Uses, u)
			v.evidence.add(r, sites[i], u.Place)
			v.means(s, r, sites[i])
			noteUse(v, s, r, first[r.Name], u)
		}
	}
	noteClasses(sources, get)
	out := make([]Variable, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v := all[name]
		v.Option = options[name].flag
		v.Required = len(v.needs) > 0
		v.Type = v.evidence.conclude(name)
		if m := options[name].meaning; m != "" {
			v.Meaning = m
		}
		noteRelease(v)
		v.Notes = v.notes.list()
		out = append(out, v.Variable)
	}
	return out
}

// setIn reports whether clusterctl gives the variable a value in a file, asked
// or not.
func (o option) setIn(s *source) bool { return o.always && s.kind != layouts.Components }

// firsts returns the expression of each variable that decides for clusterctl.
func (s *source) firsts() map[string]*vars.Ref {
	first := make(map[string]*vars.Ref, len(s.required))
	for _, i := range s.top {
		r := &s.template.Refs()[i]
		if first[r.Name] == nil {
			first[r.Name] = r
		}
	}
	return first
}

func (s *source) use(r *vars.Ref, comment bool) Use {
	u := Use{Place: s.place(r), Default: r.Default, Comment: comment}
	switch {
	case r.Depth > 0:
		u.Hidden = hiddenNested
	case s.kind == layouts.ClusterClass:
		u.Hidden = hiddenClass
	}
	return u
}

func (s *source) place(r *vars.Ref) Place {
	p := s.raw.Pos(r.Start)
	return Place{s.name, p.Line, p.Column, s.content[r.Start:r.End]}
}
