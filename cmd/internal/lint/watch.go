package lint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

// watchable refuses targets and reports that cannot be watched.
func (f *flags) watchable(targets []string) error {
	if f.fix {
		return cli.Usagef("--watch changes no files; leave out --fix")
	}
	if slices.ContainsFunc(f.out.All, func(o cli.Output) bool { return o != cli.Output{Format: "text"} }) {
		return cli.Usagef("--watch prints text only; leave out -o")
	}
	if i := slices.IndexFunc(targets, open.IsURL); i >= 0 {
		return cli.Usagef("--watch needs folders, but %s is a URL", targets[i])
	}
	return nil
}

// lintAgain checks the targets again after each change of a file, and prints which
// findings are new and which are gone. It ends with ctx.
func (f *flags) lintAgain(ctx context.Context, env *cli.Env, names []string, o check.Options, known map[string]bool, before *lint.Report) error {
	f.out.Level = lint.Error + 1 // what is found does not end the watch
	return targets.Watch(ctx, env, names, func() error {
		start := time.Now()
		r, _, err := f.lint(ctx, env, names, o)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			env.Complain(err)
			return nil
		}
		r.Without(known)
		added, gone := changes(before, r)
		if err := f.out.Judge(env, &lint.Report{Findings: added, Failures: r.Failures, Files: r.Files, Releases: r.Releases, Providers: r.Providers}, report.Options{}); err != nil && len(r.Failures) == 0 {
			return err
		}
		for _, f := range gone {
			fmt.Fprintf(env.Text, "%s %s:%d:%d: %s [%s]\n", env.Style.Bold("resolved:"), f.File, f.Pos.Line, f.Pos.Column, f.Message, f.Rule.ID)
		}
		env.Say("%s: %d new, %d resolved, %d in total (%s)", time.Now().Format(time.TimeOnly), len(added), len(gone), len(r.Findings), time.Since(start).Round(time.Millisecond))
		before = r
		return nil
	})
}

// changes returns the findings that only one of two reports has.
func changes(before, after *lint.Report) (added, gone []lint.Finding) {
	without := func(r, other *lint.Report) []lint.Finding {
		known := map[string]bool{}
		other.Fingerprints(known)
		left := lint.Report{Findings: slices.Clone(r.Findings)}
		left.Without(known)
		return left.Findings
	}
	return without(after, before), without(before, after)
}
