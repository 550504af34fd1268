// Package contract holds the contracts between Cluster API and the kinds of its
// providers as data: which contracts there are, which versions of Cluster API
// know them, and what the roles of kinds demand. It has the schemas of the kinds of
// Cluster API itself, too.
//
// It must not know rules, files or how anything is reported.
package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Contract is a version of the provider contract, such as "v1beta2".
type Contract string

// The contracts that Cluster API accepts (internal/contract/version.go). They
// are tried in this order.
const (
	V1Beta2 Contract = "v1beta2"
	V1Beta1 Contract = "v1beta1"
)

// Accepted are the contracts that a supported Cluster API accepts, the current
// one first.
var Accepted = [...]Contract{V1Beta2, V1Beta1}

func (c Contract) Label() string { return LabelPrefix + string(c) }

// LabelPrefix begins the labels that declare contracts.
const LabelPrefix = "cluster.x-k8s.io/"

// Profile is the Cluster API that a release is judged for.
type Profile struct {
	// Core is the minor version of Cluster API: 14 for v1.14.
	Core int
	// Contract is the one to judge by, whatever else a kind declares; empty for
	// the one that Cluster API chooses for each kind.
	Contract Contract
	// Roles are those of kinds whose names do not tell, by KIND.GROUP. A template
	// has the role of the kind it is for.
	Roles map[string]Role
	// Uses are those of other files than the release has; nil if there are none.
	Uses Uses
}

// The versions of Cluster API that are known.
const (
	OldestCore = 11
	NewestCore = 14
)

// DefaultProfile is the newest Cluster API.
func DefaultProfile() Profile { return Profile{Core: NewestCore} }

// ParseContract reads the name of a contract that is accepted.
func ParseContract(s string) (Contract, error) {
	if c := Contract(s); slices.Contains(Accepted[:], c) {
		return c, nil
	}
	return "", fmt.Errorf("unknown contract %q: expected %s or %s", s, V1Beta2, V1Beta1)
}

// ParseCore reads a version of Cluster API, such as 1.14, v1.14 or v1.14.2, and
// returns its minor number.
func ParseCore(s string) (int, error) {
	parts := strings.Split(strings.TrimPrefix(s, "v"), ".")
	numbers := make([]uint64, len(parts))
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return 0, unknownCore(s)
		}
		numbers[i] = n
	}
	if len(parts) < 2 || len(parts) > 3 || numbers[0] != 1 || numbers[1] < OldestCore || numbers[1] > NewestCore {
		return 0, unknownCore(s)
	}
	return int(numbers[1]), nil
}

func unknownCore(s string) error {
	return fmt.Errorf("unknown version %q of Cluster API: want v1.%d to v1.%d", s, OldestCore, NewestCore)
}

func ParseRole(s string) (Role, error) {
	if slices.Contains(roles[:], Role(s)) {
		return Role(s), nil
	}
	names := phrase.List(roles[:], func(r Role) string { return string(r) })
	return "", fmt.Errorf("unknown role %q: expected %s", s, strings.Join(names, ", "))
}
