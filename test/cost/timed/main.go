// Timed runs a command and writes what it cost as JSON into a file:
//
//	timed FILE COMMAND [ARG...]
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
	var peak int64
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		peak = int64(u.Maxrss)
		if runtime.GOOS == "linux" { // which counts in KiB
			peak <<= 10
		}
	}
	data, err := json.Marshal(map[string]any{"Wall": wall, "CPU": state.UserTime() + state.SystemTime(), "RSS": peak, "Exit": state.ExitCode()})
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
