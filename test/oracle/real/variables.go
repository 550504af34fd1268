package real

import (
	"context"
	"encoding/json"
	"fmt"
	_ "unsafe" // for go:linkname

	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// validateVariables is the function of cluster-api internal/topology/variables, which
// the reconciler of ClusterClasses, linked by extension.go, calls.
//
//go:linkname validateVariables sigs.k8s.io/cluster-api/internal/topology/variables.ValidateClusterClassVariables
func validateVariables(ctx context.Context, old, variables []clusterv1.ClusterClassVariable, path *field.Path) field.ErrorList

// CheckVariables returns what Cluster API has against the variables in an answer to
// DiscoverVariables.
func CheckVariables(ctx context.Context, answer []byte) error {
	var response hooksv1.DiscoverVariablesResponse
	if err := json.Unmarshal(answer, &response); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return validateVariables(ctx, nil, response.Variables, field.NewPath("variables")).ToAggregate()
}
