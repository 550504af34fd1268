package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/owners"
	"github.com/clusterctl-repo/clusterctl-repo/repo/move/snapshot"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

// verifyMove compares what arrived with a plan.
func (a *app) verifyMove(ctx context.Context, f *movePlanFlags, outs []output, args []string) error {
	if len(args) > 0 {
		return usagef("--verify takes the plan from its file; name the target with --to-kubeconfig or --to, and the source with --kubeconfig")
	}
	if !f.target() {
		return usagef("--verify needs the target: name it with --to-kubeconfig or --to")
	}
	for _, o := range outs {
		if o.format != "text" && o.format != "json" {
			return usagef("--verify writes text or json, not %s", o.format)
		}
	}
	data, err := a.readFile(f.verify)
	if err != nil {
		return usage(err)
	}
	plan, err := report.ReadMovePlan(bytes.NewReader(data))
	if err != nil {
		return usagef("%s: %w", f.verify, err)
	}
	wanted := make([]snapshot.Object, len(plan))
	for i, e := range plan {
		wanted[i] = snapshot.Object{Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name}
	}
	to, what, err := a.targetCluster(ctx, f, wanted)
	if err != nil {
		return err
	}
	problems := to.Problems
	var from *snapshot.Snapshot
	if f.live() {
		c, err := a.cluster(f.kubeconfig, f.kubeContext)
		if err != nil {
			return err
		}
		a.detail("asking %s", c.Host)
		if from, err = c.ReadTarget(ctx, wanted); err != nil {
			return err
		}
		problems = append(problems, from.Problems...)
	}
	found := owners.Verify(plan, to, from)
	err = a.write(outs, func(w io.Writer, format string, terminal bool) error {
		style := term.Style{}
		if terminal {
			var err error
			if style, err = term.StyleFor(w, a.color, a.Env); err != nil {
				return err
			}
		}
		return report.WriteVerified(w, format, report.Verified{Target: what, Plan: plan, Deviations: found, Problems: problems}, style)
	})
	if err != nil {
		return err
	}
	for _, problem := range problems {
		fmt.Fprintf(a.Err, "%s %v\n", a.style.Red("error:"), problem)
	}
	switch {
	case len(found) > 0:
		return &codeError{code: exitFindings}
	case len(problems) > 0:
		return &codeError{code: exitFailed}
	}
	return nil
}
