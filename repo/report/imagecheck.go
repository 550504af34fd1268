package report

import (
	"cmp"
	"io"
	"strings"
)

type imageStatus string

// The states of an image.
const (
	ImageFound      imageStatus = "found"
	ImageIncomplete imageStatus = "incomplete"
	ImageMissing    imageStatus = "missing"
	ImageUnknown    imageStatus = "unknown"
	ImageUnchecked  imageStatus = "unchecked"
)

// Words are all states.
func (imageStatus) Words() []string {
	return []string{string(ImageFound), string(ImageIncomplete), string(ImageMissing), string(ImageUnknown), string(ImageUnchecked)}
}

// ImageCheck is what a registry says about an image of a release.
type ImageCheck struct {
	Ref       string      `json:"ref" doc:"the image; with a variable, the raw text"`
	Status    imageStatus `json:"status" doc:"found; incomplete, if it lacks a platform; missing, if the registry does not have it; unknown, if the registry could not be asked; unchecked, if the user chooses the image"`
	Platforms []string    `json:"platforms" doc:"the platforms that it is built for, such as linux/arm64"`
	Problem   string      `json:"problem,omitempty" doc:"why the status is not found; absent if it is"`
	Places    []string    `json:"places" doc:"where the image is used, as PROVIDER/VERSION/FILE:LINE"`
}

type imageChecksBody struct {
	Images []ImageCheck `json:"images" doc:"an entry for each image"`
}

// WriteImageChecks prints what registries say, in a format of InventoryFormats.
func WriteImageChecks(w io.Writer, format string, checks []ImageCheck, failures ...error) error {
	if format == "json" {
		return documentOf("image-checks").Write(w, failures, imageChecksBody{checks})
	}
	p := &Page{Format: format}
	if p.IsText() {
		p.Table()
	} else {
		p.Table("image", "status", "platforms", "problem")
	}
	for _, c := range checks {
		platforms := strings.Join(c.Platforms, ", ")
		if p.IsText() {
			p.Row(string(c.Status), c.Ref, cmp.Or(c.Problem, platforms))
		} else {
			p.Row(Code(c.Ref), string(c.Status), platforms, c.Problem)
		}
	}
	return p.Print(w)
}
