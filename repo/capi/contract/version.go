package contract

import (
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
)

// Contracts are the ones that Cluster API tries for a kind, in this order: all
// that it accepts, or the one that the profile demands. They are the same for
// every version of Cluster API that is known (internal/contract/version.go,
// GetCompatibleVersions).
func (p Profile) Contracts() []Contract {
	if p.Contract != "" {
		return []Contract{p.Contract}
	}
	return Accepted[:]
}

// Choose returns the contract that Cluster API uses for a kind, and the version
// of the API that it uses: of the first label that is not empty the highest
// version, whether or not the definition has it (internal/contract/version.go,
// GetLatestContractAndAPIVersionFromContract). It is false without a label.
func (p Profile) Choose(c *crd.CRD) (contract Contract, version string, ok bool) {
	for _, contract := range p.Contracts() {
		if value, _ := c.Object.Label(contract.Label()); value != "" {
			for v := range strings.SplitSeq(value, "_") {
				if version == "" || CompareVersions(v, version) > 0 {
					version = v
				}
			}
			return contract, version, true
		}
	}
	return "", "", false
}

// CompareVersions orders versions of an API by priority: v1 above v1beta1 above
// v1alpha1, higher numbers above lower ones, and names of another form below all
// of these, in the reverse order of the alphabet (k8s.io/apimachinery
// pkg/version, CompareKubeAwareVersionStrings).
func CompareVersions(a, b string) int { return version.CompareKubeAwareVersionStrings(a, b) }

// IsVersion reports whether the name of a version follows the convention. Only such names
// are above the empty one.
func IsVersion(s string) bool { return CompareVersions(s, "") > 0 }
