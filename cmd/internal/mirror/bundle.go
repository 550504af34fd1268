package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/targets"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
)

// bundleTo returns the path of the bundle that DEST names, "" if it names none.
func bundleTo(env *cli.Env, f *flags) (string, error) {
	if !mirror.IsBundle(f.to) || open.IsURL(f.to) {
		return "", nil
	}
	if f.settings.URL != "" {
		return "", cli.Usagef("--url does not fit a bundle, which belongs to no web server")
	}
	if err := env.Places().Misread(f.to); err != nil {
		return "", cli.UsageError(err)
	}
	bundle := env.Path(f.to)
	if info, err := os.Stat(filepath.Dir(bundle)); err != nil || !info.IsDir() {
		return "", cli.Usagef("--to %s: the folder %s does not exist", f.to, filepath.Dir(f.to))
	}
	if info, err := os.Stat(bundle); err == nil && !info.Mode().IsRegular() {
		return "", cli.Usagef("--to %s: it is not a plain file", f.to)
	} else if _, linkErr := os.Lstat(bundle); err != nil && linkErr == nil {
		return "", cli.Usagef("--to %s: the symbolic link leads nowhere; is the disk mounted?", f.to)
	}
	if f.dryRun {
		return bundle, local.Writable(filepath.Dir(mirror.Real(bundle)))
	}
	return bundle, nil
}

// outside refuses a bundle in the folder of its own mirror.
func outside(env *cli.Env, dir, bundle string) error {
	if rel, err := filepath.Rel(mirror.Real(env.Path(dir)), mirror.Real(bundle)); err == nil && filepath.IsLocal(rel) {
		return cli.Usagef("%s lies in the mirror that it would hold; write it elsewhere", env.Short(bundle))
	}
	return nil
}

// pack writes a mirror that is there to a bundle, as it is.
func (f *flags) pack(ctx context.Context, env *cli.Env, name, bundle string) error {
	for _, flag := range f.changed {
		if !slices.Contains([]string{"to", "verify-key", "dry-run"}, flag) {
			return cli.Usagef("--%s does not fit: the mirror in %s is written to the bundle as it is; "+
				"use --%[1]s in a run with --to %[2]s first", flag, name)
		}
	}
	if err := outside(env, name, bundle); err != nil {
		return err
	}
	report, err := checkMirror(ctx, env, name, &f.verify)
	if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		if err := writeMirrorReport(env, env.Text, "text", report); err != nil {
			return err
		}
		return cli.Exit(cli.ExitFindings, nil)
	}
	if f.dryRun {
		env.Say("would write %s, which holds %s", f.to, phrase.Count(report.Releases, "release"))
		return nil
	}
	return export(ctx, env, env.Path(name), bundle)
}

// export writes the mirror in a folder to a bundle.
func export(ctx context.Context, env *cli.Env, dir, bundle string) error {
	sum, err := mirror.Export(ctx, dir, bundle)
	if err == nil {
		env.Say("wrote %s, SHA-256 %s; on the other side: clusterctl-repo mirror %s --to /srv/mirror",
			env.Short(bundle), sum, filepath.Base(bundle))
	}
	return err
}

// wantsOfBundle reads a TARGET that is a bundle. It reports whether it is one.
func wantsOfBundle(env *cli.Env, f *flags, arg string, opts *mirror.Options) ([]mirror.Want, bool, error) {
	name, version, _ := strings.Cut(arg, "@")
	if open.IsURL(arg) || !mirror.IsBundle(name) {
		return nil, false, nil
	}
	if info, err := os.Stat(env.Path(name)); err == nil && info.IsDir() {
		return nil, false, nil
	}
	if version != "" {
		return nil, true, cli.Usagef("%s: a bundle is mirrored as a whole; remove @%s", arg, version)
	}
	b, err := mirror.OpenBundle(env.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = cli.Usagef("the bundle %s does not exist", name)
	}
	if err != nil {
		return nil, true, err
	}
	f.bundles = append(f.bundles, b)
	wants, lock, err := b.Wants()
	if err != nil {
		return nil, true, err
	}
	keys, err := f.verify.Keys(env)
	if err != nil {
		return nil, true, err
	}
	trusted, err := targets.Signed(b.Checksums, b.Signature, keys)
	if _, wrong := errors.AsType[*sign.SignatureError](err); wrong {
		err = cli.Exit(cli.ExitFindings, fmt.Errorf("%s: %w", name, err))
	}
	if err != nil {
		return nil, true, err
	}
	for i := range wants {
		wants[i].Trusted = trusted
	}
	opts.Settings.MoreImages = append(opts.Settings.MoreImages, lock.Settings.MoreImages...)
	env.Detail("%s holds %s", name, phrase.Count(len(lock.Releases), "release"))
	if len(wants) == 0 {
		return nil, true, fmt.Errorf("%s holds no release", name)
	}
	return wants, true, nil
}

func (f *flags) close() {
	for _, b := range f.bundles {
		b.Close() // only read
	}
}
