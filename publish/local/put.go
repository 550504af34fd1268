package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
)

// Put publishes a release. It refuses to write through a label or version that
// is a symbolic link, and next to a name that differs only by case (see find). If
// r has a checksum file, that must be true.
func (d *Folder) Put(ctx context.Context, r *repo.Release) (publish.Result, error) {
	return d.put(ctx, r, "publish", false)
}

// Replace is Put for a build folder: a version that is there with other content
// is exchanged with the new one, so that a reader sees the old files or the new
// ones, and nothing waits for the disk. Where folders cannot be exchanged, the
// version is away for a moment. After a power cut the folder has to be built again.
func (d *Folder) Replace(ctx context.Context, r *repo.Release) (publish.Result, error) {
	return d.put(ctx, r, "write", true)
}

// put does what Put and Replace promise. What can be refused without writing is
// refused before the disk is opened; publish does the rest.
func (d *Folder) put(ctx context.Context, r *repo.Release, verb string, replace bool) (result publish.Result, err error) {
	if err := publish.Check(r); err != nil {
		return result, err
	}
	defer func() {
		if _, conflict := errors.AsType[*publish.ConflictError](err); err != nil && !conflict {
			err = fmt.Errorf("%s %s to %s: %w", verb, publish.Name(r), d, err)
		}
	}()
	dir, err := releaseDir(r.Provider, r.Version)
	if err != nil {
		return result, err
	}
	published, err := d.compare(ctx, r)
	_, conflict := errors.AsType[*publish.ConflictError](err)
	if err != nil && !(conflict && replace) {
		return result, err
	}
	disk, err := d.open(d.root)
	if err != nil {
		return result, err
	}
	defer disk.close()
	if replace {
		disk = volatile{disk}
	}
	d.clean(disk, r.Provider.Label())
	if !published {
		published, err = d.publish(ctx, disk, dir, r, conflict)
	}
	if err == nil && published {
		err = disk.sync(path.Dir(dir)) // who published it may have died before this
	}
	if err != nil {
		return result, err
	}
	return publish.Result{Where: d.path(dir), Unchanged: published}, nil
}

// publish writes r beside its place, reads it back, and switches. After a conflict,
// what is there makes room. Like compare, it reports whether r is published already,
// because another publisher was first.
func (d *Folder) publish(
	ctx context.Context, disk disk, dir string, r *repo.Release, conflict bool,
) (published bool, err error) {
	s, err := stage(ctx, disk, path.Dir(dir))
	if err != nil {
		return false, err
	}
	defer func() { s.close(err != nil) }()
	sums, stamps, err := d.writeAndReadBack(ctx, s, r)
	if err != nil {
		return false, err
	}
	exchanged := false
	if conflict {
		if exchanged, err = d.exchangeOrMoveAway(s, dir); err != nil {
			return false, err
		}
	}
	if !exchanged {
		defer func() {
			if err != nil && conflict {
				disk.rename(s.old(), dir) // fails if something else is there by now
			}
		}()
		if published, err = d.moveIn(ctx, s, dir, r); err != nil || published {
			return published, err
		}
	}
	return false, d.confirm(ctx, disk, dir, r, sums, stamps)
}

// writeAndReadBack stages r. The files on the disk are what was read from r, and
// if one of them holds checksums, these are true.
func (d *Folder) writeAndReadBack(
	ctx context.Context, s *staging, r *repo.Release,
) (sums map[string]repo.Sum, stamps []fs.FileInfo, err error) {
	if sums, err = s.write(ctx, r); err != nil {
		return nil, nil, err
	}
	stamps = stampsOf(d.path(s.release()))
	staged, err := d.verify(ctx, s.release(), r, sums)
	if err == nil && staged.Artifact(layouts.ChecksumFile) != nil {
		err = repo.VerifyChecksums(ctx, staged)
	}
	return sums, stamps, err
}

// exchangeOrMoveAway swaps a version with the staged one in one step. Where that
// cannot be done, the version makes room, unless it has gone already. It stays where its
// folder cannot be renamed: whoever removed it first could be stopped before the new one is there.
func (d *Folder) exchangeOrMoveAway(s *staging, dir string) (exchanged bool, err error) {
	switch err := s.disk.exchange(s.release(), dir); {
	case err == nil:
		return true, nil
	case !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EXDEV):
		return false, err
	}
	switch err := s.disk.rename(dir, s.old()); {
	case errors.Is(err, syscall.EXDEV):
		return false, fmt.Errorf("%s cannot be replaced, because %s; remove it and run the command again", d.path(dir), fixed)
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	return false, nil
}

// moveIn renames the staged release to its place, over nothing that is published:
// renaming a folder onto another one fails unless that is empty, on every
// platform. If it fails, the result depends on what is there now, not on the error
// of the file system: published says that another publisher put the same release there.
func (d *Folder) moveIn(ctx context.Context, s *staging, dir string, r *repo.Release) (published bool, err error) {
	err = s.disk.rename(s.release(), dir)
	if err == nil {
		return false, nil
	}
	published, compareErr := d.compare(ctx, r)
	if _, conflict := errors.AsType[*publish.ConflictError](compareErr); published || conflict {
		return published, compareErr
	}
	return false, err
}

// confirm makes durable that the release is in its place. It is read there only
// if it changed after it was moved.
func (d *Folder) confirm(
	ctx context.Context, disk disk, dir string, r *repo.Release, sums map[string]repo.Sum, stamps []fs.FileInfo,
) error {
	err := disk.sync(path.Dir(dir))
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && !same(stamps, d.path(dir)) {
		_, err = d.verify(ctx, dir, r, sums)
	}
	if err == nil {
		d.read.Store(d.path(dir), stamps)
	}
	return err
}

// verify reads a release back and compares it with what was written.
func (d *Folder) verify(ctx context.Context, dir string, r *repo.Release, sums map[string]repo.Sum) (*repo.Release, error) {
	got, err := folder.OpenRelease(ctx, d.root, dir, r.Provider, r.Version)
	if err != nil {
		return nil, err
	}
	if len(got.Artifacts) != len(sums) {
		return nil, fmt.Errorf("read back %s: it holds %d files, but %d were written; something else changes the folder", got.Path, len(got.Artifacts), len(sums))
	}
	for _, a := range got.Artifacts {
		sum, err := a.Sum(ctx)
		if err != nil {
			return nil, err
		}
		if sum != sums[a.Name] {
			return nil, fmt.Errorf("read back %s: it is not what was written; something else changes the folder", a.Path)
		}
	}
	return got, nil
}

// stampsOf returns what tells the files of a folder from others, and from what they
// were before something wrote to them; nil if that cannot be told.
func stampsOf(dir string) (out []fs.FileInfo) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil
		}
		out = append(out, info)
	}
	return out
}

// same reports whether a folder holds the very files that have the stamps.
func same(stamps []fs.FileInfo, dir string) bool {
	return stamps != nil && slices.EqualFunc(stamps, stampsOf(dir), func(a, b fs.FileInfo) bool {
		return os.SameFile(a, b) && a.Name() == b.Name() && a.Mode() == b.Mode() && a.Size() == b.Size() &&
			a.ModTime().Equal(b.ModTime())
	})
}
