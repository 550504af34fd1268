package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
	clusterctlconfig "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

// silent is a program without a terminal, an environment or input.
func silent(out io.Writer, errs io.Writer) cli.IO {
	return cli.IO{In: strings.NewReader(""), Out: out, Err: errs, LookupEnv: func(string) (string, bool) { return "", false }}
}

// eachCommand calls f for all commands. A name is that of the command without the
// program's.
func eachCommand(f func(name string, c *cobra.Command)) {
	var walk func(c *cobra.Command, name string)
	walk = func(c *cobra.Command, name string) {
		f(name, c)
		for _, sub := range c.Commands() {
			walk(sub, strings.TrimSpace(name+" "+sub.Name()))
		}
	}
	walk(program.Command(cli.NewEnv(silent(io.Discard, io.Discard)), nil), "")
}

// acts reports whether a command does something besides having others below it.
func acts(c *cobra.Command) bool {
	return c.Runnable() && (!c.HasSubCommands() || c.Annotations[cli.TakesTargets] != "")
}

// eachFlag calls f for the flags of all commands.
func eachFlag(f func(name string, c *cobra.Command, flag *pflag.Flag)) {
	eachCommand(func(name string, c *cobra.Command) {
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) { f(name, c, flag) })
	})
}

// TestGlossary wants every flag of every command to mean what the glossary says: the
// sentence, the placeholder, and only values after it.
func TestGlossary(t *testing.T) {
	used, names := map[string]bool{}, map[string]bool{} // a flag may have a sentence for one command
	values := regexp.MustCompile(`^(: ([a-z0-9.-]+( \([^()]+\))?(, |$|; may be repeated$))+|; may be repeated)?$`)
	eachFlag(func(name string, c *cobra.Command, flag *pflag.Flag) {
		key := name + "--" + flag.Name
		if _, ok := cli.Glossary[key]; !ok {
			key = flag.Name
		}
		used[key], names[flag.Name] = true, true
		sentence, ok := cli.Glossary[key]
		if rest, begins := strings.CutPrefix(flag.Usage, sentence); !ok || !begins || !values.MatchString(rest) {
			t.Errorf("%s --%s: %q is not the sentence of the glossary with values", name, flag.Name, flag.Usage)
		}
		placeholder, _ := pflag.UnquoteUsage(flag)
		if wants := flag.Value.Type() != "bool"; wants != (strings.Count(sentence, "`") == 2) || wants && placeholder != strings.ToUpper(placeholder) {
			t.Errorf("%s --%s: the placeholder is %q", name, flag.Name, placeholder)
		}
	})
	for key, sentence := range cli.Glossary {
		if !used[key] {
			t.Errorf("the glossary has %q, which is not a flag", key)
		}
		if len(sentence) > 120 || strings.HasSuffix(sentence, ".") {
			t.Errorf("--%s: one short sentence without a full stop: %q", key, sentence)
		}
	}
	if len(names) > 100 {
		t.Errorf("%d flags are more than 100", len(names))
	}
	t.Logf("%d flags", len(names))
}

// TestFlagFacts compares what the sentences say with what the flags do: those that take
// more than one value say so, and shells offer the words that are listed.
func TestFlagFacts(t *testing.T) {
	single := []string{"bool", "count", "duration", "float64", "int", "int64", "string"}
	word := regexp.MustCompile(`[:,] ([a-z-]+) \(`)
	eachFlag(func(name string, c *cobra.Command, flag *pflag.Flag) {
		repeats := strings.HasSuffix(flag.Usage, "; may be repeated")
		if repeats == slices.Contains(single, flag.Value.Type()) {
			t.Errorf("%s --%s: %q, but its type is %s", name, flag.Name, flag.Usage, flag.Value.Type())
		}
		if flag.Name != "allow" {
			return
		}
		var out bytes.Buffer
		program.Main(t.Context(), slices.Concat([]string{"__completeNoDesc"}, strings.Fields(name), []string{"--allow", ""}), silent(&out, io.Discard))
		listed := phrase.List(word.FindAllStringSubmatch(flag.Usage, -1), func(m []string) string { return m[1] })
		if offered := strings.Fields(out.String()); !slices.Equal(slices.DeleteFunc(offered, func(s string) bool { return s[0] == ':' }), listed) {
			t.Errorf("%s: shells offer %q for %q", name, offered, flag.Usage)
		}
	})
	for given, fact := range map[string]string{
		"build --version": "LABEL=VERSION", "mirror --cert-manager": clusterctlconfig.CertManagerVersion,
	} {
		found := false
		eachFlag(func(name string, _ *cobra.Command, flag *pflag.Flag) {
			found = found || name+" --"+flag.Name == given && strings.Contains(flag.Usage, fact)
		})
		if !found {
			t.Errorf("%s does not tell of %s", given, fact)
		}
	}
}

// TestHelpLines wants lines to be continued with a backslash only in examples, and there
// not in quotes, where shells keep it.
func TestHelpLines(t *testing.T) {
	eachCommand(func(_ string, c *cobra.Command) {
		if strings.Contains(c.Long, "\\\n") {
			t.Errorf("%s: the description has a line that ends in a backslash", c.CommandPath())
		}
		quoted := false
		for line := range strings.Lines(c.Example) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
				continue
			}
			quoted = quoted != (strings.Count(line, "'")%2 == 1)
			if quoted && strings.HasSuffix(line, "\\") {
				t.Errorf("%s: a backslash in quotes: %s", c.CommandPath(), line)
			}
		}
	})
}

// TestEmptyFlags gives every flag of every command the empty value. It must be refused
// as wrong usage, unless the table says what it means.
func TestEmptyFlags(t *testing.T) {
	share.SkipInRace(t)
	t.Chdir(t.TempDir())
	means := map[string]bool{}
	eachFlag(func(name string, _ *cobra.Command, flag *pflag.Flag) {
		given := strings.TrimSpace(name + " --" + flag.Name)
		if _, ok := cli.MayBeEmpty[given]; ok {
			means[given] = true
			return
		}
		for _, value := range []string{"", " "} {
			var out, errs bytes.Buffer
			code := program.Main(t.Context(), append(strings.Fields(name), "--"+flag.Name+"="+value), silent(&out, &errs))
			if code != cli.ExitUsage || !strings.Contains(errs.String(), "--"+flag.Name) || out.Len() > 0 {
				t.Errorf("%s=%q exits %d and says %s", given, value, code, errs.String())
			}
		}
	})
	for given := range cli.MayBeEmpty {
		if !means[given] {
			t.Errorf("the table has %q, which is not a flag", given)
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
		t.Errorf("something was written: %v, %v", entries, err)
	}
}

// TestForms gives flags that look the same everywhere values of another form: each command
// refuses them, and each that takes several takes them with commas too.
func TestForms(t *testing.T) {
	for flagName, form := range map[string]struct {
		bad  string
		says string
	}{
		"service":   {"webhook", "must be NAMESPACE/NAME"},
		"platform":  {"linux", "must be OS/ARCH, such as linux/arm64"},
		"namespace": {"a,b", "must be the name of one namespace"},
	} {
		commands := 0
		eachFlag(func(name string, _ *cobra.Command, flag *pflag.Flag) {
			if flag.Name != flagName {
				return
			}
			commands++
			var errs bytes.Buffer
			code := program.Main(t.Context(), append(strings.Fields(name), "--"+flagName+"="+form.bad), silent(io.Discard, &errs))
			if code != cli.ExitUsage || !strings.Contains(errs.String(), form.says) {
				t.Errorf("%s --%s=%s exits %d and says %s", name, flagName, form.bad, code, &errs)
			}
			if flag.Value.Type() == "stringArray" {
				t.Errorf("%s --%s takes no commas", name, flagName)
			}
		})
		if commands < 1 {
			t.Errorf("--%s is a flag of %d commands", flagName, commands)
		}
	}
}

// TestEmptyElements tries an empty value among others.
func TestEmptyElements(t *testing.T) {
	for _, args := range [][]string{
		{"lint", "x", "--select", "META,"}, {"lint", "x", "--ignore", "META001", "--ignore="},
		{"mirror", "x", "--to", "y", "--verify-key", "k", "--verify-key="},
	} {
		if code := program.Main(t.Context(), args, silent(io.Discard, io.Discard)); code != cli.ExitUsage {
			t.Errorf("%v exits %d", args, code)
		}
	}
}

// TestFullStandardOutput lets every command, and the help of each, write to a full disk.
// Those that cannot do their work without a cluster or a server are not tried.
func TestFullStandardOutput(t *testing.T) {
	share.SkipInRace(t)
	example := given.Value(filepath.Abs("../../examples/cluster-api-provider-acme"))(t)
	w := newAttacked(t)
	w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never")
	w.must("mirror", "repo@>=0", "--to", "mirror")
	run := func(args ...string) (code int, printed bool) {
		for _, full := range []bool{false, true} {
			var out bytes.Buffer
			world := silent(&out, io.Discard)
			world.Dir = w.dir
			if full {
				world.Out = failingWriter{syscall.ENOSPC}
			}
			code = program.Main(t.Context(), args, world)
			printed = printed || out.Len() > 0
		}
		return code, printed
	}
	for verb, row := range interruptions(example) {
		args := append([]string(nil), row.args...)
		for i, a := range args {
			args[i] = strings.ReplaceAll(a, "DEST", filepath.Join(t.TempDir(), "dest"))
		}
		if !row.waits {
			if code, printed := run(args...); printed && code != cli.ExitFailed {
				t.Errorf("%v to a full disk exits %d", args, code)
			}
		}
		if words := strings.Fields(verb); !strings.HasPrefix(words[len(words)-1], "-") {
			if code, printed := run(append(words, "--help")...); !printed || code != cli.ExitFailed {
				t.Errorf("%s --help to a full disk exits %d", verb, code)
			}
		}
	}
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"--version"}, {"completion", "bash"}, {"contract"}} {
		if code, printed := run(args...); !printed || code != cli.ExitFailed {
			t.Errorf("%v to a full disk exits %d", args, code)
		}
	}
}

// TestQuietKeepsResults compares the reports of lint with and without -q.
func TestQuietKeepsResults(t *testing.T) {
	w := newAttacked(t)
	w.must("release", "src", "--version", "v0.2.0", "--to", "repo", "--fail-on", "never")
	for _, format := range []string{"text", "json", "sarif", "junit", "github", "markdown", "html"} {
		var codes [2]int
		var reports [2]bytes.Buffer
		for i, args := range [][]string{{}, {"-q"}} {
			world := silent(&reports[i], io.Discard)
			world.Dir = w.dir
			codes[i] = program.Main(t.Context(), append([]string{"lint", "repo", "--fail-on", "info", "-o", format}, args...), world)
		}
		if codes != [2]int{cli.ExitFindings, cli.ExitFindings} || !bytes.Equal(reports[0].Bytes(), reports[1].Bytes()) {
			t.Errorf("-o %s: %v, and -q changes the report:\n%s\n%s", format, codes, &reports[0], &reports[1])
		}
	}
}
