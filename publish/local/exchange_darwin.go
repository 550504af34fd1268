package local

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// exchange needs a file system that can do it; APFS can.
func exchange(fromDir int, from string, toDir int, to string) error {
	err := unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_SWAP)
	if err == unix.EINVAL || err == unix.ENOTSUP || err == unix.ENOSYS {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}
