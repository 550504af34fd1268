package documents

import (
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// handOff is what the files for hauler and zarf call the images.
const handOff = "cluster-api-providers"

// Hauler returns the images as hauler reads them: hauler store sync -f FILE
// (hauler: pkg/apis/hauler.cattle.io/v1, ImageSpec).
func (inv *ImageInventory) Hauler() ([]byte, error) {
	images := []any{}
	for _, ref := range inv.refs() {
		images = append(images, map[string]any{"name": ref})
	}
	return yamldoc.Marshal(map[string]any{
		"apiVersion": "content.hauler.cattle.io/v1", "kind": "Images",
		"metadata": map[string]any{"name": handOff},
		"spec":     map[string]any{"images": images},
	})
}

// Zarf returns the images as a package definition of zarf: zarf package create
// (zarf: src/api/v1alpha1, ZarfPackage).
func (inv *ImageInventory) Zarf() ([]byte, error) {
	component := map[string]any{"name": "images", "required": true}
	if refs := inv.refs(); len(refs) > 0 {
		component["images"] = refs
	}
	return yamldoc.Marshal(map[string]any{
		"kind":       "ZarfPackageConfig",
		"metadata":   map[string]any{"name": handOff},
		"components": []any{component},
	})
}
