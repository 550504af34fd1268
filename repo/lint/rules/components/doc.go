// Package components judges what clusterctl makes of an installation: its namespace,
// labels, images and types (family COMP). It must not know other subjects.
package components

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{componentRules}
