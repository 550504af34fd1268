// Package templates judges cluster templates: their objects, topologies and owners
// (families MOVE, TOP, TPL). It must not know other subjects.
package templates

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{moveRules, topologyRules, templateRules}
