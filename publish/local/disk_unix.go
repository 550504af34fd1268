//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lock uses flock, which the kernel drops when the process ends in whatever
// way.
func lock(root *os.Root, name string, flag int) (io.Closer, error) {
	// A pipe planted under this name must not make the caller wait.
	f, err := root.OpenFile(name, flag|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	if err == nil {
		// Whoever had the lock before may have removed the file.
		var mine, there os.FileInfo
		if mine, err = f.Stat(); err == nil {
			if there, err = root.Lstat(name); err != nil || !os.SameFile(mine, there) {
				err = errLocked
			}
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}

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
