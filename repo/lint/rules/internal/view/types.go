package view

import (
	"fmt"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/gotypes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/manifest"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Misfits calls visit for the values of an object that do not fit the type that
// clusterctl converts it to. Values that only the user knows are left out.
func Misfits(o *manifest.Object, visit func(gotypes.Problem)) {
	all := o.File.Memo(misfitsKey{}, func() any {
		out := map[*manifest.Object][]gotypes.Problem{}
		for _, o := range o.File.Objects() {
			if t, _ := gotypes.Converted(o.File.Kind, o.Get("apiVersion").Str(), o.Kind); t != nil {
				if problems := gotypes.Check(t, o.Doc.Root); len(problems) > 0 {
					out[o] = problems
				}
			}
		}
		return out
	}).(map[*manifest.Object][]gotypes.Problem)
	Settled(o, all[o], visit)
}

// Settled calls visit for the problems that do not depend on what only the user knows.
func Settled(o *manifest.Object, problems []gotypes.Problem, visit func(gotypes.Problem)) {
	for _, problem := range problems {
		switch {
		case problem.Path == "metadata.namespace" && problem.Kind.Fatal() && Overwritten(o.Kind):
		case Open(o, problem.Node) && (problem.Kind != gotypes.WrongType || !sameType(o, problem.Node)):
		default:
			visit(problem)
		}
	}
}

// misfitsKey is of the problems with all objects of a file.
type misfitsKey struct{}

// Overwritten reports whether clusterctl has overwritten the namespace of an object
// before it converts it.
func Overwritten(kind string) bool { return kind == "RoleBinding" || kind == ClusterKind }

// Misfit says what is wrong with a value that the conversion refuses.
func Misfit(problem gotypes.Problem) string {
	switch problem.Kind {
	case gotypes.Fraction:
		return fmt.Sprintf("%s is %s, not %s", problem.Path, problem.Node.Text(), problem.Want)
	case gotypes.BadValue:
		return fmt.Sprintf("%s is not %s: %s", problem.Path, problem.Want, problem.Got)
	}
	return fmt.Sprintf("%s is %s, not %s", problem.Path, problem.Got, problem.Want)
}

// MisfitFix says what to write instead of a value that the conversion refuses, or "".
func MisfitFix(o *manifest.Object, problem gotypes.Problem) string {
	n := problem.Node
	scalar := n.Kind != yamldoc.Map && n.Kind != yamldoc.List && n.Kind != yamldoc.Null
	switch {
	case problem.Kind != gotypes.WrongType || !scalar:
	case problem.Want == "a string" && !o.Doc.Placed():
		return "Put the value in quotes."
	case problem.Want == "a string":
		return "Put the value in quotes: \"" + Spelling(o, n) + "\"."
	case n.Style == yamldoc.Quoted && Variable(o, n) && o.Doc.Placed():
		return "Remove the quotes: a variable in quotes is always a string. Write " + Spelling(o, n) + "."
	}
	return ""
}
