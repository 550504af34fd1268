package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/publish/bundle"
	"github.com/clusterctl-repo/clusterctl-repo/publish/local"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
)

// stageBundle leads a mirror that goes into a bundle to a folder beside it. A
// bundle that is there is unpacked first, so that it grows like any mirror.
func (a *app) stageBundle(ctx context.Context, f *mirrorFlags, opts *mirror.Options) error {
	if !bundle.IsBundle(f.to) || isURL(f.to) {
		return nil
	}
	if f.out != "" || f.url != "" {
		return usagef("--out and --url do not fit a bundle, which holds all files of the mirror")
	}
	f.bundle = a.path(f.to)
	if info, err := os.Stat(filepath.Dir(f.bundle)); err != nil || !info.IsDir() {
		return usagef("--to %s: there is no folder %s", f.to, filepath.Dir(f.to))
	}
	dir := filepath.Join(filepath.Dir(f.bundle), bundle.Staging(filepath.Base(f.bundle)))
	f.to = dir
	opts.Portable = true
	if f.dryRun {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(dir, layouts.LockFile)); err == nil {
		a.detail("continuing with what an earlier run left in %s", dir)
		return nil
	}
	b, err := bundle.Open(f.bundle)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer b.Close()
	if f.since != "" {
		return nil // the old content would be no difference
	}
	held, err := local.Hold(dir)
	if err != nil {
		return err
	}
	defer held.Close()
	return b.Unpack(ctx, dir)
}

// finishBundle writes the bundle.
func (a *app) finishBundle(ctx context.Context, f *mirrorFlags, opts *mirror.Options) error {
	if f.dryRun {
		return nil
	}
	sum, err := bundle.Create(ctx, f.bundle, opts.Dir)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(opts.Dir); err != nil {
		a.say("%s %s could not be removed: %v", a.style.Yellow("warning:"), opts.Dir, cause(err))
	}
	a.say("wrote %s, SHA-256 %s; on the other side: clusterctl-repo mirror %s --to /srv/mirror", a.short(f.bundle), sum, filepath.Base(f.bundle))
	return nil
}

// wantsOfBundle reads a TARGET that is a bundle. It reports whether it is one.
func (a *app) wantsOfBundle(f *mirrorFlags, arg string, opts *mirror.Options) ([]mirror.Want, bool, error) {
	name, version, _ := strings.Cut(arg, "@")
	if isURL(arg) || !bundle.IsBundle(name) {
		return nil, false, nil
	}
	if info, err := os.Stat(a.path(name)); err == nil && info.IsDir() {
		return nil, false, nil
	}
	if version != "" {
		return nil, true, usagef("%s: a bundle is mirrored as a whole; remove @%s", arg, version)
	}
	b, err := bundle.Open(a.path(name))
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
