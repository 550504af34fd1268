package contract

import (
	"context"
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
)

func planCommand(env *cli.Env) *cobra.Command {
	var core cli.Core
	var c contractFlag
	var s targets.Source
	o := cli.Outputs{Formats: report.PlanFormats}
	cmd := &cobra.Command{
		Use:   "plan TARGET...",
		Short: "List what a provider still needs for a contract",
		Long: `Lists for the newest release of each provider what its CRDs need for a contract,
role by role: the fields to add, each with Go types as the contract demands
them, and the label that declares the contract; and whether the release series
in metadata.yaml names the contract. Templates and ClusterClasses are the work
of the command migrate. The command changes nothing.
` + targets.Help + targets.SourceHelp,
		Example: `  # What is left to do in this source tree?
  clusterctl-repo contract plan . --contract v1beta2

  # For an issue of the provider
  clusterctl-repo contract plan out -o markdown`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Parse(); err != nil {
				return err
			}
			chosen, err := contract.ParseContract(c.value)
			if err != nil {
				return cli.UsageError(err)
			}
			version, err := core.Parse()
			if err != nil {
				return err
			}
			var all []report.ProviderPlan
			for _, name := range args {
				more, err := plans(cmd.Context(), env, name, &s, contract.Profile{Core: version, Contract: chosen})
				if err != nil {
					return err
				}
				all = append(all, more...)
			}
			return env.Write(&o, func(w io.Writer, format string, _ term.Style) error {
				return report.WritePlans(w, format, chosen, version, all)
			})
		},
	}
	c.flag(cmd, string(contract.Accepted[0]))
	core.Bind(cmd.Flags())
	s.Bind(cmd.Flags())
	o.Bind(cmd.Flags())
	return cmd
}

func plans(ctx context.Context, env *cli.Env, name string, s *targets.Source, p contract.Profile) (out []report.ProviderPlan, err error) {
	err = eachNewest(ctx, env, name, s, func(r *repo.Release, all []*crd.CRD) error {
		series, err := seriesOf(r)
		if err != nil {
			return err
		}
		plan := report.ProviderPlan{Provider: r.Provider.Label(), Version: r.Version, Matrix: matrixRow(r, all, p.Core), Steps: contract.Plan(all, p)}
		if series != nil {
			plan.Series, plan.Contract = series.String(), series.Contract
		}
		out = append(out, plan)
		return nil
	})
	return out, err
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
