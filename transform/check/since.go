package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// Since checks a folder as it was at a revision of the git repository that it is
// in, and returns the findings, with files named as they are now. A folder that
// did not exist has none, nor has one that could not be built; Options.Source.Note
// is told why. What git treats as renamed has the names of today, so that its findings
// are not new. A revision that is not known is a *transform.InputError.
func Since(ctx context.Context, revision, dir string, o Options) (_ *lint.Report, err error) {
	tree, err := git.Open(ctx, dir)
	if errors.Is(err, git.ErrNoRepository) {
		return nil, wrong(fmt.Errorf("%s: %w", dir, err))
	} else if err != nil {
		return nil, err
	}
	commit, err := tree.Commit(ctx, revision)
	if errors.Is(err, git.ErrNoRevision) {
		hint := "; run \"git fetch\" if it is new, or name one that \"git branch --all\" lists"
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
	base, err := tree.Extract(ctx, commit, temp)
	if err != nil {
		return nil, fmt.Errorf("extract %s: %w", revision, err)
	}
	renamed, err := tree.Renamed(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("compare with %s: %w", revision, err)
	}
	before := filepath.Join(base, filepath.FromSlash(formerly(renamed, tree.Path, base)))
	if _, err := os.Stat(before); errors.Is(err, fs.ErrNotExist) {
		return &lint.Report{}, nil
	}
	then := o
	then.Source.Note = nil
	then.Source.Stderr = nil
	then.Approve = func(ctx context.Context, r *repo.Repository) error {
		rename(r, renamed, base)
		if o.Approve == nil {
			return nil
		}
		return o.Approve(ctx, r)
	}
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
	now := map[string]string{}
	for to, from := range renamed {
		now[from] = to
	}
	r.Report.Rename(func(file string) string {
		rest, ok := strings.CutPrefix(filepath.FromSlash(file), before)
		if !ok {
			return file
		}
		if from, err := filepath.Rel(base, filepath.FromSlash(file)); err == nil && now[filepath.ToSlash(from)] != "" {
			if rel, err := filepath.Rel(filepath.FromSlash(tree.Path), filepath.FromSlash(now[filepath.ToSlash(from)])); err == nil {
				rest = "/" + rel
			}
		}
		return filepath.Clean(filepath.Clean(dir) + rest)
	})
	return r.Report, nil
}

// formerly is the name that a folder had in an older tree: its own if it was there, or
// else the one that most of its renamed files come from.
func formerly(renamed map[string]string, dir, old string) string {
	if _, err := os.Stat(filepath.Join(old, filepath.FromSlash(dir))); err == nil {
		return dir
	}
	from, best := map[string]int{}, dir
	for _, now := range slices.Sorted(maps.Keys(renamed)) {
		rest, ok := strings.CutPrefix(now, dir+"/")
		if former, same := strings.CutSuffix("./"+renamed[now], "/"+rest); ok && same {
			former = path.Clean(former)
			if from[former]++; from[former] > from[best] {
				best = former
			}
		}
	}
	return best
}

// rename gives the files of old releases the names of today: to copies of a renamed file
// of the old tree, and to flavors and classes named after the renamed folder of a
// kustomization.
func rename(r *repo.Repository, renamed map[string]string, old string) {
	for _, p := range r.Providers {
		for _, release := range p.Releases {
			for i := range release.Artifacts {
				a := release.Artifacts[i]
				if now := today(a, renamed, old); now != "" && release.Artifact(now) == nil {
					a.Name = now
				}
			}
		}
	}
}

// today is the name that a file of an old release has now; "" if it is not known.
func today(a *repo.Artifact, renamed map[string]string, old string) string {
	for _, now := range slices.Sorted(maps.Keys(renamed)) {
		before := renamed[now]
		switch path.Base(before) {
		case a.Name:
			made, err := a.Bytes()
			file, readErr := os.ReadFile(filepath.Join(old, filepath.FromSlash(before)))
			if err == nil && readErr == nil && bytes.Equal(made, file) {
				return path.Base(now)
			}
		case "kustomization.yaml", "kustomization.yml", "Kustomization":
			for _, pattern := range []string{"cluster-template-%s.yaml", "clusterclass-%s.yaml"} {
				if fmt.Sprintf(pattern, path.Base(path.Dir(before))) == a.Name {
					return fmt.Sprintf(pattern, path.Base(path.Dir(now)))
				}
			}
		}
	}
	return ""
}

func (o *Options) note(format string, args ...any) {
	if o.Source.Note != nil {
		o.Source.Note(transform.Note{Text: fmt.Sprintf(format, args...)})
	}
}
