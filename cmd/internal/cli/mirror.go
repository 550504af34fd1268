package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
	clusterctlconfig "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl/config"
)

// mirrorFlags are the flags of mirror.
type mirrorFlags struct {
	to, out, url  string
	config        string
	certManager   string
	imageRegistry string
	verify        verification
	sign          attestation
	jobs          int
	dryRun        bool
	acceptChanged bool
	configMaps    bool
	images        bool
	platforms     []string
	ociFormat     string
	pushImages    bool
	maxWait       time.Duration
	// since is the lock of the other side of a gap.
	since string
	// carried are the bundles among the TARGETs.
	carried []*mirror.Bundle
	// given are the settings that are on the command line.
	given struct{ ImageRegistry, ConfigMaps, WithImages, Platforms bool }
}

// usualCertManager is the value of --cert-manager without a version.
const usualCertManager = "default"

func (a *app) mirrorCommand() *cobra.Command {
	var f mirrorFlags
	cmd := &cobra.Command{
		Use:   "mirror TARGET... --to DEST",
		Short: "Copy releases between destinations, for sites without internet",
		Long: `Copies releases, each whole or not at all, and writes beside them what a site
without internet needs: a clusterctl.yaml with fixed versions, all images with
the places where they were found, SHA256SUMS, and mirror.lock.json, which says
where every file came from.

TARGET is a folder as everywhere, the URL of a release in the form of
clusterctl, or the label of a provider that is built into clusterctl, such as
infrastructure-aws or cluster-api. A version or a range may follow behind an @;
without it the latest version is meant, or the one that a URL names. Of a range
all versions are copied. A bundle, such as bundle.tar, stands for all that it
holds; LABEL@RANGE is not needed for it.

With --to bundle.tar the mirror is written to one file, to be carried over a gap
and mirrored from there on the other side. The same mirror gives the same file.

A second run copies what is missing or new, and otherwise transfers nothing. A
version whose files are not what they were when they were mirrored is refused.
` + destHelp,
		Example: `  # What clusterctl init needs for AWS
  clusterctl-repo mirror cluster-api bootstrap-kubeadm control-plane-kubeadm \
      infrastructure-aws@v2.8.1 --cert-manager --to /srv/mirror \
      --image-registry registry.example.com/capi
  clusterctl init --config /srv/mirror/clusterctl.yaml --infrastructure aws

  # All versions of a range, and everything that a clusterctl.yaml names
  clusterctl-repo mirror 'cluster-api@>=1.10 <1.12' --to /srv/mirror
  clusterctl-repo mirror --config clusterctl.yaml --to /srv/mirror

  # Over a gap in one file, later only what is new, and on the other side
  clusterctl-repo mirror cluster-api infrastructure-aws --to bundle.tar --sign-key key.pem
  clusterctl-repo mirror cluster-api infrastructure-aws --to new.tar --since mirror.lock.json
  clusterctl-repo mirror bundle.tar --to /srv/mirror --verify-key key.pub

  # From one place to another
  clusterctl-repo mirror /srv/mirror --to 'oci://registry.example.com/capi/{provider}' --out beside`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{takesTargets: "true"},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given.ImageRegistry, f.given.ConfigMaps, f.given.WithImages = cmd.Flags().Changed("image-registry"), cmd.Flags().Changed("config-maps"), cmd.Flags().Changed("images")
			f.given.Platforms = cmd.Flags().Changed("platform")
			return a.mirror(cmd.Context(), &f, args)
		},
	}
	cmd.AddCommand(a.mirrorVerifyCommand(), a.mirrorRepairCommand(), a.mirrorPruneCommand())
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "where the releases go")
	flags.StringVar(&f.since, "since", "", "bundle: leave out what this mirror.lock.json (`file`) of the other side lists")
	flags.StringVar(&f.out, "out", "", "`folder` for the files beside the releases (default: DEST, if that is a folder)")
	flags.StringVar(&f.url, "url", "", "static:DIR: the address of the web server, https://gitlab.HOST")
	flags.StringVar(&f.config, "config", "", "also mirror all providers that this clusterctl.yaml (`file`) names; a TARGET with the same label counts instead")
	flags.StringVar(&f.certManager, "cert-manager", "", "also mirror cert-manager, in the `version` that the configuration or clusterctl says, or in this one")
	flags.Lookup("cert-manager").NoOptDefVal = usualCertManager
	flags.StringVar(&f.imageRegistry, "image-registry", "", "make clusterctl take all images from this registry and path (`HOST/PATH`); the mirror remembers it until it is given again, empty for none")
	flags.StringVar(&f.ociFormat, "oci-format", open.OCIFiles, "oci://: files, a layer for each file as Cluster API Operator reads it, or archive, the proposed form of Cluster API")
	flags.BoolVar(&f.images, "images", false, "also bring the container images, with all platforms, as an OCI layout in images; remembered like --image-registry")
	flags.StringSliceVar(&f.platforms, "platform", nil, "with --images: only for this `OS/ARCH`, such as linux/amd64,linux/arm64; remembered like --image-registry, empty for all")
	flags.BoolVar(&f.pushImages, "push-images", false, "copy the images that the bundle or the mirror holds into --image-registry")
	flags.BoolVar(&f.configMaps, "config-maps", false, "also write the releases as ConfigMaps for Cluster API Operator; remembered like --image-registry")
	f.verify.flag(cmd)
	f.sign.flag(cmd)
	flags.IntVar(&f.jobs, "jobs", mirror.DefaultJobs, "how many downloads go on at the same time")
	flags.BoolVar(&f.acceptChanged, "accept-changed", false, "take versions whose files are not what they were when they were mirrored")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would happen")
	flags.DurationVar(&f.maxWait, "max-wait", 15*time.Minute, "how long to wait at most when a server limits the rate of requests")
	return cmd
}

func (a *app) mirror(ctx context.Context, f *mirrorFlags, args []string) error {
	switch {
	case f.to == "":
		return usagef("there is no destination: say --to, such as --to /srv/mirror")
	case len(args) == 0 && f.config == "" && f.certManager == "":
		return usagef("there is nothing to mirror: name a TARGET, such as infrastructure-aws, or a clusterctl.yaml with --config")
	case f.since != "" && !mirror.IsBundle(f.to):
		return usagef("--since is for a bundle, such as --to bundle.tar")
	case len(f.platforms) > 0 && slices.ContainsFunc(f.platforms, func(p string) bool { return !isPlatform(p) }):
		return usagef("--platform %s: it must be OS/ARCH, such as linux/amd64,linux/arm64", strings.Join(f.platforms, ","))
	case f.jobs < 1:
		return usagef("--jobs %d: it takes at least one", f.jobs)
	}
	opts := mirror.Options{
		Jobs: f.jobs, DryRun: f.dryRun, AcceptChanged: f.acceptChanged, ImageRegistry: f.imageRegistry, ConfigMaps: f.configMaps, WithImages: f.images, Platforms: f.platforms, Given: f.given,
	}
	if f.imageRegistry != "" {
		if err := mirror.CheckRegistry(f.imageRegistry); err != nil {
			return usagef("--image-registry: %w", err)
		}
	}
	if f.since != "" {
		data, err := a.readFile(f.since)
		if err != nil {
			return usagef("--since: %w", err)
		}
		if opts.Since, err = mirror.ParseLock(f.since, data); err != nil {
			return usagef("--since: %w", err)
		}
	}
	if err := a.bundleTo(f, &opts); err != nil {
		return err
	}
	if err := a.mirrorTo(f, &opts); err != nil {
		return err
	}
	if err := a.credible(&f.sign, &f.verify, &opts); err != nil {
		return err
	}
	defer f.close()
	wants, err := a.wants(ctx, f, args, &opts)
	if err != nil {
		return err
	}
	if len(wants) == 0 {
		return usagef("%s names no provider, so there is nothing to mirror", f.config)
	}
	a.bringImages(f, &opts)
	result, err := a.runMirror(ctx, wants, opts)
	if err != nil {
		return err
	}
	if core := func(o mirror.Outcome) bool { return o.Provider.Type == layouts.Core }; !f.dryRun && !result.CertManager && slices.ContainsFunc(result.Outcomes, core) {
		a.say("note: clusterctl init also needs cert-manager, unless the cluster has it; add --cert-manager")
	}
	if f.pushImages && !f.dryRun {
		if result.Lock.Settings.ImageRegistry == "" {
			return usagef("--push-images needs --image-registry, such as registry.example.com/capi")
		}
		if opts.Bundle != "" {
			b, err := mirror.OpenBundle(opts.Bundle)
			if err != nil {
				return err
			}
			f.carried = append(f.carried, b)
		}
		if err := a.pushImages(ctx, f, result, opts.Dir); err != nil {
			return err
		}
	}
	switch {
	case f.dryRun:
	case opts.Bundle != "":
		a.say("wrote %s, SHA-256 %s; on the other side: clusterctl-repo mirror %s --to /srv/mirror", a.short(opts.Bundle), result.Bundle, filepath.Base(opts.Bundle))
	default:
		a.say("the configuration for clusterctl is %s", a.short(filepath.Join(opts.Dir, layouts.ConfigFile)))
	}
	return nil
}

// isPlatform reports whether a text has the form OS/ARCH or OS/ARCH/VARIANT.
func isPlatform(text string) bool {
	parts := strings.Split(text, "/")
	return len(parts) >= 2 && len(parts) <= 3 && !slices.Contains(parts, "") && !strings.ContainsAny(text, " \t,:@")
}

// runMirror mirrors while no other run does, and tells what it does.
func (a *app) runMirror(ctx context.Context, wants []mirror.Want, opts mirror.Options) (*mirror.Result, error) {
	opts.Watch = func(p publish.Progress) { a.progress.Show(p.Release, p.Read, p.Total) }
	copied := 0
	opts.Tell = func(o mirror.Outcome) {
		a.progress.Done()
		word := a.style.Green("copied")
		switch {
		case opts.DryRun && o.Unchanged:
			word = "would leave alone"
		case opts.DryRun:
			word = "would copy"
		case o.Unchanged:
			word = "already there:"
		case opts.Repair:
			word = a.style.Green("restored")
			copied++
		default:
			copied++
		}
		a.say("%s %s %s from %s (%d files, %d bytes)", word, o.Provider.Label(), o.Version, o.From, o.Files, o.Bytes)
	}
	result, err := mirror.Run(ctx, wants, opts)
	a.progress.Done()
	if err != nil && copied > 0 {
		a.say("the mirror is not complete; run the same command again to finish it")
	}
	if err == nil {
		a.tellMirror(result, opts.Dir)
	}
	return result, err
}

// tellMirror prints what a run on a mirror has to say.
func (a *app) tellMirror(result *mirror.Result, dir string) {
	for _, w := range result.Warnings {
		a.say("%s %s", a.style.Yellow("warning:"), w)
	}
	for _, note := range result.Notes {
		a.say("%s %s", a.style.Yellow("note:"), note)
	}
	for _, name := range result.Written {
		a.detail("wrote %s", filepath.Join(dir, filepath.FromSlash(name)))
	}
}

// mirrorTo opens the destination, and finds the folder for the files beside it.
func (a *app) mirrorTo(f *mirrorFlags, opts *mirror.Options) error {
	if dir, ok := strings.CutPrefix(f.to, "static:"); ok && f.url == "" && f.out == "" {
		if lock, err := mirror.ReadLock(a.path(dir)); err == nil {
			f.url = lock.Settings.URL
		}
	}
	opts.URL, opts.Apart = f.url, f.out != ""
	site, err := a.site(f.to, &delivery{waiting: waiting{f.maxWait}, Options: open.Options{URL: f.url, OCIFormat: f.ociFormat}})
	if err != nil {
		return err
	}
	opts.To = site.With(publish.Watch(func(p publish.Progress) { a.progress.Show(p.Release, p.Read, p.Total) }))
	opts.Dir = a.path(f.out)
	opts.To.Name = f.to
	folder, err := a.places(nil).Folder(f.to)
	if err != nil {
		return usage(err)
	}
	if folder == nil {
		if f.out == "" {
			return usagef("say --out, such as --out mirror: the lock file, clusterctl.yaml and the list of images have no place in %s", f.to)
		}
		return nil
	}
	if f.out == "" {
		opts.Dir = folder.String()
		if dir, ok := strings.CutPrefix(f.to, "static:"); ok {
			opts.Dir = a.path(dir)
			opts.Below = open.StaticFolder + "/"
		}
	}
	opts.Folder = folder
	return nil
}

// credible makes the options sign what the mirror holds, and verify what is demanded.
// What the key, or a trusted one, has signed before is known to be good.
func (a *app) credible(signing *attestation, verify *verification, opts *mirror.Options) error {
	if err := signing.load(a); err != nil {
		return err
	}
	demands, err := verify.demands(a)
	if err != nil {
		return err
	}
	if demands != nil {
		opts.Verify = func(ctx context.Context, r *repo.Release, as []layouts.Provider) error {
			_, err := a.approve(ctx, demands, r, as...)
			return err
		}
	}
	if signing.key != nil {
		opts.Sign = func(sums []byte) ([]byte, error) {
			sig, err := signing.key.Sign(sums)
			return base64.StdEncoding.AppendEncode(nil, sig), err
		}
	}
	if signing.key != nil || demands != nil {
		opts.Vouched = func(sums, sig []byte) (bool, error) {
			if signing.key != nil && signedBy(sums, sig, []*sign.PublicKey{signing.key.Public()}) {
				return true, nil
			}
			return verify.signed(a, sums, sig)
		}
	}
	return nil
}

// wants finds out what is to be mirrored.
func (a *app) wants(ctx context.Context, f *mirrorFlags, args []string, opts *mirror.Options) ([]mirror.Want, error) {
	config, providers, err := a.mirrorConfig(f.config)
	if err != nil {
		return nil, err
	}
	urls := map[layouts.Provider]string{}
	for _, e := range layouts.EmbeddedProviders {
		urls[e.Provider] = e.URL()
	}
	for _, p := range providers {
		urls[p.Provider] = p.URL
	}
	var out []mirror.Want
	named := map[layouts.Provider]bool{}
	for _, arg := range args {
		more, isBundle, err := a.wantsOfBundle(f, arg, opts)
		if err == nil && !isBundle {
			more, err = a.wantsOf(ctx, arg, urls)
		}
		if err != nil {
			return nil, err
		}
		for _, w := range more {
			named[w.Provider] = true
		}
		out = append(out, more...)
	}
	for _, p := range providers {
		if named[p.Provider] {
			continue
		}
		w, err := a.wantURL(p.URL, p.Provider, "")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.config, err)
		}
		out = append(out, w)
	}
	if f.certManager == "" {
		return out, nil
	}
	cm, err := config.CertManager()
	if err != nil {
		return nil, usage(err)
	}
	if f.certManager != usualCertManager {
		cm.Version = f.certManager
	}
	if _, err := layouts.ParseVersion(cm.Version); err != nil {
		return nil, usagef("cert-manager: %w", err)
	}
	w, err := a.wantURL(cm.URL, layouts.CertManager, cm.Version)
	return append(out, w), err
}

// mirrorConfig reads the clusterctl.yaml that the user names; without one it is
// empty, since that of the user's own clusterctl is none of the mirror's.
func (a *app) mirrorConfig(name string) (*clusterctlconfig.Config, []clusterctlconfig.Provider, error) {
	if name == "" {
		config, err := clusterctlconfig.Read(layouts.ConfigFile, nil, clusterctlconfig.Env(a.Env))
		return config, nil, err
	}
	data, err := a.readFile(name)
	if err != nil {
		return nil, nil, usage(err)
	}
	config, err := clusterctlconfig.Read(name, data, clusterctlconfig.Env(a.Env))
	if err != nil {
		return nil, nil, usage(err)
	}
	providers, err := config.Providers()
	return config, providers, usage(err)
}

// wantsOf reads a TARGET of mirror.
func (a *app) wantsOf(ctx context.Context, arg string, urls map[layouts.Provider]string) ([]mirror.Want, error) {
	name, version := arg, ""
	if _, err := os.Lstat(a.path(arg)); err != nil {
		if i := strings.LastIndexByte(arg, '@'); i > strings.LastIndexByte(arg, '/') && !strings.HasPrefix(arg[i:], "@sha256:") {
			name, version = arg[:i], arg[i+1:]
			if version == "" {
				return nil, usagef("%s: there is no version behind the @", arg)
			}
		}
	}
	if isURL(name) {
		w, err := a.wantURL(name, layouts.Provider{}, version)
		return []mirror.Want{w}, err
	}
	if _, err := os.Lstat(a.path(name)); errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\`) {
		p, err := layouts.ParseLabel(name)
		if err != nil {
			return nil, usagef("%s: there is no such folder, and %w", arg, err)
		}
		url, ok := urls[p]
		if !ok {
			return nil, usagef("%s: there is no such folder, and clusterctl has no provider %s built in; give its URL, or name it in a clusterctl.yaml and use --config", arg, p)
		}
		w, err := a.wantURL(url, p, version)
		return []mirror.Want{w}, err
	}
	t, err := a.open(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	selector, err := mirror.ParseSelector(cmp.Or(version, t.version))
	if err != nil {
		return nil, usagef("%s: %w", arg, err)
	}
	var out []mirror.Want
	for _, p := range t.repository.Providers {
		out = append(out, mirror.Want{From: mirror.Provider(p), Near: true, Provider: p.Provider, File: t.file, Version: selector})
	}
	if len(out) == 0 {
		return nil, usagef("%s holds no provider", name)
	}
	return out, nil
}

// wantURL reads a provider URL. The version overrides that of the URL.
func (a *app) wantURL(raw string, p layouts.Provider, version string) (mirror.Want, error) {
	if err := withoutSecret(raw); err != nil {
		return mirror.Want{}, err
	}
	l, err := layouts.ParseURL(raw, a.servers())
	if err != nil {
		return mirror.Want{}, usage(err)
	}
	digest := ""
	if l.Kind == layouts.OCI && strings.Contains(l.Version, ":") {
		digest, l.Version = l.Version, ""
	}
	selector, err := mirror.ParseSelector(cmp.Or(version, l.Version))
	if err != nil {
		return mirror.Want{}, usagef("%s: %w", raw, err)
	}
	w := mirror.Want{Provider: p, File: l.File, Version: selector}
	if l.Kind != layouts.Local {
		from, err := a.destinationAt(l)
		if err != nil {
			return w, err
		}
		at := l.At("")
		at.File = ""
		w.From = mirror.Named(from, strings.TrimRight(at.URL(), "/"))
		if digest != "" {
			w.From = mirror.Pinned(w.From, digest)
		}
		return w, nil
	}
	if w.Provider == (layouts.Provider{}) {
		if w.Provider, err = layouts.ParseLabel(l.Label); err != nil {
			return w, usagef("%s: %w", raw, err)
		}
	}
	base := filepath.FromSlash(l.Base)
	if runtime.GOOS == "windows" {
		base = strings.TrimPrefix(base, `\`)
	}
	folder, err := local.New(base)
	if err != nil {
		return w, usage(err)
	}
	from, err := folder.Site().Of(w.Provider)
	if err != nil {
		return w, usage(err)
	}
	w.From, w.Near = mirror.Named(from, filepath.Join(base, l.Label)), true
	return w, nil
}
