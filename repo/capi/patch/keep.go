package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// kept are the parts of a template in which Cluster API keeps changes, and the
// minor version since which it does (core/reconcilers/topology/cluster/patches,
// applyPatchToRequest).
var kept = []struct {
	path  []string
	since int
}{
	{[]string{"spec"}, 0},
	{[]string{"metadata", "labels"}, 14},
	{[]string{"metadata", "annotations"}, 14},
}

// Keep returns an object with what a minor version of Cluster API takes over from
// it after a patch. A part that the patch removed stays as it was.
func Keep(before, after []byte, minor int) ([]byte, error) {
	var a, b any
	if err := decode(before, &a); err != nil {
		return nil, err
	}
	if err := decode(after, &b); err != nil {
		return nil, err
	}
	if err := Identified(after); err != nil {
		return nil, err
	}
	for _, k := range kept {
		if k.since > minor {
			continue
		}
		value, ok := b, true
		for _, name := range k.path {
			object, _ := value.(map[string]any)
			if value, ok = object[name]; !ok {
				break
			}
		}
		if !ok {
			continue
		}
		if err := set(a, k.path, value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(a)
}

// Identified returns an error for JSON that is not an object with a kind.
func Identified(object []byte) error {
	var identity struct{ APIVersion, Kind string }
	if err := json.Unmarshal(object, &identity); err != nil || identity.Kind == "" {
		return errors.New("the result is not an object with a kind")
	}
	return nil
}

// set puts a value at a path of an object and makes the objects above it.
func set(object any, path []string, value any) error {
	for _, name := range path[:len(path)-1] {
		m, ok := object.(map[string]any)
		if !ok {
			break
		}
		if _, there := m[name]; !there {
			m[name] = map[string]any{}
		}
		object = m[name]
	}
	m, ok := object.(map[string]any)
	if !ok {
		return fmt.Errorf("%s cannot be set", strings.Join(path, "."))
	}
	m[path[len(path)-1]] = value
	return nil
}
