//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func lock(root *os.Root, name string, flag int) (io.Closer, error) {
	// A pipe planted under this name must not make the caller wait.
	f, err := root.OpenFile(name, flag|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return nil, err
	}
	if err := hold(root, name, f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

// hold takes the lock on a file that was opened under a name. It uses flock,
// which the kernel drops when the process ends in whatever way.
func hold(root *os.Root, name string, f *os.File) error {
	err := error(syscall.EINTR)
	for err == syscall.EINTR {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	switch err {
	case nil:
	case syscall.EWOULDBLOCK:
		return errLocked
	case syscall.ENOLCK: // NFS without its lock service
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	default:
		return err
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	// Whoever had the lock before may have removed the file.
	if there, err := root.Lstat(name); err != nil || !os.SameFile(mine, there) {
		return errLocked
	}
	return nil
}

// writable asks the system whether this process may make files in a folder.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

func (d rootDisk) sync(dir string) error {
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	// Some file systems have nothing to sync for a folder and say so.
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
