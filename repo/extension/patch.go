package extension

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// The types of patches.
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
			return fmt.Errorf("it is no list of operations of JSON Patch: %w", err)
		}
	case JSONMergePatch:
		if len(p.Patch) == 0 {
			return nil
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(p.Patch, &object); err != nil {
			return fmt.Errorf("it is no JSON object: %w", err)
		}
	}
	return nil
}

// IsEmpty reports whether the patch changes nothing.
func (p Patch) IsEmpty() bool {
	switch text := strings.TrimSpace(string(p.Patch)); text {
	case "", "[]", "{}", "null":
		return true
	}
	return false
}

// Apply returns the object after the patch, as Cluster API applies it
// (core/reconcilers/topology/cluster/patches, applyPatchToRequest). A library that
// breaks on a patch is an error, as it is there.
func (p Patch) Apply(object []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("applying it breaks: %v", r)
		}
	}()
	if p.IsEmpty() {
		return object, nil
	}
	switch p.PatchType {
	case JSONPatch:
		operations, err := jsonpatch.DecodePatch(p.Patch)
		if err != nil {
			return nil, err
		}
		return operations.Apply(object)
	case JSONMergePatch:
		return jsonpatch.MergePatch(object, bytes.TrimSpace(p.Patch))
	}
	return nil, fmt.Errorf("there is no patch of type %q", p.PatchType)
}

// Changed returns the paths of the values in which two objects differ, each as far
// down as both have something there. An empty object or list is as good as none.
func Changed(before, after []byte) ([][]string, error) {
	var a, b any
	if err := decodeNumbers(before, &a); err != nil {
		return nil, err
	}
	if err := decodeNumbers(after, &b); err != nil {
		return nil, err
	}
	var out [][]string
	differences(a, b, nil, &out)
	return out, nil
}

// decodeNumbers keeps numbers as they are written.
func decodeNumbers(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

func differences(a, b any, path []string, out *[][]string) {
	x, xok := a.(map[string]any)
	y, yok := b.(map[string]any)
	if (xok || hollow(a)) && (yok || hollow(b)) && (xok || yok) {
		keys := map[string]bool{}
		for k := range x {
			keys[k] = true
		}
		for k := range y {
			keys[k] = true
		}
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

// kept are the parts of a template in which Cluster API keeps changes; what is not
// below spec is only kept since v1.14 (core/reconcilers/topology/cluster/patches,
// applyPatchToRequest and patchTemplate).
var kept = []struct {
	path  []string
	since int
}{
	{[]string{"spec"}, oldest},
	{[]string{"metadata", "labels"}, 14},
	{[]string{"metadata", "annotations"}, 14},
}

// Kept reports whether Cluster API of a minor version keeps a change of a template
// at a path.
func Kept(path []string, core int) bool {
	for _, k := range kept {
		if core >= k.since && len(path) >= len(k.path) && reflect.DeepEqual(path[:len(k.path)], k.path) {
			return true
		}
	}
	return false
}

// restored are the fields of a control plane that Cluster API computes itself, and
// puts back after patches (core/reconcilers/topology/cluster/patches,
// updateDesiredState).
var restored = [...]string{
	"replicas", "version", "machineTemplate.metadata", "machineTemplate.infrastructureRef", "machineTemplate.spec.infrastructureRef",
	"machineTemplate.nodeDrainTimeout", "machineTemplate.nodeVolumeDetachTimeout", "machineTemplate.nodeDeletionTimeout",
	"machineTemplate.spec.deletion", "machineTemplate.readinessGates", "machineTemplate.spec.readinessGates", "machineTemplate.spec.taints", "rollout.after",
}

// Restored reports whether Cluster API undoes a change of the template of a control
// plane at a path.
func Restored(path []string) bool {
	if len(path) < 4 || !reflect.DeepEqual(path[:3], []string{"spec", "template", "spec"}) {
		return false
	}
	at := strings.Join(path[3:], ".") + "."
	for _, r := range restored {
		if strings.HasPrefix(at, r+".") {
			return true
		}
	}
	return false
}
