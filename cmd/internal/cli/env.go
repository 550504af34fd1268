// Package cli connects verbs to the world, and is the only place that prints: streams,
// files, outputs, findings, exit codes, interrupts and servers. It must not know any
// verb.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/publish/transport"
)

const (
	ExitOK       = 0
	ExitFindings = 1 // findings at or above --fail-on
	ExitUsage    = 2 // wrong usage or configuration
	ExitFailed   = 3 // the job could not be done
)

// IO is what the program sees of the world.
type IO struct {
	In        io.Reader
	Out, Err  io.Writer
	LookupEnv func(name string) (string, bool)
	// Dir is the working directory of the process.
	Dir string
	// Version is that of the program.
	Version string
	// Transport makes HTTP requests; nil is the usual one. Tests set it.
	Transport http.RoundTripper
	// Sleep waits for servers; nil is the usual way. Tests set it.
	Sleep func(ctx context.Context, d time.Duration) error
	// Ended is called when all work is over, which may be after an interrupted run
	// was left; nil is fine. Tests set it.
	Ended func()
}

// OS returns the streams and environment of the process.
func OS(version string) IO {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, LookupEnv: os.LookupEnv, Dir: dir, Version: version}
}

// Env is the environment of one run.
type Env struct {
	IO
	// Text is Out for texts, which may hold anything.
	Text     *term.Writer
	Style    term.Style     // of Err
	Progress *term.Progress // on Err

	color          string
	quiet, verbose bool
	timeout        time.Duration // of servers without progress
	retries        int
	stopping       *stopping
	errs           io.Writer // the stream below Err, which stays open
	results        *gate     // what Out writes to
	places         *open.Places
}

// NewEnv returns the environment of a run. Nothing it writes appears after the end
// of the run.
func NewEnv(io IO) *Env {
	e := &Env{IO: io, errs: io.Err, stopping: &stopping{}}
	e.Version = cmp.Or(e.Version, "(devel)")
	e.results = &gate{w: io.Out, s: e.stopping}
	e.Out, e.Err = e.results, term.NewWriter(&gate{w: io.Err, s: e.stopping}, term.Text)
	e.Text = term.NewWriter(e.Out, term.Text)
	return e
}

// Bind adds the flags that all verbs have.
func (e *Env) Bind(f *pflag.FlagSet) {
	f.StringVar(&e.color, "color", "auto", "")
	f.BoolVarP(&e.quiet, "quiet", "q", false, "")
	f.BoolVarP(&e.verbose, "verbose", "v", false, "")
	f.DurationVar(&e.timeout, "timeout", time.Minute, "")
	f.IntVar(&e.retries, "retries", 4, "")
}

// Begin checks the flags of Bind, for a verb with this name, which may be Stepwise.
func (e *Env) Begin(verb string, stepwise bool) error {
	var err error
	e.Style, err = term.StyleFor(e.Err, e.color, e.LookupEnv)
	e.stopping.mu.Lock()
	e.stopping.stepwise = stepwise
	e.stopping.mu.Unlock()
	if !e.quiet {
		e.Progress = term.NewProgress(e.Err, verb)
	}
	if e.timeout <= 0 {
		err = errors.Join(err, fmt.Errorf("--timeout is %s; it must be more than 0", e.timeout))
	}
	if e.retries < 0 {
		err = errors.Join(err, fmt.Errorf("--retries is %d; it must be 0 or more", e.retries))
	}
	return UsageError(err)
}

func (e *Env) Verbose() bool { return e.verbose }

// TextStyle is how Text is coloured.
func (e *Env) TextStyle() term.Style {
	style, _ := term.StyleFor(e.Text, e.color, e.LookupEnv) // Begin has checked the colour
	return style
}

// IsPlugin reports whether clusterctl started the program. It replaces itself by
// its plugin, so that only the variable _ of the shell tells.
func (e *Env) IsPlugin() bool {
	started, _ := e.LookupEnv("_")
	return strings.TrimSuffix(filepath.Base(started), ".exe") == "clusterctl"
}

// Program is what users type to start the program.
func (e *Env) Program() string {
	if e.IsPlugin() {
		return "clusterctl repo"
	}
	return "clusterctl-repo"
}

// Say prints one line of information.
func (e *Env) Say(format string, args ...any) {
	if !e.quiet {
		fmt.Fprintln(e.Err, e.Printable(fmt.Sprintf(format, args...)))
	}
}

// Warn prints one line that deserves attention.
func (e *Env) Warn(format string, args ...any) {
	e.Say("%s %s", e.Style.Yellow("warning:"), fmt.Sprintf(format, args...))
}

// Detail prints one line of information for --verbose.
func (e *Env) Detail(format string, args ...any) {
	if e.verbose && !e.quiet {
		fmt.Fprintln(e.Err, e.Style.Dim(e.Printable(fmt.Sprintf(format, args...))))
	}
}

// Complain prints an error that does not end the run, whatever the flags say.
func (e *Env) Complain(err error) { fmt.Fprintf(e.Err, "%s %v\n", e.Style.Red("error:"), err) }

// codeError is an error with its exit code. A nil err prints nothing.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// Exit is the error of a run that ends with an exit code. A nil err prints nothing.
func Exit(code int, err error) error { return &codeError{code, err} }

// UsageError marks an error as wrong usage or configuration; nil stays nil.
func UsageError(err error) error {
	if err == nil {
		return nil
	}
	return Exit(ExitUsage, err)
}

// Usagef is UsageError for a text.
func Usagef(format string, args ...any) error { return UsageError(fmt.Errorf(format, args...)) }

// Code returns the exit code that an error carries, if it does.
func Code(err error) (code int, ok bool) {
	ce, ok := errors.AsType[*codeError](err)
	if ok {
		code = ce.code
	}
	return code, ok
}

// Run calls do, prints its error and returns the exit code. It returns early once ctx
// is done and do does not end.
func (e *Env) Run(ctx context.Context, do func(context.Context) error) int {
	err := e.stopping.run(ctx, do, e.Ended)
	if !e.stopping.left() {
		e.Progress.Close()
	}
	if flushed := errors.Join(e.Text.Flush(), e.Err.(*term.Writer).Flush()); err == nil {
		err = flushed
	}
	if failed := e.results.failure(); failed != nil && (err == nil || err.Error() == "") {
		// Not every library that prints, such as the one for help, reports this.
		err = Exit(ExitFailed, fmt.Errorf("write the result: %w", failed))
	}
	return e.ended(ctx, err)
}

// ended prints the error of a run, if there is one, and returns the exit code.
func (e *Env) ended(ctx context.Context, err error) int {
	if err == nil {
		return ExitOK
	}
	out := term.NewWriter(e.errs, term.Text)
	defer out.Flush()
	code := ExitFailed
	ce, coded := errors.AsType[*codeError](err)
	switch {
	case coded && ce.err == nil:
		// A report was written, also if it is one of what was seen until now.
		code = ce.code
	case ctx.Err() != nil:
		// Whatever failed, failed because of this.
		err = e.stopping.interrupted()
		if e.stopping.left() {
			// What was left may still be choosing colours and opening places.
			fmt.Fprintln(out, "error: "+err.Error())
			return code
		}
	case coded:
		code = ce.code
	}
	if text := e.Printable(err.Error()); text != "" {
		text += transport.Advice(err)
		for i, line := range strings.Split(text, "\n") {
			if i == 0 || isMessage(line) {
				line = e.Style.Red("error: ") + line
			}
			fmt.Fprintln(out, line)
		}
	}
	return code
}

// isMessage tells a further error from a continued one: it begins with a
// position.
func isMessage(line string) bool {
	file, rest, ok := strings.Cut(line, ":")
	return ok && file != "" && !strings.ContainsAny(file, " \t") && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}
