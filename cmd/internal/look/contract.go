package look

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
)

func ContractCommand(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contract",
		Short: "Show the provider contracts, and check CRDs against them",
		Long: `Shows what Cluster API demands of the kinds of providers, and checks CRDs without
a release around them.`,
		Example: `  clusterctl-repo contract show InfraMachine
  clusterctl-repo contract check config/crd/bases`,
	}
	cmd.AddCommand(contractListCommand(env), contractShowCommand(env), contractCheckCommand(env))
	return cmd
}

func contractListCommand(env *cli.Env) *cobra.Command {
	var core cli.Core
	o := cli.Outputs{Formats: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the roles of the provider contracts",
		Long:    `Lists the roles with the number of fields that each contract names.`,
		Example: `  clusterctl-repo contract list`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			version, err := core.Parse()
			if err != nil {
				return err
			}
			return env.Write(&o, func(w io.Writer, format string, _ term.Style) error {
				return report.WriteContracts(w, format, version)
			})
		},
	}
	core.Bind(cmd.Flags())
	o.Bind(cmd.Flags())
	return cmd
}

func contractShowCommand(env *cli.Env) *cobra.Command {
	var core cli.Core
	var named string
	o := cli.Outputs{Formats: report.ContractFormats}
	cmd := &cobra.Command{
		Use:   "show ROLE",
		Short: "Show what a contract demands of a role",
		Long: `Shows the fields that a contract names for a role (InfraCluster, InfraMachine,
InfraMachinePool, MachinePoolMachine, BootstrapConfig, ControlPlane) with the
section of the contract page, and what Cluster API does with each. They are the
tables that lint judges by. The formats json, yaml and openapi are stable.`,
		Example: `  clusterctl-repo contract show InfraMachine
  clusterctl-repo contract show ControlPlane --contract v1beta1 -o openapi`,
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return roles(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			i := slices.IndexFunc(roles(), func(role string) bool { return strings.EqualFold(role, args[0]) })
			if i < 0 {
				return cli.Unknown("role", args[0], roles())
			}
			role := contract.Pages[i].Role
			p, err := core.Profile(named)
			if err != nil {
				return err
			}
			return env.Write(&o, func(w io.Writer, format string, _ term.Style) error {
				return report.WriteContract(w, format, role, p.Contract, p.Core)
			})
		},
	}
	cmd.Flags().StringVar(&named, "contract", string(contract.Accepted[0]), "")
	core.Bind(cmd.Flags())
	o.Bind(cmd.Flags())
	return cmd
}

// roles are the names of those that have a page, in the order of the pages.
func roles() (names []string) {
	for _, p := range contract.Pages {
		names = append(names, string(p.Role))
	}
	return names
}
