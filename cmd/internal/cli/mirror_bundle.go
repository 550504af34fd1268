package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
)

// bundleTo makes the options keep the mirror in a bundle, if DEST is one.
func (a *app) bundleTo(f *mirrorFlags, opts *mirror.Options) error {
	if !mirror.IsBundle(f.to) || isURL(f.to) {
		return nil
	}
	if f.out != "" || f.url != "" {
		return usagef("--out and --url do not fit a bundle, which holds all files of the mirror")
	}
	opts.Bundle = a.path(f.to)
	if info, err := os.Stat(filepath.Dir(opts.Bundle)); err != nil || !info.IsDir() {
		return usagef("--to %s: there is no folder %s", f.to, filepath.Dir(f.to))
	}
	f.to = mirror.Staging(opts.Bundle)
	return nil
}

// wantsOfBundle reads a TARGET that is a bundle. It reports whether it is one.
func (a *app) wantsOfBundle(f *mirrorFlags, arg string, opts *mirror.Options) ([]mirror.Want, bool, error) {
	name, version, _ := strings.Cut(arg, "@")
	if isURL(arg) || !mirror.IsBundle(name) {
		return nil, false, nil
	}
	if info, err := os.Stat(a.path(name)); err == nil && info.IsDir() {
		return nil, false, nil
	}
	if version != "" {
		return nil, true, usagef("%s: a bundle is mirrored as a whole; remove @%s", arg, version)
	}
	b, err := mirror.OpenBundle(a.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = usage(err)
	}
	if err != nil {
		return nil, true, err
	}
	f.carried = append(f.carried, b)
	wants, lock, err := mirror.Carried(b)
	if err != nil {
		return nil, true, err
	}
	trusted, err := f.verify.signed(a, b.Checksums, b.Signature)
	if err != nil {
		return nil, true, err
	}
	for i := range wants {
		wants[i].Trusted = trusted
	}
	opts.Needs = append(opts.Needs, lock.Requires...)
	a.detail("%s holds %d releases", name, len(lock.Releases))
	if len(wants) == 0 && len(lock.Requires) == 0 {
		return nil, true, fmt.Errorf("%s holds no release", name)
	}
	return wants, true, nil
}

// close closes the bundles.
func (f *mirrorFlags) close() {
	for _, b := range f.carried {
		b.Close() // only read
	}
}
