package cli

import (
	"context"

	"github.com/clusterctl-repo/clusterctl-repo/publish/images"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
)

// imageStore opens the container images of a mirror.
func (a *app) imageStore(f *mirrorFlags, dir string) *images.Store {
	s := &images.Store{Dir: dir, Open: a.places(nil).Registry}
	for _, b := range f.carried {
		s.Carried = append(s.Carried, b)
	}
	s.Tell = func(text string) { a.say("%s", text) }
	s.Warn = func(text string) { a.say("%s %s", a.style.Yellow("warning:"), text) }
	return s
}

// bringImages makes the options bring the container images too.
func (a *app) bringImages(f *mirrorFlags, opts *mirror.Options) {
	opts.Images = a.imageStore(f, opts.Dir).Bring
}

// pushImages copies the images of the mirror into the registry of the site.
func (a *app) pushImages(ctx context.Context, f *mirrorFlags, result *mirror.Result, dir string) error {
	registry := result.Lock.Settings.ImageRegistry
	n, err := a.imageStore(f, dir).Push(ctx, result.Images.Pullable(), registry)
	if err == nil {
		a.say("%d images are in %s", n, registry)
	}
	return err
}
