// Package lint has the verb lint, and those about its rules: rules and explain. It must not
// know what a rule finds.
package lint

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

type flags struct {
	source       targets.Source
	out          cli.Findings
	baseline     string
	changedSince string
	contract     string
	core         cli.Core
	fix, diff    bool
	watch        bool
	minSeverity  string
	checkImages  bool
	platforms    []string
	verification targets.Verification
	suite        targets.Suite
	with         targets.With
	previous     string
	choice       ruleChoice
	// keys are those that have to have signed releases before lint reads them, if any.
	keys []*sign.PublicKey
}

// ruleChoice are the flags --select and --ignore.
type ruleChoice struct{ sel, ignore []string }

func (c *ruleChoice) flag(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&c.sel, "select", nil, "")
	f.StringSliceVar(&c.ignore, "ignore", nil, "")
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
	list := rules.Catalogue
	if len(c.sel) > 0 {
		var err error
		if list, err = rules.Matching(list, c.sel); err != nil {
			return nil, cli.Usagef("--select: %w", err)
		}
	}
	out, err := rules.Matching(rules.Catalogue, c.ignore)
	if err != nil {
		return nil, cli.Usagef("--ignore: %w", err)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(r *lint.Rule) bool { return slices.Contains(out, r) })
	if len(list) == 0 {
		return nil, cli.Usagef("--select and --ignore leave no rule to apply")
	}
	return list, nil
}

func Command(env *cli.Env) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "lint [TARGET]...",
		Short: "Check releases against the rules of clusterctl and Cluster API",
		Long: `Checks a release, a provider with all its versions, or a whole repository:
names, metadata, variables, YAML, components, CRDs and their contracts, cluster
templates, ClusterClasses, owners, and what clusterctl would make of it all,
including how it resolves "latest" and what "upgrade plan" would say.
` + targets.Help + targets.SourceHelp + ` Findings then
point at the lines of the source tree that cause them.
` + targets.OwnHelp + ` Then only what they hold is judged,
not how files are called. --with names the releases of the providers that they
use, which are a TARGET, too; what cannot be judged without is listed.

The E2EConfig of an e2e suite is judged with the repository that it describes:
what the framework refuses or ignores on the line of the configuration (rules
SUITE), and its releases. Of components by URL only errors are reported.

A comment suppresses a rule for the value on its line or on the next one, or for
the whole document if nothing precedes it there:

  # clusterctl-repo:ignore VAR013 the name is shared with other tools

For finished releases the comments in their files count, and the nearest
clusterctl-repo.yaml above them. In a release on a server, or with --verify-key,
comments suppress no errors; nor does a clusterctl-repo.yaml that lies with the
releases, unless --config names it.

Without a TARGET the current folder is checked. The exit code is 1 if there are
findings at or above --fail-on.`,
		Example: `  # A whole repository, and a report for machines besides the text
  clusterctl-repo lint /srv/repository -o text -o sarif=findings.sarif

  # What a pull request adds to the source tree
  clusterctl-repo lint . --changed-since origin/main --fail-on warning

  # Fix what can be fixed safely; first, only see it
  clusterctl-repo lint . --fix --diff
  clusterctl-repo lint . --fix

  # Only new findings: record those of today once, and hide them from then on
  clusterctl-repo lint . -o json=baseline.json --fail-on never
  clusterctl-repo lint . --baseline baseline.json

  # Templates of your own, against the providers that they use
  clusterctl-repo lint templates/ --with infrastructure-aws --with cluster-api

  # While editing: what does each save change?
  clusterctl-repo lint . --watch

  # Before a release: do the registries have the images?
  clusterctl-repo lint out --check-images --platform linux/amd64 \
      --platform linux/arm64

  # Does this release have all that the last one has?
  clusterctl-repo lint out --version v1.2.3 \
      --previous /srv/repository/infrastructure-acme

  # What does a finding mean?
  clusterctl-repo explain META006`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return f.run(cmd.Context(), env, args)
		},
	}
	f.choice.flag(cmd)
	f.source.Bind(cmd.Flags())
	f.suite.Bind(cmd.Flags())
	f.with.Bind(cmd.Flags())
	f.out.Bind(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&f.minSeverity, "min-severity", "info", "")
	flags.BoolVar(&f.checkImages, "check-images", false, "")
	flags.StringSliceVar(&f.platforms, "platform", nil, "")
	flags.StringVar(&f.baseline, "baseline", "", "")
	flags.StringVar(&f.changedSince, "changed-since", "", "")
	flags.StringVar(&f.contract, "contract", "", "")
	flags.StringVar(&f.previous, "previous", "", "")
	f.verification.Bind(flags)
	f.core.Bind(flags)
	flags.BoolVar(&f.fix, "fix", false, "")
	flags.BoolVar(&f.diff, "diff", false, "")
	flags.BoolVar(&f.watch, "watch", false, "")
	return cmd
}

func (f *flags) run(ctx context.Context, env *cli.Env, args []string) error {
	var err error
	if f.out.Least, err = lint.ParseSeverity(f.minSeverity); err != nil || f.out.Least == lint.Off {
		return cli.Usagef("--min-severity is %q; it must be error, warning or info", f.minSeverity)
	}
	if f.diff {
		if err := f.besideDiff(); err != nil {
			return err
		}
	}
	if f.fix || f.watch || f.changedSince != "" {
		if i := slices.IndexFunc(args, func(name string) bool { return localrepo.Is(env.Path(name)) }); i >= 0 {
			return cli.Usagef("%s is an E2EConfig, to which --fix, --watch and --changed-since do not apply", args[i])
		}
	}
	if f.watch {
		if err := f.watchable(args); err != nil {
			return err
		}
	}
	profile, err := f.core.Profile(f.contract)
	if err != nil {
		return err
	}
	options, err := f.source.Options(env)
	if err != nil {
		return err
	}
	options.Own = true
	o := check.Options{Source: options, Profile: profile}
	if o.With, err = f.with.Open(ctx, env); err != nil {
		return err
	}
	o.Watch = func(done, all int) { env.Progress.Count("lint", done, all, "files") }
	if o.Rules, err = f.choice.rules(); err != nil {
		return err
	}
	if len(f.platforms) > 0 && !f.checkImages {
		return cli.Usagef("--platform only works together with --check-images")
	}
	if f.checkImages {
		o.Images = askRegistries(ctx, env, f.platforms)
	}
	last, err := targets.Last(ctx, env, f.previous)
	if err != nil {
		return err
	}
	o.Last = func(_ context.Context, checked []*repo.Release) ([]check.Succession, error) {
		return []check.Succession{{Last: last, Next: checked}}, nil
	}
	known := map[string]bool{}
	if f.baseline != "" {
		if known, err = f.readBaseline(env); err != nil {
			return err
		}
	}
	if f.keys, err = f.verification.Keys(env); err != nil {
		return err
	}
	if len(f.keys) > 0 && f.fix {
		return cli.Usagef("--fix changes files, but a signed release must not change; leave out --verify-key")
	}
	if f.changedSince != "" {
		if err := f.knownSince(ctx, env, args, o, known); err != nil {
			return err
		}
	}
	o.Foreign = len(f.keys) > 0
	o.Approve = func(ctx context.Context, r *repo.Repository) error {
		return targets.ApproveRepository(ctx, env, f.keys, r)
	}
	var r *lint.Report
	var repositories []*repo.Repository
	if f.fix {
		r, repositories, err = f.fixAll(ctx, env, args, o, known)
	} else {
		r, repositories, err = f.lint(ctx, env, args, o)
	}
	if err != nil {
		return err
	}
	if n := r.Without(known); n > 0 {
		var by []string
		if f.baseline != "" {
			by = append(by, "listed in "+f.baseline)
		}
		if f.changedSince != "" {
			by = append(by, "there at "+f.changedSince)
		}
		env.Say("hidden: %s, %s", phrase.Count(n, "finding"), strings.Join(by, " or "))
	}
	err = f.out.Judge(env, r, report.Options{FailOn: f.out.Level}, repositories...)
	if _, judged := cli.Code(err); f.watch && (err == nil || judged) {
		return f.lintAgain(ctx, env, args, o, known, r)
	}
	return err
}

// besideDiff leaves the outputs that go to files: the diff takes standard output.
func (f *flags) besideDiff() error {
	if !f.fix {
		return cli.Usagef("--diff only works together with --fix")
	}
	if !f.out.Chosen() {
		f.out.All = nil
	}
	if i := slices.IndexFunc(f.out.All, func(o cli.Output) bool { return o.File == "" }); i >= 0 {
		return cli.Usagef("--diff prints the diff to standard output; give -o %s a file, as in -o %[1]s=FILE", f.out.All[i].Format)
	}
	return nil
}

// readBaseline returns the fingerprints in a report, which must not be replaced
// by one that lacks them.
func (f *flags) readBaseline(env *cli.Env) (map[string]bool, error) {
	name := f.baseline
	for _, o := range f.out.All {
		if o.File != "" && sameFile(env, o.File, name) {
			return nil, cli.Usagef("--baseline and -o %s=%s name the same file, which would lose the findings of the baseline; to write a new baseline, leave out --baseline", o.Format, o.File)
		}
	}
	data, err := env.ReadFile(name)
	if err != nil {
		return nil, cli.UsageError(err)
	}
	known, err := check.Fingerprints(name, data)
	return known, cli.UsageError(err)
}

// sameFile reports whether two paths lead to one file.
func sameFile(env *cli.Env, one, other string) bool {
	p, err := os.Stat(env.Path(one))
	if err != nil {
		return env.Path(one) == env.Path(other)
	}
	q, err := os.Stat(env.Path(other))
	return err == nil && os.SameFile(p, q)
}

// knownSince adds the fingerprints that the targets had at a revision.
func (f *flags) knownSince(ctx context.Context, env *cli.Env, names []string, o check.Options, known map[string]bool) error {
	defer f.source.Mute(env)()
	for _, name := range names {
		if open.IsURL(name) {
			return cli.Usagef("--changed-since needs a folder in a git repository, but %s is a URL", name)
		}
		before, err := check.Since(ctx, f.changedSince, env.Short(env.Path(name)), o)
		if err != nil {
			return fmt.Errorf("--changed-since: %w", err)
		}
		before.Fingerprints(known)
	}
	return nil
}

// lint checks all targets and joins the reports.
func (f *flags) lint(ctx context.Context, env *cli.Env, names []string, o check.Options) (*lint.Report, []*repo.Repository, error) {
	defer f.source.Mute(env)()
	all := &lint.Report{}
	var repositories []*repo.Repository
	for _, name := range names {
		r, err := f.check(ctx, env, name, o)
		if err != nil {
			return nil, nil, err
		}
		all.Join(r.Report)
		if r.Repository != nil {
			repositories = append(repositories, r.Repository)
		}
	}
	// What an interrupt kept from being read is neither a finding nor a failure.
	return all, repositories, ctx.Err()
}

func (f *flags) check(ctx context.Context, env *cli.Env, name string, o check.Options) (*check.Result, error) {
	if localrepo.Is(env.Path(name)) {
		s, err := f.suite.Open(ctx, env, &f.source, name, true)
		if err != nil {
			return nil, err
		}
		return check.Suite(ctx, s, o)
	}
	if err := f.suite.Unused(); err != nil {
		return nil, err
	}
	if !open.IsURL(name) && name != "-" && !targets.Named(env, name) {
		r, err := check.Folder(ctx, env.Short(env.Path(name)), o)
		if err == nil || !targets.IsComponents(env, name, err) {
			return r, err
		}
	}
	t, err := targets.OpenOwn(ctx, env, name, nil)
	if t != nil && t.Repository.Config != nil && err != nil { // the rules for its entries say more
		if r, err := check.Repository(ctx, t.Repository, true, o); err != nil || r.Report.Worst() >= lint.Error {
			return r, err
		}
	}
	if err == nil && f.keys != nil {
		err = targets.ApproveTarget(ctx, env, f.keys, t)
	}
	if err != nil {
		return nil, err
	}
	if err := t.Unlisted(); err != nil {
		env.Warn("%v", err)
	}
	o.Foreign = o.Foreign || t.Remote
	if l, err := targets.ParseURL(env, name); open.IsURL(name) && err == nil && t.File != "" {
		o.URL = l.URL() // not the link to a download
	}
	o.Unfound = oci.Unfound(t.Repository)
	return check.Repository(ctx, t.Repository, t.Partial, o)
}
