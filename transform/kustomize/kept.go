package kustomize

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// observer notes what a build asks a tree.
type observer struct {
	mu   sync.Mutex
	seen map[string]string
}

// The questions. Each is followed by a path relative to the tree.
const (
	askContent = "content "
	askKind    = "kind "
	askTarget  = "target "
)

// observed returns a view of the tree that notes what it is asked.
func (t *Tree) observed() *Tree {
	view := *t
	view.observer = &observer{seen: map[string]string{}}
	return &view
}

// asked notes an answer.
func (t *Tree) asked(question, path string, digest func() string) {
	o := t.observer
	if o == nil {
		return
	}
	q := question + filepath.ToSlash(path)
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.seen[q]; !ok {
		o.seen[q] = digest()
	}
}

// ask answers a question that an earlier build asked.
func (t *Tree) ask(question string) string {
	view := t.observed()
	kind, path, _ := strings.Cut(question, " ")
	switch kind + " " {
	case askContent:
		_, _ = view.Read(path)
	case askKind:
		_, _ = view.stat(path)
	case askTarget:
		_, _, _ = view.CleanedAbs(path)
	}
	return view.observer.seen[question]
}

const failed = "failed"

// digest sums up the content of a file, once for all builds.
func (t *Tree) digest(name string, data []byte) string {
	if t.replaced(name) {
		return digest(data)
	}
	if d, ok := t.digests.Load(name); ok {
		return d.(string)
	}
	d := digest(data)
	t.digests.Store(name, d)
	return d
}

// buildKey names a build in the cache. What replaced files hold is asked for as what
// is on disk is.
func (t *Tree) buildKey(dir string, opts Options) string {
	return fmt.Sprintf("kustomize build %s in %s, %t, with %q", path.Clean(dir), t.dir, opts.NoLoadRestrictions, slices.Sorted(maps.Keys(t.replace)))
}

// kept returns what an earlier build of the same files printed.
func (t *Tree) kept(dir string, opts Options) ([]byte, bool) {
	if t.Cache == nil || opts.AllowRemote {
		return nil, false
	}
	return t.Cache.Get(t.buildKey(dir, opts), t.ask)
}

// parsed reads the objects of a kept build.
func parsed(text []byte) (objs []map[string]any, ok bool) {
	s := yamldoc.Parse(yamldoc.NewFile("", text))
	for _, d := range s.Docs {
		sure := d.Err == nil
		o, ok := value(d.Root, &sure).(map[string]any)
		if !ok || !sure {
			return nil, false
		}
		objs = append(objs, o)
	}
	return objs, s.Err == nil
}

// keep notes what a build made, and returns its text. Objects that YAML does not give
// back as they are are not kept. The build has ended, so nothing else notes anything.
func (t *Tree) keep(dir string, opts Options, objs []map[string]any) []byte {
	if len(objs) == 0 {
		return nil
	}
	text, err := Marshal(objs)
	if err != nil || bytes.Contains(text, []byte("!!binary")) {
		return nil
	}
	t.Cache.Put(t.buildKey(dir, opts), t.observer.seen, text)
	return text
}

// value is a node as kustomize gives it. Sure becomes false if that is not certain.
func value(n *yamldoc.Node, sure *bool) any {
	switch {
	case n.Is(yamldoc.Int):
		v, ok := n.Int()
		*sure = *sure && ok
		return int(v)
	case n.Is(yamldoc.List):
		out := make([]any, len(n.List()))
		for i, item := range n.List() {
			out[i] = value(item, sure)
		}
		return out
	case n.Is(yamldoc.Map):
		out := make(map[string]any, len(n.Fields()))
		for _, f := range n.Fields() {
			out[f.Name] = value(f.Value, sure)
		}
		return out
	}
	return n.Value()
}
