package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/kube/crd"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

func (a *app) contractPlanCommand() *cobra.Command {
	var core coreFlag
	var c contractFlag
	var s source
	out := outputs{formats: report.PlanFormats}
	cmd := &cobra.Command{
		Use:   "plan TARGET...",
		Short: "List what a provider still needs for a contract",
		Long: `Lists for the newest release of each provider what its CRDs need for a contract,
role by role: the fields to add, each with Go types as the contract demands
them, and the label that declares the contract; and whether the release series
in metadata.yaml names the contract. Templates and ClusterClasses are the work
of the command migrate. The command changes nothing.
` + targetHelp + sourceHelp,
		Example: `  # What is left to do in this source tree?
  clusterctl-repo contract plan . --contract v1beta2

  # For an issue of the provider
  clusterctl-repo contract plan out -o markdown`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			chosen, err := contract.ParseContract(c.value)
			if err != nil {
				return usage(err)
			}
			version, err := core.core()
			if err != nil {
				return err
			}
			var plans []report.ProviderPlan
			for _, name := range args {
				more, err := a.plans(cmd.Context(), name, &s, contract.Profile{Core: version, Contract: chosen})
				if err != nil {
					return err
				}
				plans = append(plans, more...)
			}
			return a.write(outs, func(w io.Writer, format string, _ bool) error {
				return report.WritePlans(w, format, chosen, version, plans)
			})
		},
	}
	c.flag(cmd, string(contract.Accepted[0]))
	core.flag(cmd)
	s.flags(cmd)
	out.flag(cmd)
	return cmd
}

func (a *app) plans(ctx context.Context, name string, s *source, p contract.Profile) (out []report.ProviderPlan, err error) {
	err = a.eachNewest(ctx, name, s, func(r *repo.Release, all []*crd.CRD) error {
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
