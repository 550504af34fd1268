package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// holdFile is there while somebody works in a folder.
const holdFile = stagingPrefix + "lock"

// Hold keeps others who call it out of a folder, which it makes if necessary,
// until the result is closed or the process ends. The error says so if somebody
// is in it, or if the lock cannot be had. Where the file system knows no locks
// or is read-only, everybody gets in.
func Hold(dir string) (io.Closer, error) {
	_, err := os.Lstat(dir)
	h := &held{dir: dir, made: errors.Is(err, fs.ErrNotExist)}
	if h.made {
		if err := makeAll(dir); err != nil {
			return h, nil
		}
	}
	if h.root, err = os.OpenRoot(dir); err != nil {
		h.root = nil
		return h, nil
	}
	if h.lock, err = lock(h.root, holdFile, os.O_CREATE|os.O_WRONLY); err != nil {
		h.lock = nil
	}
	switch {
	case err == nil, errors.Is(err, errors.ErrUnsupported), readOnly(err):
		return h, nil // where nothing can be locked or written
	case h.odd():
		err = fmt.Errorf("%s in %s is not a plain file; remove it", holdFile, dir)
	case errors.Is(err, errLocked):
		err = fmt.Errorf("another run works in %s; start again when it has ended", dir)
	default:
		err = fmt.Errorf("lock %s: %w", dir, err)
	}
	h.root.Close()
	return nil, err
}

func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// odd reports whether something else lies in the place of the lock file.
func (h *held) odd() bool {
	info, err := h.root.Lstat(holdFile)
	return err == nil && !info.Mode().IsRegular()
}

type held struct {
	dir  string
	made bool
	root *os.Root
	lock io.Closer
}

// Close lets others in. A folder that was made in vain goes away.
func (h *held) Close() error {
	var err error
	if h.lock != nil {
		err = errors.Join(h.root.Remove(holdFile), h.lock.Close())
	}
	if h.root != nil {
		err = errors.Join(err, h.root.Close())
	}
	if h.made {
		os.Remove(h.dir) // stays if there is something in it
	}
	return err
}
