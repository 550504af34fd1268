package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// soon tells a run that ends after an interrupt from one that goes on. The goal is
// 200 ms, which the log shows; a machine that does something else, or whose disk
// waits, gets more.
const soon = 30 * time.Second

// safeBuffer is written by a run that may outlast the test.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// stopped runs the program, interrupts it after a time, and returns what it
// printed, and how long it then took. What is left of the run ends before stopped
// returns: it would share the streams of the process with the next one.
func stopped(t *testing.T, after time.Duration, in io.Reader, args ...string) (code int, out, errs string, took time.Duration) {
	t.Helper()
	dir := given.Value(os.Getwd())(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr safeBuffer
	var at time.Time
	time.AfterFunc(after, func() { at = time.Now(); cancel() })
	ended := make(chan struct{})
	code = program.Main(ctx, args, cli.IO{In: in, Out: &stdout, Err: &stderr, LookupEnv: func(string) (string, bool) { return "", false }, Dir: dir, Ended: func() { close(ended) }})
	if ctx.Err() != nil {
		took = time.Since(at)
	}
	if c, ok := in.(io.Closer); ok {
		c.Close()
	}
	for {
		select {
		case <-ended:
			return code, stdout.String(), stderr.String(), took
		case <-time.After(10 * time.Millisecond):
			// What opens or reads a pipe goes on when the other end comes and goes.
			files, _ := os.ReadDir(".")
			for _, e := range files {
				if e.Type() != fs.ModeNamedPipe {
					continue
				}
				if f, err := os.OpenFile(e.Name(), os.O_RDWR, 0); err == nil {
					f.Close()
				}
			}
		}
	}
}

func TestInterruptWhileWaiting(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, args := range map[string][]string{
		"standard input": {"move-plan", "-"},
		"FIFO":           {"rules", "-o", "json=FIFO"},
		"FIFO key":       {"lint", ".", "--verify-key", "FIFO"},
		"FIFO dump":      {"move-plan", "FIFO"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "FIFO") {
				// One for each, since what was left may still wait at its end.
				pipe, ok := newFIFO(t, strings.ReplaceAll(name, " ", "-"))
				if !ok {
					t.Skip("no FIFOs here")
				}
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "FIFO", pipe)
				}
			}
			endless, w := io.Pipe()
			defer w.Close()
			code, out, errs, took := stopped(t, 100*time.Millisecond, endless, args...)
			if code != cli.ExitFailed || !strings.Contains(errs, "error: interrupted") || out != "" || took > soon {
				t.Errorf("exit code %d after %s\n%s%s", code, took, out, errs)
			}
			t.Logf("ended %s after the interrupt", took)
		})
	}
}

// TestInterruptAtAnyMoment interrupts lint at random moments: either the reports
// are whole, or it says that it was interrupted, and which file it wrote.
func TestInterruptAtAnyMoment(t *testing.T) {
	tree := given.Value(filepath.Abs("../../examples/cluster-api-provider-acme"))(t)
	t.Chdir(t.TempDir())
	random := rand.New(rand.NewPCG(1, 1))
	worst := time.Duration(0)
	for i := range share.Of(5, 50) {
		file := fmt.Sprintf("report%d.json", i)
		after := time.Duration(random.Int64N(int64(400 * time.Millisecond)))
		code, out, errs, took := stopped(t, after, strings.NewReader(""), "lint", tree, "-o", "text", "-o", "json="+file, "--fail-on", "never", "--cache=off")
		data, readErr := os.ReadFile(file)
		var doc any
		switch {
		case readErr == nil && json.Unmarshal(data, &doc) != nil:
			t.Errorf("after %s: half a report: %s", after, data)
		case code == cli.ExitOK && (readErr != nil || !strings.Contains(out, " of 1 release")):
			t.Errorf("after %s: exit code 0 without a report: %s%s", after, out, errs)
		case code == cli.ExitFailed && !strings.Contains(errs, "error: interrupted"):
			t.Errorf("after %s: %s", after, errs)
		case code == cli.ExitFailed && readErr == nil && !strings.Contains(errs, "already written: "+file):
			t.Errorf("after %s: the report is there, but: %s", after, errs)
		case code != cli.ExitOK && code != cli.ExitFailed:
			t.Errorf("after %s: exit code %d: %s%s", after, code, out, errs)
		}
		if took > soon {
			t.Errorf("interrupted after %s, it took %s more", after, took)
		}
		worst = max(worst, took)
	}
	t.Logf("at most %s after the interrupt", worst)
}
