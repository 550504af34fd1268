// Package text judges files before their objects mean anything: YAML, variables and the
// comments that suppress rules (families LINT, VAR, YAML). It must not know other subjects.
package text

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{commentRules, variableRules, documentRules}
