// Package repository judges folders, versions, names, URLs and metadata.yaml
// (families META, NAME, REPO), and says what is judged in the configurations of e2e
// suites (SUITE). It must not know other subjects.
package repository

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{metadataRules, nameRules, repositoryRules, suiteRules}
