// Package extension has the verbs about runtime extensions. It must not know what the
// Runtime SDK requires.
package extension

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Command is the verb extension, with those below it.
func Command(env *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extension",
		Short: "Look at the Runtime SDK, and check runtime extensions",
		Long: `Lists what Cluster API asks of runtime extensions, and checks whether a
running one complies.`,
		Example: `  clusterctl-repo extension hooks
  clusterctl-repo extension check https://localhost:9443 --ca-file ca.crt`,
	}
	cmd.AddCommand(checkCommand(env), configCommand(env), hooksCommand(env), openAPICommand(env))
	return cmd
}

func hooksCommand(env *cli.Env) *cobra.Command {
	o := cli.Outputs{Formats: []string{"text", "json"}}
	var core cli.Core
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
			minor, err := core.Parse()
			if err != nil {
				return err
			}
			return env.Write(&o, func(w io.Writer, format string, _ term.Style) error { return report.WriteHooks(w, format, minor) })
		},
	}
	o.Bind(cmd.Flags())
	core.Bind(cmd.Flags())
	return cmd
}

func openAPICommand(env *cli.Env) *cobra.Command {
	o := cli.Outputs{Formats: []string{"yaml", "json"}}
	cmd := &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document of the hooks",
		Long: `Prints the OpenAPI v3 document of all hooks with their requests and answers,
as the newest Cluster API publishes it, with shorter descriptions. Servers in
any language can be generated from it.`,
		Example: `  clusterctl-repo extension openapi -o yaml=runtime-sdk-openapi.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return env.Write(&o, func(w io.Writer, format string, _ term.Style) error {
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
	o.Bind(cmd.Flags())
	return cmd
}
