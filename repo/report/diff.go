package report

import (
	"fmt"
	"io"

	"github.com/clusterctl-repo/clusterctl-repo/repo"
	"github.com/clusterctl-repo/clusterctl-repo/repo/facts/diff"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// Comparison is what changes between two releases of a provider. One of them is
// nil if the provider is only on one side.
type Comparison struct {
	Old, New *repo.Release
	Changes  []diff.Change
}

func (c Comparison) release() *repo.Release {
	if c.New == nil {
		return c.Old
	}
	return c.New
}

func (c Comparison) title() string {
	switch {
	case c.Old == nil:
		return fmt.Sprintf("%s: new, %s", c.New.Provider.Label(), c.New.Version)
	case c.New == nil:
		return fmt.Sprintf("%s: removed, was %s", c.Old.Provider.Label(), c.Old.Version)
	}
	return fmt.Sprintf("%s: %s to %s", c.New.Provider.Label(), c.Old.Version, c.New.Version)
}

// WriteDiff prints comparisons in a format of InventoryFormats. JSON is one
// object with one list, of which every entry names its provider and versions.
func WriteDiff(w io.Writer, format string, all []Comparison, failures ...error) error {
	if format != "json" {
		return diffPage(format, all).Print(w)
	}
	out := diffBody{changesOf(all), map[diff.Impact]int{diff.Neutral: 0, diff.Attention: 0, diff.Breaking: 0}}
	for _, c := range all {
		for i := range c.Changes {
			out.Summary[c.Changes[i].Impact]++
		}
	}
	return documentOf("diff").Write(w, failures, out)
}

type diffBody struct {
	Changes []diffEntry         `json:"changes" doc:"an entry for each change of each provider, by area, then the heaviest first"`
	Summary map[diff.Impact]int `json:"summary" doc:"the number of changes by impact"`
}

type diffEntry struct {
	Provider string `json:"provider" doc:"the provider label"`
	From     string `json:"from" doc:"the old version; empty if the provider is new"`
	To       string `json:"to" doc:"the new version; empty if the provider is gone"`
	diff.Change
}

func changesOf(all []Comparison) (out []diffEntry) {
	for _, c := range all {
		e := diffEntry{Provider: c.release().Provider.Label()}
		if c.Old != nil {
			e.From = c.Old.Version
		}
		if c.New != nil {
			e.To = c.New.Version
		}
		for i := range c.Changes {
			e.Change = c.Changes[i]
			out = append(out, e)
		}
	}
	return out
}

var areaTitles = map[diff.Area]string{
	diff.InMetadata: "Metadata", diff.InAPI: "APIs", diff.InVariables: "Variables", diff.InImages: "Images", diff.InPermissions: "Permissions",
	diff.InObjects: "Objects", diff.InTemplates: "Templates", diff.InClasses: "ClusterClasses", diff.InFiles: "Files",
}

func impacts(changes []diff.Change) string {
	var n [diff.Breaking + 1]int
	for i := range changes {
		n[changes[i].Impact]++
	}
	return fmt.Sprintf("%s: %d breaking, %d that need attention, %d neutral",
		phrase.Count(len(changes), "change"), n[diff.Breaking], n[diff.Attention], n[diff.Neutral])
}

// signs begin a line of text.
var signs = map[diff.Kind]string{diff.Added: "+", diff.Removed: "-", diff.Changed: "~"}

func diffPage(format string, all []Comparison) *Page {
	p := &Page{Format: format}
	for i, c := range all {
		if i > 0 {
			p.Gap()
		}
		p.Heading(2, c.title())
		if p.IsText() {
			p.Para(impacts(c.Changes))
		} else {
			p.Para(impacts(c.Changes) + ".")
		}
		for i, change := range c.Changes { // sorted by area
			if i == 0 || change.Area != c.Changes[i-1].Area {
				p.Gap()
				p.Heading(3, areaTitles[change.Area])
			}
			impact, advice := change.Impact.String(), change.Advice
			if change.Impact == diff.Neutral {
				impact, advice = "", ""
			}
			if p.IsText() {
				if impact != "" {
					impact += ": "
				}
				p.At(2).Item(signs[change.Kind]+" "+impact, change.Message)
				if advice != "" {
					p.At(6).Para(advice)
				}
				continue
			}
			var parts []any
			if impact != "" {
				parts = []any{Strong(impact), " "}
			}
			parts = append(parts, change.Message)
			if advice != "" {
				parts = append(parts, " – ", advice)
			}
			p.Item(parts...)
		}
	}
	return p
}

func Heaviest(all []Comparison) diff.Impact {
	out := diff.Neutral
	for _, c := range all {
		for _, change := range c.Changes {
			out = max(out, change.Impact)
		}
	}
	return out
}
