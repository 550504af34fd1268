package main

import (
	"context"
	"fmt"

	"github.com/blang/semver/v4"

	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// generateUpgradePlan goes up one minor version at a time. The steps of workers are
// left to Cluster API, which takes as few as possible.
func generateUpgradePlan(_ context.Context, request *hooksv1.GenerateUpgradePlanRequest, response *hooksv1.GenerateUpgradePlanResponse) {
	steps, err := plan(request.FromControlPlaneKubernetesVersion, request.ToKubernetesVersion)
	if err != nil {
		response.Status, response.Message = hooksv1.ResponseStatusFailure, err.Error()
		return
	}
	response.Status, response.ControlPlaneUpgrades = hooksv1.ResponseStatusSuccess, steps
}

func plan(from, to string) ([]hooksv1.UpgradeStep, error) {
	current, err := semver.ParseTolerant(from)
	if err != nil {
		return nil, fmt.Errorf("fromControlPlaneKubernetesVersion: %w", err)
	}
	target, err := semver.ParseTolerant(to)
	if err != nil {
		return nil, fmt.Errorf("toKubernetesVersion: %w", err)
	}
	if current.GE(target) {
		return nil, nil
	}
	var steps []hooksv1.UpgradeStep
	for minor := current.Minor + 1; minor < target.Minor; minor++ {
		steps = append(steps, hooksv1.UpgradeStep{Version: fmt.Sprintf("v%d.%d.0", target.Major, minor)})
	}
	return append(steps, hooksv1.UpgradeStep{Version: to}), nil
}
