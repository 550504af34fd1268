package real

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster/patches/inline"
	"sigs.k8s.io/yaml"
)

// InlineTemplate is a template that inline patches are applied to.
type InlineTemplate struct {
	HolderKind, FieldPath string
	Object                json.RawMessage
	Values                map[string]json.RawMessage
}

// ApplyInline lets Cluster API generate and apply the inline patches of the spec
// of a ClusterClass in v1beta2, given as YAML, and returns the patched templates.
func ApplyInline(ctx context.Context, spec []byte, global map[string]json.RawMessage, templates []InlineTemplate) ([]json.RawMessage, error) {
	var class clusterv1.ClusterClassSpec
	if err := yaml.Unmarshal(spec, &class); err != nil {
		return nil, err
	}
	variables := func(values map[string]json.RawMessage) []hooksv1.Variable {
		var out []hooksv1.Variable
		for name, value := range values {
			v := hooksv1.Variable{Name: name}
			if err := json.Unmarshal(value, &v.Value); err != nil {
				panic(err)
			}
			out = append(out, v)
		}
		return out
	}
	request := &hooksv1.GeneratePatchesRequest{Variables: variables(global)}
	for i, t := range templates {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(t.Object, object); err != nil {
			return nil, err
		}
		request.Items = append(request.Items, hooksv1.GeneratePatchesRequestItem{
			UID:             types.UID(rune('a' + i)),
			HolderReference: hooksv1.HolderReference{Kind: t.HolderKind, FieldPath: t.FieldPath},
			Object:          runtime.RawExtension{Raw: t.Object, Object: object},
			Variables:       variables(t.Values),
		})
	}
	for i := range class.Patches {
		response, err := inline.NewGenerator(&class.Patches[i]).Generate(ctx, nil, request)
		if err != nil {
			return nil, err
		}
		for _, item := range response.Items {
			if err := applyPatchToRequest(ctx, request, item); err != nil {
				return nil, err
			}
		}
	}
	var out []json.RawMessage
	for _, item := range request.Items {
		out = append(out, item.Object.Raw)
	}
	return out, nil
}
