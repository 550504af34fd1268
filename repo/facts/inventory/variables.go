package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
)

// Variable is one variable of a release.
type Variable struct {
	Name string `json:"name"`
	// Type is a guess at what the value must be, see Type.
	Type Type `json:"type"`
	// Required says that a file cannot be rendered before the user gives a
	// value. What clusterctl always sets is never required.
	Required bool `json:"required"`
	// Default is the default of the first file that has one, nil without any.
	Default *string `json:"default,omitempty"`
	// Option is the part of the command line of `clusterctl generate cluster`
	// that sets the variable, "" for all but five.
	Option string `json:"option,omitempty"`
	// Files is how clusterctl sees the variable in each file that lists it. It
	// is empty for a variable that is only used inside of other expressions.
	Files []InFile `json:"files"`
	// Uses are all expressions with this name, in the order of files and text.
	Uses []Use `json:"uses"`
	// Notes tell what clusterctl does not.
	Notes []Note `json:"notes,omitempty"`
}

// InFile is an entry of clusterctl's variable map of one file: the first
// expression outside of others decides about the default (clusterctl:
// client/yamlprocessor, GetVariableMap). Default is nil if the file requires a
// value.
type InFile struct {
	File    string  `json:"file"`
	Default *string `json:"default"`
}

// Use is one expression.
type Use struct {
	Place
	// Default is the text clusterctl takes for the default of this expression,
	// whatever its operator is.
	Default string `json:"default,omitempty"`
	// Hidden says why clusterctl does not show this use when it lists the
	// variables of a template; "" if it does.
	Hidden Hidden `json:"hidden,omitempty"`
	// Comment is set for a use in a YAML comment, which clusterctl replaces
	// like any other.
	Comment bool `json:"comment,omitempty"`
}

// Hidden is the reason why a use is not listed.
type Hidden string

// The reasons.
const (
	// HiddenNested: the use is inside of another expression.
	HiddenNested Hidden = "nested"
	// HiddenClass: the use is in a ClusterClass file, which is read only when
	// a template is rendered, not when its variables are listed.
	HiddenClass Hidden = "class"
)

// Place is where an expression stands. Lines and columns count from 1, columns
// in characters; File is the name in the release.
type Place struct {
	File       string `json:"file"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Expression string `json:"expression"`
}

// option is a variable that clusterctl sets from its command line in templates
// and ClusterClasses (clusterctl: client/config.go,
// templateOptionsToVariables).
type option struct {
	flag string
	// always: also if the flag is not given.
	always bool
	typ    Type
}

var options = map[string]option{
	"CLUSTER_NAME":                {"NAME", true, String},
	"NAMESPACE":                   {"--target-namespace", true, String},
	"KUBERNETES_VERSION":          {"--kubernetes-version", false, String},
	"CONTROL_PLANE_MACHINE_COUNT": {"--control-plane-machine-count", true, Integer},
	"WORKER_MACHINE_COUNT":        {"--worker-machine-count", true, Integer},
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
	sources, err := load(ctx, r, func(string, layouts.FileKind) bool { return true }, p)
	if ctx.Err() != nil {
		return nil, err
	}
	return collect(sources, schemasOf(sources)), err
}

// ForTemplate returns the variables that one flavor needs, the default one if
// flavor is empty: those of the template and of the ClusterClasses that
// clusterctl pulls in with it, as far as the release has them and their names
// are known without a value from the user. The error names a flavor that does
// not exist, or what is missing from the result as with Variables.
func ForTemplate(ctx context.Context, r *repo.Release, flavor string) ([]Variable, error) {
	file := layouts.TemplateFile(flavor)
	if r.Artifact(file) == nil {
		return nil, fmt.Errorf("%s: no %s here%s", r.Path, file, available(r))
	}
	sources, err := load(ctx, r, func(name string, _ layouts.FileKind) bool { return name == file }, nil)
	pulled := map[string]bool{}
	for _, s := range sources {
		for _, c := range classesOf(s) {
			pulled[c.file] = true
		}
	}
	more, classErr := load(ctx, r, func(name string, _ layouts.FileKind) bool { return pulled[name] }, nil)
	// Only to tell the types of fields; what is wrong with them is not at issue.
	components, _ := load(ctx, r, func(_ string, kind layouts.FileKind) bool { return kind == layouts.Components }, nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return collect(append(sources, more...), schemasOf(components)), errors.Join(err, classErr)
}

func available(r *repo.Release) string {
	var names []string
	for _, a := range r.Artifacts {
		if flavor, ok := layouts.Flavor(a.Name); ok {
			names = append(names, cmp.Or(flavor, "the default one"))
		}
	}
	if len(names) == 0 {
		return "; the release has no cluster templates"
	}
	return "; the flavors are: " + strings.Join(names, ", ")
}

// variable is a Variable in the making.
type variable struct {
	Variable
	evidence evidence
	notes    notes
	// needs are the places where a file begins to require a value.
	needs []Place
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
		u.Hidden = HiddenNested
	case s.kind == layouts.ClusterClass:
		u.Hidden = HiddenClass
	}
	return u
}

func (s *source) place(r *vars.Ref) Place {
	p := s.raw.Pos(r.Start)
	return Place{s.name, p.Line, p.Column, s.content[r.Start:r.End]}
}
