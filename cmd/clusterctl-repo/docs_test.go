package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/clitest"
)

const commandsFile = "../../docs/commands.md"

// TestDocsAreNotStale makes docs/commands.md from the commands.
func TestDocsAreNotStale(t *testing.T) {
	a := cli.NewEnv(cli.IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, LookupEnv: func(string) (string, bool) { return "", false }})
	var b bytes.Buffer
	b.WriteString("# Commands\n\n<!-- Made from the code by `make generate`. -->\n")
	document(&b, program.Command(a, nil))
	if *clitest.Update {
		if err := os.WriteFile(commandsFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(commandsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is stale: run make generate", commandsFile)
	}
}

func document(b *bytes.Buffer, c *cobra.Command) {
	if c.HasParent() {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n```\n%s\n```\n", c.CommandPath(), strings.TrimSpace(c.Long), c.UseLine())
		if c.Example != "" {
			fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
		}
		var rows []string
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			name, text := pflag.UnquoteUsage(f)
			flag := "--" + f.Name
			if f.Shorthand != "" {
				flag = "-" + f.Shorthand + ", " + flag
			}
			if name != "" {
				flag += " " + name
			}
			if d := f.DefValue; d != "" && d != "false" && d != "[]" {
				text += fmt.Sprintf(" (default %s)", d)
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s |", flag, text))
		})
		if len(rows) > 0 {
			fmt.Fprintf(b, "\n| flag | meaning |\n|---|---|\n%s\n", strings.Join(rows, "\n"))
		}
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			document(b, sub)
		}
	}
}

// TestHelpIsComplete wants every command to have a description and an example.
func TestHelpIsComplete(t *testing.T) {
	a := cli.NewEnv(cli.IO{LookupEnv: func(string) (string, bool) { return "", false }})
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if c.Short == "" || c.Long == "" || c.Example == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short %q, long %d bytes, example %q", c.CommandPath(), c.Short, len(c.Long), c.Example)
		}
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if len(line) > 110 && !strings.Contains(line, "file:///") {
				t.Errorf("%s: a line of %d characters: %s", c.CommandPath(), len(line), line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" {
				check(sub)
			}
		}
	}
	check(program.Command(a, nil))
}
