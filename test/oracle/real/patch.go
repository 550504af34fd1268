package real

import (
	"context"
	"encoding/json"
	_ "unsafe" // for go:linkname

	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	_ "sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster/patches" // links the function
)

// applyPatchToRequest is the function in that package, which does not export it.
//
//go:linkname applyPatchToRequest sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster/patches.applyPatchToRequest
func applyPatchToRequest(ctx context.Context, request *hooksv1.GeneratePatchesRequest, patch hooksv1.GeneratePatchesResponseItem) error

// ApplyPatch returns what Cluster API makes of a template with a patch.
func ApplyPatch(ctx context.Context, template []byte, patchType string, patch []byte) ([]byte, error) {
	request := &hooksv1.GeneratePatchesRequest{Items: []hooksv1.GeneratePatchesRequestItem{{UID: "1"}}}
	request.Items[0].Object.Raw = template
	err := applyPatchToRequest(ctx, request, hooksv1.GeneratePatchesResponseItem{UID: "1", PatchType: hooksv1.PatchType(patchType), Patch: patch})
	return json.RawMessage(request.Items[0].Object.Raw), err
}
