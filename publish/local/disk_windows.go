package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// lock opens the file so that nobody else can open it for reading or writing
// until the handle is closed; Windows does that when the process ends. Sharing
// only deletion lets the holder remove the folder around the file.
func lock(root *os.Root, name string, flag int) (io.Closer, error) {
	const sharingViolation = syscall.Errno(32)
	full := filepath.Join(root.Name(), filepath.FromSlash(name))
	wide, err := syscall.UTF16PtrFromString(full)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	create := uint32(syscall.OPEN_ALWAYS)
	if flag&os.O_EXCL != 0 {
		create = syscall.CREATE_NEW
	}
	h, err := syscall.CreateFile(wide, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_DELETE, nil, create, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		err = errLocked
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return os.NewFile(uintptr(h), full), nil
}

// sync does nothing: Windows has no call for folders, and NTFS keeps a journal
// of their changes.
func (d rootDisk) sync(string) error { return nil }

// writable is not known before something is written.
func writable(string) error { return nil }
