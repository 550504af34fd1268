package look

import (
	"bytes"
	"context"
	"io"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// verifyMove compares what arrived with a plan.
func (f *moveFlags) verifyMove(ctx context.Context, env *cli.Env, args []string) error {
	if len(args) > 0 {
		return cli.Usagef("--verify takes the plan from its file; name the target with --to-kubeconfig or --to-snapshot, and the source with --kubeconfig")
	}
	if !f.target() {
		return cli.Usagef("--verify needs the target: name it with --to-kubeconfig or --to-snapshot")
	}
	for _, o := range f.out.All {
		if o.Format != "text" && o.Format != "json" {
			return cli.Usagef("--verify writes text or json, not %s", o.Format)
		}
	}
	data, err := env.ReadFile(f.verify)
	if err != nil {
		return cli.UsageError(err)
	}
	plan, err := report.ReadMovePlan(bytes.NewReader(data))
	if err != nil {
		return cli.Usagef("%s: %w", f.verify, err)
	}
	wanted := make([]snapshot.Object, len(plan))
	for i, e := range plan {
		wanted[i] = snapshot.Object{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
	}
	to, what, err := f.targetCluster(ctx, env, wanted)
	if err != nil {
		return err
	}
	problems := to.Problems
	var from *snapshot.Snapshot
	if f.live() {
		c, err := targets.Cluster(env, f.from)
		if err != nil {
			return err
		}
		env.Detail("asking %s", c.Host)
		if from, err = c.ReadTarget(ctx, wanted); err != nil {
			return err
		}
		problems = append(problems, from.Problems...)
	}
	found := owners.Verify(plan, to, from)
	err = env.Write(&f.out, func(w io.Writer, format string, style term.Style) error {
		return report.WriteVerified(w, format, report.Verified{Target: what, Plan: plan, Deviations: found, Problems: problems}, style)
	})
	if err != nil {
		return err
	}
	for _, problem := range problems {
		env.Complain(problem)
	}
	switch {
	case len(found) > 0:
		return cli.Exit(cli.ExitFindings, nil)
	case len(problems) > 0:
		return cli.Exit(cli.ExitFailed, nil)
	}
	return nil
}
