package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Folder is a folder of releases. It is safe for concurrent use, also by
// several processes.
type Folder struct {
	root string
	open func(root string) (disk, error)
	// read holds, by their path, the stamps of releases whose files were read back
	// before they came into their place.
	read sync.Map
}

// New returns the destination at a path, which may be a symbolic link and need
// not exist yet. Nothing is touched before something is published.
func New(path string) (*Folder, error) {
	if path == "" {
		return nil, errors.New("the destination folder has no name")
	}
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("destination folder %s: %w", path, err)
	}
	return &Folder{root: root, open: openDisk}, nil
}

func (d *Folder) Site() publish.Site {
	return publish.Site{Name: d.root, Of: func(p layouts.Provider) (publish.Destination, error) {
		if _, err := labelDir(p); err != nil {
			return nil, err
		}
		return shelf{d, p}, nil
	}}
}

// shelf is the folder of one provider.
type shelf struct {
	*Folder
	p layouts.Provider
}

// Siblings are the folders of the other providers.
func (s shelf) Siblings(context.Context) (map[layouts.Provider]publish.Destination, error) {
	entries, err := os.ReadDir(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the providers in %s: %w", s.root, err)
	}
	out := map[layouts.Provider]publish.Destination{}
	for _, e := range entries {
		if p, err := layouts.ParseLabel(e.Name()); err == nil && p != s.p && e.IsDir() {
			out[p] = shelf{s.Folder, p}
		}
	}
	return out, nil
}

// Verify reads the release, unless its files are the very ones that Put has read
// before it moved them here.
func (s shelf) Verify(ctx context.Context, r *repo.Release) error {
	got, err := s.Fetch(ctx, r.Version)
	if err != nil {
		return fmt.Errorf("read back %s: %w", publish.Name(r), err)
	}
	if was, ok := s.read.LoadAndDelete(got.Path); ok && same(was.([]fs.FileInfo), got.Path) {
		return nil
	}
	return publish.VerifyFiles(ctx, got, r)
}

func (d *Folder) String() string { return d.root }

func (d *Folder) path(name string) string {
	return filepath.Join(d.root, filepath.FromSlash(name))
}

// labelDir returns the folder of a provider below the root.
func labelDir(p layouts.Provider) (string, error) {
	if problems := p.Problems(); len(problems) > 0 {
		return "", errors.New(problems[0].Message)
	}
	return p.Label(), nil
}

// releaseDir returns the folder of a release below the root, with slashes.
func releaseDir(p layouts.Provider, version string) (string, error) {
	label, err := labelDir(p)
	if err != nil {
		return "", err
	}
	if _, err := layouts.ParseVersion(version); err != nil {
		return "", err
	}
	return path.Join(label, version), nil
}

// URL returns a file URL, the form in which clusterctl takes a path on every
// platform (clusterctl: newLocalRepository).
func (s shelf) URL(version, componentsFile string) (string, error) {
	const latest = "latest" // a word that clusterctl resolves, not a folder
	dir, err := labelDir(s.p)
	switch {
	case err != nil:
		return "", err
	case version == latest:
		dir = path.Join(dir, latest)
	default:
		if dir, err = releaseDir(s.p, version); err != nil {
			return "", err
		}
	}
	if err := publish.CheckFileName(componentsFile); err != nil {
		return "", err
	}
	return FileURL(s.path(path.Join(dir, componentsFile))), nil
}

// FileURL is the URL of a path as clusterctl reads it: it replaces variables in URLs, and
// then takes the URL apart.
func FileURL(name string) string {
	name = "/" + strings.TrimPrefix(filepath.ToSlash(name), "/")
	return strings.ReplaceAll((&url.URL{Scheme: "file", Path: name}).String(), "$", "%24")
}

// Versions lists what clusterctl lists: real folders with the name of a
// semantic version (clusterctl: localRepository.GetVersions).
func (s shelf) Versions(ctx context.Context) ([]string, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	label, err := labelDir(s.p)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.path(label))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the versions of %s: %w", s.p, err)
	}
	return publish.Versions(phrase.List(phrase.Only(entries, fs.DirEntry.IsDir), fs.DirEntry.Name)), nil
}

// Fetch lists a published release. Its files may be links as long as they do
// not leave the destination.
func (s shelf) Fetch(ctx context.Context, version string) (*repo.Release, error) {
	dir, err := releaseDir(s.p, version)
	if err != nil {
		return nil, err
	}
	return folder.OpenRelease(ctx, s.root, dir, s.p, version)
}

// Plan reports whether r is published already; see Put for the refusals.
func (d *Folder) Plan(ctx context.Context, r *repo.Release) (publish.Result, error) {
	if err := publish.Check(r); err != nil {
		return publish.Result{}, err
	}
	dir, err := releaseDir(r.Provider, r.Version)
	if err != nil {
		return publish.Result{}, err
	}
	unchanged, err := d.compare(ctx, r)
	if err != nil {
		return publish.Result{}, err
	}
	result := publish.Result{Unchanged: unchanged, Where: d.path(dir)}
	if !unchanged {
		if err := Writable(d.path(path.Dir(dir))); err != nil {
			return publish.Result{}, fmt.Errorf("publish %s to %s: %w", publish.Name(r), d, err)
		}
		for _, a := range r.Artifacts {
			result.Steps = append(result.Steps, fmt.Sprintf("write %s (%d bytes)", a.Name, a.Size))
		}
		result.Steps = append(result.Steps, "rename the finished folder to "+result.Where)
	}
	return result, nil
}

// Writable refuses a folder in which nothing can be made, and one that cannot be
// made, as far as that is known without writing.
func Writable(dir string) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			continue
		}
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err == nil {
			err = writable(at)
		}
		if err != nil {
			return &fs.PathError{Op: "write to", Path: at, Err: files.Cause(err)}
		}
		return nil
	}
}

// Remove takes a release away in one step for readers, or else says in the note
// that it took more. The folder of the provider goes too when it is empty. A
// missing release is not an error.
func (d *Folder) Remove(ctx context.Context, p layouts.Provider, version string) (note string, err error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("remove %s %s from %s: %w", p.Label(), version, d, err)
	}
	dir, err := releaseDir(p, version)
	if err != nil {
		return fail(err)
	}
	if found, err := d.has(p.Label(), version); err != nil {
		return fail(err)
	} else if !found {
		return "", nil
	}
	disk, err := d.open(d.root)
	if err != nil {
		return fail(err)
	}
	defer disk.close()
	s, err := stage(ctx, disk, p.Label())
	if err != nil {
		return fail(err)
	}
	if err = disk.rename(dir, s.old()); errors.Is(err, syscall.EXDEV) {
		err = disk.removeAll(dir)
		note = fmt.Sprintf("%s was removed file by file, because %s", d.path(dir), fixed)
	}
	s.close(false)
	if err == nil {
		err = disk.sync(p.Label())
	}
	if err != nil {
		return fail(err)
	}
	_ = disk.rmdir(p.Label()) // stays if there is something in it
	return note, nil
}

// fixed is why a change takes more than one step: overlayfs does not rename the
// folders of a lower layer, such as those of a container image.
const fixed = "the file system cannot rename this folder"

// Sweep removes what publishers left that were killed.
func (d *Folder) Sweep() error {
	entries, err := os.ReadDir(d.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	disk, err := d.open(d.root)
	if err != nil {
		return err
	}
	defer disk.close()
	for _, e := range entries {
		if e.IsDir() {
			d.clean(disk, e.Name())
		}
	}
	return nil
}

// compare reports whether r is already published. The error is a
// *publish.ConflictError if its version is published with other content.
func (d *Folder) compare(ctx context.Context, r *repo.Release) (published bool, err error) {
	if found, err := d.has(r.Provider.Label(), r.Version); !found {
		return false, err
	}
	old, err := shelf{d, r.Provider}.Fetch(ctx, r.Version)
	if err != nil {
		return false, err
	}
	err = publish.Conflict(ctx, old, r)
	return err == nil, err
}

// has reports whether there is a folder of a release, as find does.
func (d *Folder) has(label, version string) (bool, error) {
	if found, err := d.find(".", label); !found {
		return false, err
	}
	return d.find(label, version)
}

// find reports whether dir holds a folder of that name. Anything else that
// occupies the name, here or where case does not count, is an error.
func (d *Folder) find(dir, name string) (found bool, err error) {
	entries, err := os.ReadDir(d.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		where := d.path(path.Join(dir, e.Name()))
		switch {
		case e.Name() == name && e.IsDir():
			found = true
		case e.Name() == name && e.Type()&fs.ModeSymlink != 0:
			return false, fmt.Errorf("%s is a symbolic link, and nothing is written through one; publish to its target", where)
		case e.Name() == name:
			return false, fmt.Errorf("%s is not a folder; move it away", where)
		case strings.EqualFold(e.Name(), name):
			return false, fmt.Errorf("%s exists, and its name differs from %s only by case; both cannot exist on macOS and Windows", where, name)
		}
	}
	return found, nil
}
