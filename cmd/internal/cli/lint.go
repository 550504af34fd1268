package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/term"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/contract"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
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
	fix, diff    bool
	watch        bool
	minSeverity  string
	checkImages  bool
	platforms    []string
	verification verification
	choice       ruleChoice
}

// ruleChoice are the flags --select and --ignore.
type ruleChoice struct{ sel, ignore []string }

func (c *ruleChoice) flag(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&c.sel, "select", nil, "apply only these `RULES`: IDs, names or families such as META; may be repeated")
	f.StringSliceVar(&c.ignore, "ignore", nil, "leave out these `RULES`: IDs, names or families; may be repeated")
	for _, name := range []string{"select", "ignore"} {
		_ = cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return familyWords(), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// rules are those to apply; nil means all.
func (c *ruleChoice) rules() ([]*lint.Rule, error) {
	if len(c.sel)+len(c.ignore) == 0 {
		return nil, nil
	}
	list := rules.All
	if len(c.sel) > 0 {
		var err error
		if list, err = rules.Matching(list, c.sel); err != nil {
			return nil, usagef("--select: %w", err)
		}
	}
	out, err := rules.Matching(rules.All, c.ignore)
	if err != nil {
		return nil, usagef("--ignore: %w", err)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(r *lint.Rule) bool { return slices.Contains(out, r) })
	if len(list) == 0 {
		return nil, usagef("--select and --ignore leave no rule to apply")
	}
	return list, nil
}

func (a *app) lintCommand() *cobra.Command {
	f := lintFlags{out: outputs{formats: report.FindingsFormats}}
	cmd := &cobra.Command{
		Use:   "lint [TARGET]...",
		Short: "Check releases against the rules of clusterctl and Cluster API",
		Long: `Checks a release, a provider with all its versions, or a whole repository:
names, metadata, variables, YAML, components, CRDs and their contracts, cluster
templates, ClusterClasses, owners, and what clusterctl would make of it all,
including how it resolves "latest" and what "upgrade plan" would say.
` + targetHelp + sourceHelp + ` Findings then
point at the lines of the source tree that cause them.

A comment silences a rule for the value on its line or on the next one, or for
the whole document if nothing precedes it there:

  # clusterctl-repo:ignore VAR013 the name is shared with other tools

It holds for what "build" makes of the tree too, as long as that lies in the
tree. In a release on a server, or with --verify-key or --policy, comments
silence no errors. Nor does a clusterctl-repo.yaml that lies with finished
releases, unless --config names it.

Without a TARGET the current folder is checked. The exit code is 1 if there are
findings at or above --fail-on.`,
		Example: `  # A whole repository, and a report for machines beside the text
  clusterctl-repo lint /srv/repository -o text -o sarif=findings.sarif

  # What a pull request adds to the source tree
  clusterctl-repo lint . --changed-since origin/main --fail-on warning

  # Fix what can be fixed safely; first, only see it
  clusterctl-repo lint . --fix --diff
  clusterctl-repo lint . --fix

  # Only new findings: record those of today once, and hide them from then on
  clusterctl-repo lint . -o json=baseline.json --fail-on never
  clusterctl-repo lint . --baseline baseline.json

  # While editing: what does each save change?
  clusterctl-repo lint . --watch

  # Before a release: do the registries have the images?
  clusterctl-repo lint out --check-images --platform linux/amd64 --platform linux/arm64

  # What does a finding mean?
  clusterctl-repo explain META006`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return a.runLint(cmd.Context(), &f, args)
		},
	}
	f.choice.flag(cmd)
	f.source.flags(cmd)
	f.fail.flag(cmd)
	f.out.flag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.minSeverity, "min-severity", "info", "show only findings from this severity on: error, warning or info; with -q: error")
	flags.BoolVar(&f.checkImages, "check-images", false, "ask the registries whether they have each image, with the credentials of docker login")
	flags.StringArrayVar(&f.platforms, "platform", nil, "with --check-images: an `OS/ARCH` that each image must be built for, such as linux/arm64; may be repeated")
	flags.StringVar(&f.baseline, "baseline", "", "hide the findings of an earlier report in JSON (`FILE`)")
	flags.StringVar(&f.changedSince, "changed-since", "", "hide the findings that the same targets have at a git `REVISION`")
	flags.StringVar(&f.contract, "contract", "", "judge CRDs by this `CONTRACT`, v1beta1 or v1beta2 (default: the one that Cluster API chooses for each)")
	f.verification.flag(cmd)
	f.core.flag(cmd)
	flags.BoolVar(&f.fix, "fix", false, "fix what can be fixed safely, and report the rest")
	flags.BoolVar(&f.diff, "diff", false, "with --fix: print what it would change as a unified diff, and write nothing")
	flags.BoolVar(&f.watch, "watch", false, "check again after each change of a file, and print which findings are new and which are resolved")
	return cmd
}

func (a *app) runLint(ctx context.Context, f *lintFlags, args []string) error {
	level, err := f.fail.level()
	if err != nil {
		return err
	}
	outs, err := f.out.parse()
	if err != nil {
		return err
	}
	least, err := a.least(f.minSeverity)
	if err != nil {
		return err
	}
	if f.diff {
		if outs, err = f.besideDiff(outs); err != nil {
			return err
		}
	}
	if f.watch {
		if err := watchable(args, outs, f.fix); err != nil {
			return err
		}
	}
	profile, err := f.profile()
	if err != nil {
		return err
	}
	options, err := a.options(&f.source)
	if err != nil {
		return err
	}
	o := check.Options{Source: options, Profile: profile}
	if o.Rules, err = f.choice.rules(); err != nil {
		return err
	}
	if len(f.platforms) > 0 && !f.checkImages {
		return usagef("--platform only works together with --check-images")
	}
	if f.checkImages {
		o.Images, o.Platforms = a.askRegistries(ctx, f.platforms), f.platforms
	}
	known := map[string]bool{}
	if f.baseline != "" {
		if known, err = a.readBaseline(f.baseline, outs); err != nil {
			return err
		}
	}
	demands, err := f.verification.demands(a)
	if err != nil {
		return err
	}
	if demands != nil && f.fix {
		return usagef("--fix changes files, which a signed release must not; leave out --verify-key and --policy")
	}
	if f.changedSince != "" {
		if err := a.knownSince(ctx, f.changedSince, args, o, known); err != nil {
			return err
		}
	}
	if demands != nil {
		o.Foreign = true
		o.Approve = func(ctx context.Context, r *repo.Repository) error { return a.approveRepository(ctx, demands, r) }
		a.demands = demands
	}
	var r *lint.Report
	var repositories []*repo.Repository
	if f.fix {
		r, repositories, err = a.fix(ctx, args, o, known, f.diff)
	} else {
		r, repositories, err = a.lint(ctx, args, o)
	}
	if err != nil {
		return err
	}
	if n := r.Without(known); n > 0 {
		a.say("%d %s hidden: %s", n, plural(n, "finding is", "findings are"), f.hiddenBy())
	}
	a.leastShown = least
	err = a.judge(r, outs, level, report.Options{FailOn: level}, repositories...)
	var found *codeError
	if f.watch && (err == nil || errors.As(err, &found)) {
		return a.lintAgain(ctx, args, o, known, r, outs)
	}
	return err
}

// least is the lowest severity that is shown.
func (a *app) least(value string) (lint.Severity, error) {
	s, err := lint.ParseSeverity(value)
	if err != nil || s == lint.Off {
		return 0, usagef("--min-severity is %q; it must be error, warning or info", value)
	}
	if a.quiet && s < lint.Error {
		s = lint.Error
	}
	return s, nil
}

// shownFrom returns what is shown of a report: all findings from a severity on.
func shownFrom(r *lint.Report, least lint.Severity) *lint.Report {
	below := func(f lint.Finding) bool { return f.Severity < least }
	if !slices.ContainsFunc(r.Findings, below) {
		return r
	}
	out := *r
	out.Findings = slices.DeleteFunc(slices.Clone(r.Findings), below)
	return &out
}

// hiddenBy says which findings are known.
func (f *lintFlags) hiddenBy() string {
	switch {
	case f.changedSince == "":
		return "listed in " + f.baseline
	case f.baseline == "":
		return "there at " + f.changedSince
	}
	return "listed in " + f.baseline + " or there at " + f.changedSince
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// besideDiff leaves the outputs that go to files: the diff takes standard output.
func (f *lintFlags) besideDiff(outs []output) ([]output, error) {
	if !f.fix {
		return nil, usagef("--diff only works together with --fix")
	}
	if len(f.out.values) == 0 {
		return nil, nil
	}
	for _, o := range outs {
		if o.file == "" {
			return nil, usagef("--diff prints the diff to standard output; give -o %s a file, as in -o %[1]s=FILE", o.format)
		}
	}
	return outs, nil
}

// readBaseline returns the fingerprints in a report, which must not be replaced
// by one that lacks them.
func (a *app) readBaseline(name string, outs []output) (map[string]bool, error) {
	for _, o := range outs {
		if o.file != "" && a.sameFile(o.file, name) {
			return nil, usagef("--baseline and -o %s=%s name the same file, which would lose the findings of the baseline; to write a new baseline, leave out --baseline", o.format, o.file)
		}
	}
	data, err := a.readFile(name)
	if err != nil {
		return nil, usage(err)
	}
	known, err := check.Fingerprints(name, data)
	return known, usage(err)
}

// sameFile reports whether two paths lead to one file.
func (a *app) sameFile(one, other string) bool {
	p, err := os.Stat(a.path(one))
	if err != nil {
		return a.path(one) == a.path(other)
	}
	q, err := os.Stat(a.path(other))
	return err == nil && os.SameFile(p, q)
}

// knownSince adds the fingerprints that the targets had at a revision.
func (a *app) knownSince(ctx context.Context, revision string, targets []string, o check.Options, known map[string]bool) error {
	defer a.muteLibraries()()
	for _, name := range targets {
		if isURL(name) {
			return usagef("--changed-since needs a folder in a git repository, but %s is a URL", name)
		}
		before, err := check.Since(ctx, revision, a.short(a.path(name)), o)
		if err != nil {
			return fmt.Errorf("--changed-since: %w", err)
		}
		for _, finding := range before.Findings {
			known[finding.Fingerprint] = true
			for _, p := range finding.Also {
				known[p.Fingerprint] = true
			}
		}
	}
	return nil
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

// lint checks all targets and joins the reports.
func (a *app) lint(ctx context.Context, names []string, o check.Options) (*lint.Report, []*repo.Repository, error) {
	defer a.muteLibraries()()
	all := &lint.Report{}
	var repositories []*repo.Repository
	for _, name := range names {
		r, err := a.check(ctx, name, o)
		if err != nil {
			return nil, nil, err
		}
		all.Join(r.Report)
		if r.Repository != nil {
			repositories = append(repositories, r.Repository)
		}
	}
	// What an interrupt kept from being read is no finding and no failure.
	return all, repositories, ctx.Err()
}

// check checks one target.
func (a *app) check(ctx context.Context, name string, o check.Options) (*check.Result, error) {
	if !isURL(name) {
		r, err := check.Folder(ctx, a.short(a.path(name)), o)
		if err == nil || !a.isComponents(name, err) {
			return r, err
		}
	}
	t, err := a.open(ctx, name, nil)
	if err == nil && a.demands != nil {
		err = a.approveTarget(ctx, a.demands, t)
	}
	if err != nil {
		return nil, err
	}
	o.Foreign = o.Foreign || t.from != nil
	return check.Repository(ctx, t.repository, t.partial, o)
}

// judge prints a report on repositories, with options, and turns it into an exit code.
func (a *app) judge(r *lint.Report, outs []output, level lint.Severity, options report.Options, repositories ...*repo.Repository) error {
	all := r
	least := a.leastShown
	if a.quiet {
		least = lint.Error
	}
	r = shownFrom(all, least)
	if n := len(all.Findings) - len(r.Findings); n > 0 {
		a.say("%d findings below --min-severity are not shown", n)
	}
	options.Below = a.belowRoot()
	err := a.summarize(r, outs, options)
	err = errors.Join(err, a.write(outs, func(w io.Writer, format string, terminal bool) error {
		style := term.Style{}
		if terminal {
			var err error
			if style, err = term.StyleFor(w, a.color, a.Env); err != nil {
				return err
			}
		}
		options.Paint, options.Version, options.Pictures = style, programVersion(), nil
		if format == "html" {
			for _, r := range repositories {
				options.Pictures = append(options.Pictures, pictures(r)...)
			}
		}
		return report.WriteFindings(w, format, r, options)
	}))
	for _, f := range r.Failures {
		fmt.Fprintf(a.Err, "%s %v\n", a.style.Red("error:"), f)
	}
	return outcome(len(r.Failures) > 0, err, all.Worst() >= level)
}

// outcome is the exit code of a report: that the job was not done, because it is
// incomplete or could not be written, weighs more than findings.
func outcome(incomplete bool, unwritten error, findings bool) error {
	switch {
	case unwritten != nil:
		return &codeError{exitFailed, unwritten}
	case incomplete:
		return &codeError{code: exitFailed}
	case findings:
		return &codeError{code: exitFindings}
	}
	return nil
}

// belowRoot is the path of the working directory in the repository that GitHub
// shows: below GITHUB_WORKSPACE, or else below the folder with .git. It is empty if
// there is none.
func (a *app) belowRoot() string {
	root, _ := a.Env("GITHUB_WORKSPACE")
	below := func() string {
		rel, err := filepath.Rel(root, a.Dir)
		if root == "" || err != nil || !filepath.IsLocal(rel) {
			return ""
		}
		return filepath.ToSlash(rel)
	}
	if rel := below(); rel != "" {
		return rel
	}
	for root = a.Dir; ; root = filepath.Dir(root) {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
			return below()
		}
		if root == filepath.Dir(root) {
			return ""
		}
	}
}

// summarize adds the summary that GitHub shows for a job, if annotations are
// asked for in one.
func (a *app) summarize(r *lint.Report, outs []output, options report.Options) error {
	name, ok := a.Env("GITHUB_STEP_SUMMARY")
	if !ok || name == "" || !slices.ContainsFunc(outs, func(o output) bool { return o.format == "github" }) {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		used := int64(0) // by other runs of the same step
		if info, err := f.Stat(); err == nil {
			used = info.Size()
		}
		to := term.NewWriter(f, term.Text)
		err = errors.Join(report.WriteGitHubSummary(to, r, options, int(used)), to.Flush(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the summary that GITHUB_STEP_SUMMARY names: %w", cause(err))
	}
	return nil
}
