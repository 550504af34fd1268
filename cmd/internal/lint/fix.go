package lint

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// fixAll checks all targets and applies the fixes of findings that are not known,
// or prints what they would change. The report is of what is there afterwards.
func (f *flags) fixAll(ctx context.Context, env *cli.Env, names []string, o check.Options, known map[string]bool) (*lint.Report, []*repo.Repository, error) {
	defer f.source.Mute(env)()
	if i := slices.IndexFunc(names, open.IsURL); i >= 0 {
		return nil, nil, cli.Usagef("--fix needs a folder, but %s is a URL", names[i])
	}
	all := &lint.Report{}
	var repositories []*repo.Repository
	for _, name := range names {
		fixed, err := check.Fix(ctx, env.Short(env.Path(name)), o, known, !f.diff)
		if err != nil {
			return nil, nil, fmt.Errorf("--fix: %w", err)
		}
		r := fixed.After
		if f.diff {
			r = fixed.Before
			if err := printDiff(env, fixed); err != nil {
				return nil, nil, err
			}
		}
		for _, fix := range fixed.Fixes {
			switch {
			case f.diff:
			case fix.Edit.Rename != "":
				env.Say("renamed %s to %s [%s]", fix.File, fix.Edit.Rename, fix.Rule.ID)
			default:
				env.Say("fixed %s: %s [%s]", place(fix), fix.Message, fix.Rule.ID)
			}
		}
		for _, refused := range fixed.Refused {
			env.Say("not fixed: %s: %s [%s]", place(refused.Finding), refused.Reason, refused.Finding.Rule.ID)
		}
		all.Join(r.Report)
		if r.Repository != nil {
			repositories = append(repositories, r.Repository)
		}
	}
	return all, repositories, nil
}

func place(f *lint.Finding) string {
	if f.Pos.IsZero() {
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Pos.Line, f.Pos.Column)
}

// printDiff prints what a fix would change, as git apply reads it.
func printDiff(env *cli.Env, f *check.Fixed) error {
	for _, c := range f.Changed {
		if _, err := fmt.Fprint(env.Text, edit.Diff(filepath.ToSlash(c.Name), c.Old, c.New)); err != nil {
			return err
		}
	}
	for _, from := range slices.Sorted(maps.Keys(f.Renamed)) {
		if _, err := fmt.Fprintf(env.Text, "rename from %s\nrename to %s\n", filepath.ToSlash(from), filepath.ToSlash(f.Renamed[from])); err != nil {
			return err
		}
	}
	return nil
}
