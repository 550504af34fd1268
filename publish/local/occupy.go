package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// OccupiedFile is there while a run works in a folder.
const OccupiedFile = layouts.WorkPrefix + "lock"

// Occupy keeps others who call it out of a folder, which it makes if necessary,
// until the result is closed or the process ends. The error says so if another
// run is in it, or if the lock cannot be had; it calls the folder by name. Where the
// file system has no locks, every run is refused: a file that stands for a lock would
// outlast a killed run, or, with a deadline, end before a slow one. Where it is
// read-only, every run gets in.
func Occupy(dir, name string) (io.Closer, error) {
	o := &occupancy{dir: dir}
	err := o.enter()
	// The run that is in the folder may remove it between two steps.
	for tries := 0; errors.Is(err, fs.ErrNotExist) && tries < 100; tries++ {
		err = o.enter()
	}
	switch {
	case err == nil:
		return o, nil
	case errors.Is(err, errOdd):
		return nil, fmt.Errorf("%s in %s is not a plain file; remove it", OccupiedFile, dir)
	case errors.Is(err, errors.ErrUnsupported):
		_ = o.Close() // nothing is locked
		return nil, fmt.Errorf("the file system of %s has no locks, so another run could work there at the same time and damage it; use a folder on a local disk, and copy the result (%w)", name, err)
	case errors.Is(err, errLocked):
		return nil, fmt.Errorf("another run is working in %s; start again when it has ended", name)
	}
	return nil, fmt.Errorf("lock %s: %w", name, err)
}

var errOdd = errors.New("not a plain file")

type occupancy struct {
	dir  string
	made bool
	root *os.Root
	lock io.Closer
}

// enter makes and locks the folder. That it cannot be made or opened is for the
// one who writes there to complain about.
func (o *occupancy) enter() error {
	if _, err := os.Lstat(o.dir); errors.Is(err, fs.ErrNotExist) {
		o.made = true
		if makeAll(o.dir) != nil {
			return nil
		}
	}
	root, err := os.OpenRoot(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		return nil
	}
	lock, err := lock(root, OccupiedFile, os.O_CREATE|os.O_WRONLY)
	if err == nil {
		o.root, o.lock = root, lock
		return nil
	}
	info, statErr := root.Lstat(OccupiedFile)
	if errors.Is(err, errors.ErrUnsupported) {
		_ = root.Remove(OccupiedFile) // without locks it keeps no other run out
	}
	root.Close()
	switch {
	case errors.Is(err, syscall.EROFS):
		return nil // nothing can be written
	case statErr == nil && !info.Mode().IsRegular():
		return errOdd
	}
	return err
}

// Close lets others in. A folder that was made needlessly goes away.
func (o *occupancy) Close() error {
	var err error
	if o.lock != nil {
		err = errors.Join(o.root.Remove(OccupiedFile), o.lock.Close(), o.root.Close())
	}
	if o.made {
		os.Remove(o.dir) // stays if there is something in it
	}
	return err
}
