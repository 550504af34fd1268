package extension

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/patch"
)

const (
	JSONPatch      = "JSONPatch"
	JSONMergePatch = "JSONMergePatch"
)

// Malformed returns why the text of a patch cannot be one of its type, or nil.
func (p Patch) Malformed() error {
	switch p.PatchType {
	case JSONPatch:
		_, err := jsonpatch.DecodePatch(p.Patch)
		if err != nil {
			return fmt.Errorf("it is not a list of JSON Patch operations: %w", err)
		}
	case JSONMergePatch:
		if len(p.Patch) == 0 {
			return nil
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(p.Patch, &object); err != nil {
			return fmt.Errorf("it is not a JSON object: %w", err)
		}
	}
	return nil
}

// IsZero reports whether there is no patch at all.
func (p Patch) IsZero() bool { return p.PatchType == "" && len(p.Patch) == 0 }

// Apply returns the object after the patch, as Cluster API applies it
// (core/reconcilers/topology/cluster/patches, applyPatchToRequest; internal/util/patch,
// ApplyPatchToObject). A patch on which the library breaks is an error, as it is there.
func (p Patch) Apply(object []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("it cannot be applied: %v", r)
		}
	}()
	switch p.PatchType {
	case JSONPatch:
		if out, err = patch.ApplyJSON(object, p.Patch); err != nil || bytes.Equal(out, object) {
			return out, err
		}
	case JSONMergePatch:
		if len(p.Patch) == 0 || string(p.Patch) == "{}" {
			return object, nil
		}
		if out, err = jsonpatch.MergePatch(object, p.Patch); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("the patchType %q is unknown", p.PatchType)
	}
	return out, patch.Identified(out)
}

// Changed returns the paths of the values in which two objects differ, each as far
// down as both have something there. An empty object or list is as good as none.
func Changed(before, after []byte) ([][]string, error) {
	var a, b any
	if err := patch.Decode(before, &a); err != nil {
		return nil, err
	}
	if err := patch.Decode(after, &b); err != nil {
		return nil, err
	}
	var out [][]string
	differences(a, b, nil, &out)
	return out, nil
}

func differences(a, b any, path []string, out *[][]string) {
	x, xok := a.(map[string]any)
	y, yok := b.(map[string]any)
	if (xok || hollow(a)) && (yok || hollow(b)) && (xok || yok) {
		keys := object{}
		maps.Copy(keys, x)
		maps.Copy(keys, y)
		for k := range keys {
			differences(x[k], y[k], append(path[:len(path):len(path)], k), out)
		}
		return
	}
	if !reflect.DeepEqual(a, b) && !(hollow(a) && hollow(b)) {
		*out = append(*out, path)
	}
}

// hollow reports whether a value is missing or has nothing in it.
func hollow(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, inner := range v {
			if !hollow(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

// restored are the fields of a control plane that Cluster API computes itself, and
// puts back after patches (core/reconcilers/topology/cluster/patches,
// updateDesiredState).
var restored = [...]string{
	"replicas", "version", "machineTemplate.metadata", "machineTemplate.infrastructureRef", "machineTemplate.spec.infrastructureRef",
	"machineTemplate.nodeDrainTimeout", "machineTemplate.nodeVolumeDetachTimeout", "machineTemplate.nodeDeletionTimeout",
	"machineTemplate.spec.deletion.nodeDrainTimeoutSeconds", "machineTemplate.spec.deletion.nodeVolumeDetachTimeoutSeconds",
	"machineTemplate.spec.deletion.nodeDeletionTimeoutSeconds", "machineTemplate.readinessGates", "machineTemplate.spec.readinessGates",
	"machineTemplate.taints", "machineTemplate.spec.taints", "rollout.after",
}

// Restored reports whether Cluster API undoes a change of the template of a control
// plane at a path.
func Restored(path []string) bool {
	if len(path) < 4 || !reflect.DeepEqual(path[:3], []string{"spec", "template", "spec"}) {
		return false
	}
	at := strings.Join(path[3:], ".") + "."
	return slices.ContainsFunc(restored[:], func(r string) bool { return strings.HasPrefix(at, r+".") })
}
