package gitlab

import (
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/test/decisions"
)

// TestTable keeps the decisions in docs/publishing.md up to date.
func TestTable(t *testing.T) { decisions.Documented(t, "GitLab", (&job{}).table()) }
