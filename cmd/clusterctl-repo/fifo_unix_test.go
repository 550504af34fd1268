//go:build unix

package main

import (
	"syscall"
	"testing"
)

// newFIFO makes a pipe with a name that has no reader.
func newFIFO(t *testing.T, name string) (string, bool) {
	t.Helper()
	return name, syscall.Mkfifo(name, 0o600) == nil
}
