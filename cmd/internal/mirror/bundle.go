package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/open"
	"github.com/clusterctl-repo/clusterctl-repo/repo/trust/sign"
)

// bundleTo makes the options keep the mirror in a bundle, if DEST is one.
func bundleTo(env *cli.Env, f *flags, opts *mirror.Options) error {
	if !mirror.IsBundle(f.to) || open.IsURL(f.to) {
		return nil
	}
	if f.out != "" || f.settings.URL != "" {
		return cli.Usagef("--out and --url do not fit a bundle, which holds all files of the mirror")
	}
	if err := env.Places().Misread(f.to); err != nil {
		return cli.UsageError(err)
	}
	opts.Bundle = env.Path(f.to)
	if info, err := os.Stat(filepath.Dir(opts.Bundle)); err != nil || !info.IsDir() {
		return cli.Usagef("--to %s: the folder %s does not exist", f.to, filepath.Dir(f.to))
	}
	f.to = mirror.Staging(opts.Bundle)
	return nil
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
	f.carried = append(f.carried, b)
	wants, lock, err := mirror.Carried(b)
	if err != nil {
		return nil, true, err
	}
	trusted, err := f.verify.Signed(env, b.Checksums, b.Signature)
	if _, wrong := errors.AsType[*sign.SignatureError](err); wrong {
		err = cli.Exit(cli.ExitFindings, fmt.Errorf("%s: %w", name, err))
	}
	if err != nil {
		return nil, true, err
	}
	for i := range wants {
		wants[i].Trusted = trusted
	}
	opts.Needs = append(opts.Needs, lock.Requires...)
	opts.Settings.MoreImages = append(opts.Settings.MoreImages, lock.Settings.MoreImages...)
	env.Detail("%s holds %d releases", name, len(lock.Releases))
	if len(wants) == 0 && len(lock.Requires) == 0 {
		return nil, true, fmt.Errorf("%s holds no release", name)
	}
	return wants, true, nil
}

// close closes the bundles.
func (f *flags) close() {
	for _, b := range f.carried {
		b.Close() // only read
	}
}
