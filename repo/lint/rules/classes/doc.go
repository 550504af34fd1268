// Package classes judges ClusterClasses: their files, references, variables and patches
// (families CC, CV, PA). It must not know other subjects.
package classes

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{classRules, variableRules, patchRules}
