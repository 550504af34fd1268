package examples

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
)

const corpusIntro = `# Findings in real releases

<!-- Generated from a corpus of provider releases; do not edit. -->

What the rules find in %d releases of real providers, which were put together from the sources of these providers: %s.

An error says that users are stopped, or get something other than the author intended. So every error has a line here, with
who confirms it: **clusterctl**, the real program, which ` + "`make oracle`" + ` runs on these very files; **apiserver**, a real API
server, which ` + "`make cluster-test`" + ` applies them to; **contract**, the text that the rule names as its source.
`

// corpus writes the findings in the releases below root as a page: each error,
// and how often the other rules fire. Nothing in it depends on where root is.
func corpus(ctx context.Context, root string) (string, error) {
	r, err := folder.Open(ctx, root)
	if err != nil {
		return "", err
	}
	report, err := lint.Run(ctx, r, lint.Options{Rules: rules.All})
	if err != nil {
		return "", err
	}
	if err := errors.Join(report.Failures...); err != nil {
		return "", err
	}
	c := report.Count()
	var b strings.Builder
	fmt.Fprintf(&b, corpusIntro, report.Releases,
		fmt.Sprintf("%d errors, %d warnings and %d infos in %d files", c.Errors, c.Warnings, c.Infos, report.Files))
	b.WriteString("\n## Errors\n\n| rule | proof | place | what is wrong |\n|---|---|---|---|\n")
	type count struct{ errors, warnings, infos, releases int }
	counts := map[*lint.Rule]*count{}
	seen := map[string]bool{}
	for i := range report.Findings {
		f := &report.Findings[i]
		rel, err := filepath.Rel(root, f.File)
		if err != nil {
			return "", err
		}
		rel = filepath.ToSlash(rel)
		n := counts[f.Rule]
		if n == nil {
			n = &count{}
			counts[f.Rule] = n
		}
		release := strings.Join(strings.SplitN(rel, "/", 3)[:min(2, strings.Count(rel, "/")+1)], "/")
		if key := f.Rule.ID + " " + release; !seen[key] {
			seen[key] = true
			n.releases++
		}
		switch f.Severity {
		case lint.Error:
			n.errors++
			object := ""
			if f.Object != "" {
				object = f.Object + ": "
			}
			fmt.Fprintf(&b, "| %s | %s | %s:%d | %s |\n", f.Rule.ID, f.Rule.Proof, rel, f.Pos.Line, escape(object+f.Message))
		case lint.Warning:
			n.warnings++
		case lint.Info:
			n.infos++
		}
	}
	b.WriteString("\n## How often the rules fire\n\n| rule | states | errors | warnings | infos | releases |\n|---|---|---:|---:|---:|---:|\n")
	var fired []*lint.Rule
	for rule := range counts {
		fired = append(fired, rule)
	}
	slices.SortFunc(fired, func(a, b *lint.Rule) int { return cmp.Compare(a.ID, b.ID) })
	for _, rule := range fired {
		n := counts[rule]
		fmt.Fprintf(&b, "| [%s](rules.md#%s) | %s | %d | %d | %d | %d |\n",
			rule.ID, strings.ToLower(rule.ID), escape(rule.Title), n.errors, n.warnings, n.infos, n.releases)
	}
	fmt.Fprintf(&b, "\n%d of %d rules fire here.\n", len(fired), len(rules.All))
	return b.String(), nil
}
