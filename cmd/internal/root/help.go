package root

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
)

// help makes a command and those below it print help that fits the terminal.
func help(cmd *cobra.Command) {
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) {
		printHelp(c.OutOrStdout(), c, term.Columns(c.OutOrStdout()))
	})
}

func printHelp(w io.Writer, c *cobra.Command, width int) {
	fmt.Fprintf(w, "%s\n\nUsage:\n%s\n", term.Fill(strings.TrimSpace(c.Long), width), term.Wrap("  ", c.UseLine(), width, 4))
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [command]\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	groups := append(slices.Clone(c.Groups()), &cobra.Group{Title: "Commands:"})
	for _, group := range groups {
		var rows [][2]string
		for _, sub := range c.Commands() {
			if sub.GroupID == group.ID && sub.IsAvailableCommand() {
				rows = append(rows, [2]string{sub.Name(), sub.Short})
			}
		}
		if len(groups) > 1 && group.ID == "" {
			group.Title = "Other commands:"
		}
		printRows(w, group.Title, rows, width)
	}
	printRows(w, "Flags:", flagRows(c.LocalFlags()), width)
	printRows(w, "Flags of all commands:", flagRows(c.InheritedFlags()), width)
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s\n", term.Fill(fmt.Sprintf("Run %q for more about a command.", c.CommandPath()+" COMMAND --help"), width))
	}
}

func flagRows(f *pflag.FlagSet) (rows [][2]string) {
	f.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			name, text := cli.Describe(f)
			if f.Shorthand == "" {
				name = "    " + name
			}
			rows = append(rows, [2]string{name, text})
		}
	})
	return rows
}

// printRows prints names with what they mean, in two columns. A name that is too long for
// the left one has a line of its own.
func printRows(w io.Writer, title string, rows [][2]string, width int) {
	const most = 28
	if len(rows) == 0 {
		return
	}
	left := 0
	for _, r := range rows {
		if len(r[0]) <= most {
			left = max(left, len(r[0]))
		}
	}
	indent := min(cmp.Or(left, most)+4, width/2)
	fmt.Fprintf(w, "\n%s\n", title)
	for _, r := range rows {
		line := "  " + r[0]
		if len(line)+2 > indent {
			fmt.Fprintln(w, line)
			line = ""
		}
		fmt.Fprintln(w, term.Wrap(fmt.Sprintf("%-*s", indent, line), r[1], width, indent))
	}
}
