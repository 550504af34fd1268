//go:build !unix

package files

// Nonblock is not needed where pipes are no files.
const Nonblock = 0
