package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/transform/sourcetree"
)

// A Gate is a reason for which a release is refused. What the build of a version
// refuses by itself has no check here.
type Gate struct {
	// Name is one word, Refuses says what does not pass, Override what lets it pass.
	Name, Refuses, Override string

	// rules are those whose findings stop a release unless the configuration gives
	// them a severity.
	rules []string
	check func(*sourcetree.Build) []string
}

// Gates are all reasons, in the order in which they are reported.
var Gates = []Gate{
	{
		Name:     "completeness",
		Refuses:  "the recipes of the tree publish a file that the build leaves out",
		Override: "list the file under discovery.leaveOut",
		check:    func(b *sourcetree.Build) []string { return differences(b, false) },
	},
	{
		Name:     "names",
		Refuses:  "the recipes publish a file under another name",
		Override: "name the file in the configuration, or list it under discovery.leaveOut",
		check:    func(b *sourcetree.Build) []string { return differences(b, true) },
	},
	{
		Name:     "images",
		Refuses:  "the image of a controller is not set, and its tag is not the version",
		Override: "pass --image, or set it under images, with keep: true if it is meant as it is",
		check:    unmeant,
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
	{
		Name:     "contract",
		Refuses:  "the CRDs lack the label of the contract that metadata.yaml gives the series",
		Override: "give META017 a severity under rules",
		rules:    []string{"META017"},
	},
}

// Refusal is one reason not to publish a build.
type Refusal struct {
	*Gate
	Text string
}

// Error returns the reason, and what lets it pass.
func (r Refusal) Error() string { return r.Text + "; " + r.Override }

// Refusals returns why a build must not be released. Without a report of lint, the
// gates that need its findings are open.
func Refusals(b *sourcetree.Build, report *lint.Report) (out []Refusal) {
	for i := range Gates {
		g := &Gates[i]
		var texts []string
		if g.check != nil {
			texts = g.check(b)
		}
		if report != nil {
			for _, f := range report.Findings {
				if _, said := b.Config.Rules[f.Rule.ID]; slices.Contains(g.rules, f.Rule.ID) && !said {
					texts = append(texts, f.Message)
				}
			}
		}
		for _, text := range texts {
			out = append(out, Refusal{g, text})
		}
	}
	return out
}

func differences(b *sourcetree.Build, renamed bool) (out []string) {
	for _, d := range b.Differences {
		if d.Stops && (d.As != "") == renamed {
			out = append(out, d.String())
		}
	}
	return out
}

func unmeant(b *sourcetree.Build) (out []string) {
	for _, u := range b.Unmeant {
		version := ""
		for _, r := range b.Releases {
			if r.Provider.Label() == u.Label {
				version = r.Version
			}
		}
		text := fmt.Sprintf("%s: container %s of %s runs %s, not the image of %s", u.Label, u.Container, u.Object, u.Image, version)
		name := ""
		if u.Recipe != nil {
			name = u.Recipe.NewName
			text += fmt.Sprintf(" (%s sets another one", u.Recipe.Place)
			if u.Recipe.NewName != "" && strings.Contains(u.Recipe.Tag, "{") {
				text += "; clusterctl-repo init writes that into " + config.FileName
			}
			text += ")"
		}
		out = append(out, text+fmt.Sprintf("; --image %s=%s:%s sets it", u.Name, cmp.Or(name, u.Name), version))
	}
	return out
}
