package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
)

// staging is the hidden folder in which one publisher prepares a release. It
// holds a lock file, which tells the others that its owner lives, and the
// release.
type staging struct {
	disk       disk
	label, dir string
	newLabel   bool
	lock       io.Closer
}

func lockFile(dir string) string { return path.Join(dir, "lock") }

func (s *staging) release() string { return path.Join(s.dir, "release") }

// old is where a version goes that is replaced.
func (s *staging) old() string { return path.Join(s.dir, "old") }

// stage makes a staging folder, and the label folder if there is none.
func stage(ctx context.Context, disk disk, label string) (s *staging, err error) {
	s = &staging{disk: disk, label: label}
	defer func() {
		if err != nil {
			s.close(true)
		}
	}()
	for ctx.Err() == nil {
		if err := disk.mkdir(label); !errors.Is(err, fs.ErrExist) {
			s.newLabel = true
			if err == nil {
				err = disk.sync(".")
			}
			if err != nil {
				return s, err
			}
		}
		s.dir = path.Join(label, layouts.WorkPrefix+rand.Text())
		if err := disk.mkdir(s.dir); errors.Is(err, fs.ErrNotExist) {
			continue // a publisher that failed took its label away
		} else if err != nil {
			return s, err
		}
		s.lock, err = disk.lock(lockFile(s.dir), os.O_EXCL)
		switch {
		case errors.Is(err, errLocked), errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
			continue // taken for stale between these two steps
		case errors.Is(err, errors.ErrUnsupported):
			// Then nobody can take it for stale.
		case err != nil:
			return s, err
		}
		return s, disk.mkdir(s.release())
	}
	return s, context.Cause(ctx)
}

// write stores the files of r durably and returns their checksums by name.
func (s *staging) write(ctx context.Context, r *repo.Release) (map[string]repo.Sum, error) {
	sums := make(map[string]repo.Sum, len(r.Artifacts))
	for _, a := range r.Artifacts {
		err := s.disk.write(path.Join(s.release(), a.Name), func(w io.Writer) (err error) {
			sums[a.Name], err = a.Copy(ctx, w)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return sums, s.disk.sync(s.release())
}

// close removes the staging folder, and after a failure also a label folder
// that was made for it. What cannot be removed is invisible to clusterctl and
// left for the next publisher.
func (s *staging) close(failed bool) {
	if s.lock != nil {
		s.lock.Close()
	}
	if s.dir != "" {
		s.disk.removeAll(s.dir)
	}
	if failed && s.newLabel {
		s.disk.rmdir(s.label)
	}
}

// clean removes the staging folders of publishers that died: those whose lock
// is free. It holds the lock meanwhile, so that an owner who is just about to
// take it notices. What cannot be removed does not hinder publishing.
func (d *Folder) clean(disk disk, label string) {
	entries, err := os.ReadDir(d.path(label))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), layouts.WorkPrefix) {
			continue
		}
		dir := path.Join(label, e.Name())
		lock, err := disk.lock(lockFile(dir), 0)
		if err != nil {
			continue
		}
		disk.removeAll(dir)
		lock.Close()
	}
}

// errLocked says that the owner of a lock lives.
var errLocked = errors.New("locked by another publisher")

// disk is what publishing does to a file system, one method for each step that
// can fail. Names are relative to the destination, with slashes.
type disk interface {
	// mkdir makes one folder; the error wraps fs.ErrExist if it is there.
	mkdir(name string) error
	// lock opens or creates a file and locks it until it is closed or the
	// process ends. With os.O_EXCL it must not exist. The error wraps
	// errLocked if another process has it or has just removed it, and
	// errors.ErrUnsupported if there are no locks here.
	lock(name string, flag int) (io.Closer, error)
	// write makes a file with the given content, durably.
	write(name string, content func(io.Writer) error) error
	// sync makes the entries of a folder durable.
	sync(dir string) error
	rename(from, to string) error
	// exchange swaps two folders in one step. The error wraps
	// errors.ErrUnsupported if that cannot be done here.
	exchange(one, other string) error
	rmdir(name string) error
	removeAll(name string) error
	close() error
}

// rootDisk is a disk that never leaves its folder.
type rootDisk struct{ root *os.Root }

// volatile is a disk that does not wait for anything to be durable.
type volatile struct{ disk }

func (v volatile) sync(string) error { return nil }

func (v volatile) write(name string, content func(io.Writer) error) error {
	if d, ok := v.disk.(rootDisk); ok {
		return d.create(name, content, false)
	}
	return v.disk.write(name, content)
}

// openDisk opens the folder dir and makes it if necessary.
func openDisk(dir string) (disk, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeAll(dir); err == nil {
			root, err = os.OpenRoot(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	return rootDisk{root}, nil
}

// makeAll makes a folder and those above it, durably.
func makeAll(dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err = makeAll(filepath.Dir(dir)); err == nil {
			parent, err = os.OpenRoot(filepath.Dir(dir))
		}
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return rootDisk{parent}.sync(".")
}

func (d rootDisk) mkdir(name string) error      { return d.root.Mkdir(name, 0o777) }
func (d rootDisk) rename(from, to string) error { return d.root.Rename(from, to) }
func (d rootDisk) rmdir(name string) error      { return d.root.Remove(name) }
func (d rootDisk) removeAll(name string) error  { return d.root.RemoveAll(name) }
func (d rootDisk) close() error                 { return d.root.Close() }

func (d rootDisk) exchange(one, other string) error {
	oneDir, err := d.root.Open(path.Dir(one))
	if err != nil {
		return err
	}
	defer oneDir.Close()
	otherDir, err := d.root.Open(path.Dir(other))
	if err != nil {
		return err
	}
	defer otherDir.Close()
	if err := exchange(int(oneDir.Fd()), path.Base(one), int(otherDir.Fd()), path.Base(other)); err != nil {
		return fmt.Errorf("exchange %s and %s: %w", one, other, err)
	}
	return nil
}

func (d rootDisk) lock(name string, flag int) (io.Closer, error) {
	return lock(d.root, name, os.O_RDWR|os.O_CREATE|flag)
}

func (d rootDisk) write(name string, content func(io.Writer) error) error {
	return d.create(name, content, true)
}

func (d rootDisk) create(name string, content func(io.Writer) error, durable bool) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	err = content(f)
	if err == nil && durable {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path.Base(name), err)
	}
	return nil
}
