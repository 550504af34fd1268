// Package templates judges cluster templates: their objects, topologies and owners
// (families MOVE, TOP, TPL).
package templates

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{moveRules, topologyRules, templateRules}
