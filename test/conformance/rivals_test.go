package conformance

import (
	"fmt"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/rivals"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// TestRivals is the model test of publishing with a real registry.
func TestRivals(t *testing.T) {
	host := startRegistry(t)
	n := 0
	rivals.Compete(t, share.Of(6, 50), func(*testing.T) rivals.Place {
		n++
		return rivals.Place{URL: fmt.Sprintf("oci://%s/rivals/r%d", host, n)}
	})
}
