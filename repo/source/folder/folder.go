package folder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

type reader struct {
	ctx context.Context
	// root is the repository, which no link may leave, and base its path.
	root *os.Root
	base string
	// dir leads from there to the folder, with slashes; "." if that is the root.
	dir string
	// path is the folder as the user typed it.
	path string
}

// newReader opens the folder dir below base, which nothing is read outside of;
// shown is its path for messages. The caller closes it; artifacts open the base
// again when they need it.
func newReader(ctx context.Context, base, dir, shown string) (*reader, error) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, cause(err))
	}
	return &reader{ctx, root, base, dir, shown}, nil
}

// at leads from the repository to a name below the folder.
func (r *reader) at(name string) string { return path.Join(r.dir, name) }

// opener returns a function that opens the file of a name below the folder.
func (r *reader) opener(name string) func() (io.ReadCloser, error) {
	return opener(r.base, r.at(name), r.join(name))
}

func (r *reader) close() { r.root.Close() }

// join returns the path of a name below the folder for messages.
func (r *reader) join(name string) string { return filepath.Join(r.path, filepath.FromSlash(name)) }

// list returns the entries of a folder, sorted by name.
func (r *reader) list(dir string) ([]fs.DirEntry, error) {
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	f, err := r.root.OpenFile(r.at(dir), os.O_RDONLY|files.Nonblock, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.join(dir), cause(err))
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.join(dir), cause(err))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// stat follows links as far as they stay in the repository.
func (r *reader) stat(name string) (fs.FileInfo, error) {
	info, err := r.root.Stat(r.at(name))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", cause(err))
	}
	return info, nil
}

// isDir reports whether an entry is a folder, or a link to one in the repository.
func (r *reader) isDir(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := r.stat(path.Join(dir, e.Name()))
	return err == nil && info.IsDir()
}

// cause drops the words of the system call, which repeat the path.
func cause(err error) error {
	if err = files.Cause(err); err.Error() == "path escapes from parent" { // the only thing that os.Root says
		return errLeaves
	}
	return err
}

var errLeaves = errors.New("a symbolic link leads out of the repository, and such links are not followed")

// oddities collects what a folder holds next to the model.
type oddities struct {
	r    *reader
	list []repo.Oddity
}

func (o *oddities) add(kind repo.OddityKind, name, format string, args ...any) {
	o.list = append(o.list, repo.Oddity{Kind: kind, Path: o.r.join(name), Why: fmt.Sprintf(format, args...)})
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

const whyHidden = "is hidden, so it is not part of the repository"

const whySymlink = "is a symbolic link: clusterctl reads it when it is named, but lists real folders only, so it never becomes the latest version"

func (r *reader) repository() (*repo.Repository, error) {
	entries, err := r.list(".")
	if err != nil {
		return nil, err
	}
	out := &repo.Repository{Path: r.path}
	odd := oddities{r: r}
	cases := newCases(&odd)
	for _, e := range entries {
		name := e.Name()
		provider, labelErr := layouts.ParseLabel(name)
		switch {
		case hidden(name):
			odd.add(repo.OddHidden, name, whyHidden)
			continue
		case slices.Contains(layouts.RootFolders, name) && r.isDir(".", e):
			continue
		case e.Type()&fs.ModeSymlink != 0:
			// clusterctl follows a link here.
			if _, err := r.stat(name); err != nil {
				odd.add(repo.OddUnreadable, name, "%v", err)
				continue
			}
		}
		cases.check(name, name)
		switch {
		case name == layouts.ConfigFile && e.Type().IsRegular():
			info, err := r.stat(name)
			if err != nil {
				odd.add(repo.OddUnreadable, name, "%v", err)
				continue
			}
			out.Config = repo.NewArtifact(name, r.join(name), info.Size(), r.opener(name))
		case slices.Contains(layouts.RootFiles, name) && e.Type().IsRegular():
		case !r.isDir(".", e):
			odd.add(repo.OddEntry, name, "is not a folder, so it is not part of the repository")
		case labelErr == nil:
			p, err := r.provider(name, provider)
			if r.ctx.Err() != nil {
				return nil, context.Cause(r.ctx)
			}
			if err != nil {
				odd.add(repo.OddUnreadable, name, "cannot be read: %v", cause(err))
				continue
			}
			out.Providers = append(out.Providers, p)
		default:
			versions, err := r.versionsIn(name, name)
			switch {
			case versions != none:
				odd.add(repo.OddLabel, name, "holds releases, but %v", labelErr)
			case err != nil:
				odd.add(repo.OddUnreadable, name, "cannot be read: %v", cause(err))
			default:
				odd.add(repo.OddEntry, name, "holds no releases, and %v", labelErr)
			}
		}
	}
	slices.SortFunc(out.Providers, func(a, b *repo.Provider) int { return cmp.Compare(a.Label(), b.Label()) })
	out.Oddities = odd.list
	return out, nil
}

// provider reads all versions in the folder dir.
func (r *reader) provider(dir string, id layouts.Provider) (*repo.Provider, error) {
	entries, err := r.list(dir)
	if err != nil {
		return nil, err
	}
	out := &repo.Provider{Provider: id, Path: r.join(dir)}
	odd := oddities{r: r}
	cases := newCases(&odd)
	type versioned struct {
		layouts.Version
		*repo.Release
	}
	var found []versioned
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		version, versionErr := layouts.ParseVersion(e.Name())
		if hidden(e.Name()) {
			odd.add(repo.OddHidden, name, whyHidden)
			continue
		}
		cases.check(name, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			if _, err := r.stat(name); err != nil {
				odd.add(repo.OddUnreadable, name, "%v", err)
			} else if r.isDir(dir, e) {
				odd.add(repo.OddSymlink, name, whySymlink)
			} else {
				odd.add(repo.OddEntry, name, "is not a folder, so it is not a version")
			}
		case !e.IsDir():
			odd.add(repo.OddEntry, name, "is not a folder, so it is not a version")
		case versionErr == nil:
			release, err := r.release(name, id, e.Name())
			if r.ctx.Err() != nil {
				return nil, context.Cause(r.ctx)
			}
			if err != nil {
				odd.add(repo.OddUnreadable, name, "cannot be read: %v", cause(err))
				continue
			}
			found = append(found, versioned{version, release})
		default:
			holds, err := r.holdsRelease(name)
			switch {
			case holds:
				odd.add(repo.OddVersion, name, "holds a release, but clusterctl does not list it: %v", versionErr)
			case err != nil:
				odd.add(repo.OddUnreadable, name, "cannot be read: %v", cause(err))
			default:
				odd.add(repo.OddEntry, name, "holds no release, and %v", versionErr)
			}
		}
	}
	// Entries come sorted by name, which decides between equal versions.
	slices.SortStableFunc(found, func(a, b versioned) int { return a.Compare(b.Version) })
	out.Releases = phrase.List(found, func(v versioned) *repo.Release { return v.Release })
	out.Oddities = odd.list
	return out, nil
}

// release lists the files in the folder dir.
func (r *reader) release(dir string, id layouts.Provider, version string) (*repo.Release, error) {
	entries, err := r.list(dir)
	if err != nil {
		return nil, err
	}
	// Each name is looked at from the folder, which spares the way there.
	here, err := r.root.OpenRoot(r.at(dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.join(dir), cause(err))
	}
	defer here.Close()
	out := &repo.Release{Provider: id, Version: version, Path: r.join(dir)}
	odd := oddities{r: r}
	cases := newCases(&odd)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if hidden(e.Name()) {
			odd.add(repo.OddHidden, name, whyHidden)
			continue
		}
		cases.check(name, e.Name())
		info, err := here.Lstat(e.Name())
		if err != nil || !info.Mode().IsRegular() {
			info, err = r.stat(name)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			odd.add(repo.OddBroken, name, "%v", err)
		case err != nil:
			odd.add(repo.OddUnreadable, name, "%v", err)
		case info.IsDir():
			odd.add(repo.OddSubfolder, name, "is a folder, and clusterctl reads only the files next to the components")
		case !info.Mode().IsRegular():
			odd.add(repo.OddSpecial, name, "is a device, pipe or socket, not a file")
		default:
			a := repo.NewArtifact(e.Name(), r.join(name), info.Size(), r.opener(name))
			a.Link = e.Type()&fs.ModeSymlink != 0
			out.Artifacts = append(out.Artifacts, a)
		}
	}
	out.Oddities = odd.list
	// A file that cannot be read is reported by what reads it next.
	_ = out.Identify()
	return out, nil
}

// opener returns a function that opens a file below base. It keeps no handle
// in between, so that a repository needs no closing.
func opener(base, name, shown string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		fail := func(err error) (io.ReadCloser, error) {
			return nil, fmt.Errorf("%s: cannot be read: %w", shown, cause(err))
		}
		root, err := os.OpenRoot(base)
		if err != nil {
			return fail(err)
		}
		defer root.Close()
		f, err := root.OpenFile(name, os.O_RDONLY|files.Nonblock, 0)
		if err != nil {
			return fail(err)
		}
		info, err := f.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = errors.New("it is no longer a regular file")
		}
		if err != nil {
			f.Close()
			return fail(err)
		}
		return f, nil
	}
}

// holdsRelease reports whether a folder has a file that only releases have.
func (r *reader) holdsRelease(dir string) (bool, error) {
	entries, err := r.list(dir)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		kind := layouts.KindOfFile(e.Name())
		return (kind == layouts.Metadata || kind == layouts.Components) && !e.IsDir()
	}), err
}

// cases finds names that differ only by case.
type cases struct {
	odd  *oddities
	seen map[string]string
}

func newCases(odd *oddities) *cases { return &cases{odd, map[string]string{}} }

func (c *cases) check(path, name string) {
	key := strings.ToLower(name)
	if other, clash := c.seen[key]; clash {
		c.odd.add(repo.OddCase, path, "differs from %s only by case, so both cannot exist on macOS and Windows", other)
		return
	}
	c.seen[key] = name
}
