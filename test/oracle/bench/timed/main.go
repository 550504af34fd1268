// Timed runs a command and writes what it cost as JSON into a file:
//
//	timed FILE COMMAND [ARG...]
//
// It exists because the kernel counts the memory of the process that starts
// another one into the peak of that other one. This one needs next to nothing.
//
// It must not know which program it measures.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/test/oracle/bench/internal/cost"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file string, args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	state := cmd.ProcessState
	c := cost.Cost{Wall: wall, CPU: state.UserTime() + state.SystemTime(), Exit: state.ExitCode()}
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		c.RSS = int64(u.Maxrss)
		if runtime.GOOS == "linux" { // which counts in KiB
			c.RSS <<= 10
		}
	}
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
