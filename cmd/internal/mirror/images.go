package mirror

import (
	"context"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/images"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
)

// imageStore opens the container images of a mirror.
func imageStore(env *cli.Env, f *flags, dir string) *images.Store {
	s := &images.Store{Dir: dir, Open: env.Places().Registry}
	for _, b := range f.carried {
		s.Carried = append(s.Carried, b)
	}
	s.Tell = func(text string) { env.Say("%s", text) }
	s.Warn = func(text string) { env.Warn("%s", text) }
	return s
}

// bringImages makes the options bring the container images too.
func bringImages(env *cli.Env, f *flags, opts *mirror.Options) {
	opts.Images = imageStore(env, f, opts.Dir).Bring
}

// pushImages copies the images of the mirror into the registry of the site.
func pushImages(ctx context.Context, env *cli.Env, f *flags, result *mirror.Result, dir string) error {
	registry := result.Lock.Settings.ImageRegistry
	n, err := imageStore(env, f, dir).Push(ctx, result.Images.Pullable(), registry)
	if err == nil {
		env.Say("%d images are in %s", n, registry)
	}
	return err
}
