package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// stand are values that stand for all that users may give a variable: each kind of
// scalar, and texts of the characters that names and labels may have.
var stand = []string{"", "a", "1", "0", "a.b-1", "true", "1.5", "null", "[]", "{}"}

// standForOptions are those of the variables that clusterctl sets, and checks.
var standForOptions = map[string][]string{
	"CLUSTER_NAME": {"a", "my-cluster"}, "NAMESPACE": {"a", "default"},
	"CONTROL_PLANE_MACHINE_COUNT": {"1", "3"}, "WORKER_MACHINE_COUNT": {"0", "1"},
}

// neverValid reports whether a scalar with variables is not ok for any values that users
// may give them. It is false for one without variables, or with several lines.
func neverValid(f *lint.File, d *yamldoc.Document, n *yamldoc.Node, ok func(*yamldoc.Node) bool) bool {
	text, start, end := spelled(f, d, n)
	if text == "" || strings.Contains(text, "\n") {
		return false
	}
	t, err := vars.Parse(f.Raw.Data[start:end])
	if err != nil {
		return false
	}
	read := false
	for i, value := range stand {
		out, err := t.Execute(func(name string) (string, bool) {
			if values := standForOptions[name]; f.IsOption(name) {
				return values[i%len(values)], true
			}
			return value, true
		})
		if err != nil {
			continue
		}
		s := yamldoc.Parse(yamldoc.NewFile("", "v: "+out.Data))
		if len(s.Docs) != 1 || s.Docs[0].Err != nil || len(s.Docs[0].Root.Fields()) != 1 {
			continue
		}
		if ok(s.Docs[0].Root.Get("v")) {
			return false
		}
		read = true
	}
	return read
}

// spelled returns how the raw file writes a scalar with variables, and where; "" for
// one without, or without a place.
func spelled(f *lint.File, d *yamldoc.Document, n *yamldoc.Node) (text string, start, end int) {
	if _, ok := f.Variable(d, n); !ok || !d.Placed() {
		return "", 0, 0
	}
	from, to := d.Offsets(n)
	start, end = f.Text().RawOffset(from), f.Text().RawOffset(to)
	for _, r := range slices.Backward(Refs(f)) {
		if r.Depth == 0 && r.End == start { // its value is empty
			start = r.Start
		}
	}
	return f.Raw.Data[start:end], start, end
}

// Spelling is a scalar as the file writes it: with its variables, if it has any.
func Spelling(o *manifest.Object, n *yamldoc.Node) string {
	if text, _, _ := spelled(o.File, o.Doc, n); text != "" {
		return strings.Trim(text, `"'`)
	}
	return n.Text()
}

// sameType reports whether a scalar is of its type whatever values users give its
// variables: in quotes it is a string, and a count of machines is a number. Without a place
// it may have stood in quotes or not.
func sameType(o *manifest.Object, n *yamldoc.Node) bool {
	if !Variable(o, n) || !o.Doc.Placed() {
		return false
	}
	return n.Style != yamldoc.Plain || neverValid(o.File, o.Doc, n, func(r *yamldoc.Node) bool { return r.Kind != n.Kind })
}

// Judge reports a value that is not ok, and may come from variables. If no values of
// them make it ok, the finding is true for all users, and about the value as the file
// writes it; otherwise Settle looks at it. Say makes the finding for the value as it
// is to be written.
func Judge(p *lint.Pass, o *manifest.Object, n *yamldoc.Node, ok func(*yamldoc.Node) bool, say func(value string) lint.Finding) {
	if neverValid(o.File, o.Doc, n, ok) {
		f := say(Spelling(o, n))
		f.Severity = cmp.Or(f.Severity, p.Rule.Severity)
		p.Report(f)
		return
	}
	Settle(p, o, say(n.Text()), n)
}

// Settle reports a finding that some values decide: not if only the user knows one of
// them, and as a warning if one of them is the default of a variable.
func Settle(p *lint.Pass, o *manifest.Object, f lint.Finding, by ...*yamldoc.Node) {
	if slices.ContainsFunc(by, func(n *yamldoc.Node) bool { return Open(o, n) }) {
		return
	}
	for _, n := range by {
		if r, ok := From(o, n); ok {
			f.Unless(r.Name)
			break
		}
	}
	p.Report(f)
}

// Within returns a value and all below it, for Settle.
func Within(n *yamldoc.Node) (out []*yamldoc.Node) {
	Each(n, func(n *yamldoc.Node) { out = append(out, n) })
	return out
}

// Failure reports what is wrong with a value of an object.
type Failure struct {
	Pass   *lint.Pass
	Object *manifest.Object
	Value  *yamldoc.Node
	by     []*yamldoc.Node
	as     lint.Severity
	fix    string
}

// As gives the finding a severity and a fix of its own instead of those of the rule, unless
// they are empty.
func (f Failure) As(s lint.Severity, fix string) Failure {
	f.as, f.fix = s, fix
	return f
}

// By adds values that decide; those that are not there do not. The first one is where
// the finding is; without any it is the value itself.
func (f Failure) By(nodes ...*yamldoc.Node) Failure {
	f.by = slices.DeleteFunc(slices.Concat(f.by, nodes), func(n *yamldoc.Node) bool { return n == nil })
	return f
}

// Says reports a message.
func (f Failure) Says(format string, args ...any) {
	by := f.By(f.Value).by
	finding := lint.On(f.Object, by[0], format, args...).As(f.as)
	finding.Fix = f.fix
	Settle(f.Pass, f.Object, finding, by...)
}

// JudgeMetadata judges the labels and annotations of an object's metadata.
func JudgeMetadata(p *lint.Pass, o *manifest.Object, metadata *yamldoc.Node) {
	for _, problem := range crd.Problems(metadata) {
		n := problem.Node
		Judge(p, o, n, func(r *yamldoc.Node) bool { return problem.Valid == nil || problem.Valid(r.Text()) }, func(value string) lint.Finding {
			return lint.On(o, n, "%s", problem.Says(value))
		})
	}
}
