package detect

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
)

// inPlace reports whether dir is where the convention has the kustomization of
// a provider.
func inPlace(dir string) bool {
	return dir == "config/default" || strings.HasSuffix(dir, "/config/default")
}

// places returns the kustomizations in the place of the convention. Several
// that another one puts together under a provider label of its own are parts:
// the whole stands for them.
func (d *detection) places() []string {
	wholes := map[string]string{} // part → whole
	for _, dir := range d.kustomizations {
		for _, p := range d.partsOf(dir) {
			wholes[p] = dir
		}
	}
	out := slices.Collect(maps.Values(wholes))
	for _, dir := range d.kustomizations {
		whole, ok := wholes[dir]
		switch {
		case ok:
			d.note("", "%s is a part of %s, which combines several and sets the label %s for all", dir, whole, layouts.ProviderLabel)
		case inPlace(dir):
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// partsOf returns the kustomizations in the place of the convention that the
// one in dir makes a single provider of. One that builds several types is an
// installation of them all, not a provider.
func (d *detection) partsOf(dir string) []string {
	k, _ := d.kustomization(dir)
	if k == nil || k.label == "" {
		return nil
	}
	var parts []string
	for _, r := range k.resources {
		if p := path.Join(dir, r); !layouts.IsRemoteBase(r) && inPlace(p) {
			parts = append(parts, p)
		}
	}
	if len(parts) < 2 || len(d.facts(dir).types) != 1 {
		return nil
	}
	return parts
}

// maxElsewhere bounds how many kustomizations outside the places of the convention are
// read with all that they build.
const maxElsewhere = 100

// elsewhere identifies providers in a tree that has none in the place of the
// convention. A kustomization claims to be one if it sets the provider label
// and a namespace, and its type can be told without a guess.
func (d *detection) elsewhere() []candidate {
	var out []candidate
	looked := 0
	for _, dir := range d.kustomizations {
		k, _ := d.kustomization(dir)
		if k == nil || k.label == "" || k.namespace == "" || inPlace(dir) || d.described(dir) {
			continue
		}
		if looked++; looked > maxElsewhere {
			d.note("", "%s and further folders with the label %s were not searched for providers, because there are more than %d", dir, layouts.ProviderLabel, maxElsewhere)
			break
		}
		f := d.facts(dir)
		if t, ok := folderType(dir); len(f.types) > 1 && !(ok && f.types[t]) {
			if labelled, _, ok := readLabel(k.label, f.types); !ok || !f.types[labelled.Type] {
				continue // an installation of several
			}
		}
		if id, err := identify(dir, f, d.repo); err == nil {
			d.note("", "%s is treated as a provider, because it sets the label %s and a namespace, and no config/default builds one", dir, layouts.ProviderLabel)
			out = append(out, candidate{id, dir})
		}
	}
	return out
}
