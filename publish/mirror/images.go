package mirror

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// imagesVersion is the version of the form of the image inventory.
const imagesVersion = 1

// ImageInventory is the list of images with the places where they were found.
type ImageInventory struct {
	SchemaVersion int `json:"schemaVersion"`
	// Images are sorted by their reference.
	Images []MirroredImage `json:"images"`
	// Releases are those that were searched.
	Releases []ReleaseName `json:"releases"`
}

type ReleaseName struct {
	// Provider is the label.
	Provider string `json:"provider"`
	Version  string `json:"version"`
}

type MirroredImage struct {
	// Ref is how it is written. It is a text with variables if the user has to
	// give a value.
	Ref string `json:"ref"`
	// Confidence is certain if containers run the image, else likely: a flag,
	// a variable or a text names it.
	Confidence string `json:"confidence"`
	// Target is what the image must be called in the registry of the mirror,
	// so that clusterctl installs it from there. It is empty if clusterctl does
	// not rewrite the image, or no registry was given.
	Target string       `json:"target,omitempty"`
	Places []imagePlace `json:"places"`
}

// Guess reports whether no container is known that runs the image.
func (img MirroredImage) Guess() bool { return img.Confidence != certain }

// imagePlace is where an image was found.
type imagePlace struct {
	ReleaseName
	inventory.Image
}

const (
	certain = "certain"
	likely  = "likely"
)

// InventoryOf joins the images of releases. Overrides are those of clusterctl.yaml, or nil.
func InventoryOf(releases []Locked, images map[ReleaseName][]inventory.Image, overrides map[string]override) *ImageInventory {
	out := &ImageInventory{SchemaVersion: imagesVersion, Images: []MirroredImage{}, Releases: []ReleaseName{}}
	index := map[string]int{}
	for _, r := range releases {
		found := images[r.ReleaseName]
		if found != nil {
			out.Releases = append(out.Releases, r.ReleaseName)
		}
		for _, img := range found {
			i, known := index[img.Ref]
			if !known {
				i = len(out.Images)
				index[img.Ref] = i
				out.Images = append(out.Images, MirroredImage{Ref: img.Ref, Confidence: likely})
			}
			to := &out.Images[i]
			if !img.Guess {
				to.Confidence = certain
			}
			if u, ok := useOf(r.Provider, &img); ok && overrides != nil {
				to.Target = cmp.Or(to.Target, target(overrides, u))
			}
			to.Places = append(to.Places, imagePlace{r.ReleaseName, img})
		}
	}
	slices.SortFunc(out.Images, func(a, b MirroredImage) int { return strings.Compare(a.Ref, b.Ref) })
	return out
}

// Add adds images that no release names.
func (inv *ImageInventory) Add(refs []string) {
	for _, ref := range refs {
		i, known := slices.BinarySearchFunc(inv.Images, ref, func(img MirroredImage, ref string) int { return strings.Compare(img.Ref, ref) })
		if !known {
			img := MirroredImage{Ref: ref, Confidence: likely, Places: []imagePlace{{Image: inventory.Named(ref)}}}
			inv.Images = slices.Insert(inv.Images, i, img)
		}
	}
}

// Unmapped returns the images that can be pulled and have no target.
func (inv *ImageInventory) Unmapped() []string {
	unmapped := phrase.Only(inv.Pullable(), func(img MirroredImage) bool { return img.Target == "" })
	return phrase.List(unmapped, func(img MirroredImage) string { return img.Ref })
}

// Pullable returns the images whose names are known without the user.
func (inv *ImageInventory) Pullable() []MirroredImage {
	return phrase.Only(inv.Images, func(img MirroredImage) bool {
		return img.Places[0].Variable == "" && img.Places[0].Name != ""
	})
}

// List returns the references that can be pulled, one on each line.
func (inv *ImageInventory) List() []byte {
	list := []byte{} // an empty file, not none
	for _, img := range inv.Pullable() {
		list = append(list, img.Ref+"\n"...)
	}
	return list
}

// ParseImages takes an image inventory apart by release.
func ParseImages(data []byte) (map[ReleaseName][]inventory.Image, bool) {
	var inv ImageInventory
	if json.Unmarshal(data, &inv) != nil || inv.SchemaVersion != imagesVersion {
		return nil, false
	}
	out := map[ReleaseName][]inventory.Image{}
	for _, r := range inv.Releases {
		out[r] = []inventory.Image{}
	}
	for _, img := range inv.Images {
		for _, p := range img.Places {
			if p.Provider == "" {
				continue // the lock file has it
			}
			out[p.ReleaseName] = append(out[p.ReleaseName], p.Image)
		}
	}
	for _, images := range out {
		SortImages(images)
	}
	return out, true
}

// SortImages brings the images of a release into an order that does not depend
// on how they were read.
func SortImages(images []inventory.Image) {
	slices.SortStableFunc(images, func(a, b inventory.Image) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Ref, b.Ref))
	})
}

func (inv *ImageInventory) Marshal() ([]byte, error) { return indent(inv) }

// indent writes a document for programs and people.
func indent(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
