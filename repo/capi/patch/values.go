package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Values are variables by name, each as JSON.
type Values map[string]json.RawMessage

// builtin is the variable that holds what Cluster API knows.
const builtin = "builtin"

// ErrNotFound reports a variable, or a part of one, that has no value.
var ErrNotFound = errors.New("has no value")

// merged returns global values overridden by those of a template. The builtin
// variable is merged field by field (exp/runtime/topologymutation,
// MergeVariableMaps).
func merged(global, own Values) (Values, error) {
	out := maps.Clone(global)
	if out == nil {
		out = Values{}
	}
	for name, value := range own {
		before, ok := out[name]
		if !ok || name != builtin {
			out[name] = value
			continue
		}
		var a, b map[string]any
		if err := errors.Join(Decode(before, &a), Decode(value, &b)); err != nil {
			return nil, fmt.Errorf("merge the builtin variables: %w", err)
		}
		data, err := json.Marshal(mergeMaps(a, b))
		if err != nil {
			return nil, err
		}
		out[name] = data
	}
	return out, nil
}

// mergeMaps overwrites a with b, mapping by mapping.
func mergeMaps(a, b map[string]any) map[string]any {
	if a == nil {
		return b
	}
	for key, value := range b {
		below, ok := value.(map[string]any)
		before, had := a[key].(map[string]any)
		if ok && had {
			value = mergeMaps(before, below)
		}
		a[key] = value
	}
	return a
}

// Lookup returns the value that an expression such as network.mtu or
// zones[0].name leads to (patches/variables, GetVariableValue). The error is
// ErrNotFound if a part of the expression has no value.
func (v Values) Lookup(expression string) (json.RawMessage, error) {
	parts := strings.Split(expression, ".")
	name, index, err := segment(parts[0])
	if err != nil {
		return nil, err
	}
	value, ok := v[name]
	if !ok {
		return nil, fmt.Errorf("%q %w", parts[0], ErrNotFound)
	}
	if len(parts) == 1 && index < 0 {
		return value, nil
	}
	var at any
	if err := Decode(value, &at); err != nil {
		return nil, fmt.Errorf("the value of %q is not JSON: %w", name, err)
	}
	if at, err = element(at, index, parts[0]); err != nil {
		return nil, err
	}
	for i, part := range parts[1:] {
		key, index, err := segment(part)
		if err != nil {
			return nil, err
		}
		path := strings.Join(parts[:i+2], ".")
		if at, ok = field(at, key); !ok {
			return nil, fmt.Errorf("%q %w", path, ErrNotFound)
		}
		if at, err = element(at, index, path); err != nil {
			return nil, err
		}
	}
	return json.Marshal(at)
}

// segment splits name[1]; the index is -1 if there is none.
func segment(text string) (name string, index int, err error) {
	open, shut := strings.Index(text, "["), strings.Index(text, "]")
	switch {
	case open < 0 && shut < 0:
		return text, -1, nil
	case open < 0 || shut < open:
		return "", 0, fmt.Errorf("%q has unmatched brackets", text)
	}
	index, err = strconv.Atoi(text[open+1 : shut])
	if err != nil || index < 0 {
		return "", 0, fmt.Errorf("%q has the index %q; want a number from 0", text, text[open+1:shut])
	}
	return text[:open], index, nil
}

// field returns the value of a key of an object; the elements of a list have
// their indices as keys.
func field(v any, key string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		value, ok := v[key]
		return value, ok
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

func element(v any, index int, path string) (any, error) {
	list, ok := v.([]any)
	switch {
	case index < 0:
		return v, nil
	case !ok:
		return nil, fmt.Errorf("%q is not a list", path)
	case index >= len(list):
		return nil, fmt.Errorf("%q: the list has only %d elements", path, len(list))
	}
	return list[index], nil
}

// seen are values as a template of a class sees them.
type seen struct {
	Values
	// decoded are the values without JSON; nil until a text is rendered.
	decoded map[string]any
}

// data is what texts see: numbers are float64, as in Cluster API.
func (s *seen) data() (map[string]any, error) {
	if s.decoded != nil {
		return s.decoded, nil
	}
	out := make(map[string]any, len(s.Values))
	for name, value := range s.Values {
		var decoded any
		if err := json.Unmarshal(value, &decoded); err != nil {
			return nil, fmt.Errorf("the value of %q is not JSON: %w", name, err)
		}
		out[name] = decoded
	}
	s.decoded = out
	return out, nil
}

// rendered forgets the data after a text was rendered that may have changed it.
// Functions that change an argument have set or merge in their names.
func (s *seen) rendered(text string) {
	if strings.Contains(text, "set") || strings.Contains(text, "erge") {
		s.decoded = nil
	}
}

// Decode reads JSON and keeps numbers as they are written.
func Decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}
