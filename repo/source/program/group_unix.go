//go:build unix

package program

import (
	"os/exec"
	"syscall"
)

// together makes a command stop together with all that it started: asked first,
// when its context is done, and by the returned function without mercy.
func together(cmd *exec.Cmd) (kill func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	signal := func(s syscall.Signal) error {
		if cmd.Process == nil {
			return nil
		}
		return syscall.Kill(-cmd.Process.Pid, s)
	}
	cmd.Cancel = func() error { return signal(syscall.SIGTERM) }
	return func() { _ = signal(syscall.SIGKILL) }
}
