package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/inventory"
)

// WriteImages prints the images of releases in a format of InventoryFormats.
// Text and JSON have one entry for each container, Markdown one for each image.
// JSON is one object with one list, of which every entry names its release; failures
// say what it lacks.
func WriteImages(w io.Writer, format string, releases []Inventory[inventory.Image], failures ...error) error {
	switch format {
	case "json":
		return documentOf("images").writeList(w, failures, nil, imagesBody{[]imageEntry{}}, "images", func(yield func(any) bool) {
			for _, r := range releases {
				for i := range r.Items {
					if !yield(imageEntry{nameOf(r.Release), r.Items[i]}) {
						return
					}
				}
			}
		})
	case "markdown":
		return eachRelease(w, "### %s %s\n\n", releases, imagesMarkdown)
	}
	return eachRelease(w, "", releases, imagesText)
}

type imagesBody struct {
	Images []imageEntry `json:"images" doc:"an entry for each container of each release"`
}

type imageEntry struct {
	ofRelease
	inventory.Image
}

func imagesText(w io.Writer, r *repo.Release, images []inventory.Image) error {
	b := bufio.NewWriter(w)
	distinct := map[string]bool{}
	rows := [][]string{{"IMAGE", "CONTAINER", "OBJECT", "PLACE", "REMARK"}}
	for i := range images {
		img := &images[i]
		distinct[img.Ref] = true
		rows = append(rows, []string{
			printable(img.Ref), printable(img.Container), printable(img.Object),
			fmt.Sprintf("%s:%d", printable(img.File), img.Line), remark(img),
		})
	}
	fmt.Fprintf(b, "%s %s: %s in %s\n", printable(r.Provider.Label()), printable(r.Version), count(len(distinct), "image"), count(len(images), "container"))
	if len(images) > 0 {
		b.WriteByte('\n')
		table(b, rows)
	}
	return b.Flush()
}

// remark says what is not ordinary about an image.
func remark(img *inventory.Image) string {
	var parts []string
	if !img.SeenByClusterctl {
		parts = append(parts, "not listed by clusterctl")
	}
	switch {
	case img.Variable != "":
		parts = append(parts, "needs "+printable(img.Variable))
	case img.Name == "":
		parts = append(parts, "not an image name")
	case !img.Canonical:
		parts = append(parts, "not written in full: "+printable(img.Repository+"/"+img.Name))
	}
	if img.Expression != "" {
		parts = append(parts, "with defaults of "+printable(img.Expression))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "; ")
}

func imagesMarkdown(w io.Writer, _ *repo.Release, images []inventory.Image) error {
	users := map[string][]string{}
	var refs []string
	for i := range images {
		ref, object := images[i].Ref, images[i].Object
		if users[ref] == nil {
			refs = append(refs, ref)
		}
		if n := len(users[ref]); n == 0 || users[ref][n-1] != object {
			users[ref] = append(users[ref], object)
		}
	}
	var b strings.Builder
	b.WriteString("| Image | Used by |\n|---|---|\n")
	for _, ref := range refs {
		fmt.Fprintf(&b, "| %s | %s |\n", code(ref), list(users[ref], code))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
