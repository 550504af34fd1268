package yamldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Chunk is the text of one document of a file, before it is parsed.
type Chunk struct {
	// Start is the offset of the first byte of Data in the file.
	Start int
	// Data runs up to the next separator line. It may be blank, and begins
	// with the separator line of the first document if there is one.
	Data string
}

// MaxDocuments is how many documents a file may have. Each costs memory even if
// there is little in it, and no provider comes near: the known ones have some
// hundreds.
const MaxDocuments = 1_000_000

var errTooMany = errors.New("the file has more than the 1,000,000 documents that are read")

// CheckCount returns an error for a text of more than MaxDocuments.
func CheckCount[T string | []byte](data T) error {
	// Most files are too short for so many, so that no line is looked at.
	if len(data) < len("---\n")*MaxDocuments {
		return nil
	}
	if data, ok := any(data).([]byte); ok && bytes.Count(data, []byte("---")) < MaxDocuments {
		return nil // without a copy
	}
	text := string(data)
	if strings.Count(text, "---") < MaxDocuments {
		return nil
	}
	n := 0
	_ = cut(text, func(int, int) bool { n++; return n <= MaxDocuments }) // whoever reads the text reports a wrong separator
	if n > MaxDocuments {
		return errTooMany
	}
	return nil
}

// SplitError is a separator line that carries text, or one too many.
type SplitError struct {
	// Offset is where the offending text begins.
	Offset int
	// Text is what follows the dashes.
	Text string
	// TooMany is set behind MaxDocuments.
	TooMany bool
}

// Error uses the words of apimachinery, which clusterctl prints.
func (e *SplitError) Error() string {
	if e.TooMany {
		return errTooMany.Error()
	}
	return "invalid Yaml document separator: " + e.Text
}

// Is makes errors.Is find the error of CheckCount.
func (e *SplitError) Is(target error) bool { return e.TooMany && target == errTooMany }

// Split cuts a file into documents at the lines that begin with three dashes,
// as clusterctl does (k8s.io/apimachinery/pkg/util/yaml, YAMLReader): only
// blanks or a comment may follow on such a line, otherwise the error is a
// *SplitError, and the chunks before it are returned with it. Chunks without a
// single byte are left out. Behind MaxDocuments it is an error, too, and there are
// no chunks.
func Split(data string) ([]Chunk, error) {
	var out []Chunk
	err := cut(data, func(start, end int) bool {
		out = append(out, Chunk{start, data[start:end]})
		return len(out) <= MaxDocuments
	})
	if len(out) > MaxDocuments {
		return nil, &SplitError{Offset: out[MaxDocuments].Start, TooMany: true}
	}
	return out, err
}

// cut is Split for a function that gets the range of each chunk, until it returns
// false.
func cut(data string, more func(start, end int) bool) error {
	start := 0
	flush := func(end int) bool { return end == start || more(start, end) }
	for off := 0; off < len(data); {
		end := len(data)
		next := end
		if i := strings.IndexByte(data[off:], '\n'); i >= 0 {
			end, next = off+i, off+i+1
		}
		if rest, ok := strings.CutPrefix(data[off:end], "---"); ok {
			if text := strings.TrimSpace(rest); len(text) > 0 && text[0] != '#' {
				flush(off)
				return &SplitError{Offset: off + 3 + strings.Index(rest, text), Text: text}
			}
			// Where nothing precedes it, the line itself belongs to the document.
			if off > start {
				if !flush(off) {
					return nil
				}
				start = next
			}
		}
		off = next
	}
	flush(len(data))
	return nil
}

// ToMap decodes one document exactly as clusterctl does: numbers become
// float64, of two equal keys the last wins, and an empty document is nil
// (sigs.k8s.io/yaml.Unmarshal into a map). The errors are those of that
// function.
//
// The parser of Parse is faster and gives the same values where it is sure of
// them; the other one is asked for the rest.
func ToMap(data string) (map[string]any, error) {
	data = normalize(data)
	if m, ok := scan(data).Value().(map[string]any); ok {
		return m, nil
	}
	if n, sure, err := read(data); err == nil && sure {
		if m, ok := n.Value().(map[string]any); ok {
			return m, nil
		}
	}
	return toMap(data)
}

// toMap is what clusterctl does.
func toMap(data string) (map[string]any, error) {
	var m map[string]any
	if err := yaml.Unmarshal([]byte(data), &m); err != nil {
		return nil, err
	}
	return m, nil
}

// normalize does to line ends what YAMLReader does: CR LF becomes LF, and the
// last line gets one. Without it a block scalar at the end of a file would
// lose its line break.
func normalize(data string) string {
	data = strings.ReplaceAll(data, "\r\n", "\n")
	if data != "" && !strings.HasSuffix(data, "\n") {
		data += "\n"
	}
	return data
}

// ToJSON converts the first document of data to JSON, keeping integers as they
// are written (sigs.k8s.io/yaml.YAMLToJSON). Only the YAML parser decides where
// that document ends.
func ToJSON(data []byte) ([]byte, error) {
	if n := scan(string(data)); n != nil {
		if v, ok := jsonValue(n); ok {
			if out, err := json.Marshal(v); err == nil {
				return out, nil
			}
		}
	}
	return yaml.YAMLToJSON(data)
}

// jsonValue is Value with integers as they are; ok is false if a map has a key
// twice, of which the other function may take any.
func jsonValue(n *Node) (v any, ok bool) {
	switch n.Kind {
	case Int:
		return n.number(), true
	case List:
		out := make([]any, len(n.List()))
		for i, item := range n.List() {
			if out[i], ok = jsonValue(item); !ok {
				return nil, false
			}
		}
		return out, true
	case Map:
		out := make(map[string]any, len(n.Fields()))
		for _, f := range n.Fields() {
			if out[f.Name], ok = jsonValue(f.Value); !ok {
				return nil, false
			}
		}
		return out, len(out) == len(n.Fields())
	}
	return n.Value(), true
}

// Misfit finds the value that a JSON decoder complains about when it reads the
// value of n into a struct. The decoder tells no list indices and no keys of
// maps, so of the values at its path the first one of the wrong type is taken.
// It returns n if there is no such path.
func (n *Node) Misfit(e *json.UnmarshalTypeError) *Node {
	name, _, _ := strings.Cut(e.Value, " ") // the decoder may add the value
	kinds := map[string][]Kind{
		"string": {String}, "number": {Int, Float}, "bool": {Bool}, "array": {List}, "object": {Map},
	}[name]
	var first *Node
	var find func(n *Node, path []string) *Node
	find = func(n *Node, path []string) *Node {
		if len(path) > 0 {
			if next := n.Get(path[0]); next != nil {
				return find(next, path[1:])
			}
		} else {
			if first == nil {
				first = n
			}
			if n != nil && slices.Contains(kinds, n.Kind) {
				return n
			}
			for _, f := range n.Fields() {
				if found := find(f.Value, nil); found != nil {
					return found
				}
			}
		}
		for _, item := range n.List() {
			if found := find(item, path); found != nil {
				return found
			}
		}
		return nil
	}
	if found := find(n, strings.Split(e.Field, ".")); found != nil {
		return found
	}
	if first == nil {
		return n
	}
	return first
}
