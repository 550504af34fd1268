package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// Tree is a source tree as kustomize sees it: read only, closed towards the
// outside, with some files replaced in memory. Files are read once, and paths that
// exist are looked up once, because flavors share their bases and kustomize asks
// again and again. It is safe for concurrent use.
type Tree struct {
	// Name is the tree as a person would type it, for the names of files that
	// are traced.
	Name string
	// Cache keeps what builds make of the tree; nil keeps nothing.
	Cache *Cache

	dir     string // absolute, without symbolic links
	files   *files.Folder
	replace map[string][]byte // by path relative to dir
	cache   *sync.Map         // path relative to dir → []byte, of what is on disk
	schemas *sync.Map         // path relative to dir → func() *hiding
	digests *sync.Map         // path relative to dir → digest of what is on disk
	infos   *sync.Map         // path relative to dir → fs.FileInfo, of what is on disk
	targets *sync.Map         // absolute path → the same without symbolic links

	observer *observer // of a build; may be nil
}

var _ filesys.FileSystem = (*Tree)(nil)

// OpenTree opens a source tree. Replace holds the content of files to use
// instead of the ones on disk, by slash-separated path relative to dir. Close
// must be called in the end.
func OpenTree(dir string, replace map[string][]byte) (*Tree, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, err
	}
	f, err := files.Open(abs)
	if err != nil {
		return nil, err
	}
	return &Tree{Name: dir, dir: abs, files: f, replace: replace, cache: &sync.Map{}, schemas: &sync.Map{}, digests: &sync.Map{}, infos: &sync.Map{}, targets: &sync.Map{}}, nil
}

func (t *Tree) Close() error { return t.files.Close() }

// with returns a view of the tree with further replaced files.
func (t *Tree) with(replace map[string][]byte) *Tree {
	all := make(map[string][]byte, len(t.replace)+len(replace))
	maps.Copy(all, t.replace)
	maps.Copy(all, replace)
	view := *t
	view.replace, view.schemas = all, &sync.Map{}
	return &view
}

// errOutside is what every path gets that leaves the tree.
var errOutside = errors.New("the path leaves the source tree")

func (t *Tree) rel(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.dir, path)
	}
	rel, err := filepath.Rel(t.dir, filepath.Clean(path))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("%s: %w", path, errOutside)
	}
	return rel, nil
}

// Read returns the content of a file by its path relative to the tree. The
// result must not be changed.
func (t *Tree) Read(rel string) (data []byte, err error) {
	key := filepath.ToSlash(filepath.Clean(rel))
	if t.observer != nil {
		defer func() {
			t.asked(askContent, key, func() string {
				if err != nil {
					return failed
				}
				return t.digest(key, data)
			})
		}()
	}
	if data, ok := t.replace[key]; ok {
		return data, nil
	}
	if data, ok := t.cache.Load(key); ok {
		return data.([]byte), nil
	}
	if data, err = t.files.ReadFile(key); err != nil {
		return nil, err
	}
	t.cache.Store(key, data)
	return data, nil
}

// Inputs returns the files on disk that were read so far, by path relative to the
// tree, sorted.
func (t *Tree) Inputs() []string {
	var out []string
	for key := range t.cache.Range {
		out = append(out, key.(string))
	}
	slices.Sort(out)
	return out
}

func (t *Tree) ReadFile(path string) ([]byte, error) {
	rel, err := t.rel(path)
	if err != nil {
		return nil, err
	}
	return t.Read(rel)
}

func (t *Tree) IsDir(path string) bool {
	rel, err := t.rel(path)
	if err != nil {
		return false
	}
	info, err := t.stat(rel)
	return err == nil && info.IsDir()
}

func (t *Tree) Exists(path string) bool {
	rel, err := t.rel(path)
	if err != nil {
		return false
	}
	_, err = t.stat(rel)
	return err == nil || t.replaced(rel)
}

// replaced reports whether a file is not read from disk.
func (t *Tree) replaced(rel string) bool {
	_, ok := t.replace[filepath.ToSlash(rel)]
	return ok
}

// stat follows links as far as they stay in the tree.
func (t *Tree) stat(rel string) (fs.FileInfo, error) {
	info, err := known(t.infos, filepath.ToSlash(rel), t.files.Stat)
	t.asked(askKind, rel, func() string {
		switch {
		case t.replaced(rel):
			return "replaced"
		case err != nil:
			return failed
		case info.IsDir():
			return "folder"
		}
		return "file"
	})
	return info, err
}

// known asks for what is not in a map yet. Errors are not kept: a command of the
// build may make what is missing.
func known[T any](answers *sync.Map, name string, ask func(string) (T, error)) (T, error) {
	if v, ok := answers.Load(name); ok {
		return v.(T), nil
	}
	v, err := ask(name)
	if err == nil {
		answers.Store(name, v)
	}
	return v, err
}

// CleanedAbs implements filesys.FileSystem: it resolves symbolic links and
// splits the path into folder and file name.
func (t *Tree) CleanedAbs(path string) (dir filesys.ConfirmedDir, name string, err error) {
	rel, err := t.rel(path)
	if err != nil {
		return "", "", err
	}
	asked := rel
	defer func() {
		t.asked(askTarget, asked, func() string {
			if err != nil {
				return failed
			}
			return digest([]byte(dir), []byte(name))
		})
	}()
	abs := filepath.Join(t.dir, rel)
	if !t.replaced(rel) {
		if abs, err = known(t.targets, abs, filepath.EvalSymlinks); err != nil {
			return "", "", err
		}
		if _, err = t.rel(abs); err != nil {
			return "", "", err
		}
	}
	if t.IsDir(abs) {
		return filesys.ConfirmedDir(abs), "", nil
	}
	return filesys.ConfirmedDir(filepath.Dir(abs)), filepath.Base(abs), nil
}

// The rest of filesys.FileSystem: errReadOnly answers all that would write, errUnasked
// what kustomize only asks when it localizes.
var (
	errReadOnly = errors.New("the source tree is read-only during a build")
	errUnasked  = errors.New("folders of the source tree are not listed during a build")
)

func (t *Tree) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (t *Tree) Mkdir(string) error                   { return errReadOnly }
func (t *Tree) MkdirAll(string) error                { return errReadOnly }
func (t *Tree) RemoveAll(string) error               { return errReadOnly }
func (t *Tree) WriteFile(string, []byte) error       { return errReadOnly }
func (t *Tree) Open(string) (filesys.File, error)    { return nil, errUnasked }
func (t *Tree) Glob(string) ([]string, error)        { return nil, errUnasked }
func (t *Tree) ReadDir(string) ([]string, error)     { return nil, errUnasked }
func (t *Tree) Walk(string, filepath.WalkFunc) error { return errUnasked }
