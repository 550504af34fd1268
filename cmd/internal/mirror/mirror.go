// Package mirror has the verb mirror and those that look after mirrors: verify, repair and
// prune. It must not know what a mirror consists of.
package mirror

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
	"github.com/clusterctl-repo/clusterctl-repo/transform/check"
	clusterctlconfig "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
)

type flags struct {
	to, out       string
	certManager   string
	settings      mirror.Settings
	verify        targets.Verification
	sign          targets.Key
	findings      cli.Findings
	jobs          int
	dryRun        bool
	acceptChanged bool
	pushImages    bool
	// bundles are those among the TARGETs.
	bundles []*mirror.Bundle
	// suspects are files below layouts.ImagesFolder that were damaged.
	suspects []string
	// given are the settings that are on the command line.
	given mirror.Given
	// changed are the names of the flags that are on the command line.
	changed []string
}

// usualCertManager is the value of --cert-manager without a version.
const usualCertManager = "default"

// externalCertManager is the value for a site whose clusters have their own.
const externalCertManager = "external"

func Command(env *cli.Env) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "mirror TARGET... --to DEST",
		Short: "Copy releases between destinations, for sites without internet",
		Long: `Copies releases, each whole or not at all, and adds what a site
without internet needs: a clusterctl.yaml with fixed versions, all images with
the places where they were found, SHA256SUMS, and mirror.lock.json, which says
where every file came from.

TARGET is a folder of releases, the URL of a release in the form of clusterctl,
or the label of a provider that is built into clusterctl, such as
infrastructure-aws or cluster-api. Append @VERSION or @RANGE to select versions;
without it the latest version is meant, or the one that a URL names. Of a range
all versions are copied. A bundle, such as bundle.tar, stands for all that it
holds. A clusterctl.yaml stands for all providers that it names; another TARGET
with the same label counts instead. The E2EConfig of an e2e suite stands for its
versions by URL; the images that it loads are listed with the others, and brought
with --images. "build E2ECONFIG --from DEST" uses such a mirror.

The files for the site go into DEST if that is a folder, else into --out. The
mirror remembers --cert-manager, --image-registry, --images, --platform and
--config-maps until they are given again; an empty --image-registry or
--platform resets it.

With --to bundle.tar the mirror is written whole to one file, to be carried across
an air gap and mirrored from there on the other side. It is made in a temporary
folder, or in that of --out, where the next run continues. A single TARGET that is the
folder of a mirror is written as it is. The same mirror gives the same file.

A second run copies what is missing or new, and otherwise transfers nothing. A
version whose files have changed since they were mirrored is refused. What lint
finds in the releases of others is summed up; --fail-on refuses it. A release is
always refused if
` + targets.GateHelp(func(g check.Gate) check.Verdict { return g.Mirror }) + targets.DestHelp,
		Example: `  # What clusterctl init needs for AWS
  clusterctl-repo mirror cluster-api bootstrap-kubeadm control-plane-kubeadm \
      infrastructure-aws@v2.8.1 --cert-manager --to /srv/mirror \
      --image-registry registry.example.com/capi
  clusterctl init --config /srv/mirror/clusterctl.yaml --infrastructure aws

  # All versions of a range, and everything that a clusterctl.yaml names
  clusterctl-repo mirror 'cluster-api@>=1.10 <1.12' --to /srv/mirror
  clusterctl-repo mirror clusterctl.yaml --to /srv/mirror

  # Across an air gap in one file, and on the other side
  clusterctl-repo mirror cluster-api infrastructure-aws --to bundle.tar \
      --sign-key key.pem
  clusterctl-repo mirror bundle.tar --to /srv/mirror --verify-key key.pub

  # From one place to another
  clusterctl-repo mirror /srv/mirror \
      --to 'oci://registry.example.com/capi/{provider}' --out mirror`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{cli.TakesTargets: "yes", cli.Stepwise: "yes"},
		RunE: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			f.given = mirror.Given{
				ImageRegistry: given("image-registry"), ConfigMaps: given("config-maps"), Images: given("images"),
				Platforms: given("platform"), CertManager: given("cert-manager"),
			}
			cmd.Flags().Visit(func(flag *pflag.Flag) {
				if cmd.InheritedFlags().Lookup(flag.Name) == nil {
					f.changed = append(f.changed, flag.Name)
				}
			})
			return f.run(cmd.Context(), env, args)
		},
	}
	cmd.AddCommand(verifyCommand(env), repairCommand(env), pruneCommand(env))
	f.bind(cmd.Flags())
	return cmd
}

// bind adds the flags, which cli.Glossary explains.
func (f *flags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.to, "to", "", "")
	flags.StringVar(&f.out, "out", "", "")
	flags.StringVar(&f.settings.URL, "url", "", "")
	flags.StringVar(&f.certManager, "cert-manager", "", "")
	certManager := flags.Lookup("cert-manager")
	certManager.NoOptDefVal = usualCertManager
	certManager.Usage = clusterctlconfig.CertManagerVersion + " (if none is given), " + externalCertManager + " (clusters have their own)"
	flags.StringVar(&f.settings.ImageRegistry, "image-registry", "", "")
	flags.BoolVar(&f.settings.Images, "images", false, "")
	flags.StringSliceVar(&f.settings.Platforms, "platform", nil, "")
	flags.BoolVar(&f.pushImages, "push-images", false, "")
	flags.BoolVar(&f.settings.ConfigMaps, "config-maps", false, "")
	f.verify.Bind(flags)
	f.sign.Bind(flags)
	f.findings.BindLevel(flags)
	flags.IntVar(&f.jobs, "jobs", mirror.DefaultJobs, "")
	cli.Allow(flags, "changed", &f.acceptChanged)
	flags.BoolVar(&f.dryRun, "dry-run", false, "")
}

func (f *flags) run(ctx context.Context, env *cli.Env, args []string) error {
	switch {
	case f.to == "":
		return cli.Usagef("missing destination: add --to, such as --to /srv/mirror")
	case len(args) == 0 && f.certManager == "":
		return cli.Usagef("nothing to mirror: name a TARGET, such as infrastructure-aws, or a clusterctl.yaml")
	case f.jobs < 1:
		return cli.Usagef("--jobs is %d; it must be at least 1", f.jobs)
	}
	if err := f.findings.Settle(); err != nil {
		return err
	}
	opts := mirror.Options{Jobs: f.jobs, DryRun: f.dryRun, AcceptChanged: f.acceptChanged, Given: f.given}
	var found judgement
	found.judge(env, &f.findings, &opts)
	if r := f.settings.ImageRegistry; r != "" {
		if err := mirror.CheckRegistry(r); err != nil {
			return cli.Usagef("--image-registry: %w", err)
		}
	}
	again := finishIt
	bundle, err := bundleTo(env, f)
	if err != nil {
		return err
	}
	if bundle != "" {
		if len(args) == 1 && !open.IsURL(args[0]) {
			if _, err := os.Stat(filepath.Join(env.Path(args[0]), layouts.LockFile)); err == nil {
				return f.pack(ctx, env, args[0], bundle)
			}
		}
		if f.to, f.out = f.out, ""; f.to == "" {
			if f.to, err = os.MkdirTemp("", "clusterctl-repo-"); err != nil {
				return err
			}
			defer os.RemoveAll(f.to) // it is where temporary files are
			again = "the bundle was not written; with --out FOLDER, the next run continues from here"
		}
		if err := outside(env, f.to, bundle); err != nil {
			return err
		}
		opts.Portable = true
	}
	if err := mirrorTo(env, f, &opts); err != nil {
		return err
	}
	if err := credible(env, &f.sign, &f.verify, &opts); err != nil {
		return err
	}
	defer f.close()
	wants, err := wants(ctx, env, f, args, &opts)
	if err != nil {
		return err
	}
	bringImages(env, f, &opts)
	result, err := runMirror(ctx, env, wants, opts, again)
	if err != nil {
		return err
	}
	found.tell(env)
	core := func(o mirror.Outcome) bool { return o.Provider.Type == layouts.Core }
	if !f.dryRun && !result.CertManager && slices.ContainsFunc(result.Outcomes, core) {
		env.Say("info: clusterctl init also needs cert-manager, unless the cluster has it; add --cert-manager")
	}
	if f.pushImages && !f.dryRun {
		if result.Lock.Settings.ImageRegistry == "" {
			return cli.Usagef("--push-images needs --image-registry, such as registry.example.com/capi")
		}
		if err := pushImages(ctx, env, f, result, opts.Dir); err != nil {
			return err
		}
	}
	switch {
	case f.dryRun:
	case bundle != "":
		return export(ctx, env, opts.Dir, bundle)
	default:
		env.Say("the configuration for clusterctl is %s", env.Short(filepath.Join(opts.Dir, layouts.ConfigFile)))
	}
	return nil
}

// judgement is what lint finds in the releases that are copied.
type judgement struct {
	mu               sync.Mutex // also while findings are printed
	errors, warnings int
	faulty           []string // with errors
}

// judge makes the options lint each release before it is copied; --fail-on refuses.
func (j *judgement) judge(env *cli.Env, f *cli.Findings, opts *mirror.Options) {
	opts.Refuses = f.Level <= lint.Error
	opts.Inspect = func(ctx context.Context, r *repo.Release) error {
		name := publish.Name(r)
		in := &repo.Repository{Path: r.Path, Providers: []*repo.Provider{{Provider: r.Provider, Path: r.Path, Releases: []*repo.Release{r}}}}
		checked, err := check.Repository(ctx, in, true, check.Options{Foreign: true})
		if err != nil {
			return err
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		found := *checked.Report
		n := found.Count()
		if j.errors, j.warnings = j.errors+n.Errors, j.warnings+n.Warnings; n.Errors > 0 {
			j.faulty = append(j.faulty, name)
		}
		found.Findings = phrase.Only(found.Findings, func(one lint.Finding) bool { return one.Severity >= f.Level })
		if f.Level > lint.Error { // nothing is refused
			for _, failure := range found.Failures {
				env.Warn("%s: lint: %v", name, failure)
			}
			found.Failures = nil
		}
		if len(found.Findings)+len(found.Failures) == 0 {
			return nil
		}
		env.Progress.Done()
		code, _ := cli.Code(f.Judge(env, &found, report.Options{}, in))
		return cli.Exit(code, fmt.Errorf("%s is not copied: --fail-on refuses it", name))
	}
}

// tell sums up what was found.
func (j *judgement) tell(env *cli.Env) {
	in := ""
	if slices.Sort(j.faulty); len(j.faulty) > 0 {
		in = " (errors in " + phrase.Few(j.faulty, 5) + ")"
	}
	if j.errors+j.warnings > 0 {
		env.Say("info: lint finds %s and %s in what was looked at%s; clusterctl-repo lint shows them, and --fail-on refuses them",
			phrase.Count(j.errors, "error"), phrase.Count(j.warnings, "warning"), in)
	}
}

// finishIt says what to do after a run that failed halfway.
const finishIt = "the mirror is not complete; run the same command again to finish it"

// runMirror mirrors while no other run does, and tells what it does, and what to do
// again if it fails halfway.
func runMirror(
	ctx context.Context, env *cli.Env, wants []mirror.Want, opts mirror.Options, again string,
) (*mirror.Result, error) {
	opts.Watch = func(p publish.Progress) { env.Progress.Show(p.Release, p.Read, p.Total) }
	copied := 0
	opts.Tell = func(o mirror.Outcome) {
		env.Progress.Done()
		word := env.Style.Green("copied")
		switch {
		case opts.DryRun && o.Unchanged:
			word = "would leave alone"
		case opts.DryRun:
			word = "would copy"
		case o.Unchanged:
			word = "already there:"
		case opts.Repair:
			word = env.Style.Green("restored")
			copied++
		default:
			copied++
		}
		env.Say("%s %s %s from %s (%d files, %d bytes)", word, o.Provider.Label(), o.Version, o.From, o.Files, o.Bytes)
	}
	result, err := mirror.Run(ctx, wants, opts)
	env.Progress.Done()
	if err != nil && copied > 0 {
		env.Say("%s", again)
	}
	if err == nil {
		tellMirror(env, result, opts.Dir)
	}
	return result, err
}

// tellMirror prints what a run on a mirror has to say.
func tellMirror(env *cli.Env, result *mirror.Result, dir string) {
	for _, w := range result.Warnings {
		env.Warn("%s", w)
	}
	for _, note := range result.Notes {
		env.Say("info: %s", note)
	}
	for _, name := range result.Written {
		env.Detail("wrote %s", filepath.Join(dir, filepath.FromSlash(name)))
	}
}

// mirrorTo opens the destination, and finds the folder for the files next to it.
func mirrorTo(env *cli.Env, f *flags, opts *mirror.Options) error {
	if dir, ok := strings.CutPrefix(f.to, "static:"); ok && f.settings.URL == "" && f.out == "" {
		if lock, err := mirror.ReadLock(env.Path(dir)); err == nil {
			f.settings.URL = lock.Settings.URL
		}
	}
	opts.Settings, opts.Apart = f.settings, f.out != ""
	site, err := targets.Site(env, f.to, open.Options{URL: f.settings.URL})
	if err != nil {
		return err
	}
	opts.To = site.Watch(func(p publish.Progress) { env.Progress.Show(p.Release, p.Read, p.Total) })
	opts.Dir = env.Path(f.out)
	opts.To.Name = f.to
	folder, err := env.Places().Folder(f.to)
	if err != nil {
		return cli.UsageError(err)
	}
	if folder == nil {
		if f.out == "" {
			return cli.Usagef("add --out, such as --out mirror: the lock file, clusterctl.yaml and the list of images cannot be stored in %s", f.to)
		}
		return nil
	}
	if f.out == "" {
		opts.Dir = folder.String()
		if dir, ok := strings.CutPrefix(f.to, "static:"); ok {
			opts.Dir = env.Path(dir)
			opts.Below = open.StaticFolder + "/"
		}
	}
	opts.Folder = folder
	return nil
}

// credible makes the options sign what the mirror holds, and verify what is demanded.
// What the key, or a trusted one, has signed before is known to be good.
func credible(env *cli.Env, signing *targets.Key, verify *targets.Verification, opts *mirror.Options) error {
	if err := signing.Load(env); err != nil {
		return err
	}
	keys, err := verify.Keys(env)
	if err != nil {
		return err
	}
	if len(keys) > 0 {
		opts.Verify = func(ctx context.Context, r *repo.Release, as []layouts.Provider) error {
			_, err := targets.Approve(ctx, env, keys, r, as...)
			return err
		}
	}
	if signing.Private != nil {
		opts.Sign = signing.Private.SignFile
		keys = append(keys, signing.Private.Public())
	}
	if len(keys) > 0 {
		// What it does not vouch for is verified by itself, and signed again.
		opts.Vouched = func(sums, sig []byte) bool { return sign.Signer(sums, sig, keys) != nil }
	}
	return nil
}
