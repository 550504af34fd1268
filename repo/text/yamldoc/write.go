package yamldoc

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
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
	return yaml.Marshal(v)
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
			if !ok || !plainText(key) || len(key) > safeKey {
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

// safeKey is the most bytes of a key that fit into keyLimit in any way of writing
// them.
const safeKey = 128

// Unwritable calls visit for the texts and keys of a document that Marshal refuses,
// and clusterctl with it, although both read them: control characters that an
// escape brings in, and keys that are too long once they are written. Entries for
// which lost reports that they never get there are left out with all below them,
// and so are those of whose key there is a later one. Most documents have nothing
// that could be refused, and cost a look at their bytes.
func (d *Document) Unwritable(lost func(*Field) bool, visit func(n *Node, err error)) {
	text := d.text.Data[d.start : d.start+d.len]
	odd, long := mayHoldOdd(text), mayHoldLongKeys(text)
	if d.Root == nil || !odd && !long {
		return
	}
	type step struct {
		of *Node
		*Field
	}
	var way []step
	found := func(n *Node, v any) {
		_, err := yaml.Marshal(v)
		if err == nil || slices.ContainsFunc(way, func(s step) bool { return s.of.Field(s.Name) != s.Field || lost(s.Field) }) {
			return
		}
		visit(n, refusal(err))
	}
	var walk func(n *Node)
	walk = func(n *Node) {
		if odd && n.Is(String) && !plainText(n.Text()) {
			found(n, n.Text())
		}
		fields := n.Fields()
		for i := range fields {
			f := &fields[i]
			way = append(way, step{n, f})
			if len(f.Name) > safeKey || odd && !plainText(f.Name) {
				found(f.Key(), map[string]any{f.Name: nil})
			}
			walk(f.Value)
			way = way[:len(way)-1]
		}
		for _, item := range n.List() {
			walk(item)
		}
	}
	walk(d.Root)
}

// mayHoldOdd reports whether a text may hold values that are not plainText: through
// escapes, through base64, or because the characters stand there.
func mayHoldOdd(text string) bool {
	return strings.IndexByte(text, '\\') >= 0 || strings.IndexByte(text, 0xC2) >= 0 || strings.IndexByte(text, 0xEF) >= 0 ||
		strings.Contains(text, "binary")
}

// mayHoldLongKeys reports whether a key may have more than safeKey bytes: on a long
// line, or in a form that takes several lines.
func mayHoldLongKeys(text string) bool {
	if strings.ContainsAny(text, "?*") {
		return true
	}
	for len(text) > safeKey {
		i := strings.LastIndexByte(text[:safeKey+1], '\n')
		if i < 0 {
			return true
		}
		text = text[i+1:]
	}
	return false
}

// refusal returns what a YAML parser says without the steps that led to it.
func refusal(err error) error {
	text := err.Error()
	for _, step := range []string{"error converting YAML to JSON: ", "error converting JSON to YAML: ", "yaml: "} {
		text = strings.TrimPrefix(text, step)
	}
	if rest, ok := strings.CutPrefix(text, "line "); ok { // of a text that nobody sees
		if _, after, ok := strings.Cut(rest, ": "); ok {
			text = after
		}
	}
	return errors.New(text)
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
