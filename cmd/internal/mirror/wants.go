package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	clusterctlconfig "github.com/clusterctl-repo/clusterctl-repo/transform/clusterctl"
	"github.com/clusterctl-repo/clusterctl-repo/transform/localrepo"
)

// wants finds out what is to be mirrored.
func wants(ctx context.Context, env *cli.Env, f *flags, args []string, opts *mirror.Options) ([]mirror.Want, error) {
	all := args
	args, name, err := configuration(env, args)
	if err != nil {
		return nil, err
	}
	config, providers, err := mirrorConfig(env, name)
	if err != nil {
		return nil, err
	}
	version := func(arg string) bool { _, err := layouts.ParseVersion(arg); return err == nil }
	if i := slices.IndexFunc(args, version); i >= 0 && f.certManager == usualCertManager {
		return nil, cli.Usagef("%s is not a TARGET; to give cert-manager a version, write --cert-manager=%[1]s", args[i])
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
		var more []mirror.Want
		var err error
		if localrepo.Is(env.Path(arg)) {
			more, err = wantsOfSuite(ctx, env, arg, &f.verify, opts)
		} else {
			var isBundle bool
			if more, isBundle, err = wantsOfBundle(env, f, arg, opts); err == nil && !isBundle {
				more, err = wantsOf(ctx, env, arg, urls, &f.verify)
			}
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
		w, err := wantURL(env, p.URL, p.Provider, "", &f.verify)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, w)
	}
	if f.certManager == "" {
		if len(out) == 0 {
			return nil, cli.Usagef("%s names no provider, so there is nothing to mirror", phrase.And(all))
		}
		return out, nil
	}
	cm, err := config.CertManager()
	if err != nil {
		return nil, cli.UsageError(err)
	}
	if f.certManager == externalCertManager || f.certManager == usualCertManager && cm.External() {
		opts.Settings.ExternalCertManager = true
		return out, nil
	}
	if f.certManager != usualCertManager {
		cm.Version = f.certManager
	}
	if _, err := layouts.ParseVersion(cm.Version); err != nil {
		return nil, cli.Usagef("cert-manager: %w", err)
	}
	w, err := wantURL(env, cm.URL, layouts.CertManager, cm.Version, &f.verify)
	return append(out, w), err
}

// configuration finds the clusterctl.yaml among the TARGETs, and returns the others.
func configuration(env *cli.Env, args []string) (others []string, config string, err error) {
	for _, arg := range args {
		info, err := os.Stat(env.Path(arg))
		ext := filepath.Ext(arg)
		if ext != ".yaml" && ext != ".yml" && ext != ".json" || err == nil && info.IsDir() || open.IsURL(arg) ||
			localrepo.Is(env.Path(arg)) {
			others = append(others, arg)
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, "", cli.Usagef("the file %s does not exist", arg)
		}
		if config != "" {
			return nil, "", cli.Usagef("%s and %s are both configurations of clusterctl; name one of them", config, arg)
		}
		config = arg
	}
	return others, config, nil
}

// mirrorConfig reads the clusterctl.yaml that the user names; without one it is
// empty, since that of the user's own clusterctl is none of the mirror's.
func mirrorConfig(env *cli.Env, name string) (config *clusterctlconfig.Config, providers []clusterctlconfig.Provider, err error) {
	var data []byte
	if name != "" {
		if data, err = env.ReadFile(name); err != nil {
			return nil, nil, cli.UsageError(err)
		}
	}
	config, err = clusterctlconfig.Read(cmp.Or(name, layouts.ConfigFile), data, clusterctlconfig.Env(env.LookupEnv))
	if err == nil && name != "" {
		providers, err = config.Providers()
	}
	return config, providers, cli.UsageError(err)
}

// builtIn are the labels that clusterctl knows.
func builtIn() []string { return phrase.List(layouts.EmbeddedProviders, layouts.Embedded.Label) }

// wantsOf reads a TARGET of mirror.
func wantsOf(ctx context.Context, env *cli.Env, arg string, urls map[layouts.Provider]string, verify *targets.Verification) ([]mirror.Want, error) {
	name, version := arg, ""
	if _, err := os.Lstat(env.Path(arg)); err != nil {
		if i := strings.LastIndexByte(arg, '@'); i > strings.LastIndexByte(arg, '/') &&
			!strings.HasPrefix(arg[i:], "@sha256:") {
			name, version = arg[:i], arg[i+1:]
			if version == "" {
				return nil, cli.Usagef("%s: missing version after \"@\"", arg)
			}
		}
	}
	if open.IsURL(name) {
		w, err := wantURL(env, name, layouts.Provider{}, version, verify)
		return []mirror.Want{w}, err
	}
	if _, err := os.Lstat(env.Path(name)); errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `/\`) {
		p, err := layouts.ParseLabel(name)
		if err != nil {
			return nil, cli.Usagef("%s: the folder does not exist, and %w%s", arg, err, phrase.DidYouMean(name, builtIn()))
		}
		url, ok := urls[p]
		if !ok {
			return nil, cli.Usagef("%s: the folder does not exist, and clusterctl does not know this provider; give its URL, or a clusterctl.yaml that names it: %s", arg, phrase.Unknown("label", p.Label(), builtIn()))
		}
		w, err := wantURL(env, url, p, version, verify)
		return []mirror.Want{w}, err
	}
	t, err := targets.Open(ctx, env, name, nil)
	if err != nil {
		return nil, err
	}
	selector, err := mirror.ParseSelector(cmp.Or(version, t.Version))
	if err != nil {
		return nil, cli.Usagef("%s: %w", arg, err)
	}
	if len(t.Repository.Providers) == 0 {
		return nil, cli.Usagef("%s holds no provider", name)
	}
	keys, err := verify.Keys(env)
	if err != nil {
		return nil, err
	}
	_, signed, err := targets.Recorded(t.Repository, keys)
	return phrase.List(t.Repository.Providers, func(p *repo.Provider) mirror.Want {
		return mirror.Want{From: (*mirror.Provider)(p), Near: true, Provider: p.Provider, File: t.File, Version: selector, Trusted: signed}
	}), err
}

// wantsOfSuite reads an E2EConfig: the versions by URL, and the images to load.
func wantsOfSuite(ctx context.Context, env *cli.Env, name string, verify *targets.Verification, opts *mirror.Options) (out []mirror.Want, err error) {
	s, err := (&targets.Suite{}).Open(ctx, env, &targets.Source{}, name, false)
	if err != nil {
		return nil, err
	}
	remote, err := s.Remote()
	if err != nil {
		return nil, err
	}
	for _, v := range remote {
		// The framework takes the link to a download, clusterctl the URL of a release.
		w, err := wantURL(env, strings.Replace(v.URL, "/releases/download/", "/releases/", 1), v.Provider, v.Version, verify)
		if err != nil {
			return nil, s.Config.Errorf(v.At, "%w", err)
		}
		out = append(out, w)
	}
	for _, image := range s.Config.Images {
		if ref := image.Name.Value; ref != "" && !slices.Contains(opts.Settings.MoreImages, ref) {
			opts.Settings.MoreImages = append(opts.Settings.MoreImages, ref)
		}
	}
	return out, nil
}

// wantURL reads a provider URL. The version overrides that of the URL.
func wantURL(env *cli.Env, raw string, p layouts.Provider, version string, verify *targets.Verification) (mirror.Want, error) {
	l, err := targets.ParseURL(env, raw)
	if err != nil {
		return mirror.Want{}, err
	}
	digest := ""
	if l.Kind == layouts.OCI && strings.Contains(l.Version, ":") {
		digest, l.Version = l.Version, ""
	}
	selector, err := mirror.ParseSelector(cmp.Or(version, l.Version))
	if err != nil {
		return mirror.Want{}, cli.Usagef("%s: %w", raw, err)
	}
	w := mirror.Want{Provider: p, File: l.File, Version: selector}
	if l.Kind != layouts.Local {
		from, err := targets.At(env, l)
		if err != nil {
			return w, err
		}
		at := l.At("")
		at.File = ""
		w.From = mirror.Named{Source: from, Name: strings.TrimRight(at.URL(), "/")}
		if digest != "" {
			w.From = mirror.Pinned{Source: w.From, Digest: digest}
		}
		return w, nil
	}
	if w.Provider == (layouts.Provider{}) {
		if w.Provider, err = layouts.ParseLabel(l.Label); err != nil {
			return w, cli.Usagef("%s: %w", raw, err)
		}
	}
	base := filepath.FromSlash(l.Base)
	if runtime.GOOS == "windows" {
		base = strings.TrimPrefix(base, `\`)
	}
	folder, err := local.New(base)
	if err != nil {
		return w, cli.UsageError(err)
	}
	from, err := folder.Site().Of(w.Provider)
	if err != nil {
		return w, cli.UsageError(err)
	}
	w.From, w.Near = mirror.Named{Source: from, Name: filepath.Join(base, l.Label)}, true
	keys, err := verify.Keys(env)
	if err != nil {
		return w, err
	}
	origin, signed, err := targets.Recorded(&repo.Repository{Path: w.From.String()}, keys)
	if origin != nil {
		w.From, w.Trusted = mirror.Recorded{Source: w.From, Origin: origin}, signed
	}
	return w, err
}
