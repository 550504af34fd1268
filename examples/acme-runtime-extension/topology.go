package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/exp/runtime/topologymutation"
)

// imagePrefix begins the names of machine images; the version of Kubernetes
// follows. Clusters may choose another with the variable of this name.
const (
	imageVariable = "imagePrefix"
	defaultPrefix = "acme-linux"
)

// discoverVariables defines the variables that a ClusterClass gets from here.
func discoverVariables(_ context.Context, _ *hooksv1.DiscoverVariablesRequest, response *hooksv1.DiscoverVariablesResponse) {
	response.Status = hooksv1.ResponseStatusSuccess
	response.Variables = []clusterv1.ClusterClassVariable{{
		Name:     imageVariable,
		Required: new(false),
		Schema: clusterv1.VariableSchema{OpenAPIV3Schema: clusterv1.JSONSchemaProps{
			Type:        "string",
			Description: "The beginning of the names of machine images.",
			Default:     &apiextensionsv1.JSON{Raw: []byte(`"` + defaultPrefix + `"`)},
			Pattern:     "^[a-z0-9-]+$",
			MaxLength:   new(int64(200)),
		}},
	}}
}

// machineTemplate is what there is to know of a template here.
type machineTemplate struct {
	Kind string `json:"kind"`
	Spec struct {
		Template struct {
			Spec struct {
				Image string `json:"image"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

const machineKind = "AcmeMachineTemplate"

// generatePatches gives machines the image for their version of Kubernetes. The
// same request gets the same answer, and every item is looked at by itself.
func generatePatches(_ context.Context, request *hooksv1.GeneratePatchesRequest, response *hooksv1.GeneratePatchesResponse) {
	response.Status = hooksv1.ResponseStatusSuccess
	for _, item := range request.Items {
		var template machineTemplate
		if err := json.Unmarshal(item.Object.Raw, &template); err != nil || template.Kind != machineKind {
			continue
		}
		image, err := imageOf(request.Variables, item.Variables)
		if err != nil {
			response.Status, response.Message = hooksv1.ResponseStatusFailure, err.Error()
			return
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"image": image}}}})
		if err != nil {
			response.Status, response.Message = hooksv1.ResponseStatusFailure, err.Error()
			return
		}
		response.Items = append(response.Items, hooksv1.GeneratePatchesResponseItem{UID: item.UID, PatchType: hooksv1.JSONMergePatchType, Patch: patch})
	}
}

// imageOf names the image of the machines of an item. Control planes and workers
// have their versions in variables of their own.
func imageOf(global, own []hooksv1.Variable) (string, error) {
	variables, err := topologymutation.MergeVariableMaps(topologymutation.ToMap(global), topologymutation.ToMap(own))
	if err != nil {
		return "", err
	}
	prefix, err := topologymutation.GetStringVariable(variables, imageVariable)
	switch {
	case topologymutation.IsNotFoundError(err):
		prefix = defaultPrefix
	case err != nil:
		return "", err
	}
	for _, name := range []string{"builtin.controlPlane.version", "builtin.machineDeployment.version", "builtin.machinePool.version"} {
		if version, err := topologymutation.GetStringVariable(variables, name); err == nil {
			return prefix + "-" + strings.ReplaceAll(version, "+", "-"), nil
		}
	}
	return "", fmt.Errorf("an item for machines has no builtin variable with their version")
}

// validateTopology refuses images whose version is not fixed.
func validateTopology(_ context.Context, request *hooksv1.ValidateTopologyRequest, response *hooksv1.ValidateTopologyResponse) {
	response.Status = hooksv1.ResponseStatusSuccess
	for _, item := range request.Items {
		var template machineTemplate
		if err := json.Unmarshal(item.Object.Raw, &template); err != nil || template.Kind != machineKind {
			continue
		}
		if strings.HasSuffix(template.Spec.Template.Spec.Image, ":latest") {
			response.Status = hooksv1.ResponseStatusFailure
			response.Message = fmt.Sprintf("the %s for %s %s has the image %q: name a version", template.Kind, item.HolderReference.Kind, item.HolderReference.Name, template.Spec.Template.Spec.Image)
			return
		}
	}
}
