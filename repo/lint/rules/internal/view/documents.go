package view

import (
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Each calls visit for a value and all below it.
func Each(n *yamldoc.Node, visit func(*yamldoc.Node)) {
	if n == nil {
		return
	}
	visit(n)
	fields := n.Fields()
	for i := range fields {
		if f := &fields[i]; !f.Merged { // seen where it was written
			Each(f.Value, visit)
		}
	}
	for _, item := range n.List() {
		Each(item, visit)
	}
}

// Objects calls visit for the documents that are mappings.
func Objects(f *lint.File, visit func(d *yamldoc.Document)) {
	if s := f.Docs(); s != nil {
		for _, d := range s.Docs {
			if d.Root.Is(yamldoc.Map) {
				visit(d)
			}
		}
	}
}

// ForEach is the check of a rule that looks at what a function returns, one by one.
func ForEach[T any](of func(*lint.Pass) []T, check func(*lint.Pass, T)) func(*lint.Pass) {
	return func(p *lint.Pass) {
		for _, one := range of(p) {
			check(p, one)
		}
	}
}

// EachObject is the check of a rule that looks at the objects of a file one by one.
func EachObject(check func(*lint.Pass, *manifest.Object)) func(*lint.Pass) {
	return ForEach(func(p *lint.Pass) []*manifest.Object { return p.File.Objects() }, check)
}

// AtPos makes a finding at a place that a parser gave, which may be behind the
// end of the file.
func AtPos(f *lint.File, pos yamldoc.Pos, message string) lint.Finding {
	if !pos.IsZero() {
		pos = f.Raw.Pos(f.Raw.Offset(pos))
	}
	return lint.Finding{File: f.Raw.Name, Pos: pos, Source: lint.SourceLine(f, pos.Line), Message: message}
}

// OtherSamples parses a file with other values for its required variables, as far
// as they are plausible: the same for all of them, and one after the other for those
// of the documents that cannot be read.
func OtherSamples(f *lint.File) []*yamldoc.Stream {
	out := []*yamldoc.Stream{}
	t, _ := f.Template()
	if t == nil {
		return out
	}
	plausible := map[string][]string{}
	all := []string{}
	for _, v := range t.Variables() {
		if t.Needed()[v.Name] && !f.IsOption(v.Name) {
			plausible[v.Name] = samples(f, v.Name)
			all = phrase.Distinct(append(all, plausible[v.Name]...))
		}
	}
	try := func(sample func(name string) string) {
		if s := f.DocsWith(sample); s != nil {
			out = append(out, s)
		}
	}
	for _, value := range all {
		try(func(name string) string {
			if slices.Contains(plausible[name], value) {
				return value
			}
			return manifest.Sample(name)
		})
	}
	if len(plausible) < 2 {
		return out
	}
	for _, name := range inBroken(f, plausible) {
		for _, value := range plausible[name] {
			try(func(other string) string {
				if other == name {
					return value
				}
				return manifest.Sample(other)
			})
		}
	}
	return out
}

// samples are values that users may give a variable, by its name and by where it
// stands: nothing at all is none for what is the whole value of a field, and a
// version is no list.
func samples(f *lint.File, name string) []string {
	if strings.HasSuffix(name, "VERSION") {
		return []string{"1.34.0", `"v1.34.0"`}
	}
	out := []string{"1", "a: b", "[]", `"a"`}
	line, whole := false, false
	for _, r := range Refs(f) {
		if r.Name == name {
			line = line || f.Alone(r)
			whole = whole || wholeValue(f, r)
		}
	}
	if line {
		out = append(out, "a:")
	}
	if !whole {
		out = append(out, "")
	}
	return out
}

// wholeValue reports whether an expression is all that follows the colon of a field
// or the dash of an item, but for a comment.
func wholeValue(f *lint.File, r vars.Ref) bool {
	before := strings.TrimRight(f.Raw.Data[:r.Start], " ")
	after, _, _ := strings.Cut(f.Raw.Data[r.End:], "\n")
	comment := strings.HasPrefix(after, " #")
	return len(before) < r.Start && (strings.HasSuffix(before, ":") || strings.HasSuffix(before, "-")) &&
		(comment || len(strings.TrimSpace(after)) == 0)
}

// inBroken returns a few of the variables that stand in documents that cannot be
// read.
func inBroken(f *lint.File, of map[string][]string) []string {
	const few = 8
	var out []string
	s := f.Docs()
	if s == nil {
		return nil
	}
	chunks, _ := yamldoc.Split(f.Raw.Data)
	for _, d := range s.Docs {
		if d.Root.Is(yamldoc.Map) {
			continue
		}
		at := f.Raw.Offset(d.Pos(nil))
		for _, c := range chunks {
			if at < c.Start || at > c.Start+len(c.Data) {
				continue
			}
			for _, r := range Refs(f) {
				if r.Start >= c.Start && r.End <= c.Start+len(c.Data) &&
					of[r.Name] != nil && !slices.Contains(out, r.Name) && len(out) < few {
					out = append(out, r.Name)
				}
			}
		}
	}
	return out
}

// Repeated calls visit for each entry whose key was there before.
func Repeated(n *yamldoc.Node, visit func(first, again *yamldoc.Field)) {
	const few = 16
	fields := n.Fields()
	if len(fields) <= few {
		for i := range fields {
			f := &fields[i]
			for j := range i {
				if first := &fields[j]; f.Name == first.Name && !f.Merged && !first.Merged {
					visit(first, f)
					break
				}
			}
		}
		return
	}
	seen := make(map[string]*yamldoc.Field, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.Merged {
			continue
		}
		if first := seen[f.Name]; first != nil {
			visit(first, f)
		} else {
			seen[f.Name] = f
		}
	}
}

// MaxExact is the largest integer up to which a float64 holds all.
const MaxExact = 1 << 53

// ScalarText is a value for messages.
func ScalarText(n *yamldoc.Node) string {
	if n.Kind == yamldoc.Map || n.Kind == yamldoc.List {
		return "it"
	}
	return n.Text()
}

// Fields returns the entries of a map, none for anything else.
func Fields(n *yamldoc.Node) []yamldoc.Field {
	if n == nil {
		return nil
	}
	return n.Fields()
}
