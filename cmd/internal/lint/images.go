package lint

import (
	"context"
	"sync"

	"github.com/clusterctl-repo/clusterctl-repo/cmd/internal/cli"
	"github.com/clusterctl-repo/clusterctl-repo/publish/oci"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// askRegistries returns a function that asks for images, each once.
func askRegistries(ctx context.Context, env *cli.Env, wanted []string) func([]lint.ImageName) []lint.Image {
	var mu sync.Mutex
	known := map[lint.ImageName]lint.Image{}
	return func(names []lint.ImageName) []lint.Image {
		mu.Lock()
		defer mu.Unlock()
		var ask []oci.Image
		var of []lint.ImageName
		for _, name := range names {
			if _, ok := known[name]; !ok {
				known[name] = lint.Image{}
				ask, of = append(ask, oci.Image{Host: name.Host, Repository: name.Path, Reference: name.Reference}), append(of, name)
			}
		}
		for i, s := range oci.CheckImages(ctx, ask, env.Places().Registry) {
			image := lint.Image{Missing: s.Missing()}
			switch {
			case image.Missing:
			case s.Err != nil:
				image.Err = s.Err
			default:
				image.Lacks = s.Lacks(wanted)
			}
			known[of[i]] = image
		}
		return phrase.List(names, func(name lint.ImageName) lint.Image { return known[name] })
	}
}
