package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) contractCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "contract",
		Short: "Show the provider contracts, and judge how providers behave",
		Long: `Shows what Cluster API demands of the kinds of providers, and judges whether
controllers behave as the contract says: from a recording, beside a running
cluster, or by acting in a namespace that was made for it.`,
		Example: `  clusterctl-repo contract replay recording.jsonl.gz`,
	}
	cmd.AddCommand(a.replayCommand())
	return cmd
}
