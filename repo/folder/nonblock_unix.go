//go:build unix

package folder

import "syscall"

// nonblock makes opening a pipe return at once instead of waiting for a
// writer. It changes nothing for regular files and folders.
const nonblock = syscall.O_NONBLOCK
