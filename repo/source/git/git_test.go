package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/program"
	"github.com/clusterctl-repo/clusterctl-repo/test/given"
)

// run runs git in a test repository.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var talk strings.Builder
	p := program.Program{Dir: dir, Stderr: &talk, Env: []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"},
		Args: append([]string{"git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"}, args...)}
	out, err := p.Output(t.Context())
	if err != nil {
		if strings.Contains(err.Error(), "executable file not found") {
			t.Skip("git is not installed")
		}
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, talk.String())
	}
	return strings.TrimSpace(string(out))
}

func repository(t *testing.T) string {
	t.Helper()
	dir := given.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	dir = filepath.Join(dir, "a tree")
	given.File(t, filepath.Join(dir, "sub/a.yaml"), "a: 1\n")
	run(t, dir, "init", "-q")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func TestRepository(t *testing.T) {
	dir := repository(t)
	ctx := t.Context()
	// In a hook, git's own variables must not lead to another repository.
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "elsewhere"))
	t.Setenv("GIT_INDEX_FILE", "index-of-the-hook")
	r := given.Value(git.Open(ctx, filepath.Join(dir, "sub")))(t)
	if remote, err := r.Remote(ctx); r.Root != dir || r.Path != "sub" || remote != "" || err != nil {
		t.Errorf("%+v, remote %q, %v", r, remote, err)
	}
	given.File(t, filepath.Join(dir, "sub/untracked"), "")
	given.File(t, filepath.Join(dir, "sub/a.yaml"), "a: 2\n")
	commit, err := r.Commit(ctx, "HEAD")
	if len(commit) != 40 || err != nil {
		t.Errorf("HEAD: %q, %v", commit, err)
	}
	for _, revision := range []string{"nothing", "--all", "", "HEAD:sub"} {
		if _, err := r.Commit(ctx, revision); !errors.Is(err, git.ErrNoRevision) {
			t.Errorf("%q: %v", revision, err)
		}
	}
	out := given.Value(r.Extract(ctx, commit, t.TempDir()))(t)
	if filepath.Base(out) != filepath.Base(dir) {
		t.Errorf("extracted to %s", out)
	}
	if data, err := os.ReadFile(filepath.Join(out, "sub/a.yaml")); string(data) != "a: 1\n" || err != nil {
		t.Errorf("extracted %q, %v", data, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(out)); len(entries) != 1 || err != nil {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "sub/a.yaml")); string(data) != "a: 2\n" || err != nil {
		t.Errorf("after extracting: %q, %v", data, err)
	}
}

func TestNoRepository(t *testing.T) {
	if _, err := git.Open(t.Context(), t.TempDir()); !errors.Is(err, git.ErrNoRepository) {
		t.Errorf("got %v", err)
	}
	// One that git does not read is not absent.
	dir := repository(t)
	given.File(t, filepath.Join(dir, ".git/config"), "[core\n")
	if _, err := git.Open(t.Context(), dir); err == nil || errors.Is(err, git.ErrNoRepository) {
		t.Errorf("a broken repository: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := git.Open(t.Context(), dir); !errors.Is(err, git.ErrNoRepository) {
		t.Errorf("without git: %v", err)
	}
}

// TestSubmodule: bases in a submodule belong to the tree at that revision.
func TestSubmodule(t *testing.T) {
	base := repository(t)
	dir := repository(t)
	run(t, dir, "submodule", "add", "-q", base, "third/base")
	run(t, dir, "commit", "-q", "-m", "second")
	given.File(t, filepath.Join(dir, "third/base/sub/a.yaml"), "a: 3\n")
	r := given.Value(git.Open(t.Context(), dir))(t)
	out := given.Value(r.Extract(t.Context(), "HEAD", t.TempDir()))(t)
	if data, err := os.ReadFile(filepath.Join(out, "third/base/sub/a.yaml")); string(data) != "a: 1\n" || err != nil {
		t.Errorf("extracted %q, %v", data, err)
	}
}

// TestRunsNoPrograms: whatever the configuration of a tree and of its submodules
// names, no question about the tree runs it.
func TestRunsNoPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	marks := t.TempDir()
	trap := func(name string) string {
		script := filepath.Join(t.TempDir(), "trap")
		given.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ntouch '"+filepath.Join(marks, name)+"'\ncat\n"), 0o755))
		return script
	}
	arm := func(dir, where string) {
		t.Helper()
		git := run(t, dir, "rev-parse", "--absolute-git-dir")
		given.File(t, filepath.Join(git, "info/attributes"), "* filter=evil diff=evil\n*.bin filter=slow\n")
		hooks := filepath.Join(git, "own-hooks")
		for _, hook := range []string{"post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc"} {
			for _, at := range []string{hooks, filepath.Join(git, "hooks")} {
				given.NoError(t, os.MkdirAll(at, 0o755))
				given.NoError(t, os.Rename(trap(where+" hook "+hook), filepath.Join(at, hook)))
			}
		}
		included := filepath.Join(git, "more")
		given.File(t, included, "[filter \"evil\"]\nsmudge = "+trap(where+" included smudge")+"\n")
		for key, name := range map[string]string{
			"core.fsmonitor": "fsmonitor", "filter.evil.clean": "clean", "filter.slow.process": "process",
			"core.sshCommand": "ssh", "core.pager": "pager", "pager.status": "pager of status", "core.editor": "editor", "core.askPass": "askpass",
			"diff.external": "diff", "diff.evil.textconv": "textconv", "diff.evil.command": "driver", "credential.helper": "credential",
			"remote.origin.uploadpack": "uploadpack", "core.gitProxy": "proxy", "gpg.program": "gpg", "core.alternateRefsCommand": "refs",
			"remote.origin.vcs": "vcs", "alias.status": "alias",
		} {
			run(t, dir, "config", key, trap(where+" "+name))
		}
		run(t, dir, "config", "include.path", included)
		run(t, dir, "config", "filter.evil.required", "true")
		run(t, dir, "config", "core.hooksPath", hooks)
		run(t, dir, "config", "remote.origin.url", "ext::"+trap(where+" transport"))
		run(t, dir, "config", "remote.origin.promisor", "true")
		run(t, dir, "config", "extensions.partialClone", "origin")
	}
	base, dir := repository(t), repository(t)
	given.File(t, filepath.Join(base, "b.bin"), "b")
	run(t, base, "add", ".")
	run(t, base, "commit", "-q", "-m", "more")
	run(t, dir, "submodule", "add", "-q", base, "third/base")
	run(t, dir, "commit", "-q", "-m", "second")
	sub := filepath.Join(dir, "third/base")
	arm(sub, "submodule")
	arm(dir, "tree")
	for _, at := range []string{dir, sub} {
		// git has to read the file, because its time is another one.
		given.NoError(t, os.Chtimes(filepath.Join(at, "sub/a.yaml"), time.Unix(1, 0), time.Unix(1, 0)))
	}
	r := given.Value(git.Open(t.Context(), dir))(t)
	if renamed, err := r.Renamed(t.Context(), "HEAD"); len(renamed) > 0 || err != nil {
		t.Errorf("renamed: %v, %v", renamed, err)
	}
	out := given.Value(r.Extract(t.Context(), "HEAD", t.TempDir()))(t)
	for _, name := range []string{"sub/a.yaml", "third/base/sub/a.yaml"} {
		if data, err := os.ReadFile(filepath.Join(out, name)); string(data) != "a: 1\n" || err != nil {
			t.Errorf("extracted %s: %q, %v", name, data, err)
		}
	}
	if _, err := r.Commit(t.Context(), strings.Repeat("1", 40)); err == nil {
		t.Error("found a commit that is nowhere")
	}
	r.Remote(t.Context())
	r.Shallow(t.Context())
	ran, err := os.ReadDir(marks)
	for _, e := range ran {
		t.Errorf("git ran the %s", e.Name())
	}
	if err != nil {
		t.Error(err)
	}
}

// TestTracked lists what git tracks, below the folder that was opened.
func TestTracked(t *testing.T) {
	dir := repository(t)
	given.File(t, filepath.Join(dir, "untracked.yaml"), "")
	given.File(t, filepath.Join(dir, "sub/untracked.yaml"), "")
	for _, below := range []string{"", "sub"} {
		r := given.Value(git.Open(t.Context(), filepath.Join(dir, below)))(t)
		tracked := given.Value(r.Tracked(t.Context()))(t)
		want := "sub/a.yaml"
		if below != "" {
			want = "a.yaml"
		}
		if !tracked[want] || tracked["untracked.yaml"] || tracked["sub/untracked.yaml"] {
			t.Errorf("in %q: %v", below, tracked)
		}
	}
}
