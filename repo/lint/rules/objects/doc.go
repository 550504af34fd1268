// Package objects judges what Kubernetes itself makes of an installation: workloads,
// access rights, webhooks and certificates (families DEP, RBAC, WH). It must not know
// other subjects.
package objects

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{workloadRules, accessRules, webhookRules}
