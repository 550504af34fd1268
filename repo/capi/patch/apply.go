package patch

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// pending is a list of operations with their values, ready to be applied.
type pending struct {
	subject *subject
	steps   []step
	writes  []Write
}

// step is an operation with its value, as a JSON patch has it.
type step struct {
	Op   string `json:"op"`
	Path string `json:"path"`
	// Value is missing for an operation without one.
	Value json.RawMessage `json:"value,omitempty"`

	at *yamldoc.Node
}

// apply changes a template; the node is the path of the operation that fails.
func (e *engine) apply(list *pending) (at *yamldoc.Node, err error) {
	if len(list.steps) == 0 {
		return nil, nil
	}
	s, first := list.subject, list.steps[0].at
	data, err := json.Marshal(list.steps)
	if err != nil {
		return first, err
	}
	after, err := ApplyJSON(s.Object, data)
	if err != nil {
		return list.culprit()
	}
	kept, err := Keep(s.Object, after, e.minor)
	if err != nil {
		return first, err
	}
	s.Object = kept
	s.Writes = append(s.Writes, list.writes...)
	return nil, nil
}

// culprit applies the operations one by one to find the one that fails.
func (l *pending) culprit() (*yamldoc.Node, error) {
	object := []byte(l.subject.Object)
	for i := range l.steps {
		data, err := json.Marshal(l.steps[i : i+1])
		if err != nil {
			return l.steps[i].at, err
		}
		if object, err = ApplyJSON(object, data); err != nil {
			return l.steps[i].at, err
		}
	}
	return l.steps[0].at, errors.New("the operations cannot be applied together")
}

// mostCopied bounds what operations may copy, in bytes.
const mostCopied = 16 << 20

// ApplyJSON returns an object after a JSON patch, unchanged if the patch is empty. A
// patch on which the library breaks is an error, as in Cluster API.
func ApplyJSON(object, patch []byte) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("the operation cannot be applied: %v", r)
		}
	}()
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	if len(operations) == 0 {
		return object, nil
	}
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = mostCopied
	return operations.ApplyWithOptions(object, options)
}
