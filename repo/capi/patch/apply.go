package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// pending is a list of operations with their values, ready to be applied.
type pending struct {
	subject *subject
	steps   []step
	writes  []write
}

// step is an operation with its value.
type step struct {
	op, path string
	// value is JSON; nil for an operation without one.
	value json.RawMessage
	at    *yamldoc.Node
}

// entry is the step as a JSON patch has it.
func (s *step) entry() map[string]any {
	out := map[string]any{"op": s.op, "path": s.path}
	if s.value != nil {
		out["value"] = s.value
	}
	return out
}

// apply changes a template; the node is the path of the operation that fails.
func (e *engine) apply(list *pending) (at *yamldoc.Node, err error) {
	if len(list.steps) == 0 {
		return nil, nil
	}
	s := list.subject
	if after, ok := list.quick(s.decoded()); ok {
		s.object, s.changed = after, true
	} else if at, err := e.applySlowly(list); err != nil {
		return at, err
	}
	s.Writes = append(s.Writes, list.writes...)
	return nil, nil
}

// applySlowly leaves the operations to the library of JSON patches.
func (e *engine) applySlowly(list *pending) (at *yamldoc.Node, err error) {
	s, first := list.subject, list.steps[0].at
	if err := s.encode(); err != nil {
		return first, err
	}
	entries := make([]any, len(list.steps))
	for i := range list.steps {
		entries[i] = list.steps[i].entry()
	}
	data, err := json.Marshal(entries)
	if err != nil {
		return first, err
	}
	after, err := ApplyJSON(s.Object, data)
	if err != nil {
		return list.culprit()
	}
	if s.Object, err = Keep(s.Object, after, e.minor); err != nil {
		return first, err
	}
	s.object, s.read = nil, false
	return nil, nil
}

// culprit applies the operations one by one to find the one that fails.
func (l *pending) culprit() (*yamldoc.Node, error) {
	object := []byte(l.subject.Object)
	for i := range l.steps {
		data, err := json.Marshal([]any{l.steps[i].entry()})
		if err != nil {
			return l.steps[i].at, err
		}
		if object, err = ApplyJSON(object, data); err != nil {
			return l.steps[i].at, err
		}
	}
	return l.steps[0].at, errors.New("the operations cannot be applied together")
}

// quick returns an object after the operations. It does what nearly all patches do,
// without the library of JSON patches and so without JSON: they change something
// below spec, which Cluster API keeps. Ok is false for whatever else, and for
// operations that fail. The object remains as it was, and shares with the result
// what the operations leave alone.
func (l *pending) quick(object any) (after any, ok bool) {
	for i := range l.steps {
		s := &l.steps[i]
		if !strings.HasPrefix(s.path, "/spec/") {
			return nil, false
		}
		var value any
		switch s.op {
		case "add", "replace":
			if !json.Valid(s.value) || decode(s.value, &value) != nil {
				return nil, false
			}
		case "remove":
		default:
			return nil, false
		}
		if object, ok = stepped(object, s.op, strings.Split(s.path[1:], "/"), value); !ok {
			return nil, false
		}
	}
	return object, true
}

// stepped returns a value after an operation at a path below it.
func stepped(in any, op string, path []string, value any) (out any, ok bool) {
	name, rest := yamldoc.PointerPart(path[0]), path[1:]
	if name == "" {
		return nil, false // to the library it is the value itself, in some places
	}
	switch in := in.(type) {
	case map[string]any:
		before, there := in[name]
		if len(rest) > 0 {
			if value, ok = stepped(before, op, rest, value); !ok {
				return nil, false
			}
		} else if !there && op != "add" {
			return nil, false
		}
		out := maps.Clone(in)
		out[name] = value
		if len(rest) == 0 && op == "remove" {
			delete(out, name)
		}
		return out, true
	case []any:
		if len(rest) == 0 && op == "add" && name == "-" {
			return append(slices.Clone(in), value), true
		}
		i, err := strconv.Atoi(name)
		switch {
		case err != nil, i < 0, i > len(in):
			return nil, false
		case len(rest) == 0 && op == "add":
			return slices.Insert(slices.Clone(in), i, value), true
		case i == len(in):
			return nil, false
		case len(rest) > 0:
			if value, ok = stepped(in[i], op, rest, value); !ok {
				return nil, false
			}
		case op == "remove":
			return slices.Delete(slices.Clone(in), i, i+1), true
		}
		out := slices.Clone(in)
		out[i] = value
		return out, true
	}
	return nil, false
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
