package main

import (
	"context"

	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// The hooks for updates in place. This extension changes nothing in place: it
// answers without patches, and Cluster API replaces the machines.

func canUpdateMachine(_ context.Context, _ *hooksv1.CanUpdateMachineRequest, response *hooksv1.CanUpdateMachineResponse) {
	response.Status = hooksv1.ResponseStatusSuccess
}

func canUpdateMachineSet(_ context.Context, _ *hooksv1.CanUpdateMachineSetRequest, response *hooksv1.CanUpdateMachineSetResponse) {
	response.Status = hooksv1.ResponseStatusSuccess
}

// updateMachine has nothing to do, because canUpdateMachine never offers anything.
func updateMachine(_ context.Context, _ *hooksv1.UpdateMachineRequest, response *hooksv1.UpdateMachineResponse) {
	response.Status = hooksv1.ResponseStatusSuccess
}
