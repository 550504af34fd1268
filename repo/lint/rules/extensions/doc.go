// Package extensions judges the releases of runtime extensions (family RXS).
//
// It must not know other subjects or the network.
package extensions

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{extensionRules}
