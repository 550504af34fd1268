//go:build !unix

package cli

import "testing"

func newFIFO(*testing.T, string) (string, bool) { return "", false }
