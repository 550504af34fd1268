package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// ImageCheck is what a registry says about an image of a release.
type ImageCheck struct {
	Ref string `json:"ref"`
	// Status is found, incomplete (not for all platforms), missing, unknown (the
	// registry could not be asked) or unchecked (the user chooses the image).
	Status    string   `json:"status"`
	Platforms []string `json:"platforms"`
	// Problem says why the status is not found.
	Problem string `json:"problem,omitempty"`
	// Places are where the image is: PROVIDER/VERSION/FILE:LINE.
	Places []string `json:"places"`
}

type imageChecksBody struct {
	Images []ImageCheck `json:"images"`
}

// WriteImageChecks prints what registries say, in a format of InventoryFormats.
func WriteImageChecks(w io.Writer, format string, checks []ImageCheck) error {
	switch format {
	case "json":
		return documentOf("image-checks").Write(w, nil, imageChecksBody{append([]ImageCheck{}, checks...)})
	case "markdown":
		fmt.Fprint(w, "| image | status | platforms | problem |\n|---|---|---|---|\n")
		for _, c := range checks {
			if _, err := fmt.Fprintf(w, "| %s | %s | %s | %s |\n", code(c.Ref), prose(c.Status), prose(strings.Join(c.Platforms, ", ")), prose(c.Problem)); err != nil {
				return err
			}
		}
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, c := range checks {
		rest := strings.Join(c.Platforms, ", ")
		if c.Problem != "" {
			rest = c.Problem
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", visible(c.Status), visible(c.Ref), oneLine(rest))
	}
	return tw.Flush()
}
