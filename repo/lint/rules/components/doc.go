package components

import (
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// Families are the rules of this package. They must not be changed.
var Families = []*lint.Family{componentRules, workloadRules, accessRules, webhookRules}
