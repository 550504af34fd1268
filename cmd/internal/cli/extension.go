package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// coreFlag is the flag --core-version.
type coreFlag struct{ value string }

func (f *coreFlag) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.value, "core-version", "", fmt.Sprintf("judge for this `VERSION` of Cluster API, v1.%d to v1.%d (default: the newest)", contract.OldestCore, contract.NewestCore))
}

// core is the minor version of Cluster API to judge for.
func (f *coreFlag) core() (int, error) {
	if f.value == "" {
		return contract.NewestCore, nil
	}
	core, err := contract.ParseCore(f.value)
	return core, usage(err)
}

func (a *app) extensionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extension",
		Short: "Look at the Runtime SDK, and check runtime extensions",
		Long: `Lists what Cluster API asks of runtime extensions, and checks whether a
running one keeps to it.`,
		Example: `  clusterctl-repo extension hooks
  clusterctl-repo extension check https://localhost:9443 --ca-file ca.crt`,
	}
	cmd.AddCommand(a.checkCommand(), a.extensionConfigCommand(), a.hooksCommand(), a.openAPICommand())
	return cmd
}

func (a *app) hooksCommand() *cobra.Command {
	out := outputs{formats: []string{"text", "json"}}
	var core coreFlag
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List the hooks that Cluster API calls",
		Long: `Lists the hooks that Cluster API calls: since which version, whether they
can make it wait, how many handlers there may be, and what calling them may do:
discover only asks what there is, pure hooks compute an answer, and all others
may act.`,
		Example: `  clusterctl-repo extension hooks
  clusterctl-repo extension hooks --core-version v1.12 -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			minor, err := core.core()
			if err != nil {
				return err
			}
			return a.write(outs, func(w io.Writer, format string, _ bool) error { return report.WriteHooks(w, format, minor) })
		},
	}
	out.flag(cmd)
	core.flag(cmd)
	return cmd
}

func (a *app) openAPICommand() *cobra.Command {
	out := outputs{formats: []string{"yaml", "json"}}
	cmd := &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document of the hooks",
		Long: `Prints the OpenAPI v3 document of all hooks with their requests and answers,
as the newest Cluster API publishes it, with shorter descriptions. Servers in
any language can be made from it.`,
		Example: `  clusterctl-repo extension openapi -o yaml=runtime-sdk-openapi.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			return a.write(outs, func(w io.Writer, format string, _ bool) error {
				text := extension.OpenAPI()
				if format == "json" {
					var err error
					if text, err = yamldoc.ToJSON(text); err != nil {
						return err
					}
					text = append(text, '\n')
				}
				_, err := w.Write(text)
				return err
			})
		},
	}
	out.flag(cmd)
	return cmd
}
