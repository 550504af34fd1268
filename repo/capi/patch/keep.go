package patch

import (
	"encoding/json"
	"errors"
)

// keptOfMetadata is since when Cluster API keeps changes of labels and annotations, and not
// only of spec: a minor version.
const keptOfMetadata = 14

// Keep returns an object with what a minor version of Cluster API takes over from
// it after a patch (core/reconcilers/topology/cluster/patches, applyPatchToRequest). A part
// that the patch removed stays as it was.
func Keep(before, after []byte, minor int) ([]byte, error) {
	if err := Identified(after); err != nil {
		return nil, err
	}
	from, to := fields(after), fields(before)
	keep := func(to, from map[string]json.RawMessage, name string) {
		if value, ok := from[name]; ok {
			to[name] = value
		}
	}
	if to == nil {
		return nil, errors.New("spec cannot be set")
	}
	keep(to, from, "spec")
	if from = fields(from["metadata"]); minor < keptOfMetadata || from["labels"] == nil && from["annotations"] == nil {
		return json.Marshal(to)
	}
	metadata := map[string]json.RawMessage{}
	if was, ok := to["metadata"]; ok {
		metadata = fields(was)
	}
	if metadata == nil {
		return nil, errors.New("metadata cannot be set")
	}
	keep(metadata, from, "labels")
	keep(metadata, from, "annotations")
	data, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	to["metadata"] = data
	return json.Marshal(to)
}

// fields are those of an object; nil if the JSON is not one.
func fields(data json.RawMessage) (out map[string]json.RawMessage) {
	if json.Unmarshal(data, &out) != nil {
		return nil
	}
	return out
}

// Identified returns an error for JSON that is not an object with a kind.
func Identified(object []byte) error {
	var identity struct{ APIVersion, Kind string }
	if err := json.Unmarshal(object, &identity); err != nil || identity.Kind == "" {
		return errors.New("the result is not an object with a kind")
	}
	return nil
}
