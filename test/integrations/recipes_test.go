package integrations

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

const recipes = root + "/docs/ci"

// provider is a copy of the example with the history of a pull request: main has
// the example, and the branch a template with a mistake.
func provider(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cluster-api-provider-acme")
	given.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples/cluster-api-provider-acme"))))
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "example")
	git("update-ref", "refs/remotes/origin/main", "HEAD")
	return dir
}

// programs is a PATH that begins with the program, under its name.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(built(t), filepath.Join(dir, "clusterctl-repo")); err != nil {
		t.Skip(err)
	}
	return dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

// shell runs a script as the systems do and returns what it prints.
func shell(t *testing.T, dir, script string, env ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: bash is missing")
	}
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// pinned is an action with a version or a commit.
var pinned = regexp.MustCompile(`^[\w./-]+@(v\d[\w.]*|[0-9a-f]{40})$`)

func TestWorkflowsArePinned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recipes, "github-*.yml"))
	own, ownErr := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	if err != nil || ownErr != nil || len(files) < 2 || len(own) < 2 {
		t.Fatal(files, own, err, ownErr)
	}
	for _, file := range append(files, own...) {
		workflow := load(t, strings.TrimPrefix(file, root+"/"))
		if workflow.Get("permissions", "contents").Str() != "read" {
			t.Errorf("%s: the permissions of the workflow are not read only", file)
		}
		for _, job := range workflow.Get("jobs").Fields() {
			for _, step := range job.Value.Get("steps").List() {
				if uses := step.Get("uses").Str(); uses != "" && !pinned.MatchString(uses) {
					t.Errorf("%s: %s is not pinned", file, uses)
				}
				if run := step.Get("run").Str(); regexp.MustCompile(`\$\{\{\s*(inputs|github\.(event|head_ref|ref_name))`).MatchString(run) {
					t.Errorf("%s: a value of users is a part of the script %q", file, run)
				}
			}
		}
	}
}

// The recipe for pull requests finds what the branch adds, and only that.
func TestRecipeGitHubLint(t *testing.T) {
	var with *yamldoc.Node
	for _, step := range load(t, "docs/ci/github-lint.yml").Get("jobs", "lint", "steps").List() {
		if step.Get("id").Str() == "lint" {
			with = step.Get("with")
		}
	}
	inputs := map[string]string{"path": built(t)}
	for _, f := range with.Fields() {
		inputs[f.Name] = strings.ReplaceAll(f.Value.Str(), "${{ github.base_ref }}", "main")
	}
	a := newAction(t, inputs)
	a.dir = provider(t)
	if a.run(t); a.exitCode != 0 {
		t.Errorf("exit code %d without a change: %s", a.exitCode, &a.log)
	}
	name := filepath.Join(a.dir, "templates/cluster-template-topology.yaml")
	data := given.Read(t, name)
	given.NoError(t, os.WriteFile(name, append(data, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"${CLUSTER_NAME}\", namespace: other}\n"...), 0o644))
	a = newAction(t, inputs)
	a.dir = filepath.Dir(filepath.Dir(name))
	if a.run(t); a.exitCode != 1 || !strings.Contains(a.log.String(), "file=templates/cluster-template-topology.yaml") {
		t.Errorf("exit code %d with a mistake: %s", a.exitCode, &a.log)
	}
}

// The recipe for releases publishes; a folder stands for the server.
func TestRecipeGitHubRelease(t *testing.T) {
	dir, dest := provider(t), filepath.Join(t.TempDir(), "repository")
	job := load(t, "docs/ci/github-release.yml").Get("jobs", "release")
	const image = "ghcr.io/acme/cluster-api-provider-acme"
	if got := strings.ReplaceAll(job.Get("env", "IMAGE").Str(), "${{ github.repository }}", "acme/cluster-api-provider-acme"); got != image {
		t.Fatalf("the image is %s", got)
	}
	ran := 0
	for _, step := range job.Get("steps").List() {
		run := step.Get("run").Str()
		if run == "" {
			continue
		}
		const server = `"https://github.com/$GITHUB_REPOSITORY"`
		if !strings.Contains(run, server) {
			t.Errorf("%q does not publish to %s", run, server)
		}
		out, err := shell(t, dir, strings.ReplaceAll(run, server, "'"+dest+"'"), "PATH="+programs(t), "VERSION=v0.1.0", "IMAGE="+image)
		if err != nil {
			t.Fatalf("%s: %v\n%s", run, err, out)
		}
		ran++
		_, statErr := os.Stat(filepath.Join(dest, "infrastructure-acme/v0.1.0/infrastructure-components.yaml"))
		if published := statErr == nil; published == strings.Contains(run, "--dry-run") {
			t.Errorf("%s: published: %v\n%s", run, published, out)
		}
	}
	if ran != 2 {
		t.Errorf("%d steps were run", ran)
	}
}

// The GitLab job installs a release and lints with it.
func TestRecipeGitLab(t *testing.T) {
	data := given.Read(t, filepath.Join(recipes, "gitlab-lint.yml"))
	s := yamldoc.Parse(yamldoc.NewFile("gitlab-lint.yml", data))
	if s.Err != nil || len(s.Docs) != 2 {
		t.Fatalf("%d documents, %v", len(s.Docs), s.Err)
	}
	inputs := s.Docs[0].Root.Get("spec", "inputs")
	fill := func(text string, values map[string]string) string {
		return regexp.MustCompile(`\$\[\[ inputs\.([\w-]+) \]\]`).ReplaceAllStringFunc(text, func(e string) string {
			name := strings.TrimSuffix(strings.TrimPrefix(e, "$[[ inputs."), " ]]")
			if inputs.Get(name) == nil {
				t.Errorf("the component has no input %s", name)
			}
			if v, ok := values[name]; ok {
				return v
			}
			return inputs.Get(name, "default").Str()
		})
	}
	job := s.Docs[1].Root.Get("clusterctl-repo lint")
	var script strings.Builder
	for _, line := range job.Get("script").List() {
		script.WriteString(line.Str() + "\n")
	}
	run := func(damage bool) (string, error) {
		values := map[string]string{"releases": releases(t, damage), "version": "v1.2.3"}
		program := fmt.Sprintf("clusterctl-repo_%s_%s.tar.gz", "linux", "amd64")
		if job.Get("variables", "PROGRAM").Str() != program {
			t.Errorf("the job takes %s", job.Get("variables", "PROGRAM").Str())
		}
		return shell(t, provider(t), fill(script.String(), values), "PROGRAM="+archiveOfThisMachine())
	}
	if out, err := run(false); err != nil || !strings.Contains(out, "released lint --fail-on error -o text -o junit=lint.xml .") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := run(true); err == nil || strings.Contains(out, "released") {
		t.Errorf("what has a wrong checksum was run:\n%s", out)
	}
	// And the real program understands these arguments.
	if out, err := shell(t, provider(t), "clusterctl-repo lint --fail-on error -o text -o junit=lint.xml . && test -s lint.xml", "PATH="+programs(t)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRecipeMakefile(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("skipped: make is missing")
	}
	dir, dest := provider(t), filepath.Join(t.TempDir(), "repository")
	given.NoError(t, os.CopyFS(dir, os.DirFS(recipes)))
	given.NoError(t, os.WriteFile(filepath.Join(dir, "Makefile"), []byte("include clusterctl-repo.mk\n"), 0o644))
	for _, script := range []string{
		"make lint-release FAIL_ON=warning",
		"make build-release VERSION=v0.1.0 && test -s out/infrastructure-acme/v0.1.0/metadata.yaml",
		"make publish-release VERSION=v0.1.0 DEST='" + dest + "' && test -s '" + dest + "/infrastructure-acme/v0.1.0/metadata.yaml'",
		"! make build-release", // without a version
	} {
		if out, err := shell(t, dir, "export CLUSTERCTL_REPO=clusterctl-repo\n"+script, "PATH="+programs(t)); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
	// Without a program it is installed once, in the version that is pinned.
	bin := t.TempDir()
	_, record := fake(t, bin, "go", 0, `mkdir -p "$GOBIN"; printf '#!/bin/sh\necho installed "$@"\n' > "$GOBIN/clusterctl-repo"; chmod +x "$GOBIN/clusterctl-repo"`)
	out, err := shell(t, dir, "make lint-release lint-release && make lint-release", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err != nil || strings.Count(out, "go install") != 1 || strings.Count(out, "installed lint . --fail-on error") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	if got := readLines(t, record); len(got) != 2 || !strings.HasSuffix(got[1], "@v0.1.0") {
		t.Errorf("go %v", got)
	}
}

// The hooks of the goreleaser recipe make the files that it uploads.
func TestRecipeGoreleaser(t *testing.T) {
	dir := provider(t)
	fill := strings.NewReplacer("{{ .Tag }}", "v0.1.0")
	recipe := load(t, "docs/ci/goreleaser.yaml")
	for _, hook := range recipe.Get("before", "hooks").List() {
		if out, err := shell(t, dir, fill.Replace(hook.Str()), "PATH="+programs(t)); err != nil {
			t.Fatalf("%s: %v\n%s", hook.Str(), err, out)
		}
	}
	var assets []string
	for _, files := range recipe.Get("release", "extra_files").List() {
		found := given.Value(filepath.Glob(filepath.Join(dir, fill.Replace(files.Get("glob").Str()))))(t)
		for _, f := range found {
			assets = append(assets, filepath.Base(f))
		}
	}
	if got := strings.Join(assets, " "); !strings.Contains(got, "infrastructure-components.yaml") || !strings.Contains(got, "metadata.yaml") || !strings.Contains(got, "cluster-template.yaml") {
		t.Errorf("uploaded are %s", got)
	}
}

// Renovate finds the version in the recipes that pin one.
func TestRecipeRenovate(t *testing.T) {
	data := given.Read(t, filepath.Join(recipes, "renovate.json"))
	var file struct {
		CustomManagers []struct{ MatchStrings []string }
	}
	given.NoError(t, json.Unmarshal(data, &file))
	for i, recipe := range []string{"clusterctl-repo.mk", "gitlab-lint.yml"} {
		text := given.Read(t, filepath.Join(recipes, recipe))
		p := regexp.MustCompile(file.CustomManagers[0].MatchStrings[i])
		m := p.FindSubmatch(text)
		if m == nil || string(m[p.SubexpIndex("currentValue")]) != "v0.1.0" {
			t.Errorf("%s: found %q", recipe, m)
		}
	}
}

func TestPreCommitFiles(t *testing.T) {
	files := regexp.MustCompile(load(t, ".pre-commit-hooks.yaml").List()[0].Get("files").Str())
	for _, name := range []string{
		"kustomization", "config/Kustomization", "config/kustomization.yml", "config/kustomization.yaml", "templates/variables.env", "config/.env",
		"clusterctl-repo.yaml", ".clusterctl-repo.yaml", "metadata.yaml", "patch.json",
	} {
		if !files.MatchString(name) {
			t.Errorf("a change of %s is not checked", name)
		}
	}
	for _, name := range []string{"main.go", "docs/environment", "my-kustomization", "README.md"} {
		if files.MatchString(name) {
			t.Errorf("a change of %s is checked", name)
		}
	}
}
