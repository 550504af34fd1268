// Package program runs other programs: those that a configuration lists, and
// git. When the context ends, a program stops together with all that it
// started, and what it prints is bounded. It must not know what the programs
// are for; no other package starts any.
package program

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/files"
)

// ErrNotFound is the error for a program that is not installed.
var ErrNotFound = exec.ErrNotFound

// patience is how long a program may take to stop when it is asked to.
const patience = 5 * time.Second

// Program is a program to run. It inherits the environment of the process and
// reads nothing from standard input.
type Program struct {
	// Args are the name of the program, looked for on the PATH, and its arguments.
	Args []string
	// Dir is the folder to run in.
	Dir string
	// Env are additions to the environment, as NAME=VALUE.
	Env []string
	// Unset are names of variables that the program must not see.
	Unset []string
	// Stdout and Stderr get what the program prints; nil throws it away.
	Stdout, Stderr io.Writer
}

// Run runs the program to its end. The error is the cause of the context if that
// ended first.
func (p *Program) Run(ctx context.Context) error {
	if len(p.Args) == 0 || p.Args[0] == "" {
		return errors.New("the command is empty")
	}
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = p.Dir, p.Stdout, p.Stderr, patience
	cmd.Env = append(slices.DeleteFunc(cmd.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(p.Unset, name)
	}), p.Env...)
	kill := together(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		kill()
		return context.Cause(ctx)
	}
	return err
}

// Output runs the program and returns its standard output. It fails for more
// than files.MaxSize.
func (p *Program) Output(ctx context.Context) ([]byte, error) {
	var out limited
	with := *p
	with.Stdout = &out
	err := with.Run(ctx)
	return out.buf.Bytes(), cmp.Or(out.err, err)
}

// limited keeps what a program prints, up to what a file may have.
type limited struct {
	buf bytes.Buffer
	err error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.buf.Len()+len(p) > files.MaxSize {
		l.err = fmt.Errorf("the command printed more than %d bytes, the limit for a file", files.MaxSize)
		return 0, l.err
	}
	return l.buf.Write(p)
}
