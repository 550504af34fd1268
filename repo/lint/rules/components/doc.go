// Package components judges what an installation brings: objects and images, workloads,
// access rights and webhooks (families COMP, DEP, RBAC, WH). It must not know other subjects.
package components

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{componentRules, workloadRules, accessRules, webhookRules}
