package conformance

import (
	"fmt"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/rivals"
)

// TestRivals is the model test of publishing with a real registry.
func TestRivals(t *testing.T) {
	host := startRegistry(t)
	n := 0
	rivals.Compete(t, 12, func(*testing.T) rivals.Place {
		n++
		return rivals.Place{URL: fmt.Sprintf("oci://%s/rivals/r%d", host, n)}
	})
}
