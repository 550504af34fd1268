package cli

import (
	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON schema of clusterctl-repo.yaml",
		Long:    `Prints the JSON schema of clusterctl-repo.yaml, for editors and other tools.`,
		Example: `  clusterctl-repo schema > clusterctl-repo.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = a.Out.Write(text)
			return err
		},
	}
}
