package root

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

func ManCommand(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "man [FOLDER]",
		Short: "Print or write the manual pages",
		Long: `Prints the manual page of the program, or writes the pages of all commands into
FOLDER, which is created if necessary.`,
		Example: `  clusterctl-repo man | man -l -
  clusterctl-repo man /usr/local/share/man/man1`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := env.Out.Write(manPage(c.Root(), programBuild()))
				return err
			}
			_, missing := os.Lstat(env.Path(args[0]))
			if sub, _, err := c.Root().Find(args); missing != nil && err == nil && sub != c.Root() {
				return cli.Usagef("%[1]s would be a folder for the pages of all commands; "+
					`run "clusterctl-repo %[1]s --help", or write ./%[1]s for the folder`, args[0])
			}
			if err := env.MakeFolder(args[0]); err != nil {
				return err
			}
			return writeManPages(env, c.Root(), args[0])
		},
	}
}

func writeManPages(env *cli.Env, c *cobra.Command, dir string) error {
	if err := env.WriteFile(filepath.Join(dir, manName(c)+".1"), manPage(c, programBuild())); err != nil {
		return err
	}
	for _, sub := range manSubcommands(c) {
		if err := writeManPages(env, sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// manName is the name of a page: the words of the command joined by dashes. It
// does not depend on how the program was started.
func manName(c *cobra.Command) string {
	if !c.HasParent() {
		return "clusterctl-repo"
	}
	return manName(c.Parent()) + "-" + c.Name()
}

func manSubcommands(c *cobra.Command) []*cobra.Command {
	return phrase.Only(c.Commands(), func(sub *cobra.Command) bool {
		return sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() && (sub.Name() != "completion" || !c.HasParent())
	})
}

var roff = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// roffLine escapes one line: a leading dot or apostrophe would be a request.
func roffLine(line string) string {
	line = roff.Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}

// manText writes paragraphs; indented lines keep their form.
func manText(b *strings.Builder, text string) {
	literal := false
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimRight(line, " \n")
		if indented := strings.HasPrefix(line, " "); line != "" && indented != literal {
			literal = indented
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[literal])
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roffLine(line) + "\n")
	}
	if literal {
		b.WriteString(".fi\n")
	}
}

// manPage writes the page of one command in the man macros of roff.
func manPage(c *cobra.Command, about build) []byte {
	var b strings.Builder
	day, _, _ := strings.Cut(about.Date, "T")
	fmt.Fprintf(&b, ".TH %q 1 %q %q \"clusterctl-repo manual\"\n", strings.ToUpper(manName(c)), day, "clusterctl-repo "+about.Version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n%s\n.fi\n.SH DESCRIPTION\n", roffLine(manName(c)), roffLine(c.Short), roffLine(c.UseLine()))
	manText(&b, c.Long)
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	if c.HasParent() {
		manFlags(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	}
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for line := range strings.Lines(c.Example) {
			b.WriteString(roffLine(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ")) + "\n")
		}
		b.WriteString(".fi\n")
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, code := range []struct {
		code int
		text string
	}{
		{cli.ExitOK, "success, and nothing to report"},
		{cli.ExitFindings, "findings at or above --fail-on"},
		{cli.ExitUsage, "wrong usage or configuration"},
		{cli.ExitFailed, "the job could not be done"},
	} {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", code.code, roffLine(code.text))
	}
	var also []string
	if c.HasParent() {
		also = append(also, manName(c.Parent()))
	}
	also = append(also, phrase.List(manSubcommands(c), manName)...)
	for i, name := range also {
		also[i] = `\fB` + roffLine(name) + `\fR(1)`
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	}
	return []byte(b.String())
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	rows := flagRows(flags)
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	for _, row := range rows {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roffLine(strings.TrimSpace(row[0])), roffLine(row[1]))
	}
}
