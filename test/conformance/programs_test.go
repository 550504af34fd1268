package conformance

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program is a program with an environment of its own.
type program struct {
	path string
	env  []string
}

// missing skips a test that misses a program, unless all have to be there.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CONFORMANCE") == "complete" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// find returns the program of that name, or skips the test.
func find(t testing.TB, name, from string, env ...string) program {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, "no "+name+"; "+from)
	}
	home := t.TempDir()
	return program{path: path, env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "config")}, env...)}
}

// with returns the program with more in its environment.
func (p program) with(env ...string) program {
	return program{path: p.path, env: append(append([]string{}, p.env...), env...)}
}

// command prepares a run that ends with ctx.
func (p program) command(ctx context.Context, t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Env = p.env
	cmd.Dir = t.TempDir()
	return cmd
}

// output starts the program and returns what it prints and what it says.
func (p program) output(t testing.TB, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := p.command(ctx, t, args...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err = cmd.Run()
	if strings.Contains(out.String()+talk.String(), secret) {
		t.Errorf("%s shows the token", filepath.Base(p.path))
	}
	return out.String(), talk.String(), err
}

// run is output for both channels in one.
func (p program) run(t testing.TB, args ...string) (string, error) {
	t.Helper()
	out, talk, err := p.output(t, args...)
	return out + talk, err
}

// must is run for what has to succeed.
func (p program) must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := p.run(t, args...)
	if err != nil {
		t.Fatalf("%s %.200q: %v\n%s", filepath.Base(p.path), args, err, out)
	}
	return out
}

// exits is run for what has to end with that code.
func (p program) exits(t testing.TB, code int, args ...string) string {
	t.Helper()
	out, err := p.run(t, args...)
	got := 0
	if err != nil {
		got = -1
		if exit, ok := err.(*exec.ExitError); ok {
			got = exit.ExitCode()
		}
	}
	if got != code {
		t.Fatalf("%s %.200q: exit code %d, want %d: %v\n%s", filepath.Base(p.path), args, got, code, err, out)
	}
	return out
}
