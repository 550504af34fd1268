package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagValues are the values of flags that take one of a few words.
var flagValues = map[string][]string{
	"color":        {"auto", "always", "never"},
	"fail-on":      {"error", "warning", "info", "never"},
	"severity":     {"error", "warning", "info"},
	"min-severity": {"error", "warning", "info"},
	"proof":        {"clusterctl", "apiserver", "contract", "practice"},
	"contract":     {"v1beta1", "v1beta2"},
}

// completeValues lets shells complete the values of flags. Formats are taken from
// the usage of -o, which lists them.
func completeValues(cmd *cobra.Command) {
	offer := func(f *pflag.Flag) {
		values := flagValues[f.Name]
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
