// Package cli is the command line: one file per verb, and here what they
// share. It is the only place that reads the environment, prints and decides
// exit codes. It must not do the work itself.
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
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/memory"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/policy"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
)

// The exit codes.
const (
	exitOK       = 0
	exitFindings = 1 // findings at or above --fail-on
	exitUsage    = 2 // wrong usage or configuration
	exitFailed   = 3 // the job could not be done
)

// IO is what the program sees of the world.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	// Env is os.LookupEnv.
	Env func(name string) (string, bool)
	// Dir is the working directory of the process.
	Dir string
	// Transport makes HTTP requests; nil is the usual one. Tests set it.
	Transport http.RoundTripper
	// LargePages lets large work have large pages of memory, until the process ends.
	LargePages bool
	// Sleep waits for servers; nil is the usual way. Tests set it.
	Sleep func(ctx context.Context, d time.Duration) error
}

// OS returns the streams and environment of the process.
func OS() IO {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.LookupEnv, Dir: dir, LargePages: true}
}

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

// usage marks an error as wrong usage or configuration.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &codeError{exitUsage, err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// app is one run of the program.
type app struct {
	IO
	// text is Out for texts, which may hold anything.
	text           *term.Writer
	stopping       *stopping
	color          string
	quiet, verbose bool
	style          term.Style     // of Err
	progress       *term.Progress // on Err
	opened         *open.Places   // what URLs name
	remote         bool           // kustomize may load from the network
	patience       patience       // with servers
	started        time.Time
	// leastShown is the severity from which on findings are shown.
	leastShown lint.Severity
	args       []string // of the command line
	// demands are what releases have to meet before lint reads them, or nil.
	demands *policy.Policy
}

// Main runs the program with the arguments after its name and returns the exit
// code.
func Main(ctx context.Context, args []string, io IO) int {
	return runUntil(ctx, args, io, newStopping())
}

// runUntil is Main; s says how the run ended.
func runUntil(ctx context.Context, args []string, io IO, s *stopping) int {
	defer memory.Bound(io.LargePages)()
	a := &app{IO: io, started: time.Now(), args: args, stopping: s}
	errs := term.NewWriter(&gate{io.Err, a.stopping}, term.Text)
	a.Err, a.Out = errs, &gate{io.Out, a.stopping}
	a.text = term.NewWriter(a.Out, term.Text)
	root := a.root()
	root.SetArgs(args)
	root.SetIn(io.In)
	root.SetOut(a.Out)
	root.SetErr(errs)
	err := a.stopping.run(ctx, root.ExecuteContext)
	if flushed := errors.Join(a.text.Flush(), errs.Flush()); err == nil {
		err = flushed
	}
	return a.ended(ctx, err, term.NewWriter(io.Err, term.Text))
}

// ended prints the error of a run, if there is one, and returns the exit code.
func (a *app) ended(ctx context.Context, err error, out *term.Writer) int {
	defer out.Flush()
	if err == nil {
		return exitOK
	}
	code := exitFailed
	var ce *codeError
	var input *sourcetree.InputError
	switch {
	case errors.As(err, &ce) && ce.err == nil:
		// A report was written, also if it is one of what was seen until now.
		code = ce.code
	case ctx.Err() != nil:
		// Whatever failed, failed because of this.
		err = a.stopping.interrupted()
		if a.stopping.left() {
			// What was left may still be choosing colours and opening places.
			fmt.Fprintln(out, "error: "+err.Error())
			return code
		}
	case errors.As(err, &ce):
		code = ce.code
	case errors.As(err, &input), errors.Is(err, folder.ErrNotRepository):
		code = exitUsage
	}
	if text := a.printable(err.Error()); text != "" {
		for i, line := range strings.Split(text, "\n") {
			if i == 0 || isMessage(line) {
				line = a.style.Red("error: ") + line
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

func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "clusterctl-repo",
		Short: "Assemble, validate and publish Cluster API provider repositories",
		Long: `clusterctl-repo makes the repositories that clusterctl installs providers from:
it builds a release from a source tree, checks it against the rules of
clusterctl and Cluster API, and publishes it completely or not at all. When the
program is on the PATH, "clusterctl repo" runs it as a plugin.`,
		Example: `  # In a provider's source tree: what would the release be?
  clusterctl-repo build --version v1.2.3
  clusterctl-repo lint out

  # The release target of a Makefile
  clusterctl-repo release --version v1.2.3 --to /srv/repository`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			style, err := term.StyleFor(a.Err, a.color, a.Env)
			a.style = style
			if !a.quiet {
				a.progress = term.NewProgress(a.Err)
			}
			return usage(errors.Join(err, a.patience.check()))
		},
	}
	if a.isPlugin() {
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "clusterctl repo"}
	}
	f := cmd.PersistentFlags()
	a.patience.flags(cmd)
	f.StringVar(&a.color, "color", "auto", "colour the output: auto, always or never")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print only errors and results")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "explain what was chosen and why")
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		// A mistyped command is the cause of flags that the group does not have.
		if word := a.wordAfter(c); c.HasSubCommands() && c.Annotations[takesTargets] == "" && word != "" {
			return unknownCommand(c, word)
		}
		return usagef("%w%s Run %q for usage.", err, cmp.Or(suggestFlag(c, err), "."), c.CommandPath()+" --help")
	})
	cmd.AddGroup(
		&cobra.Group{ID: "make", Title: "Make and publish releases:"},
		&cobra.Group{ID: "check", Title: "Check and look at releases:"},
	)
	for _, group := range []struct {
		id       string
		commands []*cobra.Command
	}{
		{"make", []*cobra.Command{a.initCommand(), a.buildCommand(), a.releaseCommand(), a.publishCommand(), a.mirrorCommand(), a.migrateCommand()}},
		{"check", []*cobra.Command{a.lintCommand(), a.renderCommand(), a.varsCommand(), a.imagesCommand(), a.diffCommand(), a.movePlanCommand(), a.configCommand(), a.contractCommand(), a.surveyCommand(), a.extensionCommand(), a.rulesCommand(), a.explainCommand()}},
		{"", []*cobra.Command{a.schemaCommand(), a.manCommand(), a.versionCommand()}},
	} {
		for _, c := range group.commands {
			c.GroupID = group.id
			cmd.AddCommand(c)
		}
	}
	cmd.InitDefaultCompletionCmd()
	a.versionFlag(cmd)
	cmd.InitDefaultHelpCmd()
	if help, _, err := cmd.Find([]string{"help"}); err == nil {
		help.Args = func(c *cobra.Command, args []string) error {
			_, rest, err := c.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("unknown help topic %q", strings.Join(args, " "))
			}
			return err
		}
	}
	// Cobra checks the number of arguments itself; that is wrong usage too.
	wrapArgs(cmd)
	completeValues(cmd)
	return cmd
}

// takesTargets is the annotation of a command that has both commands below it
// and targets.
const takesTargets = "takes-targets"

// wrapArgs marks the errors of argument checks as wrong usage.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usagef("%w; usage: %s", err, c.UseLine())
			}
			if i := slices.Index(args, ""); i >= 0 {
				// An unset variable of a Makefile must not mean this folder.
				return usagef("argument %d is empty; usage: %s", i+1, c.UseLine())
			}
			return nil
		}
	}
	if cmd.HasSubCommands() && cmd.Annotations[takesTargets] == "" {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(c, args[0])
		}
		cmd.SuggestionsMinimumDistance = 2
	}
	if cmd.HasSubCommands() && cmd.RunE == nil {
		cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	for _, c := range cmd.Commands() {
		wrapArgs(c)
	}
}

// isPlugin reports whether clusterctl started the program. It replaces itself by
// its plugin, so that only the variable _ of the shell tells.
func (a *app) isPlugin() bool {
	started, _ := a.Env("_")
	return strings.TrimSuffix(filepath.Base(started), ".exe") == "clusterctl"
}

// program is what users type to start the program.
func (a *app) program() string {
	if a.isPlugin() {
		return "clusterctl repo"
	}
	return "clusterctl-repo"
}

// unknownCommand is the error for a word that is not a command of c.
func unknownCommand(c *cobra.Command, word string) error {
	hint := ""
	if s := c.SuggestionsFor(word); len(s) > 0 {
		nearest := slices.MinFunc(s, func(x, y string) int {
			return cmp.Compare(layouts.Distance(word, x), layouts.Distance(word, y))
		})
		hint = fmt.Sprintf("; did you mean %q?", nearest)
	}
	return usagef("unknown command %q%s Run %q for usage.", word, cmp.Or(hint, "."), c.CommandPath()+" --help")
}

// wordAfter is the first argument after the words of a command, before any flag;
// "" if there is none.
func (a *app) wordAfter(c *cobra.Command) string {
	rest := a.args
	for ; c.HasParent(); c = c.Parent() {
		if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
			return ""
		}
		rest = rest[1:]
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return ""
	}
	return rest[0]
}

// suggestFlag proposes a flag of the command for one that it does not have.
func suggestFlag(c *cobra.Command, err error) string {
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return ""
	}
	best, near := 3, ""
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := layouts.Distance(name, f.Name); d < best && !f.Hidden {
			best, near = d, f.Name
		}
	})
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", "--"+near)
}

// say prints one line of information.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintln(a.Err, a.printable(fmt.Sprintf(format, args...)))
	}
}

// detail prints one line of information for --verbose.
func (a *app) detail(format string, args ...any) {
	if a.verbose && !a.quiet {
		fmt.Fprintln(a.Err, a.style.Dim(a.printable(fmt.Sprintf(format, args...))))
	}
}
