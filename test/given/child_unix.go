//go:build linux || darwin

package given

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// orders is the variable with the orders for a test binary that was started again.
const orders = "CLUSTERCTL_REPO_TEST_ORDERS"

// Main is TestMain of tests that start their binary again: as a child it does what
// the first word of its orders stands for, with the rest as arguments.
func Main(m *testing.M, children map[string]func(args []string) error) {
	words := strings.Fields(os.Getenv(orders))
	if len(words) == 0 {
		os.Exit(m.Run())
	}
	if err := children[words[0]](words[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Child is this test binary with orders; see Main.
func Child(tb testing.TB, words ...string) *exec.Cmd {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(self)
	// The race detector else waits a second before each exit.
	cmd.Env = append(os.Environ(), orders+"="+strings.Join(words, " "), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// Killed reports whether a process ended by Kill.
func Killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Kill ends this process with SIGKILL, so that nothing is cleaned up.
func Kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // until the signal has arrived
}

// LimitFiles lets writes fail with EFBIG beyond a size in bytes.
func LimitFiles(size string) error {
	limit, err := strconv.ParseUint(size, 10, 63)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	var rlimit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &rlimit); err != nil {
		return err
	}
	rlimit.Cur = limit
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &rlimit)
}
