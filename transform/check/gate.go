package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/imageref"
	"github.com/clusterctl-repo/clusterctl-repo/transform"
)

// gate is a reason for which a release is refused. What the build of a version
// refuses by itself has no check here.
type gate struct {
	// Name is one word, Refuses says what does not pass, Override what lets it pass.
	Name, Refuses, Override string

	// rules are those whose findings stop a release unless the configuration gives
	// them a severity.
	rules []string
	check func(*transform.Build) []Refusal
}

// Gates are all reasons, in the order in which they are reported.
var Gates = []gate{
	{
		Name:     "images",
		Refuses:  "the image of the provider's controller is not set, and its tag is not the version",
		Override: "pass --image OLD=NEW:TAG, or set it under images, with keep: true if it is intended",
		check:    unsetImages,
	},
	{
		Name:     "versions",
		Refuses:  "the version is not a release version, or lacks the leading v",
		Override: "set version.tagPattern and version.stripPrefix",
	},
	{
		Name:     "series",
		Refuses:  "metadata.yaml does not list the release series of the version",
		Override: "pass --add-series, or add the series to metadata.yaml",
	},
}

// Refusal is one reason not to publish a build, and what lets it pass.
type Refusal struct{ Text, Override string }

// Error returns both.
func (r Refusal) Error() string { return r.Text + "; " + r.Override }

// Refusals returns why a build must not be released. Without a report of lint, the
// gates that need its findings are open.
func Refusals(b *transform.Build, report *lint.Report) (out []Refusal) {
	for _, g := range Gates {
		var found []Refusal
		if g.check != nil {
			found = g.check(b)
		}
		if report != nil {
			for _, f := range report.Findings {
				if _, said := b.Config.Rules[f.Rule.ID]; slices.Contains(g.rules, f.Rule.ID) && !said {
					found = append(found, Refusal{Text: f.Message})
				}
			}
		}
		for _, r := range found {
			r.Override = cmp.Or(r.Override, g.Override)
			out = append(out, r)
		}
	}
	return out
}

func unsetImages(b *transform.Build) (out []Refusal) {
	for _, u := range b.UnsetImages {
		text := fmt.Sprintf("%s: container %s of %s runs %s, not the image of %s", u.Label, u.Container, u.Object, u.Image, u.Version)
		name := u.Name
		if !strings.Contains(name, "/") {
			name = "REGISTRY/" + name
		}
		image := u.Name + "=" + imageref.Full(name) + ":" + u.Version
		if len(b.Releases) > 1 {
			image = u.Label + ":" + image
		}
		out = append(out, Refusal{text, "pass --image " + image + ", or set it under images, with keep: true if it is intended"})
	}
	return out
}
