package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const commandsFile = "../../docs/commands.md"

// TestDocsAreNotStale makes docs/commands.md from the commands.
func TestDocsAreNotStale(t *testing.T) {
	a := cli.NewEnv(cli.IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, LookupEnv: func(string) (string, bool) { return "", false }})
	var b bytes.Buffer
	b.WriteString("# Commands\n\n<!-- Made from the code by `make generate`. -->\n")
	document(&b, program.Command(a, nil))
	b.WriteString(flags())
	if *update {
		given.NoError(t, os.WriteFile(commandsFile, b.Bytes(), 0o644))
	}
	got := given.Read(t, commandsFile)
	if !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is stale: run make generate", commandsFile)
	}
}

func document(b *bytes.Buffer, c *cobra.Command) {
	if c.HasParent() {
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n```\n%s\n```\n", c.CommandPath(), markdown(c.Long), c.UseLine())
		if c.Example != "" {
			fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
		}
		var rows []string
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				name, text := cli.Describe(f)
				rows = append(rows, fmt.Sprintf("| `%s` | %s |", name, markdown(text)))
			}
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

// markdown is the text of a help: placeholders are not HTML, and indented lines are code.
func markdown(text string) string {
	var b strings.Builder
	code := false
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "&#42;", "|", "&#124;")
	for line := range strings.Lines(strings.TrimSpace(text)) {
		item := code || strings.HasSuffix(b.String(), "\n\n") // what continues an item of a list is no code
		if indented := strings.HasPrefix(line, "  ") && item; indented != code && strings.TrimSpace(line) != "" {
			code = indented
			b.WriteString("```\n")
		}
		if code {
			b.WriteString(strings.TrimPrefix(line, "  "))
		} else {
			b.WriteString(escape.Replace(line))
		}
	}
	if code {
		b.WriteString("\n```")
	}
	return strings.ReplaceAll(b.String(), "\n\n```\n", "\n```\n\n")
}

// flags is the glossary of the flags, with the commands that have them.
func flags() string {
	var b strings.Builder
	b.WriteString("\n## All flags\n\nA flag means the same in every command that has it.\n\n| flag | meaning | commands |\n|---|---|---|\n")
	commands := map[string][]string{}
	eachFlag(func(name string, _ *cobra.Command, f *pflag.Flag) {
		if _, own := cli.Glossary[name+"--"+f.Name]; !own && !f.Hidden && f.Name != "help" && !strings.HasPrefix(name, "completion") {
			if name == "" {
				name = "all"
			}
			commands[f.Name] = append(commands[f.Name], name)
		}
	})
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", name, markdown(strings.ReplaceAll(cli.Glossary[name], "`", "")), strings.Join(commands[name], ", "))
	}
	return b.String()
}

// TestHelpIsComplete wants every command to have a description and an example.
func TestHelpIsComplete(t *testing.T) {
	eachCommand(func(name string, c *cobra.Command) {
		if first, _, _ := strings.Cut(name, " "); first == "completion" || first == "help" {
			return
		}
		if c.Short == "" || c.Long == "" || c.Example == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short %q, long %d bytes, example %q", c.CommandPath(), c.Short, len(c.Long), c.Example)
		}
		var help strings.Builder
		c.SetOut(&help)
		_ = c.Help()
		for line := range strings.Lines(help.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: a line of %d characters: %s", c.CommandPath(), n, line)
			}
		}
	})
}
