package mirror

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
)

// AllImages is the key of the override for the images of all providers
// (clusterctl: client/config/imagemeta_client.go).
const AllImages = "all"

// override makes clusterctl take images from another repository: everything
// before the last slash of their names is replaced.
type override struct {
	Repository string `json:"repository"`
}

// CheckRegistry reports whether images can be renamed to be in a registry and
// path, such as registry.example.com/capi. The host must be recognizable as
// one, since clusterctl hands over to Kubernetes what it makes.
func CheckRegistry(registry string) error {
	if _, err := imageref.ParseCanonical(strings.TrimSuffix(registry, "/") + "/image"); err != nil {
		return fmt.Errorf("%q is not a registry and path, such as registry.example.com/capi: %w", registry, err)
	}
	return nil
}

// use is an image that a provider runs.
type use struct{ label, repository, name, tag, digest string }

func (u use) from() string { return u.repository + "/" + u.name }

// Overrides returns the image overrides for clusterctl.yaml that make clusterctl take all
// images of the releases from a registry, and what cannot be expressed by them.
func Overrides(registry string, releases []Locked, images map[ReleaseName][]inventory.Image) (map[string]override, []string) {
	var uses []use
	for _, r := range releases {
		for _, img := range images[r.ReleaseName] {
			if u, ok := useOf(r.Provider, &img); ok {
				uses = append(uses, u)
			}
		}
	}
	return overrides(registry, uses)
}

// overrides does so for images. The override for all drops the path of an image, so images of different paths
// with the same name would become one. Those get an entry of their provider,
// which keeps the path, and the host as its first part.
func overrides(registry string, uses []use) (map[string]override, []string) {
	registry = strings.TrimSuffix(registry, "/")
	all := map[string]override{AllImages: {registry}}
	repositories := map[string]map[string]bool{} // by name
	own := map[[2]string]map[string]bool{}       // by label and name
	add := func(set map[string]bool, s string) map[string]bool {
		if set == nil {
			set = map[string]bool{}
		}
		set[s] = true
		return set
	}
	for _, u := range uses {
		repositories[u.name] = add(repositories[u.name], u.repository)
		own[[2]string{u.label, u.name}] = add(own[[2]string{u.label, u.name}], u.repository)
	}
	for key, set := range own {
		label, name := key[0], key[1]
		if len(repositories[name]) == 1 {
			continue
		}
		path := label // clusterctl cannot tell the two apart, but tags may
		if len(set) == 1 {
			for repository := range set {
				path = strings.ReplaceAll(repository, ":", "-")
			}
		}
		all[label+"/"+name] = override{registry + "/" + path}
	}
	origins := map[string]use{}
	var problems []string
	for _, u := range uses {
		to := target(all, u)
		first, known := origins[to]
		if !known {
			origins[to] = u
			continue
		}
		if first.from() != u.from() && (u.digest == "" || u.digest != first.digest) {
			problems = append(problems, fmt.Sprintf("%s and %s would both become %s, and clusterctl cannot rename one of them differently, because %s has both; change the manifest, or keep the images where they are", first.from(), u.from(), to, u.label))
		}
	}
	slices.Sort(problems)
	return all, slices.Compact(problems)
}

// target returns what clusterctl makes of an image (clusterctl:
// client/config/imagemeta_client.go, AlterImage).
func target(all map[string]override, u use) string {
	repository := u.repository
	for _, key := range []string{AllImages, u.label, u.label + "/" + u.name} {
		if o, ok := all[key]; ok {
			repository = o.Repository
		}
	}
	to := repository + "/" + u.name
	if u.tag != "" {
		to += ":" + u.tag
	}
	if u.digest != "" {
		to += "@" + u.digest
	}
	return to
}

// useOf returns an image if clusterctl rewrites it.
func useOf(label string, img *inventory.Image) (use, bool) {
	return use{label, img.Repository, img.Name, img.Tag, img.Digest},
		img.SeenByClusterctl && img.Canonical && img.Variable == ""
}

// Refused returns what clusterctl says of images that are not written in full:
// it parses every image that it sees, renamed or not, and gives up
// (clusterctl: util/container, ImageFromString).
func Refused(releases []Locked, images map[ReleaseName][]inventory.Image) (out []string) {
	for _, r := range releases {
		for _, img := range images[r.ReleaseName] {
			if !img.SeenByClusterctl || img.Canonical || img.Variable != "" {
				continue
			}
			advice := "it is not an image name"
			if img.Name != "" {
				full := img.Repository + "/" + img.Name
				advice = "it must be written in full, such as " + full
			}
			out = append(out, fmt.Sprintf("%s %s, %s:%d: clusterctl refuses the whole provider because of the image %q: %s", r.Provider, r.Version, img.File, img.Line, img.Ref, advice))
		}
	}
	return out
}
