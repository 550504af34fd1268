package kustomize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/clusterctl-repo/clusterctl-repo/repo/parallel"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

type Options struct {
	// NoLoadRestrictions lets kustomizations load files from outside their
	// own folder, but never from outside the tree.
	NoLoadRestrictions bool
	// AllowRemote lets kustomizations load bases from the network. Such a
	// build also reads the disk outside the tree, where kustomize clones to.
	AllowRemote bool
}

// schema guards kustomize's process-wide OpenAPI schema: a kustomization with
// its own schema must build alone. Others build side by side, but not before the
// schema is parsed, because kustomize reads it without a lock.
var schema struct {
	sync.RWMutex
	parsed bool
}

// shareSchema takes the schema for a build beside others.
func shareSchema() {
	for {
		schema.RLock()
		if schema.parsed {
			return
		}
		schema.RUnlock()
		schema.Lock()
		if !schema.parsed {
			openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: "v1", Kind: "Namespace"})
			schema.parsed = true
		}
		schema.Unlock()
	}
}

// Prepare starts to parse the schema, which takes longer than to find out what there
// is to build. Builds wait for it.
func Prepare() {
	go func() {
		shareSchema()
		schema.RUnlock()
	}()
}

// Build builds the kustomization in a folder, given relative to the tree with
// slashes. The objects have the values and the order of `kustomize build`.
//
// Errors carry the position in the kustomization that causes them where it is
// known before the build: cycles, missing files, remote bases, paths that
// leave the tree.
func Build(ctx context.Context, tree *Tree, dir string, opts Options) ([]map[string]any, error) {
	if text, ok := tree.kept(dir, opts); ok {
		if objs, ok := parsed(text); ok {
			return objs, nil
		}
	}
	objs, _, err := buildAndKeep(ctx, tree, dir, opts)
	return objs, err
}

// Text is Build for callers that need only what kustomize prints.
func Text(ctx context.Context, tree *Tree, dir string, opts Options) ([]byte, error) {
	if text, ok := tree.kept(dir, opts); ok {
		return text, nil
	}
	objs, text, err := buildAndKeep(ctx, tree, dir, opts)
	if text == nil && err == nil {
		text, err = Marshal(objs)
	}
	return text, err
}

// buildAndKeep also returns what the cache got, if that is known.
func buildAndKeep(ctx context.Context, tree *Tree, dir string, opts Options) ([]map[string]any, []byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, context.Cause(ctx)
	}
	dir = path.Clean(dir)
	if tree.Cache == nil || opts.AllowRemote {
		objs, err := buildAnew(ctx, tree, dir, opts)
		return objs, nil, err
	}
	tree = tree.observed()
	objs, err := buildAnew(ctx, tree, dir, opts)
	if err != nil {
		return nil, nil, err
	}
	return objs, tree.keep(dir, opts, objs), nil
}

func buildAnew(ctx context.Context, tree *Tree, dir string, opts Options) ([]map[string]any, error) {
	Prepare()
	s := &scan{tree: tree, allowRemote: opts.AllowRemote, visits: map[string]*visit{}}
	s.folder(dir, &yamldoc.Error{File: dir})
	if len(s.problems) > 0 {
		return nil, errors.Join(s.problems...)
	}
	var fsys filesys.FileSystem = tree
	if opts.AllowRemote {
		fsys = withDisk{tree, filesys.MakeFsOnDisk()}
	}
	build := func(dir string) (resmap.ResMap, error) {
		return run(ctx, fsys, filepath.Join(tree.dir, filepath.FromSlash(dir)), opts, s.openapi)
	}
	if err := s.checkPlugins(build); err != nil {
		return nil, err
	}
	if view := (schemas{tree, s.hideSchemas()}); len(view.hide) > 0 && !opts.AllowRemote {
		view.prepare()
		// If this fails, kustomize says why of the files as they are.
		if m, err := run(ctx, view, filepath.Join(tree.dir, filepath.FromSlash(dir)), opts, false); err == nil {
			if objs, err := objects(m); err == nil {
				for _, o := range objs {
					view.restore(o)
				}
				return objs, nil
			}
		}
	}
	m, err := build(dir)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		if faults := s.faults(); faults != nil {
			return nil, faults
		}
		return nil, s.placed(dir, err)
	}
	objs, err := objects(m)
	if err != nil {
		return nil, s.placed(dir, err)
	}
	return objs, nil
}

// placed gives a message of kustomize the place that it is about, or else that of the
// kustomization.
func (s *scan) placed(dir string, err error) error {
	at := s.blamed(err)
	if strings.Contains(err.Error(), "cannot unmarshal") {
		for _, in := range slices.Sorted(maps.Keys(s.visits)) {
			if at := s.misplacedPatch(in); at != nil {
				return at
			}
		}
	}
	if at == nil {
		name, _, _ := s.tree.kustomization(path.Clean(dir))
		at = &yamldoc.Error{File: name, Pos: yamldoc.Pos{Line: 1, Column: 1}}
	}
	at.Err = fmt.Errorf("kustomize build %s: %w", dir, s.tree.clean(err))
	if text, all := inWords(at.Err.Error()); len(all) > 0 {
		at.Err = errors.New(text)
	}
	return at
}

// checkPlugins builds the folders that configure plugins, as kustomize will, and
// judges what comes out.
func (s *scan) checkPlugins(build func(dir string) (resmap.ResMap, error)) error {
	for _, p := range s.plugins {
		m, err := build(p.dir)
		if err != nil {
			return s.placed(p.dir, err)
		}
		text, err := m.AsYaml()
		if err != nil {
			return s.placed(p.dir, err)
		}
		s.configuration(p.from, yamldoc.Parse(yamldoc.NewFile("", text)), func(*yamldoc.Document, *yamldoc.Node) *yamldoc.Error {
			return &yamldoc.Error{File: p.at.File, Pos: p.at.Pos}
		})
		if len(s.problems) > 0 {
			return errors.Join(s.problems...)
		}
	}
	return nil
}

// run calls kustomize, which cannot be stopped. When the context is done its
// result is no longer waited for.
func run(ctx context.Context, fsys filesys.FileSystem, dir string, opts Options, alone bool) (resmap.ResMap, error) {
	type result struct {
		m   resmap.ResMap
		err error
	}
	done := make(chan result, 1)
	go func() {
		m, err := call(fsys, dir, opts, alone)
		done <- result{m, err}
	}()
	select {
	case r := <-done:
		return r.m, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// call calls kustomize and turns its panics into errors.
func call(fsys filesys.FileSystem, dir string, opts Options, alone bool) (m resmap.ResMap, err error) {
	if alone {
		schema.Lock()
		defer schema.Unlock()
		defer func() {
			openapi.ResetOpenAPI()
			schema.parsed = false
		}()
	} else {
		shareSchema()
		defer schema.RUnlock()
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("kustomize failed: %v", r)
		}
	}()
	o := krusty.MakeDefaultOptions()
	o.Reorder = krusty.ReorderOptionUnspecified // the default of the program
	if opts.NoLoadRestrictions {
		o.LoadRestrictions = types.LoadRestrictionsNone
	}
	return krusty.MakeKustomizer(o).Run(fsys, dir)
}

func objects(m resmap.ResMap) ([]map[string]any, error) {
	resources := m.Resources()
	out := make([]map[string]any, len(resources))
	for i, r := range resources {
		o, err := r.Map()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.CurId(), err)
		}
		out[i] = o
	}
	return out, nil
}

// clean shortens kustomize's messages: paths become relative to the tree, and the text
// of an object that follows is left out.
func (t *Tree) clean(err error) error {
	msg, _, _ := strings.Cut(err.Error(), " for the following resource:\n")
	msg = strings.ReplaceAll(strings.ReplaceAll(msg, t.dir+string(filepath.Separator), ""), "\n  ", " ")
	return errors.New(strings.ReplaceAll(msg, t.dir, "."))
}

// Marshal writes objects as kustomize prints them: documents with sorted keys,
// separated by "---".
func Marshal(objects []map[string]any) ([]byte, error) {
	texts := make([][]byte, len(objects))
	errs := make([]error, len(objects))
	parallel.Each(len(objects), func(i int) { texts[i], errs[i] = yamldoc.Marshal(objects[i]) })
	return bytes.Join(texts, []byte("---\n")), errors.Join(errs...)
}

// Patch is one entry of kustomize's field patches.
type Patch struct {
	// Target selects objects by the fields of kustomize's selector; without any the
	// patch names them.
	Target map[string]any
	// Text is a strategic merge patch or a list of JSON 6902 operations.
	Text string
}

// ApplyPatches runs kustomize patches over built objects. The index in the
// error is that of the patch that failed.
func ApplyPatches(ctx context.Context, objs []map[string]any, patches []Patch) ([]map[string]any, error) {
	for i, p := range patches {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		var err error
		if objs, err = applyPatch(ctx, objs, p); err != nil {
			return nil, &PatchError{Index: i, Err: err}
		}
	}
	return objs, nil
}

type PatchError struct {
	Index int
	Err   error
}

func (e *PatchError) Error() string { return fmt.Sprintf("patch %d: %v", e.Index+1, e.Err) }

func (e *PatchError) Unwrap() error { return e.Err }

func applyPatch(ctx context.Context, objs []map[string]any, p Patch) ([]map[string]any, error) {
	built, err := Marshal(objs)
	if err != nil {
		return nil, err
	}
	patch := map[string]any{"patch": p.Text}
	if len(p.Target) > 0 {
		patch["target"] = p.Target
	}
	k, err := yamldoc.Marshal(map[string]any{"resources": []any{"built.yaml"}, "patches": []any{patch}})
	if err != nil {
		return nil, err
	}
	fsys := filesys.MakeFsInMemory()
	for name, data := range map[string][]byte{"/built.yaml": built, "/kustomization.yaml": k} {
		if err := fsys.WriteFile(name, data); err != nil {
			return nil, err
		}
	}
	m, err := run(ctx, fsys, "/", Options{}, false)
	if err != nil {
		return nil, err
	}
	return objects(m)
}

// withDisk adds the disk outside the tree, where kustomize puts clones.
type withDisk struct {
	*Tree
	disk filesys.FileSystem
}

// at is the file system that has a path.
func (w withDisk) at(path string) filesys.FileSystem {
	if _, err := w.rel(path); filepath.IsAbs(path) && err != nil {
		return w.disk
	}
	return w.Tree
}

func (w withDisk) ReadFile(path string) ([]byte, error) { return w.at(path).ReadFile(path) }
func (w withDisk) IsDir(path string) bool               { return w.at(path).IsDir(path) }
func (w withDisk) Exists(path string) bool              { return w.at(path).Exists(path) }
func (w withDisk) RemoveAll(path string) error          { return w.at(path).RemoveAll(path) } // kustomize's own clone

func (w withDisk) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	return w.at(path).CleanedAbs(path)
}

// Identity names a built object.
type Identity struct{ Kind, Namespace, Name string }

// originKey is the annotation in which kustomize notes the source of objects.
const originKey = "config.kubernetes.io/origin"

// Origins builds the kustomization again with kustomize's tracking of origins
// and returns the source file of each object, relative to the tree, with slashes. It is
// meant for messages, when something is wrong with an object.
func Origins(ctx context.Context, tree *Tree, dir string, opts Options) (map[Identity]string, error) {
	name, data, err := tree.kustomization(path.Clean(dir))
	if err != nil {
		return nil, err
	}
	// A later key wins over the same key above it.
	tracked := append(append([]byte{}, data...), "\nbuildMetadata: [originAnnotations]\n"...)
	objs, err := Build(ctx, tree.with(map[string][]byte{name: tracked}), dir, opts)
	if err != nil {
		return nil, err
	}
	out := map[Identity]string{}
	for _, o := range objs {
		var id Identity
		meta, _ := o["metadata"].(map[string]any)
		id.Kind, _ = o["kind"].(string)
		id.Namespace, _ = meta["namespace"].(string)
		id.Name, _ = meta["name"].(string)
		out[id] = ""
		annotations, _ := meta["annotations"].(map[string]any)
		note, _ := annotations[originKey].(string)
		if m, err := yamldoc.ToMap(note); err == nil {
			file, ok := m["path"].(string)
			if !ok {
				file, ok = m["configuredIn"].(string) // made by a generator
			}
			if ok && m["repo"] == nil {
				out[id] = path.Join(dir, file)
			}
		}
	}
	return out, nil
}
