package kustomize

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Kustomize copies each object many times, and most of a components file is the
// schemas of CustomResourceDefinitions, which it passes through unchanged. So a
// build hides them: the files that kustomize reads hold a mark in place of each
// schema, and the built objects get it back. Where something could look into a
// schema (see mayReach), and where its values are not certain, kustomize reads the
// files as they are.

type schemas struct {
	*Tree
	// hide are the files that are only used as resources.
	hide map[string]bool
}

// hiding is a file without its schemas.
type hiding struct {
	text   []byte
	values map[string]any // by mark
}

// markPrefix begins the text that stands for a schema. No API has such a value.
const markPrefix = "\u00a0schema of "

// minSchema is the size in bytes from which it pays to hide a schema.
const minSchema = 1 << 10

func (s schemas) ReadFile(path string) ([]byte, error) {
	rel, err := s.rel(path)
	if err != nil {
		return nil, err
	}
	name := filepath.ToSlash(rel)
	data, err := s.Read(rel)
	if err != nil || !s.hide[name] {
		return data, err
	}
	if h := s.hidden(name, data); h != nil {
		return h.text, nil
	}
	return data, nil
}

// prepare reads the files and hides their schemas before kustomize asks for one
// after the other.
func (s schemas) prepare() {
	names := slices.Collect(maps.Keys(s.hide))
	parallel.Each(len(names), func(i int) {
		if data, err := s.Read(filepath.FromSlash(names[i])); err == nil { // or kustomize says why
			s.hidden(names[i], data)
		}
	})
}

// hidden returns a file without its schemas, or nil if there are none to hide.
// Builds that need the same file at once do this work once.
func (t *Tree) hidden(name string, data []byte) *hiding {
	h, ok := t.schemas.Load(name)
	if !ok {
		h, _ = t.schemas.LoadOrStore(name, sync.OnceValue(func() *hiding { return hide(name, data) }))
	}
	return h.(func() *hiding)()
}

// restore puts the schemas into a built object, or returns the one that a mark stands for.
func (s schemas) restore(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			if next := s.restore(item); next != nil {
				v[key] = next
			}
		}
	case []any:
		for i, item := range v {
			if next := s.restore(item); next != nil {
				v[i] = next
			}
		}
	case string:
		if at, ok := strings.CutPrefix(v, markPrefix); ok {
			_, name, _ := strings.Cut(at, " ")
			if h, ok := s.schemas.Load(name); ok {
				return yamldoc.Copied(h.(func() *hiding)().values[v])
			}
		}
	}
	return nil
}

// hide cuts the schemas out of a file. It returns nil if it finds none of which it
// is certain.
func hide(name string, data []byte) *hiding {
	if !bytes.Contains(data, []byte("openAPIV3Schema:")) || bytes.Contains(data, []byte(markPrefix)) ||
		bytes.IndexByte(data, '\r') >= 0 {
		return nil
	}
	f := yamldoc.NewFile(name, data)
	s := yamldoc.Parse(f)
	if s.Problem() != nil {
		return nil
	}
	h := &hiding{values: map[string]any{}}
	last := 0
	for _, d := range s.Docs {
		if d.Root.Get("kind").Str() != "CustomResourceDefinition" {
			continue
		}
		for _, v := range d.Root.Get("spec", "versions").List() {
			schema := v.Get("schema").Field("openAPIV3Schema")
			if schema == nil {
				continue
			}
			start, end := schemaText(f, d, schema)
			if end-start < minSchema || start < last {
				continue
			}
			value, ok := decoded(schema.Value)
			if !ok {
				continue
			}
			mark := fmt.Sprintf("%s%d %s", markPrefix, len(h.values), name)
			h.values[mark] = value
			h.text = append(h.text, data[last:start]...)
			h.text = append(h.text, " "+strconv.Quote(mark)+"\n"...)
			last = end
		}
	}
	if last == 0 {
		return nil
	}
	h.text = append(h.text, data[last:]...)
	if !h.sound(s) {
		return nil
	}
	return h
}

// schemaText returns where the value of a field stands: from the colon to the line
// that is not deeper than the key.
func schemaText(f *yamldoc.File, d *yamldoc.Document, field *yamldoc.Field) (start, end int) {
	key, name := d.Pos(field.Key()), field.Key().Text()
	at, line := f.Offset(key), f.Offset(yamldoc.Pos{Line: key.Line, Column: 1})
	if field.Value.Kind != yamldoc.Map || d.Pos(field.Value).Line <= key.Line ||
		!strings.HasPrefix(f.Data[at:], name+":") || strings.TrimLeft(f.Data[line:at], " ") != "" {
		return 0, 0
	}
	colon := at + len(name)
	_, limit := d.Range()
	off := colon
	for {
		next := strings.IndexByte(f.Data[off:limit], '\n')
		if next < 0 {
			return colon + 1, limit
		}
		off += next + 1
		rest := strings.TrimLeft(f.Data[off:limit], " ")
		indent := limit - off - len(rest)
		if len(rest) > 0 && rest[0] != '\n' && indent < key.Column {
			return colon + 1, off
		}
	}
}

// sound reports whether the text without the schemas is the rest of what was read.
func (h *hiding) sound(whole *yamldoc.Stream) bool {
	cut := yamldoc.Parse(yamldoc.NewFile("", h.text))
	if cut.Problem() != nil || len(cut.Docs) != len(whole.Docs) {
		return false
	}
	found := 0
	var same func(a, b *yamldoc.Node) bool
	same = func(a, b *yamldoc.Node) bool {
		if b.Is(yamldoc.String) && h.values[b.Text()] != nil {
			found++
			return a.Is(yamldoc.Map)
		}
		if a.Kind != b.Kind || a.Style != b.Style || a.Text() != b.Text() ||
			len(a.Fields()) != len(b.Fields()) || len(a.List()) != len(b.List()) {
			return false
		}
		for i := range a.Fields() {
			if a.Fields()[i].Name != b.Fields()[i].Name || !same(a.Fields()[i].Value, b.Fields()[i].Value) {
				return false
			}
		}
		for i := range a.List() {
			if !same(a.List()[i], b.List()[i]) {
				return false
			}
		}
		return true
	}
	for i, d := range cut.Docs {
		if !same(whole.Docs[i].Root, d.Root) {
			return false
		}
	}
	return found == len(h.values)
}

// decoded is what kustomize makes of a value. It is false for values of which YAML
// 1.1 and 1.2, and so kustomize's parser and ours, may think differently.
func decoded(n *yamldoc.Node) (any, bool) {
	switch n.Kind {
	case yamldoc.Null:
		return nil, n.Text() == "" || n.Text() == "null"
	case yamldoc.Bool:
		return n.Bool(), n.Text() == "true" || n.Text() == "false"
	case yamldoc.Int:
		const exact = 1 << 53
		v, ok := n.Int()
		return int(v), ok && v > -exact && v < exact && strconv.FormatInt(v, 10) == n.Text()
	case yamldoc.Float:
		v, err := strconv.ParseFloat(n.Text(), 64)
		return v, err == nil && strings.Trim(n.Text(), "0123456789") == "." && n.Text()[0] != '.'
	case yamldoc.String:
		return n.Text(), certain(n)
	case yamldoc.List:
		out := make([]any, len(n.List()))
		for i, item := range n.List() {
			v, ok := decoded(item)
			if !ok {
				return nil, false
			}
			out[i] = v
		}
		return out, true
	}
	out := make(map[string]any, len(n.Fields()))
	for _, f := range n.Fields() {
		if f.Key().Kind != yamldoc.String || !certain(f.Key()) || f.Merged {
			return nil, false
		}
		v, ok := decoded(f.Value)
		if !ok {
			return nil, false
		}
		out[f.Name] = v
	}
	return out, len(out) == len(n.Fields())
}

// certain reports whether all parsers take a scalar for a string.
func certain(n *yamldoc.Node) bool {
	if n.Style != yamldoc.Plain {
		return true
	}
	if c := n.Text()[0]; isLetter(c) || c == '$' || c == '_' {
		return true // the words that mean something are no strings to us
	}
	var v any
	err := yaml.Unmarshal([]byte(n.Text()), &v)
	return err == nil && v == n.Text()
}

// use notes that a build reads a file, as a resource or in another way.
func (s *scan) use(rel string, resource bool) {
	if s.uses == nil {
		s.uses = map[string]bool{}
	}
	if resource {
		if _, ok := s.uses[rel]; !ok {
			s.uses[rel] = true
		}
		return
	}
	s.uses[rel] = false
	if dir, name, err := s.tree.CleanedAbs(rel); err == nil {
		if real, err := s.tree.rel(filepath.Join(string(dir), name)); err == nil {
			s.uses[filepath.ToSlash(real)] = false // the same file by another name
		}
	}
}

// resourceFields are the fields of a kustomization that only name other files,
// and patchFields those with patches.
var (
	resourceFields = []string{"resources", "bases", "components", "apiVersion", "kind", "metadata"}
	patchFields    = []string{"patches", "patchesStrategicMerge", "patchesJson6902"}
	// schemaFields load what describes objects, or what changes them in unknown ways.
	schemaFields = []string{"openapi", "crds", "generators", "transformers", "validators", "helmCharts", "helmChartInflationGenerator"}
)

// mayReach reports whether what a kustomization says may look into a schema.
func mayReach(kustomization *yamldoc.Node) bool {
	for _, f := range kustomization.Fields() {
		patch := slices.Contains(patchFields, f.Name)
		switch {
		case slices.Contains(resourceFields, f.Name):
			continue
		case slices.Contains(schemaFields, f.Name):
			return true
		}
		found := false
		f.Value.Walk(func(_ yamldoc.Path, n *yamldoc.Node) bool {
			for _, f := range n.Fields() {
				found = found || reaches(f.Name, patch)
			}
			found = found || n.Is(yamldoc.String) && reaches(n.Text(), patch)
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// reaches reports whether a text of a patch, or of another instruction to
// kustomize, may lead into a schema: it names one, compares what is around one, has
// a wildcard, or may spell its words in another way.
func reaches(text string, patch bool) bool {
	if strings.Contains(text, `\`) || strings.Contains(strings.ToLower(text), "schema") {
		return true
	}
	if patch {
		return testOperation().MatchString(text)
	}
	return strings.Contains(text, "versions") || strings.Contains(text, "*")
}

// testOperation is the word test, an operation of JSON patches.
var testOperation = phrase.Pattern(`(?:^|[^A-Za-z])test(?:$|[^A-Za-z])`)

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// hideSchemas returns the files of which the schemas can be hidden.
func (s *scan) hideSchemas() map[string]bool {
	if s.reaches {
		return nil
	}
	out := maps.Clone(s.uses)
	maps.DeleteFunc(out, func(rel string, resource bool) bool {
		return !resource || path.Ext(rel) != ".yaml" && path.Ext(rel) != ".yml"
	})
	return out
}
