// Package contracts judges CustomResourceDefinitions by the role that Cluster API's provider
// contracts give them (families BC, CP, IC, IM, IMP, IPAM). It must not know other subjects.
package contracts

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{bootstrapConfigRules, controlPlaneRules, infraClusterRules, infraMachineRules, infraMachinePoolRules, addressRules}
