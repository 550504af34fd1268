package contract

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

func matrixCommand(env *cli.Env) *cobra.Command {
	var core cli.Core
	var s targets.Source
	o := cli.Outputs{Formats: report.MatrixFormats}
	cmd := &cobra.Command{
		Use:   "matrix TARGET...",
		Short: "Show which providers are ready for which contract",
		Long: `Shows for the newest release of each provider which contracts its CRDs declare,
and which fields that the contract demands are missing.
` + targets.Help + targets.SourceHelp,
		Example: `  clusterctl-repo contract matrix out -o markdown

  # Is what this source tree releases next ready?
  clusterctl-repo contract matrix .`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Parse(); err != nil {
				return err
			}
			version, err := core.Parse()
			if err != nil {
				return err
			}
			rows := []report.MatrixRow{}
			for _, name := range args {
				more, err := matrix(cmd.Context(), env, name, &s, version)
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
			return env.Write(&o, func(w io.Writer, format string, _ term.Style) error { return report.WriteMatrix(w, format, rows) })
		},
	}
	core.Bind(cmd.Flags())
	s.Bind(cmd.Flags())
	o.Bind(cmd.Flags())
	return cmd
}

func matrix(ctx context.Context, env *cli.Env, name string, s *targets.Source, core int) (rows []report.MatrixRow, err error) {
	err = eachNewest(ctx, env, name, s, func(r *repo.Release, all []*crd.CRD) error {
		rows = append(rows, matrixRow(r, all, core))
		return nil
	})
	return rows, err
}

// eachNewest calls do with the newest release of each provider in a target, and its
// CRDs.
func eachNewest(ctx context.Context, env *cli.Env, name string, s *targets.Source, do func(r *repo.Release, all []*crd.CRD) error) error {
	t, err := targets.Open(ctx, env, name, s)
	if err != nil {
		return err
	}
	releases, err := t.Newest()
	if err != nil {
		return err
	}
	for _, r := range releases {
		all, err := check.Definitions(r)
		if err != nil {
			return err
		}
		if err := do(r, all); err != nil {
			return err
		}
	}
	return nil
}

func matrixRow(r *repo.Release, all []*crd.CRD, core int) report.MatrixRow {
	row := report.MatrixRow{Provider: r.Provider.Label(), Version: r.Version}
	for _, c := range contract.Accepted {
		cell := report.MatrixCell{Name: string(c), Missing: []string{}}
		cell.Declared, cell.Missing = contract.Lacks(all, contract.Profile{Core: core, Contract: c})
		cell.Ready = len(cell.Missing) == 0
		row.Cells = append(row.Cells, cell)
	}
	return row
}
