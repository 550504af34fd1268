package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// DefinitionFiles are the files that hold definitions.
var DefinitionFiles = []layouts.FileKind{layouts.Components}

// Definitions are those of the file, if it is the one that is installed.
func Definitions(p *lint.Pass) []*contract.Kind {
	roles := p.Release.Roles()
	if len(roles) == 0 || roles[0].Object.File != p.File {
		return nil
	}
	return roles
}

// InRoles are the same in all their roles: one that is used in two comes twice.
func InRoles(p *lint.Pass) []*contract.Kind {
	var out []*contract.Kind
	for _, k := range Definitions(p) {
		out = append(append(out, k), k.Also...)
	}
	return out
}

// Accuse reports a value of a definition that all in it decides; see Settle.
func Accuse(p *lint.Pass, k *contract.Kind, n *yamldoc.Node, severity lint.Severity, format string, args ...any) {
	f := lint.On(k.Object, n, format, args...)
	f.Severity = severity
	Settle(p, k.Object, f, Within(n)...)
}

// Nearest follows a path as far as the values go.
func Nearest(o *manifest.Object, path ...string) *yamldoc.Node {
	n := o.Doc.Root
	for _, name := range path {
		next := n.Get(name)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// NearestOf returns a value of a mapping, or the mapping.
func NearestOf(n *yamldoc.Node, name string) *yamldoc.Node { return cmp.Or(n.Get(name), n) }

// MayHave reports whether objects of a kind with a version to judge may have a field.
func MayHave(k *contract.Kind, path ...string) bool {
	_, presence := k.Judged.Schema.At(path...)
	return presence != crd.Absent
}

// schemaOfConditions is where Cluster API reads them, and whether they are there.
func schemaOfConditions(k *contract.Kind) (crd.Schema, crd.Presence) {
	if k.Contract == contract.V1Beta1 {
		if s, presence := k.Judged.Schema.At("status", "v1beta2", "conditions"); presence == crd.Present {
			return s, presence
		}
	}
	return k.Judged.Schema.At("status", "conditions")
}

// Lacks reports what a kind, in words, does not have. Kinds that lack the same are one finding.
func Lacks(p *lint.Pass, k *contract.Kind, at *yamldoc.Node, severity lint.Severity, kind string, paths []string) {
	what := strings.Join(paths, ", ")
	f := lint.On(k.Object, at, "%s has no %s", kind, what).As(severity).Because(fmt.Sprintf("%s %s %d", p.Rule.ID, what, severity))
	for _, path := range paths {
		f = f.Because(InSchema(k.CRD, k.Judged, strings.Split(path, ".")))
	}
	Settle(p, k.Object, f, Within(at)...)
}

// CheckConditions looks at the conditions of kinds that have a version to judge.
func CheckConditions(p *lint.Pass, kinds []*contract.Kind) {
	for _, k := range kinds {
		if s, presence := schemaOfConditions(k); presence == crd.Absent {
			Lacks(p, k, s.Node, 0, k.Kind+" "+k.Judged.Name, []string{"status.conditions"})
		} else if presence == crd.Present {
			checkConditions(p, k, s)
		}
	}
}

func checkConditions(p *lint.Pass, k *contract.Kind, s crd.Schema) {
	if s.Type() != "array" {
		Accuse(p, k, s.Node, 0, "status.conditions of %s %s has type %s; it must be a list", k.Kind, k.Judged.Name, s.Type())
		return
	}
	for i := range contract.ConditionFields {
		f := &contract.ConditionFields[i]
		at, presence := s.At(crd.Items, f.Path)
		switch {
		case presence == crd.Absent && f.Need == contract.Must:
			Accuse(p, k, at.Node, lint.Error, "the entries of status.conditions of %s %s lack %s", k.Kind, k.Judged.Name, f.Path)
		case presence == crd.Present && at.Type() != "" && at.Type() != f.Type:
			Accuse(p, k, at.Node, lint.Error, "%s of status.conditions of %s %s has type %s; it must be %s",
				f.Path, k.Kind, k.Judged.Name, at.Type(), f.Type)
		case presence == crd.Present:
			if refused := f.Refused(at); len(refused) > 0 {
				Accuse(p, k, refused[0].Keyword.Value, lint.Error, "%s of status.conditions of %s %s does not accept %s, because of its %s", f.Path, k.Kind, k.Judged.Name,
					phrase.Or(phrase.List(refused, func(r contract.Refusal) string { return r.Value })), refused[0].Keyword.Name)
			}
		}
	}
}
