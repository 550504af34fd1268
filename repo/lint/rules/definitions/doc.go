// Package definitions judges CustomResourceDefinitions: whatever their role, as the API
// server and clusterctl do (family CRD), and by the role that Cluster API's provider contracts
// give them (families BC, CP, IC, IM, IMP, IPAM). It must not know other subjects.
package definitions

import "github.com/clusterctl-repo/clusterctl-repo/repo/lint"

// Families holds the rules of this package. It must not be changed.
var Families = []*lint.Family{definitionRules, bootstrapConfigRules, controlPlaneRules, infraClusterRules, infraMachineRules, infraMachinePoolRules, addressRules}
