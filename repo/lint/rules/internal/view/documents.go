package view

import (
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Each calls visit for a value and all below it.
func Each(n *yamldoc.Node, visit func(*yamldoc.Node)) {
	if n == nil {
		return
	}
	visit(n)
	for i := range n.Fields {
		if !n.Fields[i].Merged { // seen where it was written
			Each(n.Fields[i].Value, visit)
		}
	}
	for _, item := range n.Items {
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

// AtPos makes a finding at a place that a parser gave, which may be behind the
// end of the file.
func AtPos(f *lint.File, pos yamldoc.Pos, message string) lint.Finding {
	if !pos.IsZero() {
		pos = f.Raw.Pos(f.Raw.Offset(pos))
	}
	return lint.Finding{File: f.Raw.Name, Pos: pos, Source: lint.SourceLine(f, pos.Line), Message: message}
}

// OtherSamples parses a file with other values for its required variables.
func OtherSamples(f *lint.File) []*yamldoc.Stream {
	out := []*yamldoc.Stream{}
	t, _ := f.Template()
	if t == nil {
		return out
	}
	for _, v := range t.Variables() {
		if v.Default == nil && !f.IsOption(v.Name) {
			for _, sample := range []string{"1", "", "a: b", "[]", `"a"`} {
				if s := f.DocsWith(func(string) string { return sample }); s != nil {
					out = append(out, s)
				}
			}
			break
		}
	}
	return out
}

// Repeated calls visit for each entry whose key was there before.
func Repeated(n *yamldoc.Node, visit func(first, again *yamldoc.Field)) {
	const few = 16
	if len(n.Fields) <= few {
		for i := range n.Fields {
			for j := range i {
				if n.Fields[i].Name == n.Fields[j].Name && !n.Fields[i].Merged && !n.Fields[j].Merged {
					visit(&n.Fields[j], &n.Fields[i])
					break
				}
			}
		}
		return
	}
	seen := make(map[string]*yamldoc.Field, len(n.Fields))
	for i := range n.Fields {
		f := &n.Fields[i]
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
	return n.Text
}

// Fields returns the entries of a map, none for anything else.
func Fields(n *yamldoc.Node) []yamldoc.Field {
	if n == nil {
		return nil
	}
	return n.Fields
}
