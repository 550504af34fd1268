package clusterctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/vars"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// variables returns the value of a template variable, and whether it is set; it may be
// set to the empty string.
type variables func(name string) (value string, ok bool)

// source is a file on its way from raw text to objects.
type source struct {
	file *yamldoc.File
	text string
	// raw leads offsets in the text to the file; nil if they are the same.
	raw  func(int) int
	docs func() []*yamldoc.Document // with positions
	// chunks are the documents that clusterctl reads, before a separator that it
	// refuses.
	chunks func() ([]yamldoc.Chunk, *yamldoc.SplitError)
}

// object is a document of a source. Src is nil if clusterctl added it.
type object struct {
	unstructured.Unstructured
	src   *source
	start int // of its chunk in the text of src
	outcome
}

// outcome is what became of an object of a provider.
type outcome struct {
	images []string
	// clusterctl looks at the images of all objects before it moves one.
	imageErr, moveErr error
	// text is what is printed, once that is made.
	text []byte
}

func newSource(f *yamldoc.File, text string, raw func(int) int) *source {
	s := &source{file: f, text: text, raw: raw}
	s.docs = sync.OnceValue(func() []*yamldoc.Document { return yamldoc.ParseText(f, text, raw).Docs })
	s.chunks = sync.OnceValues(s.split)
	return s
}

// variablesOf parses the text stage of a file (clusterctl: SimpleProcessor,
// GetVariableMap).
func variablesOf(f *yamldoc.File) (*vars.Template, error) {
	t, err := vars.Parse(f.Data)
	if err != nil {
		return nil, located(f, err)
	}
	return t, nil
}

// located turns the byte offset of a vars.Error into a position.
func located(f *yamldoc.File, err error) error {
	var at *vars.Error
	if errors.As(err, &at) {
		return f.Errorf(at.Offset, "%w", at.Err)
	}
	return err
}

// substitute replaces the variables (clusterctl: SimpleProcessor, Process).
// Missing variables are reported where the first of them stands.
func substitute(f *yamldoc.File, t *vars.Template, values variables) (*source, error) {
	text, err := t.Execute(values)
	if err == nil {
		return newSource(f, text.Data, text.RawOffset), nil
	}
	var missing *vars.MissingError
	if !errors.As(err, &missing) {
		return nil, located(f, err)
	}
	for _, ref := range t.Refs() {
		if _, ok := slices.BinarySearch(missing.Names, ref.Name); ok && ref.Depth == 0 {
			return nil, f.Errorf(ref.Start, "%w", err)
		}
	}
	return nil, err
}

// work splits the text into documents (clusterctl: util/yaml, ToUnstructured), and calls
// do, if it is given, for each object, several at a time. The error is that of the first
// document that cannot be read. The message of clusterctl quotes the whole document; this
// one names its place instead.
func (s *source) work(ctx context.Context, do func(o *object)) ([]object, error) {
	chunks, split := s.chunks()
	objs := make([]object, len(chunks))
	errs := make([]error, len(chunks))
	parallel.Each(len(chunks), func(i int) {
		if ctx.Err() != nil {
			return
		}
		value, err := yamldoc.ToMap(chunks[i].Data)
		objs[i], errs[i] = object{Unstructured: unstructured.Unstructured{Object: value}, src: s, start: chunks[i].Start}, err
		if value != nil && do != nil {
			do(&objs[i])
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := 0
	for i := range objs {
		if errs[i] != nil {
			return nil, objs[i].fail(fmt.Errorf("failed to parse yaml: failed to unmarshal the %s yaml document: %w", ordinal(n+1), errs[i]))
		}
		if objs[i].Object != nil {
			objs[n] = objs[i]
			n++
		}
	}
	if split != nil {
		return nil, s.file.Errorf(s.rawOffset(split.Offset), "failed to parse yaml: failed to read yaml: %w", split)
	}
	return objs[:n], nil
}

// split cuts the text into chunks.
func (s *source) split() ([]yamldoc.Chunk, *yamldoc.SplitError) {
	chunks, err := yamldoc.Split(s.text)
	var split *yamldoc.SplitError
	if n := len(chunks); errors.As(err, &split) && n > 0 {
		// The reader fails before it delivers the document in front of a bad
		// separator.
		if end := chunks[n-1].Start + len(chunks[n-1].Data); strings.IndexByte(s.text[end:split.Offset], '\n') < 0 {
			chunks = chunks[:n-1]
		}
	}
	return chunks, split
}

// namespaces are the Namespaces of the text, found without reading most of the
// other documents. What cannot be read is left out.
func (s *source) namespaces() []object {
	var out []object
	chunks, _ := s.chunks()
	for _, c := range chunks {
		if !mayBeNamespace(c.Data) {
			continue
		}
		if value, err := yamldoc.ToMap(c.Data); err == nil {
			o := object{Unstructured: unstructured.Unstructured{Object: value}, src: s, start: c.Start}
			if o.GetKind() == "Namespace" {
				out = append(out, o)
			}
		}
	}
	return out
}

// mayBeNamespace reports whether a document may hold the word, also if escapes, a
// tag or the encoding hide it.
func mayBeNamespace(data string) bool {
	if strings.ContainsAny(data, "\\!\x00") {
		return true
	}
	const word = "Namespace"
	for {
		i := strings.Index(data, word)
		if i < 0 {
			return false
		}
		if data = data[i+len(word):]; len(data) == 0 || data[0] != 'd' { // as the scope of definitions
			return true
		}
	}
}

func (s *source) rawOffset(off int) int {
	if s.raw == nil {
		return off
	}
	return s.raw(off)
}

// ordinal spells 11 as 11st, as clusterctl does (util.Ordinalize).
func ordinal(n int) string {
	suffix := [...]string{1: "st", 2: "nd", 3: "rd"}
	if d := n % 10; d > 0 && d < len(suffix) {
		return strconv.Itoa(n) + suffix[d]
	}
	return strconv.Itoa(n) + "th"
}

// fail adds the place of an object to an error: that of the value at path, or
// of its nearest ancestor that exists. A conversion error finds its own place.
// Only here is the file parsed with positions, since most files do not fail.
func (o *object) fail(err error, path ...string) error {
	if o.src == nil {
		return err
	}
	d := o.src.document(o.start)
	if d == nil {
		return o.src.file.Errorf(o.src.rawOffset(o.start), "%w", err)
	}
	if d.Err != nil {
		return &yamldoc.Error{File: d.File.Name, Pos: d.Err.Pos, Err: err}
	}
	n := nearest(d.Root, path)
	var conversion *conversionError
	if errors.As(err, &conversion) && conversion.field != nil {
		n = d.Root.Misfit(conversion.field)
	}
	return &yamldoc.Error{File: d.File.Name, Pos: d.Pos(n), Err: err}
}

// unwritable adds the place of the first value or key that cannot be written.
func (o *object) unwritable(err error) error {
	if o.src != nil {
		if d := o.src.document(o.start); d != nil && d.Err == nil {
			var at *yamldoc.Error
			d.Unwritable(func(*yamldoc.Field) bool { return false }, func(n *yamldoc.Node, _ error) {
				if at == nil {
					at = &yamldoc.Error{File: d.File.Name, Pos: d.Pos(n), Err: err}
				}
			})
			if at != nil {
				return at
			}
		}
	}
	return o.fail(err)
}

// document parses the text with positions and returns the document of the chunk
// that begins at start.
func (s *source) document(start int) *yamldoc.Document {
	docs := s.docs()
	i := sort.Search(len(docs), func(i int) bool {
		begin, _ := docs[i].Range()
		return begin >= start
	})
	if i == len(docs) {
		return nil
	}
	if begin, _ := docs[i].Range(); begin != start {
		return nil
	}
	return docs[i]
}

// nearest follows keys and list indices as far as they exist.
func nearest(n *yamldoc.Node, path []string) *yamldoc.Node {
	for _, step := range path {
		next := n.Get(step)
		if i, err := strconv.Atoi(step); err == nil && i < len(n.List()) {
			next = n.List()[i]
		}
		if next == nil {
			break
		}
		n = next
	}
	return n
}
