package publish

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/git"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/provenance"
)

// describe says how a source tree was built from its inputs. What git does not
// tell is left out, and so is the commit if something in the tree was changed
// since. Paths of this machine are left out.
func describe(ctx context.Context, env *cli.Env, s *targets.Source, dir string, inputs []string) (*provenance.Build, error) {
	b := &provenance.Build{ToolVersion: env.Version, Images: map[string]string{}, Options: map[string]string{}, Loose: map[string]repo.Sum{}}
	for _, image := range s.Images {
		if old, new, ok := strings.Cut(image, "="); ok {
			b.Images[old] = new
		}
	}
	for _, option := range []struct {
		name string
		on   bool
	}{{"as-is", s.AsIs}, {"add-series", s.AddSeries}, {"allow-exec", s.AllowExec}, {"allow-remote", s.AllowRemote}} {
		if option.on {
			b.Options[option.name] = strconv.FormatBool(true)
		}
	}
	dir = env.Path(dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // as git names it
	}
	public := func(name string) string { // what others may know of a path
		if rel, err := filepath.Rel(dir, env.Path(name)); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
		return filepath.Base(name)
	}
	if s.Config != "" {
		b.Options["config"] = public(s.Config)
	}
	b.Source, b.Commit = origin(ctx, env, dir)
	r, err := git.Open(ctx, dir)
	if err != nil {
		return b, ctx.Err()
	}
	// Files that git does not track may be output, so only those that were read
	// count.
	if changed, err := r.Changed(ctx); err != nil || changed {
		b.Commit = ""
	}
	var paths []string
	for _, name := range inputs {
		if strings.HasPrefix(name, ".git/") {
			continue // git's own, from which only the name of the remote was taken
		}
		if s.Config == "" || env.Short(s.Config) != name {
			name = filepath.Join(dir, filepath.FromSlash(name))
		}
		paths = append(paths, env.Path(name))
	}
	loose, err := r.Loose(ctx, paths)
	if err != nil {
		return nil, fmt.Errorf("find out which inputs git has: %w", err)
	}
	for _, name := range loose {
		data, err := env.ReadFile(name)
		if err != nil {
			return nil, err
		}
		b.Loose[public(name)] = sha256.Sum256(data)
	}
	return b, nil
}

// origin returns the remote repository of a source tree and the commit that it
// is at, as far as git knows.
func origin(ctx context.Context, env *cli.Env, dir string) (remote, commit string) {
	r, err := git.Open(ctx, env.Path(dir))
	if err != nil {
		return "", ""
	}
	commit, _ = r.Commit(ctx, "HEAD") // none before the first commit
	return r.Remote(ctx), commit
}
