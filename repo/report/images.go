package report

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// WriteImages prints the images of releases in a format of InventoryFormats.
// Text and JSON have one entry for each container, Markdown one for each image.
// JSON is one object with one list, of which every entry names its release; failures
// say what it lacks.
func WriteImages(w io.Writer, format string, releases []Inventory[inventory.Image], failures ...error) error {
	if format != "json" {
		return inventoryPage(format, releases, addImages).Print(w)
	}
	return documentOf("images").Write(w, failures, imagesBody{entriesOf(releases, func(n ofRelease, i inventory.Image) imageEntry { return imageEntry{n, i} })})
}

type imagesBody struct {
	Images []imageEntry `json:"images" doc:"an entry for each container of each release"`
}

type imageEntry struct {
	ofRelease
	inventory.Image
}

func addImages(p *Page, r *repo.Release, images []inventory.Image) {
	sameRef := phrase.Groups(images, func(i inventory.Image) string { return i.Ref })
	if !p.IsText() {
		p.Table("Image", "Used by")
		for _, same := range sameRef {
			users := phrase.List(same, func(i inventory.Image) string { return i.Object })
			p.Row(Code(same[0].Ref), few(slices.Compact(users)))
		}
		return
	}
	p.Para(titleOf(r), ": ", phrase.Count(len(sameRef), "image"), " in ", phrase.Count(len(images), "container"))
	if len(images) == 0 {
		return
	}
	p.Gap()
	p.Table("IMAGE", "CONTAINER", "OBJECT", "PLACE", "REMARK")
	for i := range images {
		img := &images[i]
		p.Row(Code(img.Ref), Code(img.Container), Code(img.Object), []any{Code(img.File), ":", strconv.Itoa(img.Line)}, remark(img))
	}
}

// remark says what is not ordinary about an image.
func remark(img *inventory.Image) string {
	var parts []string
	if !img.SeenByClusterctl {
		parts = append(parts, "not listed by clusterctl")
	}
	switch {
	case img.Variable != "":
		parts = append(parts, "needs "+Printable(img.Variable))
	case img.Name == "":
		parts = append(parts, "not an image name")
	case !img.Canonical:
		parts = append(parts, "not written in full: "+Printable(img.Repository+"/"+img.Name))
	}
	if img.Expression != "" {
		parts = append(parts, "with defaults of "+Printable(img.Expression))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "; ")
}
