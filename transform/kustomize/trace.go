package kustomize

import (
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Tracer leads values of built objects back to the lines that set them: in the
// object's own file, a patch, or a field of a kustomization.
//
// Kustomize itself tells the file of an object. What changed it on its way is
// found by looking for the value in all that may have, from the outermost
// kustomization inwards, as the outer one has the last word.
type Tracer struct {
	tree   *Tree
	file   string // the outermost kustomization
	files  func(name string) *yamldoc.Stream
	origin map[Identity]string
	// chains are the kustomizations that a file goes through, outermost first.
	chains map[string][]*layer
}

func identify(root *yamldoc.Node) Identity {
	return Identity{root.Get("kind").Str(), root.Get("metadata", "namespace").Str(), root.Get("metadata", "name").Str()}
}

type layer struct {
	dir string
	doc *yamldoc.Document
}

// Place is a value in a source file.
type Place struct {
	Doc *yamldoc.Document
	// Node is the value, or the nearest one around it that is written
	// somewhere; nil for the document.
	Node *yamldoc.Node
	// Key is the key that Node is the value of, or nil.
	Key *yamldoc.Node
	// Exact is set if Node is the value itself and not one around it.
	Exact bool
}

// NewTracer prepares to trace what a kustomization builds. It builds it again,
// with kustomize's tracking of origins.
func NewTracer(ctx context.Context, tree *Tree, dir string, opts Options) (*Tracer, error) {
	origins, err := Origins(ctx, tree, dir, opts)
	if err != nil {
		return nil, err
	}
	t := &Tracer{tree: tree, origin: origins, chains: map[string][]*layer{}}
	var streams sync.Map
	t.files = func(name string) *yamldoc.Stream {
		if s, ok := streams.Load(name); ok {
			return s.(*yamldoc.Stream)
		}
		s := &yamldoc.Stream{}
		if data, err := tree.Read(filepath.FromSlash(name)); err == nil {
			s = yamldoc.Parse(yamldoc.NewFile(path.Join(filepath.ToSlash(tree.Name), name), data))
		}
		streams.Store(name, s)
		return s
	}
	if name, _, err := tree.kustomization(path.Clean(dir)); err == nil {
		t.file = path.Join(filepath.ToSlash(tree.Name), name)
	}
	t.walk(path.Clean(dir), nil, 0)
	return t, nil
}

// Files returns all files that the kustomization is made from.
func (t *Tracer) Files() []*yamldoc.File {
	var out []*yamldoc.File
	for _, name := range t.tree.Inputs() {
		if data, err := t.tree.Read(filepath.FromSlash(name)); err == nil {
			out = append(out, yamldoc.NewFile(path.Join(filepath.ToSlash(t.tree.Name), name), data))
		}
	}
	return out
}

// File is the kustomization that is traced.
func (t *Tracer) File() string { return t.file }

// FindIn is Find for an object that was read from a file as it is, and changed
// by other means than kustomize.
func FindIn(stream *yamldoc.Stream, built *yamldoc.Node, way []string) (Place, bool) {
	id := identify(built)
	d := ObjectIn(stream, id.Kind, id.Name)
	if d == nil {
		return Place{}, false
	}
	n, key, steps := counterpart(built, d.Root, way)
	if steps == 0 && len(way) > 0 {
		return Place{Doc: d}, true
	}
	return Place{d, n, key, steps == len(way)}, true
}

// walk notes the kustomizations from dir down. The depth is bounded by the scan
// that came before the build.
func (t *Tracer) walk(dir string, above []*layer, depth int) {
	name, _, err := t.tree.kustomization(dir)
	if err != nil || depth > maxLoads {
		return
	}
	stream := t.files(name)
	if len(stream.Docs) == 0 || stream.Docs[0].Err != nil {
		return
	}
	chain := append(slices.Clip(above), &layer{dir, stream.Docs[0]})
	root := stream.Docs[0].Root
	// Components change what the kustomization that names them holds.
	for _, c := range root.Get("components").List() {
		sub := path.Join(dir, c.Str())
		if name, _, err := t.tree.kustomization(sub); err == nil {
			if s := t.files(name); len(s.Docs) > 0 && s.Docs[0].Err == nil {
				chain = append(chain, &layer{sub, s.Docs[0]})
			}
		}
	}
	t.note(name, chain)
	for _, field := range []string{"resources", "bases", "components", "generators", "transformers"} {
		for _, n := range root.Get(field).List() {
			target := n.Str()
			if target == "" || strings.Contains(target, "\n") {
				continue
			}
			sub := path.Join(dir, target)
			if _, _, err := t.tree.kustomization(sub); err == nil {
				t.walk(sub, chain, depth+1)
			} else {
				t.note(sub, chain)
			}
		}
	}
}

// note keeps the first, shortest way of a file.
func (t *Tracer) note(file string, chain []*layer) {
	if t.chains[file] == nil {
		t.chains[file] = chain
	}
}

// Find returns where a value of a built object was set. Built is the root of the
// object, way leads down from it, and text is the value as it stands in the
// built file, with its variables, if it is a scalar. It is false if nothing is
// known of the object.
func (t *Tracer) Find(built *yamldoc.Node, way []string, text string) (Place, bool) {
	id := identify(built)
	file := t.origin[id]
	if file == "" {
		return Place{}, false
	}
	w := &wanted{built: built, way: way, text: text}
	w.value = At(built, way)
	w.scalar = w.value != nil && w.value.Kind != yamldoc.Map && w.value.Kind != yamldoc.List
	own := ObjectIn(t.files(file), id.Kind, id.Name)
	var ownRoot *yamldoc.Node
	if own != nil {
		ownRoot = own.Root
	}
	nearest, key, steps := counterpart(built, ownRoot, way)
	w.own = ownRoot
	found := own != nil && steps == len(way)
	if found && !w.scalar {
		return Place{own, nearest, key, true}, true
	}
	chain := t.chains[file]
	if chain == nil { // generated by a kustomization
		chain = t.chains[path.Clean(file)]
	}
	if w.named = names(w); w.named && !found {
		// The first one to name an element brings it, the others only mention it.
		chain = slices.Clone(chain)
		slices.Reverse(chain)
	}
	w.mentioned = w.named && found
	for _, l := range chain {
		if p, ok := t.inLayer(l, w); ok {
			return p, true
		}
	}
	if !found {
		// A value that was changed after a patch had set it, as by a replacement.
		w.changed = true
		for _, l := range chain {
			if p, ok := t.inLayer(l, w); ok {
				return p, true
			}
		}
	}
	switch {
	case own == nil:
		s := t.files(file)
		if len(s.Docs) == 0 {
			return Place{}, false
		}
		return Place{Doc: s.Docs[0]}, true
	case steps == 0 && len(way) > 0:
		return Place{Doc: own}, true
	}
	return Place{own, nearest, key, found}, true
}

type wanted struct {
	built, own *yamldoc.Node
	way        []string
	value      *yamldoc.Node
	text       string
	scalar     bool
	changed    bool // any value will do
	// named says that the value only names what it is in, and mentioned that the
	// object's own file has it, so that patches do not set it.
	named, mentioned bool
}

// names reports whether a value is that by which patches find what they change: the
// kind and name of the object, or the key of an element of a list.
func names(w *wanted) bool {
	last := len(w.way) - 1
	switch {
	case last < 0 || !w.scalar:
		return false
	case last == 0:
		return w.way[0] == "kind" || w.way[0] == "apiVersion"
	case last == 1 && w.way[0] == "metadata":
		return w.way[1] == "name"
	}
	_, err := strconv.Atoi(w.way[last-1])
	return err == nil && slices.Contains(keys, w.way[last])
}

// is reports whether a value of a source file is the one that was built.
func (w *wanted) is(n *yamldoc.Node) bool {
	if n == nil || w.changed {
		return n != nil
	}
	if !w.scalar {
		return n.Kind == w.value.Kind
	}
	return n.Kind != yamldoc.Map && n.Kind != yamldoc.List && n.Text() == w.text
}

// ObjectIn finds the source of a built object in its own file. Prefixes and suffixes may
// have been added to its name: the longest one wins.
func ObjectIn(stream *yamldoc.Stream, kind, builtName string) *yamldoc.Document {
	var best *yamldoc.Document
	length := -1
	for _, d := range stream.Docs {
		name := d.Root.Get("metadata", "name").Str()
		if d.Root.Get("kind").Str() == kind && strings.Contains(builtName, name) && len(name) > length {
			best, length = d, len(name)
		}
	}
	return best
}

// At follows a way; it is nil if it leads nowhere.
func At(n *yamldoc.Node, way []string) *yamldoc.Node {
	for _, step := range way {
		n = child(n, step)
	}
	return n
}

// child follows one step of a way.
func child(n *yamldoc.Node, step string) *yamldoc.Node {
	if n.Is(yamldoc.List) {
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(n.List()) {
			return nil
		}
		return n.List()[i]
	}
	return n.Get(step)
}

// counterpart follows a way through a built object and another version of it at
// once, and returns the last value there that both have, and how many steps led
// to it. Elements of lists are matched by what names them.
func counterpart(built, other *yamldoc.Node, way []string) (n, key *yamldoc.Node, steps int) {
	for i, step := range way {
		next := child(built, step)
		var there, name *yamldoc.Node
		if built.Is(yamldoc.List) {
			there = element(built, other, step)
		} else if f := other.Field(step); f != nil {
			there, name = f.Value, f.Key()
		}
		if there == nil {
			return other, key, i
		}
		built, other, key = next, there, name
	}
	return other, key, len(way)
}

// keys are the fields by which elements of lists are told apart.
var keys = []string{"name", "key", "containerPort", "mountPath", "port", "type"}

// element finds the element of another list that stands for one of the built
// list.
func element(built, other *yamldoc.Node, step string) *yamldoc.Node {
	item := child(built, step)
	if item == nil || !other.Is(yamldoc.List) {
		return nil
	}
	for _, name := range keys {
		key := item.Get(name)
		if key == nil || key.Text() == "" {
			continue
		}
		for _, o := range other.List() {
			if n := o.Get(name); n != nil && n.Text() == key.Text() {
				return o
			}
		}
		if len(other.List()) != len(built.List()) {
			return nil
		}
		break
	}
	if item.Kind != yamldoc.Map && item.Kind != yamldoc.List {
		for _, o := range other.List() {
			if o.Text() == item.Text() && o.Kind == item.Kind {
				return o
			}
		}
	}
	if len(other.List()) == len(built.List()) {
		return child(other, step)
	}
	return nil
}

// inLayer looks for the value in what one kustomization changes.
func (t *Tracer) inLayer(l *layer, w *wanted) (Place, bool) {
	root := l.doc.Root
	patches := []struct {
		field        string
		inline, file string
	}{
		{"patches", "patch", "path"},
		{"patchesJson6902", "patch", "path"},
		{"patchesStrategicMerge", "", ""},
	}
	for _, kind := range patches {
		entries := root.Get(kind.field).List()
		if !w.named {
			entries = slices.Clone(entries)
			slices.Reverse(entries) // later ones have the last word
		}
		for _, e := range entries {
			if !targets(e.Get("target"), w) {
				continue
			}
			inline, file := e.Get(kind.inline), e.Get(kind.file).Str()
			if kind.inline == "" {
				inline, file = e, ""
				if text := e.Str(); !strings.Contains(text, "\n") {
					inline, file = nil, text
				}
			}
			var stream *yamldoc.Stream
			switch {
			case inline.Is(yamldoc.String):
				stream = l.doc.Inline(inline)
			case file != "":
				stream = t.files(path.Join(l.dir, file))
			default:
				continue
			}
			if p, ok := inPatch(stream, e.Get("target") != nil, w); ok {
				return p, true
			}
		}
	}
	if w.changed {
		return t.inReplacements(l, w)
	}
	last := ""
	if len(w.way) > 0 {
		last = w.way[len(w.way)-1]
	}
	found := func(n *yamldoc.Node) (Place, bool) { return Place{Doc: l.doc, Node: n, Exact: true}, n != nil }
	if !w.scalar {
		return found(common(root, last))
	}
	// Fields that set values in many objects.
	for _, labels := range root.Get("labels").List() {
		if n := labels.Get("pairs", last); w.is(n) && slices.Contains(w.way, "labels") {
			return found(n)
		}
	}
	if n := root.Get("commonLabels", last); w.is(n) && (slices.Contains(w.way, "labels") || slices.Contains(w.way, "matchLabels") || slices.Contains(w.way, "selector")) {
		return found(n)
	}
	if n := root.Get("commonAnnotations", last); w.is(n) && slices.Contains(w.way, "annotations") {
		return found(n)
	}
	before, _, _ := counterpart(w.built, w.own, w.way)
	changed := !w.is(before) // by something on its way
	if n := root.Get("namespace"); changed && (last == "namespace" || last == "name" && w.built.Get("kind").Str() == "Namespace") && w.is(n) {
		return found(n)
	}
	if last == "image" && changed {
		for _, image := range root.Get("images").List() {
			if n := imageField(image, w.text); n != nil {
				return found(n)
			}
		}
	}
	if last == "replicas" && changed {
		for _, r := range root.Get("replicas").List() {
			if strings.Contains(w.built.Get("metadata", "name").Str(), r.Get("name").Str()) && w.is(r.Get("count")) {
				return found(r.Get("count"))
			}
		}
	}
	return Place{}, false
}

// common returns what a kustomization adds to the labels or annotations of all its
// objects, or nil.
func common(root *yamldoc.Node, field string) *yamldoc.Node {
	switch field {
	case "annotations":
		return root.Get("commonAnnotations")
	case "labels":
		for _, labels := range root.Get("labels").List() {
			if n := labels.Get("pairs"); n != nil {
				return n
			}
		}
		return root.Get("commonLabels")
	}
	return nil
}

// inReplacements finds the replacement that filled in the value.
func (t *Tracer) inReplacements(l *layer, w *wanted) (Place, bool) {
	search := func(d *yamldoc.Document, list *yamldoc.Node) (Place, bool) {
		for _, r := range list.List() {
			for _, target := range r.Get("targets").List() {
				if !targets(target.Get("select"), w) {
					continue
				}
				for _, field := range target.Get("fieldPaths").List() {
					if matchesField(field.Str(), w.way) {
						return Place{Doc: d, Node: field, Exact: true}, true
					}
				}
			}
		}
		return Place{}, false
	}
	list := l.doc.Root.Get("replacements")
	if p, ok := search(l.doc, list); ok {
		return p, true
	}
	for _, r := range list.List() {
		if file := r.Get("path").Str(); file != "" {
			for _, d := range t.files(path.Join(l.dir, file)).Docs {
				list := d.Root
				if list.Is(yamldoc.Map) {
					list = yamldoc.NewList([]*yamldoc.Node{d.Root})
				}
				if p, ok := search(d, list); ok {
					return p, true
				}
			}
		}
	}
	return Place{}, false
}

// matchesField compares a field path of kustomize, such as
// webhooks.*.clientConfig.service.name or metadata.annotations.[a.b/c], with the
// way to a value.
func matchesField(field string, way []string) bool {
	field = strings.TrimPrefix(field, ".")
	var steps []string
	for field != "" {
		var step string
		if end := strings.IndexByte(field, ']'); field[0] == '[' && end > 0 {
			step, field = field[1:end], field[end+1:]
			if strings.Contains(step, "=") {
				step = "*" // an element of a list
			}
			field = strings.TrimPrefix(field, ".")
		} else {
			step, field, _ = strings.Cut(field, ".")
		}
		steps = append(steps, step)
	}
	return slices.EqualFunc(steps, way, func(step, there string) bool {
		_, err := strconv.Atoi(there)
		return step == there || err == nil && (step == "*" || step == "-")
	})
}

// imageField returns the field of an entry of images that gave an image what is
// special about it: its name or its tag.
func imageField(entry *yamldoc.Node, image string) *yamldoc.Node {
	name, tag, digest := imageref.Split(image)
	newName, newTag, newDigest := entry.Get("newName"), entry.Get("newTag"), entry.Get("digest")
	if newName == nil && entry.Get("name").Str() != name || newName != nil && newName.Text() != name {
		return nil
	}
	if newTag != nil && newTag.Text() != tag || newDigest != nil && newDigest.Text() != digest {
		return nil
	}
	host, _, hosted := strings.Cut(name, "/")
	switch {
	case newName != nil && !(hosted && strings.ContainsAny(host, ".:")):
		return newName // no complete name: that is what people are told about
	case newTag != nil:
		return newTag
	case newDigest != nil:
		return newDigest
	}
	return newName
}

// targets reports whether the target of a patch may be the object. Labels and
// annotations are not compared.
func targets(target *yamldoc.Node, w *wanted) bool {
	match := func(field string, values ...string) bool {
		expr := target.Get(field).Str()
		if expr == "" {
			return true
		}
		re, err := regexp.Compile("^(?:" + expr + ")$")
		return err != nil || slices.ContainsFunc(values, re.MatchString)
	}
	group, version, ok := strings.Cut(w.built.Get("apiVersion").Str(), "/")
	if !ok {
		group, version = "", group
	}
	return match("kind", w.built.Get("kind").Str()) && match("group", group) && match("version", version) &&
		match("name", w.built.Get("metadata", "name").Str(), w.own.Get("metadata", "name").Str())
}

// inPatch looks for the value in a patch: a list of JSON patch operations, or
// objects to be merged.
func inPatch(stream *yamldoc.Stream, targeted bool, w *wanted) (Place, bool) {
	for _, d := range stream.Docs {
		if d.Root.Is(yamldoc.List) {
			for i := len(d.Root.List()) - 1; i >= 0; i-- {
				if n, key := operation(d.Root.List()[i], w); n != nil {
					return Place{d, n, key, true}, true
				}
			}
			continue
		}
		name := d.Root.Get("metadata", "name").Str()
		if w.mentioned {
			continue
		}
		if !targeted && (d.Root.Get("kind").Str() != w.built.Get("kind").Str() ||
			!strings.Contains(w.built.Get("metadata", "name").Str(), name) && w.own.Get("metadata", "name").Str() != name) {
			continue
		}
		if n, key, steps := counterpart(w.built, d.Root, w.way); steps == len(w.way) && steps > 0 && w.is(n) {
			return Place{d, n, key, true}, true
		}
	}
	return Place{}, false
}

// operation returns the value of a JSON patch operation that set the value, and
// its key, or nil.
func operation(op *yamldoc.Node, w *wanted) (n, key *yamldoc.Node) {
	pointer := strings.Split(strings.TrimPrefix(op.Get("path").Str(), "/"), "/")
	if len(pointer) > len(w.way) {
		return nil, nil
	}
	built := w.built
	for i, step := range pointer {
		step = yamldoc.PointerPart(step)
		// Elements may have moved: any one of the same list may be it.
		if !built.Is(yamldoc.List) && step != w.way[i] {
			return nil, nil
		}
		built = child(built, w.way[i])
	}
	n, key, steps := counterpart(built, op.Get("value"), w.way[len(pointer):])
	if op.Get("value") == nil || steps != len(w.way)-len(pointer) || !w.is(n) {
		return nil, nil
	}
	return n, key
}
