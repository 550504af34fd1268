package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/fix"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// fix checks all targets and applies the fixes of findings that are not known,
// or prints what they would change. The report is of what is there afterwards.
func (a *app) fix(ctx context.Context, names []string, o check.Options, known map[string]bool, diff bool) (*lint.Report, []*repo.Repository, error) {
	defer a.muteLibraries()()
	for _, name := range names {
		if isURL(name) {
			return nil, nil, usagef("--fix needs a folder, but %s is a URL", name)
		}
	}
	all := &lint.Report{}
	var repositories []*repo.Repository
	for _, name := range names {
		f, err := check.Fix(ctx, a.short(a.path(name)), o, known, !diff)
		if err != nil {
			return nil, nil, fmt.Errorf("--fix: %w", err)
		}
		r := f.After
		if diff {
			r = f.Before
			if err := a.printDiff(f); err != nil {
				return nil, nil, err
			}
		} else {
			a.sayFixed(f)
		}
		for _, refused := range f.Refused {
			a.say("not fixed: %s: %s [%s]", place(refused.Finding), refused.Reason, refused.Finding.Rule.ID)
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

func (a *app) sayFixed(f *check.Fixed) {
	for _, fixed := range f.Fixes {
		if fixed.Edit.Rename != "" {
			a.say("renamed %s to %s [%s]", fixed.File, fixed.Edit.Rename, fixed.Rule.ID)
			continue
		}
		a.say("fixed %s: %s [%s]", place(fixed), fixed.Message, fixed.Rule.ID)
	}
}

// printDiff prints what a fix would change, as git apply reads it.
func (a *app) printDiff(f *check.Fixed) error {
	for _, c := range f.Changed {
		if _, err := fmt.Fprint(a.text, fix.Diff(filepath.ToSlash(c.Name), c.Old, c.New)); err != nil {
			return err
		}
	}
	var old []string
	for from := range f.Renamed {
		old = append(old, from)
	}
	slices.Sort(old)
	for _, from := range old {
		if _, err := fmt.Fprintf(a.text, "rename from %s\nrename to %s\n", filepath.ToSlash(from), filepath.ToSlash(f.Renamed[from])); err != nil {
			return err
		}
	}
	return nil
}
