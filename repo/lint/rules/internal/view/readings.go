package view

import (
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

// Never reports whether a scalar with variables is not ok for any values that users
// may give them. It is false for one without variables, or with several lines.
func Never(f *lint.File, d *yamldoc.Document, n *yamldoc.Node, ok func(*yamldoc.Node) bool) bool {
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
// one without.
func spelled(f *lint.File, d *yamldoc.Document, n *yamldoc.Node) (text string, start, end int) {
	if _, ok := f.Variable(d, n); !ok {
		return "", 0, 0
	}
	from, to := d.Offsets(n)
	start, end = f.Text().RawOffset(from), f.Text().RawOffset(to)
	for _, r := range Refs(f) {
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
	return n.Str()
}

// SameType reports whether a scalar is of its type whatever values users give its
// variables: in quotes it is a string, and a count of machines is a number.
func SameType(o *manifest.Object, n *yamldoc.Node) bool {
	if !Variable(o, n) {
		return false
	}
	return n.Style != yamldoc.Plain || Never(o.File, o.Doc, n, func(r *yamldoc.Node) bool { return r.Kind != n.Kind })
}

// Judge makes a finding about a value that may come from variables true for all users:
// it stays as it is if no value is ok, it depends on them if only a default is not, and
// there is none if only a sample is not.
func Judge(p *lint.Pass, o *manifest.Object, f lint.Finding, n *yamldoc.Node, ok func(*yamldoc.Node) bool) {
	r, variable := From(o, n)
	switch {
	case !variable:
	case Never(o.File, o.Doc, n, ok):
		f.Message = strings.Replace(f.Message, n.Text(), Spelling(o, n), 1)
	case Open(o, n):
		return
	default:
		f.Severity = lint.Warning
		f.Message += ", unless the user sets " + r.Name
	}
	p.Report(f)
}

// JudgeMetadata judges the labels and annotations of an object's metadata.
func JudgeMetadata(p *lint.Pass, o *manifest.Object, metadata *yamldoc.Node) {
	for _, problem := range crd.Problems(metadata) {
		Judge(p, o, lint.At(o.File, o.Doc, problem.Node, "%s", problem.Message), problem.Node, func(r *yamldoc.Node) bool {
			return problem.Valid == nil || problem.Valid(r.Text())
		})
	}
}
