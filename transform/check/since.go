package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
)

// Since checks a folder as it was at a revision of the git repository that it is
// in, and returns the findings, with files named as they are now. A folder that
// did not exist has none, nor has one that could not be built; Options.Source.Note
// is told why. A revision that is not known is a *sourcetree.InputError.
func Since(ctx context.Context, revision, dir string, o Options) (_ *lint.Report, err error) {
	tree, err := git.Open(ctx, dir)
	if errors.Is(err, git.ErrNoRepository) {
		return nil, wrong(fmt.Errorf("%s: %w", dir, err))
	} else if err != nil {
		return nil, err
	}
	commit, err := tree.Commit(ctx, revision)
	if errors.Is(err, git.ErrNoRevision) {
		hint := ""
		if tree.Shallow(ctx) {
			hint = `; this clone is shallow and lacks it: run "git fetch --unshallow", or set fetch-depth: 0 for actions/checkout (GIT_DEPTH: 0 in GitLab)`
		}
		return nil, wrong(fmt.Errorf("%s: %w%s", tree.Root, err, hint))
	} else if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(o.Temp, "clusterctl-repo-")
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
		return nil, fmt.Errorf("extract %s: %w", revision, err)
	}
	before := filepath.Join(base, filepath.FromSlash(tree.Path))
	if _, err := os.Stat(before); errors.Is(err, fs.ErrNotExist) {
		return &lint.Report{}, nil
	}
	then := o
	then.Source.Note = nil
	then.Source.Stderr = nil
	r, err := Folder(ctx, before, then)
	switch {
	case ctx.Err() != nil:
		return nil, err
	case err != nil:
		why := strings.ReplaceAll(err.Error(), before, filepath.Clean(dir))
		o.note("%s cannot be checked at %s, so all its findings count as new: %s", dir, revision, why)
		return &lint.Report{}, nil
	case r.Repository == nil:
		o.note("%s cannot be built at %s, so all its findings but those of the build count as new", dir, revision)
	}
	r.Report.Rename(func(file string) string {
		if rest, ok := strings.CutPrefix(filepath.FromSlash(file), before); ok {
			return filepath.Clean(filepath.Clean(dir) + rest)
		}
		return file
	})
	return r.Report, nil
}

func (o *Options) note(format string, args ...any) {
	if o.Source.Note != nil {
		o.Source.Note(sourcetree.Note{Text: fmt.Sprintf(format, args...)})
	}
}
