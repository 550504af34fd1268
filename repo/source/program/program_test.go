//go:build unix

package program_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/program"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

func TestOutput(t *testing.T) {
	t.Setenv("SEEN", "yes")
	t.Setenv("HIDDEN", "yes")
	var talk strings.Builder
	p := program.Program{Args: []string{"sh", "-c", `echo "$SEEN,$HIDDEN,$ADDED"; echo talk >&2`}, Dir: t.TempDir(), Env: []string{"ADDED=more"}, Unset: []string{"HIDDEN"}, Stderr: &talk}
	out, err := p.Output(t.Context())
	if string(out) != "yes,,more\n" || talk.String() != "talk\n" || err != nil {
		t.Errorf("%q, %q, %v", out, talk.String(), err)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"failing":  {[]string{"sh", "-c", "exit 3"}, "exit status 3"},
		"missing":  {[]string{"no-such-program-here"}, "executable file not found"},
		"empty":    {nil, "the command is empty"},
		"no name":  {[]string{""}, "the command is empty"},
		"too much": {[]string{"sh", "-c", "yes | head -c 80000000"}, "printed more than"},
	} {
		p := program.Program{Args: tc.args}
		if _, err := p.Output(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestStop ends a program in the middle: what it started must end as well.
func TestStop(t *testing.T) {
	read, write, err := os.Pipe()
	given.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stopped by the test")
	go func() {
		io.ReadFull(read, make([]byte, len("started\n")))
		cancel(why)
	}()
	// The child keeps standard output open, and is a process of its own.
	p := program.Program{Args: []string{"sh", "-c", `(echo started >&2; sleep 30; echo late >&2) & wait`}, Stderr: write}
	if _, err := p.Output(ctx); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	write.Close()
	if late, err := io.ReadAll(read); len(late) > 0 || err != nil { // it ends when the child has
		t.Errorf("the child was not stopped: %q, %v", late, err)
	}
}
