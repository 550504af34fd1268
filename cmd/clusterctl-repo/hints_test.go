package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
)

// TestHints runs commands that fail or warn, and does what they say, literally, until
// they do neither.
func TestHints(t *testing.T) {
	runScripts(t, testscript.Params{Dir: "testdata/hints", Cmds: map[string]scriptCmd{"tree": tree, "follow": follow, "next": next}})
}

// hint is something that a message tells the reader to do to a command, or to the
// source tree that is its second argument.
type hint struct {
	text *regexp.Regexp
	do   func(ts *testscript.TestScript, args []string, what string) []string
}

// lines of YAML, up to what is none.
const yamlLines = `\n((?:[a-zA-Z]+:.*\n?|- .*\n?|  .*\n?)+)`

var hints = map[string]hint{
	"flags":    {regexp.MustCompile(`(?:pass|run with|such as) (--add-series|--(?:version|image) [^\s,;]+)`), appended},
	"which":    {regexp.MustCompile(`choose one, such as (--image \S+)`), exchanged},
	"entry":    {regexp.MustCompile(`in ` + regexp.QuoteMeta(config.FileName) + `:` + yamlLines), writes(config.FileName)},
	"metadata": {regexp.MustCompile(`Create it at the root of the tree:` + yamlLines), writes("metadata.yaml")},
	"version": {regexp.MustCompile(`did you mean (v\S+)\?`), func(_ *testscript.TestScript, args []string, version string) []string {
		return exchanged(nil, args, "--version "+version)
	}},
}

// appended adds flags to a command.
func appended(_ *testscript.TestScript, args []string, what string) []string {
	return append(slices.Clone(args), strings.Fields(what)...)
}

// exchanged gives a flag of a command another value.
func exchanged(_ *testscript.TestScript, args []string, what string) []string {
	flag := strings.Fields(what)
	args = slices.Clone(args)
	args[slices.Index(args, flag[0])+1] = flag[1]
	return args
}

// writes puts what was proposed into a file of the tree.
func writes(name string) func(ts *testscript.TestScript, args []string, what string) []string {
	return func(ts *testscript.TestScript, args []string, what string) []string {
		write(ts, filepath.Join(args[1], name), what)
		return args
	}
}

func write(ts *testscript.TestScript, name, text string) {
	ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(name)), 0o755))
	ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
}

// followed does what the last command said and returns the command to run now.
func followed(ts *testscript.TestScript, kind string, args []string) []string {
	text := ts.ReadFile("stderr")
	m := hints[kind].text.FindStringSubmatch(text)
	if m == nil {
		ts.Fatalf("no hint of the kind %s in:\n%s", kind, text)
	}
	return hints[kind].do(ts, args, m[1])
}

// follow KINDS VERB SOURCE ARGS runs a command and follows its hints, which must be of
// these kinds in this order; after that the command neither fails nor warns.
func follow(ts *testscript.TestScript, _ bool, args []string) {
	kinds, args := strings.Split(args[0], ","), args[1:]
	for _, kind := range kinds {
		if err := ts.Exec("clusterctl-repo", args...); err == nil && !strings.Contains(ts.ReadFile("stderr"), "warning: ") {
			ts.Fatalf("%q neither fails nor warns", args)
		}
		args = followed(ts, kind, args)
	}
	if err := ts.Exec("clusterctl-repo", args...); err != nil || strings.Contains(ts.ReadFile("stderr"), "warning: ") {
		ts.Fatalf("after %q: %v\n%s", args, err, ts.ReadFile("stderr"))
	}
}

var nextCommand = regexp.MustCompile(`; next: clusterctl-repo (.*)\n`)

// next runs what the last command says comes next.
func next(ts *testscript.TestScript, _ bool, _ []string) {
	m := nextCommand.FindStringSubmatch(ts.ReadFile("stderr"))
	if m == nil {
		ts.Fatalf("nothing comes next:\n%s", ts.ReadFile("stderr"))
	}
	ts.Check(ts.Exec("clusterctl-repo", strings.Fields(m[1])...))
}

// gateScript is the script whose tree is used here.
var gateScript, _ = filepath.Abs(filepath.Join("testdata", "publish", "gate.txtar"))

// tree DIR copies its tree.
func tree(ts *testscript.TestScript, _ bool, args []string) {
	archive, err := txtar.ParseFile(gateScript)
	ts.Check(err)
	for _, f := range archive.Files {
		rel, ok := strings.CutPrefix(f.Name, "src/")
		if ok && (strings.Contains(rel, "/") || rel == "metadata.yaml") {
			write(ts, filepath.Join(args[0], rel), string(f.Data))
		}
	}
}
