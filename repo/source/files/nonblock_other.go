//go:build !unix

package files

// Nonblock is not needed where pipes are not files.
const Nonblock = 0
