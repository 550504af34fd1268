package root

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
)

// completeValues lets shells complete the values of flags. Formats are taken from
// the usage of -o, which lists them.
func completeValues(cmd *cobra.Command) {
	offer := func(f *pflag.Flag) {
		values := cli.FlagValues[f.Name]
		if f.Name == "output" {
			_, list, _ := strings.Cut(f.Usage, ": ")
			list, _, _ = strings.Cut(list, ";")
			for word := range strings.SplitSeq(strings.ReplaceAll(list, " or ", ", "), ", ") {
				if word = strings.Trim(word, " `"); word != "" && !strings.Contains(word, " ") {
					values = append(values, word)
				}
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
