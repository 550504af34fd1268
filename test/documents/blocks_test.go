package documents

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/test/documents/session"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
	"github.com/clusterctl-repo/clusterctl-repo/test/share"
)

// elsewhere are command lines that need what a test does not have. They are
// parsed, with all their flags, and not run.
var elsewhere = []struct{ pattern, why string }{
	{`(https|oci)://|images .*--check\b|--check-images`, "a server"},
	{`^move-plan .*(crds\.json|dump/)`, "a dump of a cluster"},
	{`--watch`, "it does not end"},
	{`^lint .*--with infrastructure-aws`, "releases on GitHub"},
	{`^lint - `, "a tree of the reader"},
	{`^mirror .*(cluster-api|--config|/srv/mirror|infrastructure-)|^mirror\b`, "releases on GitHub"},
	{`--verify-key|--sign|\bTARGET\b`, "keys"},
	{`^extension (check|config)`, "a running extension"},
	{`static:|--from \S*/srv/mirror`, "a folder that another page makes"},
	{`^build \.\./cluster-api `, "a tree of Cluster API"},
	{`infrastructure-foo`, "the example of a rule"},
	{`^(diff|lint|publish|verify)\b.*(docs|old|new|beside)/`, "folders that the reader has"},
}

// stubs are programs of the reader's world. They do nothing here.
var stubs = []string{
	"clusterctl", "cosign", "openssl", "curl", "docker", "sudo", "brew", "gh", "nginx", "skopeo", "sha256sum",
	"tar", "base64", "make", "go", "kustomize",
}

// answers are stubs whose output the page uses.
var answers = map[string]string{
	"jq":             "cat > /dev/null",
	"controller-gen": "cat config/crd/bases/*_acmeclusters.yaml",
	"kubectl":        `case "$*" in *crds*) cat config/crd/bases/*_acmeclusters.yaml;; *'crd -o name'*) echo customresourcedefinition.apiextensions.k8s.io/clusters.cluster.x-k8s.io;; esac`,
}

// sandbox is the surroundings in which a block runs: the example provider with
// a history, releases of it, and the program.
type sandbox struct{ tree, srv, path string }

func sandboxIn(dir string) sandbox {
	return sandbox{tree: filepath.Join(dir, "tree"), srv: filepath.Join(dir, "srv"), path: filepath.Join(dir, "bin")}
}

// newSandbox copies the one that is prepared once.
func newSandbox(t *testing.T) sandbox {
	t.Helper()
	bin(t)
	prepared := given.Value(preparedSandbox())(t)
	dir := t.TempDir()
	given.NoError(t, os.CopyFS(dir, os.DirFS(prepared)))
	return sandboxIn(dir)
}

var preparedSandbox = sync.OnceValues(func() (string, error) {
	command, err := program()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(scratch, "sandbox")
	s := sandboxIn(dir)
	acme := os.DirFS(filepath.Join(root, "examples/cluster-api-provider-acme"))
	if err := errors.Join(
		os.CopyFS(s.tree, acme), os.CopyFS(filepath.Join(s.tree, "examples/cluster-api-provider-acme"), acme),
		os.CopyFS(filepath.Join(dir, "cluster-api-provider-acme"), os.DirFS(filepath.Join(root, "examples/cluster-api-addon-provider-acme"))),
		os.Mkdir(s.path, 0o755),
	); err != nil {
		return "", err
	}
	script := "cd " + s.tree + `
printf -- '- {major: 0, minor: 4, contract: v1beta2}\n- {major: 1, minor: 2, contract: v1beta2}\n' >> metadata.yaml
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
mkdir -p test/e2e/config
cp ../cluster-api-provider-acme/metadata.yaml test/e2e/config/components.yaml
for p in cluster-api:Core kubeadm:Bootstrap kubeadm:ControlPlane acme:Infrastructure; do
	printf -- '- {name: %s, type: %sProvider, versions: [{name: v1.2.3, type: url, value: components.yaml}]}\n' ${p%:*} ${p#*:}
done | sed '1i providers:' > test/e2e/config/docker.yaml
git init -q -b main --template= && printf 'out/\nexamples/\n' > .gitignore && git add . && git -c user.name=a -c user.email=a@example.com commit -q -m example
git update-ref refs/remotes/origin/main HEAD
git repack -q -a -d
for version in v1.2.0 v1.2.3; do ` + command + ` -q build --version $version --out $version && ` + command + ` -q publish $version --to ../srv/repository; done
rm -r v1.2.0 && mv v1.2.3 out
touch ca.crt && mkdir -p artifacts mirror path/to && cp -r out path/to/repository && cp -r out repository
`
	if out, err := exec.Command("bash", "-e", "-c", script).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	var patterns []string
	for _, e := range elsewhere {
		patterns = append(patterns, e.pattern)
	}
	scripts := map[string]string{
		// Findings (1) and files that differ are results; wrong usage is not.
		"clusterctl-repo": `if printf '%s\n' "$*" | grep -qE '` + strings.Join(patterns, "|") + `'; then
	` + command + ` "$@" --help > /dev/null || { echo "cannot be parsed: $*"; exit 99; }
	exit 0
fi
code=0; ` + command + ` "$@" || code=$?
[ $code -le 1 ] || { echo "exit code $code: $*"; exit 99; }`,
	}
	for _, name := range stubs {
		scripts[name] = "exit 0"
	}
	maps.Copy(scripts, answers)
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(s.path, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			return "", err
		}
	}
	return dir, nil
})

// TestBlocks runs or reads every fenced block of every page; a share of the scripts. The pages of rules
// show examples that other tests run, and the tutorial has a test of its own.
func TestBlocks(t *testing.T) {
	bin(t)
	counts := map[string]int{}
	for _, page := range pages(t) {
		name := filepath.ToSlash(strings.TrimPrefix(page, root+"/"))
		if name == "docs/getting-started.md" {
			continue
		}
		data := given.Read(t, page)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, b := range session.Blocks(string(data)) {
				if b.Language != "sh" || i%share.Of(3, 1) == 0 {
					checkBlock(t, name, b)
				}
			}
		})
		for _, b := range session.Blocks(string(data)) {
			counts[b.Language]++
		}
	}
	if counts["sh"] < 50 || counts["yaml"] < 20 {
		t.Errorf("found only %v", counts)
	}
}

func checkBlock(t *testing.T, name string, b session.Block) {
	t.Helper()
	switch b.Language {
	case "sh":
		runBlock(t, name, b.Line, b.Text)
	case "yaml":
		checkYAML(t, name, b)
	case "json":
		if !json.Valid([]byte(b.Text)) {
			t.Errorf("%s:%d: not JSON", name, b.Line)
		}
	case "go":
		_, err := parser.ParseFile(token.NewFileSet(), name, "package p\n"+b.Text, 0)
		if _, inside := parser.ParseFile(token.NewFileSet(), name, "package p\nfunc f() {\n"+b.Text+"}\n", 0); err != nil && inside != nil {
			t.Errorf("%s:%d: %v", name, b.Line, err)
		}
	case "make":
		dir := t.TempDir()
		given.NoError(t, os.WriteFile(filepath.Join(dir, "Makefile"), []byte(b.Text), 0o644))
		target := regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindStringSubmatch(b.Text)
		if target == nil {
			t.Fatalf("%s:%d: no target", name, b.Line)
		}
		if _, err := exec.LookPath("make"); err == nil {
			if out, err := exec.CommandContext(t.Context(), "make", "-n", "-C", dir, target[1], "VERSION=v0.1.0", "DEST=d").CombinedOutput(); err != nil {
				t.Errorf("%s:%d: %v\n%s", name, b.Line, err, out)
			}
		}
	case "text", "nginx", "", "mermaid", "dot", "dockerfile":
	default:
		t.Errorf("%s:%d: this test does not know what to do with a block of %q", name, b.Line, b.Language)
	}
}

// runBlock runs a script of a page in a sandbox of its own.
func runBlock(t *testing.T, name string, line int, script string) {
	t.Helper()
	s := newSandbox(t)
	if strings.Contains(script, "clusterctl-repo init") { // it refuses to replace a configuration
		given.NoError(t, os.Remove(filepath.Join(s.tree, config.FileName)))
	}
	if strings.Contains(script, "< cluster-template.yaml") {
		template := given.Read(t, filepath.Join(s.tree, "templates/cluster-template-topology.yaml"))
		given.NoError(t, os.WriteFile(filepath.Join(s.tree, "cluster-template.yaml"), template, 0o644))
	}
	for _, m := range regexp.MustCompile(`(?m)^make ([a-z0-9-]+)`).FindAllStringSubmatch(script, -1) {
		// Those of readers, who have a target release and tests of their own.
		if ours := !strings.Contains(script, "test-e2e") && m[1] != "release"; ours {
			makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
			recipe, recipeErr := os.ReadFile(filepath.Join(root, "docs/ci/clusterctl-repo.mk"))
			if err != nil || recipeErr != nil || !regexp.MustCompile(`(?m)^`+m[1]+`:`).Match(append(makefile, recipe...)) {
				t.Errorf("%s:%d: make has no target %s", name, line, m[1])
			}
		}
	}
	script = strings.ReplaceAll(script, "/srv/", s.srv+"/")
	script = strings.ReplaceAll(script, "./clusterctl-repo", "clusterctl-repo")
	// What the shell itself does with other processes is left out.
	script = regexp.MustCompile(`(?m)^(kill|source|cd) .*$|; wait \S+|wait \$\w+| &$`).ReplaceAllString(script, "")
	shell, err := session.NewShell(s.tree, t.TempDir(), "PATH="+s.path+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+filepath.Dir(s.tree)+"/cache",
		"GITHUB_REF_NAME=v1.2.3", "GITHUB_REPOSITORY=acme/cluster-api-provider-acme", "VERSION=v1.2.3", "KUBECONFIG=kubeconfig", "KUBERNETES_VERSION=v1.34.0",
		"IMAGE=ghcr.io/acme/cluster-api-provider-acme", "ACME_B64ENCODED_TOKEN=x", "NO_COLOR=1", "GITHUB_ENV="+filepath.Join(filepath.Dir(s.tree), "env"), "WATCHER=1")
	given.NoError(t, err)
	if _, err := shell.Run(t.Context(), session.Block{Text: script, Line: line}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

var pinned = regexp.MustCompile(`@(v\d[\w.]*|[0-9a-f]{40})$`)

// checkYAML reads a block as what it is: a configuration of this program or a
// workflow, whose commands are run too.
func checkYAML(t *testing.T, name string, b session.Block) {
	t.Helper()
	stream := yamldoc.Parse(yamldoc.NewFile(name, []byte(b.Text)))
	if stream.Err != nil {
		t.Errorf("%s:%d: %v", name, b.Line, stream.Err)
		return
	}
	for _, doc := range stream.Docs {
		if doc.Err != nil {
			t.Errorf("%s:%d: %v", name, b.Line, doc.Err)
			continue
		}
		if doc.Root.Get("apiVersion").Str() == config.APIVersion && doc.Root.Get("kind").Str() == config.Kind {
			if _, err := config.Decode(name, []byte(b.Text)); err != nil {
				t.Errorf("%s:%d: %v", name, b.Line, err)
			}
		}
		for _, step := range steps(doc.Root) {
			if uses := step.Get("uses").Str(); uses != "" && !pinned.MatchString(uses) {
				t.Errorf("%s:%d: %s is not pinned", name, b.Line, uses)
			}
			if run := step.Get("run").Str(); strings.Contains(run, "clusterctl-repo") {
				runBlock(t, name, b.Line, run)
			}
		}
		for _, repo := range doc.Root.Get("repos").List() {
			if rev := repo.Get("rev").Str(); !pinned.MatchString("@" + rev) {
				t.Errorf("%s:%d: pre-commit takes the moving revision %s", name, b.Line, rev)
			}
		}
	}
}

// steps returns all steps of workflows, wherever they are.
func steps(n *yamldoc.Node) (all []*yamldoc.Node) {
	if n == nil {
		return nil
	}
	if n.Get("uses") != nil || n.Get("run") != nil && n.Get("run").Str() != "" {
		return []*yamldoc.Node{n}
	}
	for _, f := range n.Fields() {
		all = append(all, steps(f.Value)...)
	}
	for _, item := range n.List() {
		all = append(all, steps(item)...)
	}
	return all
}

// TestRecipesAreShown compares the files of docs/ci with the blocks that show
// them.
func TestRecipesAreShown(t *testing.T) {
	page := given.Read(t, filepath.Join(root, "docs/ci.md"))
	shown := regexp.MustCompile("(?s)<!-- (docs/ci/\\S+) -->\n```\\w+\n(.*?)```\n").FindAllStringSubmatch(string(page), -1)
	var names []string
	for _, m := range shown {
		names = append(names, filepath.Base(m[1]))
		if text, err := os.ReadFile(filepath.Join(root, m[1])); err != nil || string(text) != m[2] {
			t.Errorf("docs/ci.md does not show %s as it is: %v", m[1], err)
		}
	}
	entries := given.Value(os.ReadDir(filepath.Join(root, "docs/ci")))(t)
	for _, e := range entries {
		if !slices.Contains(names, e.Name()) {
			t.Errorf("docs/ci.md does not show %s", e.Name())
		}
	}
}

// TestSymptoms compares the messages in docs/faq.md with those that the examples
// of the rules get from clusterctl.
func TestSymptoms(t *testing.T) {
	page := given.Read(t, filepath.Join(root, "docs/faq.md"))
	proven := 0
	for _, section := range strings.Split(string(page), "\n### ")[1:] {
		message, text, _ := strings.Cut(section, "\n")
		for _, m := range regexp.MustCompile(`\[([A-Z]+\d{3})\]\(rules/`).FindAllStringSubmatch(text, -1) {
			example, err := os.ReadFile(filepath.Join(root, "repo/lint/rules/examples", m[1]+".txtar"))
			if err != nil {
				t.Error(err)
				continue
			}
			o := regexp.MustCompile("(?m)^oracle \\S+ (?:\"(.*)\"|`(.*)`)$").FindStringSubmatch(string(example))
			if o == nil {
				t.Errorf("%s: %s has no message of clusterctl", message, m[1])
				continue
			}
			if pattern := strings.ReplaceAll(o[1], `\\`, `\`) + o[2]; !regexp.MustCompile(pattern).MatchString(message) && !strings.Contains(pattern, message) {
				t.Errorf("clusterctl says %q about %s, the page %q", pattern, m[1], message)
			}
			proven++
		}
	}
	if proven < 12 {
		t.Errorf("only %d messages are proven", proven)
	}
}
