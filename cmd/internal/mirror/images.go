package mirror

import (
	"context"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/mirror"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// imageStore opens the container images of a mirror.
func imageStore(env *cli.Env, f *flags, dir string) *oci.Store {
	s := &oci.Store{Dir: dir, Suspects: f.suspects, Open: env.Places().Registry}
	for _, b := range f.bundles {
		s.Carried = append(s.Carried, b)
	}
	s.Tell = func(text string) { env.Say("%s", text) }
	s.Warn = func(text string) { env.Warn("%s", text) }
	return s
}

// bringImages makes the options bring the container images too.
func bringImages(env *cli.Env, f *flags, opts *mirror.Options) {
	opts.Bring = func(ctx context.Context, images []mirror.MirroredImage, platforms []string, changed bool) (map[string]repo.Sum, error) {
		return imageStore(env, f, opts.Dir).Bring(ctx, wanted(images), platforms, changed)
	}
}

func wanted(images []mirror.MirroredImage) []oci.Wanted {
	return phrase.List(images, func(i mirror.MirroredImage) oci.Wanted {
		return oci.Wanted{Ref: i.Ref, Target: i.Target, Guess: i.Guess()}
	})
}

// pushImages copies the images of the mirror into the registry of the site.
func pushImages(ctx context.Context, env *cli.Env, f *flags, result *mirror.Result, dir string) error {
	registry := result.Lock.Settings.ImageRegistry
	n, err := imageStore(env, f, dir).Push(ctx, wanted(result.Images.Pullable()), registry)
	if err == nil {
		env.Say("%d images are in %s", n, registry)
	}
	return err
}
