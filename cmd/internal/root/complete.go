package root

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
)

// completeValues lets shells complete the values of flags, before these are explained.
func completeValues(cmd *cobra.Command) {
	offer := func(f *pflag.Flag) {
		if values := cli.Values(f); values != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	cmd.LocalFlags().VisitAll(offer)
	for _, c := range cmd.Commands() {
		completeValues(c)
	}
}
