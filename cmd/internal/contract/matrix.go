package contract

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
)

func matrixCommand(env *cli.Env) *cobra.Command {
	var core cli.Core
	var named string
	var s targets.Source
	var planned bool
	o := cli.Outputs{Formats: report.MatrixFormats}
	cmd := &cobra.Command{
		Use:   "matrix TARGET...",
		Short: "Show which providers are ready for which contract",
		Long: `Shows for the newest release of each provider which contracts its CRDs declare,
and which fields that the contract demands are missing.

With --contract it lists what each provider still needs for that one, role by
role: the fields to add, with Go types as the contract demands them, the label
that declares the contract, and whether the release series in metadata.yaml names
it. "migrate" makes these changes in a source tree where they are certain.
` + targets.Help + targets.SourceHelp,
		Example: `  clusterctl-repo contract matrix out -o markdown

  # Is what this source tree releases next ready, and what is left to do?
  clusterctl-repo contract matrix .
  clusterctl-repo contract matrix . --contract v1beta2`,
		Args: func(cmd *cobra.Command, args []string) error {
			if planned = named != ""; planned {
				o.Formats = report.PlanFormats
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			profile, err := core.Profile(named)
			if err != nil {
				return err
			}
			rows, plans := []report.MatrixRow{}, []report.ProviderPlan{}
			for _, name := range args {
				releases, err := targets.OpenNewest(cmd.Context(), env, name, &s)
				if err != nil {
					return err
				}
				for _, r := range releases {
					all, err := check.Definitions(r)
					if err != nil {
						return err
					}
					row := matrixRow(r, all, profile.Core)
					rows = append(rows, row)
					if !planned {
						continue
					}
					series, err := seriesOf(r)
					if err != nil {
						return err
					}
					plan := report.ProviderPlan{MatrixRow: row, Steps: contract.Plan(all, profile)}
					if series != nil {
						plan.Series, plan.Contract = series.String(), series.Contract
					}
					plans = append(plans, plan)
				}
			}
			return env.Write(&o, func(w io.Writer, format string, _ term.Style) error {
				if planned {
					return report.WritePlans(w, format, profile.Contract, profile.Core, plans)
				}
				return report.WriteMatrix(w, format, rows)
			})
		},
	}
	cmd.Flags().StringVar(&named, "contract", "", "")
	core.Bind(cmd.Flags())
	s.Bind(cmd.Flags())
	o.Bind(cmd.Flags())
	return cmd
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

// seriesOf is the release series of a release; nil if it has none.
func seriesOf(r *repo.Release) (*metadata.Series, error) {
	file := r.Artifact(layouts.MetadataFile)
	version, err := layouts.ParseVersion(r.Version)
	if file == nil || err != nil {
		return nil, nil
	}
	data, err := file.Bytes()
	if err != nil {
		return nil, err
	}
	m, err := metadata.Read(yamldoc.NewFile(file.Path, data))
	if err != nil {
		return nil, err
	}
	return m.SeriesOf(version.Major(), version.Minor()), nil
}
