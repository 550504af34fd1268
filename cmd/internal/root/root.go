// Package root builds the program from a table of verbs: the command above them, its
// help and its errors, and the verbs about the program itself: version, man and schema. It
// must not know any other verb.
package root

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

type Verb func(*cli.Env) *cobra.Command

// A Group is a part of the list of verbs in the help.
type Group struct {
	Title string // empty for the verbs that every program has
	Verbs []Verb
}

// A Program is what a user can start.
type Program struct {
	Verbs []Group
	// Flags adds the flags that the command above the verbs has for itself, or is nil.
	Flags func(*cli.Env, *cobra.Command)
}

// Main runs the program with the arguments after its name, and returns the exit code.
func (p Program) Main(ctx context.Context, args []string, io cli.IO) int {
	env := cli.NewEnv(io)
	cmd := p.Command(env, args)
	cmd.SetArgs(args)
	return env.Run(ctx, func(ctx context.Context) error {
		err := cmd.ExecuteContext(ctx)
		if _, coded := cli.Code(err); coded {
			return err
		}
		if _, ok := errors.AsType[*transform.InputError](err); ok || errors.Is(err, folder.ErrNotRepository) {
			return cli.UsageError(err)
		}
		return err
	})
}

// Command is the command above the verbs; args are the arguments after the
// program's name.
func (p Program) Command(env *cli.Env, args []string) *cobra.Command {
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
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := env.Begin(c.Name(), c.Annotations[cli.Stepwise] != ""); err != nil {
				return err
			}
			return env.Check(c.Flags())
		},
	}
	if env.IsPlugin() {
		cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "clusterctl repo"}
	}
	env.Bind(cmd.PersistentFlags())
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		// A mistyped command is the cause of flags that the group does not have.
		if word := wordAfter(c, args); c.HasSubCommands() && c.Annotations[cli.TakesTargets] == "" && word != "" {
			return unknownCommand(c, word, err)
		}
		return flagError(c, err)
	})
	for _, group := range p.Verbs {
		if group.Title != "" {
			cmd.AddGroup(&cobra.Group{ID: group.Title, Title: group.Title})
		}
		for _, verb := range group.Verbs {
			c := verb(env)
			c.GroupID = group.Title
			cmd.AddCommand(c)
		}
	}
	cmd.SetIn(env.In)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	cmd.CompletionOptions.DisableNoDescFlag = true
	cmd.InitDefaultCompletionCmd() // which keeps the output that is set by now
	if p.Flags != nil {
		p.Flags(env, cmd)
	}
	cmd.InitDefaultHelpCmd()
	if help, _, err := cmd.Find([]string{"help"}); err == nil {
		help.Args = func(c *cobra.Command, args []string) error {
			if found, rest, _ := c.Root().Find(args); len(rest) > 0 {
				return unknownCommand(found, rest[0], nil)
			}
			return nil
		}
	}
	// Cobra checks the number of arguments itself; that is wrong usage too.
	wrapArgs(cmd)
	// Only shells ask for values. This must come before finish, which rewrites the
	// explanations of flags.
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completeValues(cmd)
	}
	finish(cmd, "")
	help(cmd)
	return cmd
}

// finish explains the flags of a command, and of those below it, and makes them refuse
// the empty value.
func finish(cmd *cobra.Command, name string) {
	cmd.InitDefaultHelpFlag()
	local := cmd.LocalFlags()
	cli.Explain(name, local)
	cli.RefuseEmpty(name, local)
	for _, c := range cmd.Commands() {
		finish(c, strings.TrimSpace(name+" "+c.Name()))
	}
}

// wrapArgs marks the errors of argument checks as wrong usage.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				if _, coded := cli.Code(err); coded {
					return err
				}
				if first, _, _ := strings.Cut(err.Error(), " "); first == "accepts" || first == "requires" ||
					first == "unknown" {
					err = fmt.Errorf("wrong number of arguments: %d given%s; usage: %s", len(args), strings.TrimSuffix(" ("+phrase.Few(args, 4)+")", " ()"), c.UseLine())
				}
				return cli.UsageError(err)
			}
			if i := slices.Index(args, ""); i >= 0 {
				// An unset variable of a Makefile must not mean this folder.
				return cli.Usagef("argument %d is empty; usage: %s", i+1, c.UseLine())
			}
			return nil
		}
	}
	if cmd.HasSubCommands() && cmd.Annotations[cli.TakesTargets] == "" {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			i := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool {
				return sub.IsAvailableCommand() && slices.Contains(args[1:], sub.Name())
			})
			if i >= 0 && len(c.SuggestionsFor(args[0])) == 0 {
				return cli.Usagef("unknown command %q; the command comes first, as in \"%s %s %[1]s\"", args[0], c.CommandPath(), c.Commands()[i].Name())
			}
			return unknownCommand(c, args[0], nil)
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

// unknownCommand is the error for a word that is not a command of c. Below the program a
// word like none of them is more likely an argument, and the command is missing; flagErr
// is about a flag after it, or nil.
func unknownCommand(c *cobra.Command, word string, flagErr error) error {
	var known, flags []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
			sub.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		}
	}
	if c.HasParent() && phrase.Nearest(word, known) == "" {
		end := "."
		if name, ok := strings.CutPrefix(fmt.Sprint(flagErr), "unknown flag: --"); ok && !slices.Contains(flags, name) {
			if near := phrase.Nearest(name, flags); near != "" {
				end = fmt.Sprintf("; did you mean %q?", "--"+near)
			}
		}
		return cli.Usagef("%s needs a command before %q: %s%s Run %q for usage.", c.Name(), word, phrase.Or(known), end, c.CommandPath()+" --help")
	}
	return cli.Usagef("%w. Run %q for usage.", cli.Unknown("command", word, known), c.CommandPath()+" --help")
}

// wordAfter is the first argument of all after the words of a command, before any flag;
// "" if there is none.
func wordAfter(c *cobra.Command, rest []string) string {
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

// flagError says what is wrong with a flag, and what there is instead.
func flagError(c *cobra.Command, err error) error {
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				known = append(known, f.Name)
			}
		})
		err = cli.Unknown("flag", name, known)
	} else if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var short []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Shorthand != "" {
				short = append(short, "-"+f.Shorthand)
			}
		})
		err = fmt.Errorf("unknown flag -%s (known with one letter: %s)", e.GetSpecifiedName(), phrase.And(short))
	} else if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		var number *strconv.NumError
		if f := e.GetFlag(); f.Name == "version" && !c.HasParent() {
			err = fmt.Errorf("--version prints the version of this program and takes no value; the one of a release follows a command, as in \"build --version %s\"", e.GetValue())
		} else if errors.As(err, &number) || f.Value.Type() == "bool" || f.Value.Type() == "duration" {
			// The words of a library about its functions help nobody.
			err = fmt.Errorf("--%s is %q; it must be %s", f.Name, e.GetValue(), forms[f.Value.Type()])
		}
	}
	return cli.Usagef("%w. Run %q for usage.", err, c.CommandPath()+" --help")
}

// forms are the forms of values, by the types of pflag.
var forms = map[string]string{
	"bool": "given without a value, or be true or false", "duration": "a duration, such as 90s or 5m",
	"int": "a whole number", "int64": "a whole number",
}
