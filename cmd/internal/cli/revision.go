package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
)

// lintRevision lints the targets as they were at a revision of the git
// repository that they are in. A target that did not exist has no findings.
func (a *app) lintRevision(ctx context.Context, revision string, targets []string, s *source, profile contract.Profile) (*lint.Report, error) {
	if strings.HasPrefix(revision, "-") {
		return nil, usagef("%q is no revision", revision)
	}
	all := &lint.Report{}
	for _, name := range targets {
		if isURL(name) {
			return nil, usagef("--changed-since needs a folder in a git repository, and %s is a URL", name)
		}
		r, err := a.lintTargetAt(ctx, revision, name, s, profile)
		if err != nil {
			return nil, err
		}
		all.Join(r)
	}
	return all, nil
}

func (a *app) lintTargetAt(ctx context.Context, revision, name string, s *source, profile contract.Profile) (_ *lint.Report, err error) {
	dir := a.path(name)
	// Links are followed so that the folder can be found below git's root.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	out, err := git(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, usagef("--changed-since: %s is in no git repository: %w", name, err)
	}
	root := filepath.FromSlash(strings.TrimSpace(string(out)))
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return nil, err
	}
	out, err = git(ctx, root, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return nil, usagef("--changed-since: %s knows no revision %q", root, revision)
	}
	commit := strings.TrimSpace(string(out))
	temp, err := os.MkdirTemp("", "clusterctl-repo-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	// The folder keeps its name, as that can tell the provider.
	base := filepath.Join(temp, filepath.Base(root))
	if err := os.Mkdir(base, 0o755); err != nil {
		return nil, err
	}
	if err := extract(ctx, root, commit, base); err != nil {
		return nil, fmt.Errorf("--changed-since: %s: %w", revision, err)
	}
	before := filepath.Join(base, rel)
	if _, err := os.Stat(before); errors.Is(err, fs.ErrNotExist) {
		return &lint.Report{}, nil
	}
	then := *a
	then.quiet, then.verbose = true, false
	with := *s
	if with.config != "" {
		with.config = a.path(with.config)
	}
	r, _, err := then.lint(ctx, []string{before}, &with, profile)
	if err != nil {
		return nil, fmt.Errorf("--changed-since: %s at %s: %w", name, revision, err)
	}
	r.Rename(func(file string) string {
		if rest, ok := strings.CutPrefix(file, before); ok {
			return filepath.Clean(a.short(a.path(name)) + rest)
		}
		return file
	})
	return r, nil
}

// git runs git in a folder, with additions to the environment, and returns what
// it prints.
func git(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(talk.String()); text != "" {
			err = errors.New(strings.TrimPrefix(text, "fatal: "))
		}
		return nil, err
	}
	return out.Bytes(), nil
}

// extract writes the files of a commit into a folder, by way of an index of its
// own, so that nothing changes in the repository.
func extract(ctx context.Context, repository, commit, dir string) error {
	index := "GIT_INDEX_FILE=" + dir + ".index"
	if _, err := git(ctx, repository, []string{index}, "read-tree", commit); err != nil {
		return err
	}
	_, err := git(ctx, repository, []string{index}, "checkout-index", "--all", "--quiet", "--prefix="+dir+string(filepath.Separator))
	return err
}
