//go:build linux || darwin

package mirror

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The tests below start this test binary again as a mirror of its own, whose
// orders are in this variable.
const ordersVar = "CLUSTERCTL_REPO_TEST_MIRROR"

func TestMain(m *testing.M) {
	if orders := strings.Fields(os.Getenv(ordersVar)); len(orders) > 0 {
		if err := children[orders[0]](orders[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// children holds what a child process can do, by order. The first argument is
// the folder of the mirror.
var children = map[string]func(args []string) error{
	// die DIR STEP: kills itself at a step.
	"die": func(args []string) error {
		at, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		r := &recorder{at: at, fail: func() error {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal has arrived
		}}
		wants, opts, _, _ := scene(&testing.T{}, args[0], r, nil)
		_, err = Run(context.Background(), wants, opts)
		return err
	},
	// mirror DIR: mirrors.
	"mirror": func(args []string) error {
		wants, opts, _, _ := scene(&testing.T{}, args[0], nil, nil)
		fmt.Println("ready")
		_, err := Run(context.Background(), wants, opts)
		return err
	},
	// limited DIR BYTES: mirrors while no file may grow larger.
	"limited": func(args []string) error {
		limit, err := strconv.ParseUint(args[1], 10, 63)
		if err != nil {
			return err
		}
		signal.Ignore(syscall.SIGXFSZ) // then the write fails with EFBIG
		var rlimit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &rlimit); err != nil {
			return err
		}
		rlimit.Cur = limit
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &rlimit); err != nil {
			return err
		}
		wants, opts, _, _ := scene(&testing.T{}, args[0], nil, nil)
		if _, err = Run(context.Background(), wants, opts); !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("got %v, want EFBIG", err)
		}
		if !strings.Contains(err.Error(), args[0]) {
			return fmt.Errorf("%w does not tell where", err)
		}
		return nil
	},
}

func child(t *testing.T, orders ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), ordersVar+"="+strings.Join(orders, " "), "GORACE=atexit_sleep_ms=0")
	return cmd
}

func killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func TestKilledAtEveryStep(t *testing.T) {
	want, steps := flawless(t)
	for at, step := range steps {
		dir := memoryDir(t)
		if out, err := child(t, "die", dir, strconv.Itoa(at)).CombinedOutput(); !killed(err) {
			t.Fatalf("%s: the mirror lives: %v\n%s", step, err, out)
		}
		shared, own := twoPlaces()
		broken(t, dir, shared, own)
		completed(t, dir, want)
	}
}

func TestKilledAnywhere(t *testing.T) {
	const enough, most = 15, 60 // some children end before they are killed
	want, _ := flawless(t)
	kills, rounds := 0, 0
	for ; kills < enough && rounds < most; rounds++ {
		dir := memoryDir(t)
		for range 3 {
			cmd := child(t, "mirror", dir)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q %v", line, err)
			}
			time.Sleep(rand.N(15 * time.Millisecond))
			cmd.Process.Kill() // fails if it has ended
			if killed(cmd.Wait()) {
				kills++
			}
			shared, own := twoPlaces()
			whole(t, dir, shared, own)
		}
		completed(t, dir, want)
	}
	t.Logf("%d kills in %d rounds", kills, rounds)
	if kills < enough {
		t.Errorf("only %d kills: this test proves too little", kills)
	}
}

// A real system call fails, in the file that keeps downloads.
func TestFileTooLargeForTheDisk(t *testing.T) {
	want, _ := flawless(t)
	for _, limit := range []string{"0", "100", "1000", "30000"} {
		dir := memoryDir(t)
		if out, err := child(t, "limited", dir, limit).CombinedOutput(); err != nil {
			t.Errorf("limit %s: %v\n%s", limit, err, out)
		}
		shared, own := twoPlaces()
		broken(t, dir, shared, own)
		completed(t, dir, want)
	}
}
