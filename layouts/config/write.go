package config

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Note says why a value of a configuration is what it is.
type Note struct {
	// Key is the way to the value, such as providers[0].name; empty for the
	// whole.
	Key string
	// Text is a sentence, in lower case and without a full stop.
	Text string
}

// String joins key and text.
func (n Note) String() string {
	if n.Key == "" {
		return n.Text
	}
	return n.Key + ": " + n.Text
}

// Write returns c as a commented clusterctl-repo.yaml. Above each value stand
// the notes on it or, without one, what its key means. Decode of the result
// gives c again, but for positions.
func Write(c *Config, notes []Note) ([]byte, error) {
	w := writer{notes: map[string][]string{}}
	for _, n := range notes {
		w.notes[n.Key] = append(w.notes[n.Key], n.Text)
	}
	out := *c
	out.APIVersion, out.Kind = APIVersion, Kind
	fmt.Fprintf(&w.b, "# yaml-language-server: $schema=%s\n", schemaURL)
	w.comment("", fmt.Sprintf("What %s builds from this source tree. Whatever is left out is detected again at every build.", strings.TrimSuffix(FileName, ".yaml")))
	for _, text := range w.notes[""] {
		w.comment("", "- "+text)
	}
	if err := w.object(reflect.ValueOf(out), "", ""); err != nil {
		return nil, err
	}
	if c.Rules == nil {
		w.b.WriteString(rulesExample)
	}
	if c.Publish == nil {
		w.b.WriteString(publishExample)
	}
	return w.b.Bytes(), nil
}

// The parts of a configuration that nothing in a tree tells.
const (
	rulesExample = `
# What findings of lint count as, by rule: error, warning, info or off.
# rules:
#   COMP016: info
`
	publishExample = `
# Where clusterctl-repo release publishes to, if --to does not say it.
# publish:
# - to: https://github.com/OWNER/REPO
`
)

type writer struct {
	b     bytes.Buffer
	notes map[string][]string
}

// object writes the fields of v that hold something. The caller may already
// have written the start of the first line; all others begin with indent.
func (w *writer) object(v reflect.Value, indent, path string) error {
	var unused []string
	for _, f := range fieldsOf(v.Type()) {
		x := v.Field(f.index)
		if empty(x) {
			unused = append(unused, f.key)
			continue
		}
		key := strings.TrimPrefix(path+"."+f.key, ".")
		if path == "" && f.key != "kind" {
			w.b.WriteByte('\n')
		}
		if texts := w.notes[key]; len(texts) > 0 {
			for _, text := range texts {
				w.comment(indent, text)
			}
		} else if path == "" && !f.required {
			w.comment(indent, f.doc)
		}
		if err := w.field(f, x, indent, key); err != nil {
			return err
		}
	}
	if path == "providers[0]" && len(unused) > 0 {
		w.comment(indent, "Also possible here: "+strings.Join(unused, ", ")+"; the schema describes them.")
	}
	return nil
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		return !slices.ContainsFunc(fieldsOf(v.Type()), func(f field) bool { return !empty(v.Field(f.index)) })
	case reflect.Slice, reflect.Map:
		// An empty list that is there says "none".
		return v.IsNil()
	}
	return v.IsZero()
}

func (w *writer) field(f field, v reflect.Value, indent, path string) error {
	switch {
	case v.Kind() == reflect.Struct:
		fmt.Fprintf(&w.b, "%s%s:\n", indent, f.key)
		return w.object(v, indent+"  ", path)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0:
		fmt.Fprintf(&w.b, "%s%s:\n", indent, f.key)
		for i := range v.Len() {
			at := w.b.Len()
			if err := w.object(v.Index(i), indent+"  ", fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
			item := bytes.Clone(w.b.Bytes()[at:])
			w.b.Truncate(at)
			w.b.Write(asItem(item, indent))
		}
		return nil
	}
	text, err := yamldoc.Marshal(map[string]any{f.key: v.Interface()})
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) != "" {
			w.b.WriteString(indent)
		}
		w.b.WriteString(line)
	}
	return nil
}

// asItem puts the dash of a list item before the first line that is not a
// comment; comments before it move out to the indentation of the list.
func asItem(item []byte, indent string) []byte {
	var out []byte
	dashed := false
	for line := range bytes.Lines(item) {
		rest := bytes.TrimPrefix(line, []byte(indent+"  "))
		switch {
		case dashed:
			out = append(out, line...)
			continue
		case bytes.HasPrefix(rest, []byte("#")):
			out = append(append(out, indent...), rest...)
			continue
		}
		dashed = true
		out = append(append(append(out, indent...), "- "...), rest...)
	}
	if !dashed {
		out = append(append(out, indent...), "- {}\n"...)
	}
	return out
}

const commentWidth = 90

func (w *writer) comment(indent, text string) {
	// A note may quote a file that holds what no YAML comment can.
	text = strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) || r == '\n' {
			return r
		}
		return '?'
	}, text)
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := indent + "#"
		for _, word := range strings.Fields(paragraph) {
			if len(line)+1+len(word) > commentWidth && line != indent+"#" {
				w.b.WriteString(line + "\n")
				line = indent + "#"
			}
			line += " " + word
		}
		w.b.WriteString(cmp.Or(line, indent+"#") + "\n")
	}
}
