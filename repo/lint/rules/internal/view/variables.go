package view

import (
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
)

// Substituted are the files in which clusterctl replaces variables.
var Substituted = []layouts.FileKind{layouts.Components, layouts.ClusterTemplate, layouts.ClusterClass}

// Refs returns the expressions of a file, none if they cannot be read.
func Refs(f *lint.File) []vars.Ref {
	t, _ := f.Template()
	if t == nil {
		return nil
	}
	return t.Refs()
}
