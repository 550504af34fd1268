package contractcheck_test

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/contractcheck"
)

// In a provider, this is the whole test.
func TestContract(t *testing.T) {
	contractcheck.Test(t, "../../../examples/cluster-api-provider-acme/config/crd/bases")
}

func Example() {
	_ = func(t *testing.T) { // func TestContract(t *testing.T)
		contractcheck.Test(t, "config/crd/bases")
	}
}
