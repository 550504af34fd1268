// Package integrations runs what other systems start: the GitHub Action, the
// pre-commit hooks and the problem matcher, each as that system would. It must not know the verbs.
package integrations

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const root = "../.."

// program is the program, for the first test that asks for it.
var program func() (string, error)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "integrations")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = sync.OnceValues(func() (string, error) { return given.Program(root, dir) })
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func built(t *testing.T) string {
	t.Helper()
	return given.Value(program())(t)
}

func load(t *testing.T, name string) *yamldoc.Node {
	t.Helper()
	data := given.Read(t, filepath.Join(root, name))
	s := yamldoc.Parse(yamldoc.NewFile(name, data))
	if s.Err != nil || len(s.Docs) != 1 || s.Docs[0].Err != nil {
		t.Fatalf("%s: %v", name, s.Err)
	}
	return s.Docs[0].Root
}

// action is the GitHub Action in a runner that knows as much as it needs.
type action struct {
	root *yamldoc.Node
	home string // where its files are
	// contexts are the values of expressions: inputs.NAME, steps.ID.outputs.NAME.
	contexts map[string]string
	dir      string // the workspace
	path     string
	added    string // what the steps added to the PATH of those that follow
	log      bytes.Buffer
	exitCode int
}

func newAction(t *testing.T, inputs map[string]string) *action {
	t.Helper()
	return newActionOf(t, "action.yml", inputs)
}

// newActionOf is newAction for the action in one of the files.
func newActionOf(t *testing.T, file string, inputs map[string]string) *action {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash on this machine; the action needs it")
	}
	home := given.Value(filepath.Abs(filepath.Join(root, filepath.Dir(file))))(t)
	a := &action{root: load(t, file), home: home, contexts: map[string]string{}, dir: t.TempDir(), path: os.Getenv("PATH")}
	for _, input := range a.root.Get("inputs").Fields() {
		a.contexts["inputs."+input.Name] = input.Value.Get("default").Str()
	}
	for name, value := range inputs {
		if _, ok := a.contexts["inputs."+name]; !ok {
			t.Fatalf("the action has no input %s", name)
		}
		a.contexts["inputs."+name] = value
	}
	return a
}

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// evaluate knows "a || b" of contexts.
func (a *action) evaluate(t *testing.T, text string) string {
	return expression.ReplaceAllStringFunc(text, func(e string) string {
		for _, term := range strings.Split(expression.FindStringSubmatch(e)[1], " || ") {
			if !regexp.MustCompile(`^(inputs\.[a-z-]+|steps\.[a-z]+\.outputs\.[a-z-]+|github\.action_ref)$`).MatchString(term) {
				t.Fatalf("the test does not know the expression %q", term)
			}
			if v := a.contexts[term]; v != "" {
				return v
			}
		}
		return ""
	})
}

// run runs the steps until one fails.
func (a *action) run(t *testing.T) *action {
	t.Helper()
	temp := t.TempDir()
	for i, step := range a.root.Get("runs", "steps").List() {
		switch condition := step.Get("if").Str(); condition {
		case "":
		case "inputs.path == ''":
			if a.contexts["inputs.path"] != "" {
				continue
			}
		default:
			t.Fatalf("the test does not know the condition %q", condition)
		}
		if step.Get("shell").Str() != "bash" {
			t.Fatalf("step %d is not for bash", i)
		}
		script, output, paths := filepath.Join(temp, fmt.Sprint("script", i)), filepath.Join(temp, fmt.Sprint("output", i)), filepath.Join(temp, fmt.Sprint("paths", i))
		given.NoError(t, errors.Join(os.WriteFile(paths, nil, 0o644), os.WriteFile(script, []byte(step.Get("run").Str()), 0o644), os.WriteFile(output, nil, 0o644)))
		cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script)
		cmd.Dir, cmd.Stdout, cmd.Stderr = a.dir, &a.log, &a.log
		cmd.Env = append(os.Environ(), "PATH="+a.path, "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+output, "GITHUB_PATH="+paths, "GITHUB_ACTION_PATH="+a.home, "GITHUB_STEP_SUMMARY="+filepath.Join(temp, fmt.Sprint("summary", i)))
		if env := step.Get("env"); env != nil {
			for _, field := range env.Fields() {
				cmd.Env = append(cmd.Env, field.Name+"="+a.evaluate(t, field.Value.Str()))
			}
		}
		err := cmd.Run()
		data, readErr := os.ReadFile(output)
		added, pathErr := os.ReadFile(paths)
		given.NoError(t, errors.Join(readErr, pathErr))
		a.added += strings.TrimSpace(string(added))
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			a.contexts["steps."+step.Get("id").Str()+".outputs."+name] = value
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			a.exitCode = exit.ExitCode()
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func (a *action) output(t *testing.T, name string) string {
	return a.evaluate(t, a.root.Get("outputs", name, "value").Str())
}

// fake writes a program that records its arguments, one per line, and exits
// with a code.
func fake(t *testing.T, dir, name string, code int, more string) (path, record string) {
	t.Helper()
	path, record = filepath.Join(dir, name), filepath.Join(dir, name+".args")
	script := fmt.Sprintf("#!/usr/bin/env bash\nfor a in \"$@\"; do printf '%%s\\n' \"${a//$'\\n'/<newline>}\"; done > %q\n%s\nexit %d\n", record, more, code)
	given.NoError(t, os.WriteFile(path, []byte(script), 0o755))
	return path, record
}

func readLines(t *testing.T, name string) []string {
	t.Helper()
	data := given.Read(t, name)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// Values of users must not become a part of a script.
func TestActionHasNoExpressionsInScripts(t *testing.T) {
	for _, step := range load(t, "action.yml").Get("runs", "steps").List() {
		if run := step.Get("run").Str(); run == "" || strings.Contains(run, "${{") {
			t.Errorf("script %q", run)
		}
	}
}

func TestActionArguments(t *testing.T) {
	const injection = "$(touch pwned) `touch pwned` \"; touch pwned; ' && touch pwned #"
	for _, tt := range []struct {
		name   string
		inputs map[string]string
		code   int
		want   []string // arguments; DIR is the workspace
		sarif  string
	}{
		{name: "nothing said", want: []string{"lint", "-o", "github", "--fail-on=error", "--", "."}},
		{
			name: "everything said", code: 1,
			inputs: map[string]string{"targets": "a b\n\n-o\nc", "fail-on": "never", "config": "x.yaml", "sarif-file": "out/x.sarif", "args": "--provider\ninfrastructure-acme\n"},
			want:   []string{"lint", "-o", "github", "--fail-on=never", "--config=x.yaml", "-o", "sarif=DIR/out/x.sarif", "--provider", "infrastructure-acme", "--", "a b", "-o", "c"},
			sarif:  "DIR/out/x.sarif",
		},
		{
			name: "hostile", code: 3,
			inputs: map[string]string{"targets": injection, "fail-on": injection, "config": injection, "args": injection, "sarif-file": "$(touch pwned)`touch pwned`;'\".sarif"},
			want: []string{"lint", "-o", "github", "--fail-on=" + injection, "--config=" + injection,
				"-o", "sarif=DIR/$(touch pwned)`touch pwned`;'\".sarif", injection, "--", injection},
			sarif: "DIR/$(touch pwned)`touch pwned`;'\".sarif",
		},
		{name: "more outputs", inputs: map[string]string{"sarif-file": "x\nexit-code=0"}, code: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, record := fake(t, t.TempDir(), "program", tt.code, "")
			inputs := map[string]string{"path": path}
			maps.Copy(inputs, tt.inputs)
			a := newAction(t, inputs).run(t)
			if a.exitCode != tt.code {
				t.Errorf("exit code %d, want %d: %s", a.exitCode, tt.code, &a.log)
			}
			entries := given.Value(os.ReadDir(a.dir))(t)
			for _, e := range entries {
				if e.Name() != "out" {
					t.Errorf("the action made %s", e.Name())
				}
			}
			if tt.want == nil {
				return
			}
			in := func(s string) string { return strings.ReplaceAll(s, "DIR", a.dir) }
			for i := range tt.want {
				tt.want[i] = in(tt.want[i])
			}
			if diff := cmp.Diff(tt.want, readLines(t, record)); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if got := a.output(t, "sarif-file"); got != in(tt.sarif) {
				t.Errorf("output sarif-file is %q", got)
			}
			if got := a.output(t, "exit-code"); got != fmt.Sprint(tt.code) {
				t.Errorf("output exit-code is %q", got)
			}
		})
	}
}

func TestActionInstalls(t *testing.T) {
	bin := t.TempDir()
	_, record := fake(t, bin, "go", 0, `mkdir -p "$GOBIN"; printf '#!/bin/sh\necho installed "$@"\n' > "$GOBIN/clusterctl-repo"; chmod +x "$GOBIN/clusterctl-repo"`)
	a := newAction(t, map[string]string{"version": "v1.2.3; touch pwned $(touch pwned)", "releases": noReleases(t)})
	a.path = bin + string(os.PathListSeparator) + a.path
	a.run(t)
	want := []string{"install", "github.com/clusterctl-repo/clusterctl-repo/cmd/clusterctl-repo@v1.2.3; touch pwned $(touch pwned)"}
	if diff := cmp.Diff(want, readLines(t, record)); diff != "" {
		t.Errorf("go (-want +got):\n%s", diff)
	}
	if !strings.Contains(a.log.String(), "installed lint -o github --fail-on=error -- .") || a.exitCode != 0 {
		t.Errorf("exit code %d: %s", a.exitCode, &a.log)
	}
	if _, err := os.Stat(filepath.Join(a.dir, "pwned")); err == nil {
		t.Error("the version was executed")
	}

	// What is installed is what this module has, under that name.
	mains := mainPackages(t)
	if pkg, _, _ := strings.Cut(want[1], "@"); !slices.Contains(mains, pkg) {
		t.Errorf("%s is none of the programs %v", pkg, mains)
	}

	// Without Go the action says what to do.
	a = newAction(t, map[string]string{"releases": noReleases(t)})
	only := t.TempDir()
	for _, name := range []string{"bash", "uname", "mkdir", "curl"} {
		found := given.Value(exec.LookPath(name))(t)
		if err := os.Symlink(found, filepath.Join(only, name)); err != nil {
			t.Skip(err)
		}
	}
	a.path = only
	if a.run(t); a.exitCode != 3 || !strings.Contains(a.log.String(), "setup-go") {
		t.Errorf("without Go: exit code %d: %s", a.exitCode, &a.log)
	}
}

func mainPackages(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./cmd/...")
	cmd.Dir = root
	out := given.Value(cmd.Output())(t)
	return strings.Fields(string(out))
}

// brokenRelease writes a release with a wrong line.
func brokenRelease(t *testing.T, dir string) {
	t.Helper()
	release := filepath.Join(dir, "repository", "infrastructure-acme", "v1.2.3")
	given.NoError(t, os.MkdirAll(release, 0o755))
	for name, text := range map[string]string{
		"metadata.yaml":                  "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries:\n- {major: 1, minor: 1, contract: v1beta1}\n",
		"infrastructure-components.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: acme-system\n---\na: ${B\n",
	} {
		given.NoError(t, os.WriteFile(filepath.Join(release, name), []byte(text), 0o644))
	}
}

// The action runs the real program.
func TestActionLints(t *testing.T) {
	a := newAction(t, map[string]string{"path": built(t), "targets": "repository", "sarif-file": "x.sarif"})
	brokenRelease(t, a.dir)
	a.run(t)
	if a.exitCode != 1 {
		t.Errorf("exit code %d", a.exitCode)
	}
	if want := "::error file=repository/infrastructure-acme/v1.2.3/infrastructure-components.yaml,line=6,"; !strings.Contains(a.log.String(), "\n"+want) && !strings.HasPrefix(a.log.String(), want) {
		t.Errorf("no %q in %s", want, &a.log)
	}
	data, err := os.ReadFile(a.output(t, "sarif-file"))
	if err != nil || !json.Valid(data) {
		t.Errorf("SARIF: %v", err)
	}
	a = newAction(t, map[string]string{"path": built(t), "targets": "repository", "fail-on": "never"})
	brokenRelease(t, a.dir)
	if a.run(t); a.exitCode != 0 {
		t.Errorf("exit code %d with fail-on never: %s", a.exitCode, &a.log)
	}
}

// pre-commit installs the programs of the module with Go and runs entry and args
// in the root of the repository.
func TestPreCommitHooks(t *testing.T) {
	hooks := load(t, ".pre-commit-hooks.yaml").List()
	if len(hooks) == 0 {
		t.Fatal("no hooks")
	}
	folders := map[string]string{ // for each hook, where it finds nothing wrong
		"clusterctl-repo-lint":            filepath.Join(root, "examples/cluster-api-provider-acme"),
		"clusterctl-repo-lint-repository": t.TempDir(),
		"clusterctl-repo-lint-templates":  t.TempDir(),
	}
	given.NoError(t, os.CopyFS(filepath.Join(folders["clusterctl-repo-lint-templates"], "templates"),
		os.DirFS(filepath.Join(folders["clusterctl-repo-lint"], "templates"))))
	release := exec.CommandContext(t.Context(), built(t), "release", folders["clusterctl-repo-lint"], "--version", "v0.1.0", "--to", filepath.Join(folders["clusterctl-repo-lint-repository"], "repository"))
	if out, err := release.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	names := map[string]bool{}
	for _, pkg := range mainPackages(t) {
		names[pkg[strings.LastIndexByte(pkg, '/')+1:]] = true
	}
	for _, hook := range hooks {
		id := hook.Get("id").Str()
		if hook.Get("language").Str() != "golang" || hook.Get("name").Str() == "" || hook.Get("pass_filenames").Bool() {
			t.Errorf("%s: language, name or pass_filenames is wrong", id)
		}
		files, err := regexp.Compile(hook.Get("files").Str())
		if err != nil || !files.MatchString("config/manager/manager.yaml") || files.MatchString("main.go") {
			t.Errorf("%s: files %v, %v", id, files, err)
		}
		line := strings.Fields(hook.Get("entry").Str())
		for _, arg := range hook.Get("args").List() {
			line = append(line, arg.Str())
		}
		if !names[line[0]] {
			t.Errorf("%s: this module has no program %s", id, line[0])
			continue
		}
		run := func(dir string) (string, error) {
			cmd := exec.CommandContext(t.Context(), built(t), line[1:]...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		if out, err := run(folders[id]); err != nil {
			t.Errorf("%s: %v\n%s", id, err, out)
		}
		bad := t.TempDir()
		brokenRelease(t, bad)
		if out, err := run(bad); err == nil {
			t.Errorf("%s finds nothing wrong in a broken release: %s", id, out)
		}
	}
}

type matcher struct {
	Owner, Severity string
	Pattern         []struct {
		Regexp                                      string
		File, Line, Column, Severity, Message, Code int
	}
}

// matchers reads the problem matcher and checks what a runner would refuse.
func matchers(t *testing.T) []matcher {
	t.Helper()
	data := given.Read(t, filepath.Join(root, ".github/clusterctl-repo-matcher.json"))
	var file struct{ ProblemMatcher []matcher }
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	given.NoError(t, d.Decode(&file))
	owners := map[string]bool{}
	for _, m := range file.ProblemMatcher {
		if m.Owner == "" || owners[m.Owner] || len(m.Pattern) != 1 || m.Pattern[0].Message == 0 || !slices.Contains([]string{"", "error", "warning", "notice"}, m.Severity) {
			t.Errorf("a runner refuses %+v", m)
		}
		owners[m.Owner] = true
		p := m.Pattern[0]
		for _, group := range []int{p.File, p.Line, p.Column, p.Severity, p.Message, p.Code} {
			if n := regexp.MustCompile(p.Regexp).NumSubexp(); group > n {
				t.Errorf("%s: group %d of %d", m.Owner, group, n)
			}
		}
	}
	return file.ProblemMatcher
}

type problem struct{ File, Line, Column, Severity, Message, Code string }

// problems are what a runner finds in the text, and how many matchers want each.
func problems(t *testing.T, text string) []problem {
	t.Helper()
	all := matchers(t)
	var out []problem
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		matched := 0
		for _, m := range all {
			p := m.Pattern[0]
			g := regexp.MustCompile(p.Regexp).FindStringSubmatch(line)
			if g == nil {
				continue
			}
			matched++
			g[0] = "" // group 0 stands for none
			severity := g[p.Severity]
			if severity == "" {
				severity = m.Severity
			}
			out = append(out, problem{g[p.File], g[p.Line], g[p.Column], severity, g[p.Message], g[p.Code]})
		}
		if matched > 1 {
			t.Errorf("%d matchers want %q; which one gets it is not defined", matched, line)
		}
	}
	return out
}

// plain does not paint.
type plain struct{}

func (plain) Red(s string) string    { return s }
func (plain) Yellow(s string) string { return s }
func (plain) Blue(s string) string   { return s }
func (plain) Bold(s string) string   { return s }
func (plain) Dim(s string) string    { return s }

func TestMatcher(t *testing.T) {
	rule := &lint.Rule{ID: "META006", Severity: lint.Error, Fix: "x.yaml:1:1: error: not a finding"}
	at := yamldoc.Pos{Line: 12, Column: 3}
	r := &lint.Report{Findings: []lint.Finding{
		{Rule: rule, Severity: lint.Error, File: "config/a b.yaml", Pos: at, Object: "Deployment x", Message: "it: error: is [wrong]", Source: "a.yaml:1:1: error: shown [META006]"},
		{Rule: rule, Severity: lint.Warning, File: "a:9:9.yaml", Pos: at, Message: "two\nlines [META006]"},
		{Rule: rule, Severity: lint.Info, File: "é.yaml", Pos: at, Message: "note"},
		{Rule: rule, Severity: lint.Error, File: "repository/infrastructure-acme/v1.2.3", Message: "metadata.yaml is missing"},
		{Rule: rule, Severity: lint.Info, File: "repository", Message: "about all"},
	}}
	var b strings.Builder
	given.NoError(t, report.WriteFindings(&b, "text", r, report.Options{Paint: plain{}}))
	want := []problem{
		{"config/a b.yaml", "12", "3", "error", "Deployment x: it: error: is [wrong]", "META006"},
		{"repository/infrastructure-acme/v1.2.3", "", "", "error", "metadata.yaml is missing", "META006"},
		{"a:9:9.yaml", "12", "3", "warning", "two lines [META006]", "META006"},
		{"é.yaml", "12", "3", "notice", "note", "META006"},
		{"repository", "", "", "notice", "about all", "META006"},
	}
	if diff := cmp.Diff(want, problems(t, b.String())); diff != "" {
		t.Errorf("-want +got:\n%s\n%s", diff, b.String())
	}
}

// The matcher finds in the text of the real program what its JSON says.
func TestMatcherOnRealOutput(t *testing.T) {
	dir := t.TempDir()
	brokenRelease(t, dir)
	cmd := exec.CommandContext(t.Context(), built(t), "lint", "repository", "-o", "text", "-o", "json=findings.json", "--fail-on", "never")
	cmd.Dir = dir
	out := given.Value(cmd.Output())(t)
	data := given.Read(t, filepath.Join(dir, "findings.json"))
	var file struct {
		Findings []struct {
			Rule, Severity, File, Object, Message string
			Line, Column                          int
		}
	}
	given.NoError(t, json.Unmarshal(data, &file))
	var want []problem
	for _, f := range file.Findings {
		p := problem{File: f.File, Severity: strings.Replace(f.Severity, "info", "notice", 1), Message: f.Message, Code: f.Rule}
		if f.Object != "" {
			p.Message = f.Object + ": " + p.Message
		}
		if f.Line > 0 {
			p.Line, p.Column = fmt.Sprint(f.Line), fmt.Sprint(f.Column)
		}
		want = append(want, p)
	}
	got := problems(t, string(out)) // errors first
	for _, list := range [][]problem{want, got} {
		slices.SortFunc(list, func(a, b problem) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("-want +got:\n%s", diff)
	}
}
