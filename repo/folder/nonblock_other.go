//go:build !unix

package folder

// nonblock is not needed where pipes are no files.
const nonblock = 0
