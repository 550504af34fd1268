package rules

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

var classRules = []*lint.Rule{}
