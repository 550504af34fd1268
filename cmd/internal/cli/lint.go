package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/examples"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
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

// lintFlags are the flags of lint.
type lintFlags struct {
	source
	fail         failOn
	out          outputs
	baseline     string
	changedSince string
	contract     string
	core         coreFlag
	fix          bool
	verification verification
}

func (a *app) lintCommand() *cobra.Command {
	f := lintFlags{out: outputs{formats: report.FindingsFormats}}
	cmd := &cobra.Command{
		Use:   "lint TARGET...",
		Short: "Check releases against the rules of clusterctl and Cluster API",
		Long: `Checks a release, a provider with all its versions, or a whole repository:
names, metadata, variables, YAML, components, CRDs and their contracts, cluster
templates, ClusterClasses, owners, and what clusterctl would make of it all,
including how it resolves "latest" and what "upgrade plan" would say.
` + targetHelp + sourceHelp + ` Findings then
point at the lines of the source tree that cause them.

A comment silences a rule for the value it stands behind or above, or for the
whole document if nothing stands above it:

  # clusterctl-repo:ignore VAR013 the name is shared with other tools

The exit code is 1 if there are findings at or above --fail-on.`,
		Example: `  # A whole repository, and a report for machines beside the text
  clusterctl-repo lint /srv/repository -o text -o sarif=findings.sarif

  # What a pull request adds to the source tree
  clusterctl-repo lint . --changed-since origin/main --fail-on warning

  # Mend what can be mended safely
  clusterctl-repo lint . --fix

  # Only new findings: write them down once, and leave those out from now on
  clusterctl-repo lint . -o json=baseline.json --fail-on never
  clusterctl-repo lint . --baseline baseline.json

  # What does a finding mean?
  clusterctl-repo explain META006`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runLint(cmd.Context(), &f, args) },
	}
	f.source.flags(cmd)
	f.fail.flag(cmd)
	f.out.flag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.baseline, "baseline", "", "leave out the findings of an earlier report in JSON (`FILE`)")
	flags.StringVar(&f.changedSince, "changed-since", "", "leave out the findings that the same targets have at a git `REVISION`")
	flags.StringVar(&f.contract, "contract", "", "judge CRDs by this `CONTRACT`, v1beta1 or v1beta2 (default: the one that Cluster API chooses for each)")
	f.verification.flag(cmd)
	f.core.flag(cmd)
	flags.BoolVar(&f.fix, "fix", false, "change the files to mend what can be mended safely, and report the rest")
	return cmd
}

func (a *app) runLint(ctx context.Context, f *lintFlags, args []string) error {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(lintMemory))
	level, err := f.fail.level()
	if err != nil {
		return err
	}
	outs, err := f.out.parse()
	if err != nil {
		return err
	}
	profile, err := f.profile()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	if f.baseline != "" {
		if known, err = a.readBaseline(f.baseline); err != nil {
			return err
		}
	}
	verify, err := f.verification.verifier(a)
	if err != nil {
		return err
	}
	if verify != nil {
		for _, name := range args {
			t, err := a.open(ctx, name, nil)
			if err == nil {
				err = t.verify(ctx, verify)
			}
			if err != nil {
				return err
			}
		}
		a.detail("all signatures are good")
	}
	r, repositories, err := a.lint(ctx, args, &f.source, profile)
	if err != nil {
		return err
	}
	if f.fix {
		if r, repositories, err = a.mend(ctx, r, repositories, args, f, profile); err != nil {
			return err
		}
	}
	if f.changedSince != "" {
		before, err := a.lintRevision(ctx, f.changedSince, args, &f.source, profile)
		if err != nil {
			return err
		}
		for _, finding := range before.Findings {
			known[finding.Fingerprint] = true
		}
	}
	if n := r.Without(known); n > 0 {
		a.detail("%d findings were there before", n)
	}
	return a.judge(r, outs, level, repositories...)
}

// profile is the Cluster API to judge for.
func (f *lintFlags) profile() (contract.Profile, error) {
	p := contract.DefaultProfile()
	var err error
	if f.contract != "" {
		if p.Contract, err = contract.ParseContract(f.contract); err != nil {
			return p, usage(err)
		}
	}
	p.Core, err = f.core.core()
	return p, err
}

func (o *outputs) flag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&o.values, "output", "o", nil, "`FORMAT[=FILE]`: "+strings.Join(o.formats, ", ")+"; may be repeated")
}

// lintMemory is where lint begins to collect garbage more often, in bytes. The
// largest known release needs less, so a repository of any size stays below it.
const lintMemory = 88 << 20

// lint checks all targets and joins the reports.
func (a *app) lint(ctx context.Context, names []string, s *source, profile contract.Profile) (*lint.Report, []*repo.Repository, error) {
	all := &lint.Report{}
	var repositories []*repo.Repository
	for _, name := range names {
		severity, roles, err := a.judgement(s, name)
		if err != nil {
			return nil, nil, err
		}
		profile.Roles = roles
		t, err := a.open(ctx, name, s)
		if failed, ok := errors.AsType[*buildError](err); ok {
			if r := unbuilt(failed, severity); r != nil {
				all.Join(r)
				continue
			}
		}
		if err != nil {
			return nil, nil, err
		}
		r, err := lint.Run(ctx, t.repository, traced(t.tracer, lint.Options{Rules: rules.All, Severity: severity, Partial: t.partial, Profile: profile}))
		if err != nil {
			return nil, nil, err
		}
		all.Join(r)
		repositories = append(repositories, t.repository)
		if t.problem != nil {
			r := unbuilt(t.problem, severity)
			if r == nil {
				return nil, nil, t.problem
			}
			all.Join(r)
		}
	}
	return all, repositories, nil
}

// unbuilt reports why a source tree cannot be built as findings, if the places
// are known.
func unbuilt(e *buildError, severity map[string]lint.Severity) *lint.Report {
	var faults []lint.Fault
	for _, at := range e.places() {
		file := at.File
		if !filepath.IsAbs(file) && !strings.HasPrefix(file, filepath.ToSlash(e.dir)+"/") {
			file = path.Join(filepath.ToSlash(e.dir), file)
		}
		faults = append(faults, lint.Fault{File: file, Pos: at.Pos, Message: at.Err.Error()})
	}
	if len(faults) == 0 {
		return nil
	}
	return lint.Unbuilt(rules.ByID("LINT003"), faults, severity)
}

// traced makes findings in built files point to the source tree.
func traced(t *transform.Tracer, opts lint.Options) lint.Options {
	if t == nil {
		return opts
	}
	opts.Sources = t.Files
	opts.Trace = func(f *lint.Finding, d *yamldoc.Document, n *yamldoc.Node, start, end int) {
		var s transform.Source
		var ok bool
		switch {
		case d != nil:
			s, ok = t.Locate(f.File, d, n)
		case end > start:
			s, ok = t.LocateSpan(f.File, start, end)
		default:
			s, ok = t.LocatePos(f.File, f.Pos)
		}
		if !ok {
			return
		}
		if f.Edit != nil {
			f.Edit = moved(f, s)
		}
		f.File, f.Pos, f.End, f.Way = s.File, s.Pos, s.End, s.Way
		f.Source, f.SourceColumn = s.Text, s.Column
	}
	return opts
}

// moved is the edit of a finding in a built file, made in the source file: only
// if it takes the place of the whole value there.
func moved(f *lint.Finding, s transform.Source) *lint.Edit {
	if f.Edit.Rename != "" || s.Stop == 0 || !s.Same {
		return nil
	}
	return &lint.Edit{Start: s.Start, End: s.Stop, Text: f.Edit.Text}
}

// judgement reads the severities of rules and the roles of kinds from the
// configuration, which lies in the source tree or is named by --config.
func (a *app) judgement(s *source, name string) (map[string]lint.Severity, map[string]contract.Role, error) {
	if isURL(name) && s.config == "" {
		return nil, nil, nil
	}
	c, err := a.load(s, a.path(name))
	if err != nil {
		return nil, nil, err
	}
	severity, err := severities(c)
	if err != nil {
		return nil, nil, err
	}
	roles, err := rolesOf(c)
	return severity, roles, err
}

func rolesOf(c *config.Config) (map[string]contract.Role, error) {
	out := map[string]contract.Role{}
	for kind, word := range c.Roles {
		role, err := contract.ParseRole(word)
		if err != nil {
			return nil, usage(c.Errorf("roles."+kind, "%w", err))
		}
		out[kind] = role
	}
	return out, nil
}

func severities(c *config.Config) (map[string]lint.Severity, error) {
	out := map[string]lint.Severity{}
	for id, word := range c.Rules {
		rule := ruleOf(id)
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

// ruleOf finds a rule of lint or a check of extensions, or nil.
func ruleOf(id string) *lint.Rule {
	if c := checks.ByID(id); c != nil {
		return &c.Rule
	}
	return rules.ByID(id)
}

func suggestion(id string) string {
	if near := rules.Suggest(id); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// judge prints a report on repositories and turns it into an exit code.
func (a *app) judge(r *lint.Report, outs []output, level lint.Severity, repositories ...*repo.Repository) error {
	err := a.summarize(r, outs)
	if err != nil {
		return err
	}
	err = a.write(outs, func(w io.Writer, format string, terminal bool) error {
		style := term.Style{}
		if terminal {
			var err error
			if style, err = term.StyleFor(w, a.color, a.Env); err != nil {
				return err
			}
		}
		options := report.Options{Paint: style, Version: programVersion()}
		if format == "html" {
			for _, r := range repositories {
				options.Pictures = append(options.Pictures, pictures(r)...)
			}
		}
		return report.WriteFindings(w, format, r, options)
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

// summarize adds the summary that GitHub shows for a job, if annotations are
// asked for in one.
func (a *app) summarize(r *lint.Report, outs []output) error {
	name, ok := a.Env("GITHUB_STEP_SUMMARY")
	if !ok || name == "" || !slices.ContainsFunc(outs, func(o output) bool { return o.format == "github" }) {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = errors.Join(report.WriteGitHubSummary(f, r), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the summary that GITHUB_STEP_SUMMARY names: %w", cause(err))
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
SHOULD of the provider contract) or practice. Those of the family LIV are the
checks of "extension check"; all others belong to lint.`,
		Example: `  clusterctl-repo rules
  clusterctl-repo rules -o json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			outs, err := out.parse()
			if err != nil {
				return err
			}
			return a.write(outs, func(w io.Writer, format string, _ bool) error {
				return report.WriteRules(w, format, append(slices.Clone(rules.All), checks.Rules()...))
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
			for _, r := range append(slices.Clone(rules.All), checks.Rules()...) {
				ids = append(ids, r.ID+"\t"+r.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			style, err := term.StyleFor(a.Out, a.color, a.Env)
			if err != nil {
				return usage(err)
			}
			if c := checks.ByID(args[0]); c != nil {
				return report.WriteRule(a.Out, &c.Rule, report.Example{Prose: "For example: " + c.Example}, style)
			}
			rule := rules.ByID(args[0])
			if rule == nil {
				return usagef("there is no rule %s%s", args[0], suggestion(args[0]))
			}
			example, err := examples.Load(rule.ID)
			if err != nil {
				return err
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
