package local

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// exchange needs a file system that can do it; ext4, XFS, Btrfs and tmpfs can.
func exchange(fromDir int, from string, toDir int, to string) error {
	err := unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_EXCHANGE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}
