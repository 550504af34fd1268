// Package session runs the commands of a page as its reader would: one block
// after the other in one shell, with the output that the page shows.
//
// It must not know which page it runs.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	// Language is the first word after the fence.
	Language string
	// Options are the words after it: exits=1 is the exit code that is expected,
	// needs=PROGRAM leaves the block out where the program is missing.
	Options map[string]string
	Text    string
	Line    int
}

var fence = regexp.MustCompile("(?ms)^( *)```([^\n]*)\n(.*?)^ *```$")

// Blocks returns the blocks of a page.
func Blocks(page string) (all []Block) {
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		info, text := strings.Fields(page[m[4]:m[5]]), page[m[6]:m[7]]
		if indent := page[m[2]:m[3]]; indent != "" {
			text = strings.ReplaceAll("\n"+text, "\n"+indent, "\n")[1:]
		}
		b := Block{Text: text, Line: 1 + strings.Count(page[:m[0]], "\n"), Options: map[string]string{}}
		if len(info) > 0 {
			b.Language = info[0]
			for _, o := range info[1:] {
				name, value, _ := strings.Cut(o, "=")
				b.Options[name] = value
			}
		}
		all = append(all, b)
	}
	return all
}

// Shell keeps folder and environment between blocks.
type Shell struct {
	dir, state string
	env        []string
}

// NewShell begins in dir, with more in the environment.
func NewShell(dir, state string, env ...string) (*Shell, error) {
	s := &Shell{dir: dir, state: state, env: append(os.Environ(), env...)}
	return s, errors.Join(os.WriteFile(filepath.Join(state, "dir"), []byte(dir), 0o600), os.WriteFile(filepath.Join(state, "env"), nil, 0o600))
}

// Run runs a block. It returns everything that was printed, and an error if the
// exit code is another one than the block expects.
func (s *Shell) Run(ctx context.Context, b Block) (string, error) {
	script := fmt.Sprintf("cd \"$(cat %[1]q/dir)\"\n. %[1]q/env\ntrap 'code=$?; pwd > %[1]q/dir; export -p > %[1]q/env; exit $code' EXIT\n%s", s.state, b.Text)
	cmd := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		return "", err
	}
	if want := cmp.Or(b.Options["exits"], "0"); fmt.Sprint(code) != want {
		return string(out), fmt.Errorf("line %d: exit code %d, want %s\n%s\n%s", b.Line, code, want, b.Text, out)
	}
	return string(out), nil
}

// Page runs all blocks of the language sh in order; every line of a text block
// must be in what the block before it printed. ran is the number of blocks.
func (s *Shell) Page(ctx context.Context, page string, have func(program string) bool) (ran int, err error) {
	output, left := "", false
	for _, b := range Blocks(page) {
		switch b.Language {
		case "sh":
			program, needs := b.Options["needs"]
			if left = needs && !have(program); left {
				continue
			}
			if output, err = s.Run(ctx, b); err != nil {
				return ran, err
			}
			ran++
		case "text":
			for line := range strings.Lines(b.Text) {
				if line = strings.TrimRight(line, "\n"); !left && !strings.Contains(output, line) {
					return ran, fmt.Errorf("line %d: the page shows %q, the command printed\n%s", b.Line, line, output)
				}
			}
		default:
			return ran, fmt.Errorf("line %d: a block of %q is not run", b.Line, b.Language)
		}
	}
	return ran, nil
}
