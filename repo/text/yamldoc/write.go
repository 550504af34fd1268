package yamldoc

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Marshal writes a value as clusterctl and kustomize do: keys sorted, two
// spaces of indentation, lists not indented (sigs.k8s.io/yaml.Marshal).
//
// That function goes by way of JSON and back through the YAML parser. The values that
// decoded documents consist of are written directly, where the result is certain to be
// the same.
func Marshal(v any) ([]byte, error) {
	if out := emit(v); out != nil {
		return out, nil
	}
	return yaml.Marshal(v)
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
	return strings.IndexByte(text, '\\') >= 0 || strings.IndexByte(text, 0xC2) >= 0 ||
		strings.IndexByte(text, 0xEF) >= 0 || strings.Contains(text, "binary")
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
