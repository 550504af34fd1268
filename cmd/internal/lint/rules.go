package lint

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

func RulesCommand(env *cli.Env) *cobra.Command {
	o := cli.Outputs{Formats: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:   "rules [WORDS|RULE|FAMILY|SEVERITY|PROOF]...",
		Short: "List the rules",
		Long: `Lists all rules with their severity and who proves them: clusterctl (it
refuses, or silently does something else), apiserver, contract (a MUST or
SHOULD of the provider contract) or practice. Arguments choose among them: rules
and families, severities, proofs, and words that the rule says.`,
		Example: `  clusterctl-repo rules
  clusterctl-repo rules -o json

  # Which rules are about tags that move?
  clusterctl-repo rules moving tag

  # The errors about metadata that clusterctl itself proves
  clusterctl-repo rules META error clusterctl`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return familyWords(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := matching(args)
			if err != nil {
				return err
			}
			return env.Write(&o, func(w io.Writer, format string, _ term.Style) error {
				return report.WriteRules(w, format, list)
			})
		},
	}
	o.Bind(cmd.Flags())
	return cmd
}

// matching are the rules that arguments choose: of the rules and families among them, if
// there are any, those with one of the severities and one of the proofs that say all other
// words.
func matching(args []string) ([]*lint.Rule, error) {
	var severities []lint.Severity
	var proven []lint.Proof
	var named, words []string
	for _, arg := range args {
		if s, err := lint.ParseSeverity(arg); err == nil && s != lint.Off {
			severities = append(severities, s)
		} else if slices.Contains(lint.Proof("").Words(), arg) {
			proven = append(proven, lint.Proof(arg))
		} else if _, err := rules.Matching(rules.Catalogue, []string{arg}); err == nil {
			named = append(named, arg)
		} else {
			words = append(words, strings.Fields(arg)...)
		}
	}
	list, err := rules.Matching(rules.Catalogue, named)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	if len(named) == 0 {
		list = rules.Catalogue
	}
	list = phrase.Only(list, func(r *lint.Rule) bool {
		return (len(severities) == 0 || slices.Contains(severities, r.Severity)) && (len(proven) == 0 || slices.Contains(proven, r.Proof)) &&
			(len(words) == 0 || says(r, words))
	})
	switch {
	case len(list) > 0 || len(words) == 0:
		return list, nil
	case len(words) == 1:
		return nil, cli.UsageError(rules.Unknown(words[0]))
	}
	return nil, cli.Usagef("no rule says %s", strings.Join(words, " and "))
}

// says reports whether a rule, its example or a message of it has words that begin so.
func says(r *lint.Rule, words []string) bool {
	text := []string{r.Name, r.Title, r.Why, r.Fix, r.Example}
	if e, err := examples.Load(r.ID); err == nil {
		text = append(text, e.Prose)
		for _, w := range e.Wants {
			text = append(text, strings.ReplaceAll(w.Message.String(), `\`, ""))
		}
	}
	all := strings.Join(text, "\n")
	return !slices.ContainsFunc(words, func(word string) bool { return !regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(word)).MatchString(all) })
}

// familyWords completes families of rules.
func familyWords() []string {
	return phrase.List(rules.Families, func(f *lint.Family) string { return f.Prefix })
}
