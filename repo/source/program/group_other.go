//go:build !unix

package program

import "os/exec"

// together does nothing where processes have no groups: the context kills the
// command itself.
func together(*exec.Cmd) (kill func()) { return func() {} }
