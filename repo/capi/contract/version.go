package contract

import (
	"cmp"
	"strconv"
	"strings"

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
func CompareVersions(a, b string) int {
	if a == b {
		return 0
	}
	x, xok := parseVersion(a)
	y, yok := parseVersion(b)
	switch {
	case xok && yok:
		return cmp.Or(cmp.Compare(x.stage, y.stage), cmp.Compare(x.major, y.major), cmp.Compare(x.minor, y.minor))
	case xok:
		return 1
	case yok:
		return -1
	}
	return strings.Compare(b, a)
}

// apiVersion is the name of a version that follows the convention. Stages are
// ordered.
type apiVersion struct{ stage, major, minor int }

const (
	alpha = iota
	beta
	stable
)

func parseVersion(s string) (v apiVersion, ok bool) {
	s, ok = strings.CutPrefix(s, "v")
	if !ok {
		return v, false
	}
	v.stage = stable
	major := s
	for i, word := range [...]string{alpha: "alpha", beta: "beta"} {
		if before, after, found := strings.Cut(s, word); found {
			v.stage, major = i, before
			if v.minor, ok = number(after); !ok {
				return v, false
			}
		}
	}
	v.major, ok = number(major)
	return v, ok
}

// number reads a decimal number without a sign.
func number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && s[0] != '+' && s[0] != '-'
}

// IsVersion reports whether the name of a version follows the convention.
func IsVersion(s string) bool {
	_, ok := parseVersion(s)
	return ok
}
