package yamldoc

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	goyaml "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

// Marshal writes a value as clusterctl and kustomize do: keys sorted, two
// spaces of indentation, lists not indented (sigs.k8s.io/yaml.Marshal).
//
// That function goes by way of JSON and back through the YAML parser, and writes
// with yaml v2. The values that decoded documents consist of are written directly;
// where the result is not certain to be the same, yaml v2 writes them, or the whole
// way is taken.
func Marshal(v any) ([]byte, error) {
	if out := emit(v); out != nil {
		return out, nil
	}
	if short, _, ok := viaJSON(v); ok {
		return goyaml.Marshal(short)
	}
	out, err := yaml.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out, nil
}

// viaJSON returns what becomes of a value on the way through JSON and the YAML
// parser, and whether that is another value; ok is false if it is not known.
// Maps and lists are only copied if something in them changes.
func viaJSON(v any) (out any, changed, ok bool) {
	switch v := v.(type) {
	case nil, bool, int, int64, uint64:
		return v, false, true
	case string:
		return v, false, plainText(v)
	case float64:
		text, err := json.Marshal(v)
		if err != nil {
			return nil, false, false
		}
		return resolve(string(text)), true, true
	case []any:
		if v == nil {
			return nil, true, true
		}
		for i, item := range v {
			next, c, ok := viaJSON(item)
			if !ok {
				return nil, false, false
			}
			if c {
				if !changed {
					v, changed = slices.Clone(v), true
				}
				v[i] = next
			}
		}
		return v, changed, true
	case map[string]any:
		if v == nil {
			return nil, true, true
		}
		result := v
		for key, item := range v {
			next, c, ok := viaJSON(item)
			if !ok || !plainText(key) {
				return nil, false, false
			}
			if c {
				if !changed {
					result, changed = maps.Clone(v), true
				}
				result[key] = next
			}
		}
		return result, changed, true
	}
	return nil, false, false
}

// plainText reports whether a string survives JSON and the YAML parser.
func plainText(s string) bool {
	for i := 0; i < len(s); {
		if s[i] < 0x7F {
			i++
			continue
		}
		r, width := utf8.DecodeRuneInString(s[i:])
		if r < 0xA0 || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF || r == utf8.RuneError {
			return false
		}
		i += width
	}
	return true
}
