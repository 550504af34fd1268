package cli

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/rules"
)

// failOn is the flag --fail-on.
type failOn struct{ value string }

func (f *failOn) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.value, "fail-on", "error", "exit with 1 from this severity on: error, warning, info or never")
}

// level returns the severity; one above Error for never.
func (f *failOn) level() (lint.Severity, error) {
	if f.value == "never" {
		return lint.Error + 1, nil
	}
	s, err := lint.ParseSeverity(f.value)
	if err != nil || s == lint.Off {
		return 0, usagef("--fail-on is %q; it must be error, warning, info or never", f.value)
	}
	return s, nil
}

func (a *app) lintCommand() *cobra.Command {
	var s source
	var fail failOn
	out := outputs{formats: report.FindingsFormats}
	cmd := &cobra.Command{
		Use:   "lint TARGET...",
		Short: "Check releases against the rules of clusterctl",
		Long: `Checks a release, a provider with all its versions, or a whole repository:
names, metadata, variables, YAML, and what clusterctl would make of it all,
including how it resolves "latest" and what "upgrade plan" would say.
` + targetHelp + sourceHelp + `

The exit code is 1 if there are findings at or above --fail-on.`,
		Example: `  # A whole repository, and a report for machines beside the text
  clusterctl-repo lint /srv/repository -o text -o json=findings.json

  # The source tree of a pull request
  clusterctl-repo lint . --fail-on warning

  # What does a finding mean?
  clusterctl-repo explain META006`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			level, err := fail.level()
			if err != nil {
				return err
			}
			outs, err := out.parse()
			if err != nil {
				return err
			}
			r, err := a.lint(cmd.Context(), args, &s)
			if err != nil {
				return err
			}
			return a.judge(r, outs, level)
		},
	}
	s.flags(cmd)
	fail.flag(cmd)
	out.flag(cmd)
	return cmd
}

func (o *outputs) flag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&o.values, "output", "o", nil, "`FORMAT[=FILE]`: "+strings.Join(o.formats, ", ")+"; may be repeated")
}

// lintMemory is where lint begins to collect garbage more often, in bytes. The
// largest known release needs less, so a repository of any size stays below it.
const lintMemory = 100 << 20

// lint checks all targets and joins the reports.
func (a *app) lint(ctx context.Context, names []string, s *source) (*lint.Report, error) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(lintMemory))
	all := &lint.Report{}
	for _, name := range names {
		severity, err := a.severities(s, name)
		if err != nil {
			return nil, err
		}
		t, err := a.open(ctx, name, s)
		if err != nil {
			return nil, err
		}
		r, err := lint.Run(ctx, t.repository, lint.Options{Rules: rules.All, Severity: severity, Partial: t.partial})
		if err != nil {
			return nil, err
		}
		all.Join(r)
	}
	return all, nil
}

// severities reads the severities of rules from the configuration, which lies
// in the source tree or is named by --config.
func (a *app) severities(s *source, name string) (map[string]lint.Severity, error) {
	if isURL(name) && s.config == "" {
		return nil, nil
	}
	c, err := a.load(s, a.path(name))
	if err != nil {
		return nil, err
	}
	return severities(c)
}

func severities(c *config.Config) (map[string]lint.Severity, error) {
	out := map[string]lint.Severity{}
	for id, word := range c.Rules {
		rule := rules.ByID(id)
		if rule == nil {
			return nil, usage(c.Errorf("rules."+id, "there is no rule %s%s", id, suggestion(id)))
		}
		s, err := lint.ParseSeverity(string(word))
		if err != nil {
			return nil, usage(c.Errorf("rules."+id, "%w", err))
		}
		out[rule.ID] = s
	}
	return out, nil
}

func suggestion(id string) string {
	if near := rules.Suggest(id); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// judge prints a report and turns it into an exit code.
func (a *app) judge(r *lint.Report, outs []output, level lint.Severity) error {
	err := a.write(outs, func(w io.Writer, format string, terminal bool) error {
		style := term.Style{}
		if terminal {
			var err error
			if style, err = term.StyleFor(w, a.color, a.Env); err != nil {
				return err
			}
		}
		return report.WriteFindings(w, format, r, style)
	})
	if err != nil {
		return err
	}
	for _, f := range r.Failures {
		fmt.Fprintf(a.Err, "%s %v\n", a.style.Red("error:"), f)
	}
	switch {
	case len(r.Failures) > 0:
		return &codeError{code: exitFailed}
	case r.Worst() >= level:
		return &codeError{code: exitFindings}
	}
	return nil
}

// asRepository makes a repository of built releases.
func asRepository(releases []*repo.Release) *repo.Repository {
	r := &repo.Repository{}
	for _, release := range releases {
		r.Providers = append(r.Providers, &repo.Provider{Provider: release.Provider, Path: release.Provider.Label(), Releases: []*repo.Release{release}})
	}
	return r
}

func (a *app) rulesCommand() *cobra.Command {
	out := outputs{formats: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules",
		Long: `Lists all rules with their severity and who proves them: clusterctl (it
refuses, or silently does something else), apiserver, contract (a MUST or
SHOULD of the provider contract) or practice.`,
		Example: `  clusterctl-repo rules
  clusterctl-repo rules -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			return a.write(outs, func(w io.Writer, format string, _ bool) error {
				return report.WriteRules(w, format, rules.All)
			})
		},
	}
	out.flag(cmd)
	return cmd
}

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain RULE",
		Short:   "Explain a rule, with a bad and a good example",
		Long:    `Says what a rule means, what happens to users, who proves it, and what to do.`,
		Example: `  clusterctl-repo explain META006`,
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, r := range rules.All {
				ids = append(ids, r.ID+"\t"+r.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			rule := rules.ByID(args[0])
			if rule == nil {
				return usagef("there is no rule %s%s", args[0], suggestion(args[0]))
			}
			example, err := rules.LoadExample(rule.ID)
			if err != nil {
				return err
			}
			style, err := term.StyleFor(a.Out, a.color, a.Env)
			if err != nil {
				return usage(err)
			}
			return report.WriteRule(a.Out, rule, report.Example{Prose: example.Prose, Bad: example.Bad.Text, Good: example.Good.Text}, style)
		},
	}
}

// selected returns the releases of a target that have one of the labels.
func selected(releases []*repo.Release, labels []string) []*repo.Release {
	if len(labels) == 0 {
		return releases
	}
	return slices.DeleteFunc(releases, func(r *repo.Release) bool { return !slices.Contains(labels, r.Provider.Label()) })
}
