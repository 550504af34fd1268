package root

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
)

// completeValues lets shells complete the values of flags, which their usage lists until
// they are explained.
func completeValues(cmd *cobra.Command) {
	offer := func(f *pflag.Flag) {
		values := slices.Clone(cli.FlagValues[f.Name])
		if f.Usage != "" {
			values = nil
			for word := range strings.SplitSeq(f.Usage, ", ") {
				word, _, _ = strings.Cut(word, " ")
				values = append(values, word)
			}
		}
		if values != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	cmd.LocalFlags().VisitAll(offer)
	for _, c := range cmd.Commands() {
		completeValues(c)
	}
}
