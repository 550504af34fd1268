package detect

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/recipes"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// ImagesIn lists the images in a text.
func ImagesIn(text string) (out []string) {
	for line := range strings.Lines(text) {
		if ref, ok := strings.CutPrefix(strings.TrimLeft(strings.TrimSpace(line), "- "), "image: "); ok {
			out = append(out, strings.Trim(ref, `"'`))
		}
	}
	return out
}

// Replaced returns the images, without their tags, that a recipe sets: those of the
// file that it changes, or what the kustomization already makes of the name. A tag
// that no image of the file has is looked for in the images that were built.
func Replaced(fsys fs.FS, image recipes.Image, built []string) []string {
	switch {
	case image.PullPolicy != "":
		return nil
	case image.File != "" && image.Name == "":
		data, _ := fs.ReadFile(fsys, path.Clean(image.File))
		var out []string
		for _, refs := range [][]string{ImagesIn(string(data)), built} {
			for _, ref := range refs {
				if name, tag, _ := imageref.Split(ref); image.OldTag == "" || tag == image.OldTag {
					out = append(out, name)
				}
			}
			if len(out) > 0 || image.OldTag == "" {
				break
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	case image.File == "":
		file, data := config.Kustomization(fsys, image.Dir)
		for _, d := range yamldoc.Parse(yamldoc.NewFile(file, data)).Docs {
			for _, set := range d.Root.Get("images").List() {
				if set.Get("name").Str() == image.Name {
					return []string{cmp.Or(set.Get("newName").Str(), image.Name)}
				}
			}
		}
	}
	return []string{image.Name}
}

// Sets returns how the recipes set an image of the components, or nil.
func Sets(fsys fs.FS, release *recipes.Release, ref string) *recipes.Image {
	if release == nil {
		return nil
	}
	name, _, _ := imageref.Split(ref)
	for _, image := range release.Images {
		if image.NewName == name || slices.Contains(Replaced(fsys, image, []string{ref}), name) {
			if image.OldTag != "" {
				image.NewName = name
			}
			return &image
		}
	}
	return nil
}

// PullPolicy returns how the recipes set the pull policy of the i-th provider, or nil.
func PullPolicy(fsys fs.FS, release *recipes.Release, c *config.Config, i int) (out *recipes.Image) {
	if release == nil {
		return nil
	}
	for n, image := range release.Images {
		dir := path.Dir(image.File)
		if _, data := config.Kustomization(fsys, dir); image.PullPolicy != "" &&
			bytes.Contains(data, []byte(path.Base(image.File))) && Nearest(c, i, dir) {
			out = &release.Images[n]
		}
	}
	return out
}

// Nearest reports whether no other provider lives nearer to a folder than the i-th.
func Nearest(c *config.Config, i int, dir string) bool {
	near := func(p config.Provider) int {
		switch at := Base(p.Components.Path); {
		case at == ".":
			return 0
		case dir == at || strings.HasPrefix(dir, at+"/"):
			return len(at)
		}
		return -1
	}
	mine := near(c.Providers[i])
	return mine >= 0 && !slices.ContainsFunc(c.Providers, func(p config.Provider) bool { return near(p) > mine })
}
