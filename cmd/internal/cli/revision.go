package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
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
	tree, err := git.Open(ctx, a.path(name))
	if errors.Is(err, git.ErrNoRepository) {
		return nil, usagef("--changed-since: %s: %w", name, err)
	} else if err != nil {
		return nil, err
	}
	commit, err := tree.Commit(ctx, revision)
	if errors.Is(err, git.ErrNoRevision) {
		return nil, usagef("--changed-since: %s: %w", tree.Root, err)
	} else if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "clusterctl-repo-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	// The folder keeps its name, as that can tell the provider.
	base := filepath.Join(temp, filepath.Base(tree.Root))
	if err := os.Mkdir(base, 0o755); err != nil {
		return nil, err
	}
	if err := tree.Extract(ctx, commit, base); err != nil {
		return nil, fmt.Errorf("--changed-since: %s: %w", revision, err)
	}
	before := filepath.Join(base, filepath.FromSlash(tree.Path))
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
