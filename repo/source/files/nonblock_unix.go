//go:build unix

package files

import "syscall"

// Nonblock makes opening a pipe return at once instead of waiting for a
// writer. It changes nothing for regular files and folders.
const Nonblock = syscall.O_NONBLOCK
