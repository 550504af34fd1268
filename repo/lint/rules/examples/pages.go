package examples

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"github.com/clusterctl-repo/clusterctl-repo/repo/extension/checks"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules"
	"github.com/clusterctl-repo/clusterctl-repo/repo/source/folder"
)

// Findings applies all rules to the files of an example, by way of a temporary
// folder. Names of files in the result are relative to the repository.
func Findings(ctx context.Context, files Files) (_ []lint.Finding, err error) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	if err := files.Write(dir); err != nil {
		return nil, err
	}
	report, err := judged(ctx, dir, registries)
	if err != nil {
		return nil, err
	}
	return report.Findings, errors.Join(report.Failures...)
}

// judged applies all rules to the repository in a folder. Names of files in the result are
// relative to it.
func judged(ctx context.Context, dir string, images func([]lint.ImageName) []lint.Image) (*lint.Report, error) {
	r, err := folder.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	report, err := lint.Run(ctx, r, lint.Options{Rules: rules.All, Images: images})
	if err != nil {
		return nil, err
	}
	report.Rename(func(file string) string {
		return strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(file, dir)), "/")
	})
	return report, nil
}

// registries answer for those of the examples: the names of images say what is wrong
// with them.
func registries(names []lint.ImageName) []lint.Image {
	out := make([]lint.Image, len(names))
	for i, name := range names {
		out[i].Missing = strings.HasSuffix(name.Path, "/gone")
		if strings.HasSuffix(name.Path, "/only-amd64") {
			out[i].Lacks = []string{"linux/arm64"}
		}
	}
	return out
}

//go:embed pages.tmpl
var layout string

// write fills in a text of the layout.
func write(ctx context.Context, name string, data any) (string, error) {
	t := template.New("")
	execute := func(name string, data any) (string, error) {
		var b strings.Builder
		err := t.ExecuteTemplate(&b, name, data)
		return b.String(), err
	}
	t, err := t.Funcs(template.FuncMap{
		"lower":  strings.ToLower,
		"escape": strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "$", `\$`).Replace,
		"language": func(file string) string {
			return strings.Replace(strings.TrimPrefix(path.Ext(file), "."), "yml", "yaml", 1)
		},
		"printable": printable,
		"load": func(r *lint.Rule) (any, error) {
			e, err := Load(r.ID)
			if err != nil {
				return nil, err
			}
			out := struct {
				*Example
				Findings     []string
				Prose, Proof string
			}{Example: e, Prose: strings.Join(strings.Fields(e.Prose), " ")}
			if out.Findings, err = e.findings(ctx, r); err == nil && e.Oracle.Verdict != "" {
				out.Proof, err = execute(string(e.Oracle.Verdict), strings.ReplaceAll(e.Oracle.Pattern, "\n", `\n`))
			}
			return out, err
		},
	}).Parse(layout)
	if err != nil {
		return "", err
	}
	return execute(name, data)
}

// pages returns the index of the rules and checks and a page for each family, by their path
// below docs.
func pages(ctx context.Context) (_ map[string]string, err error) {
	families := slices.SortedFunc(slices.Values(append(slices.Clone(rules.Families), checks.Family)),
		func(a, b *lint.Family) int { return strings.Compare(a.Prefix, b.Prefix) })
	out := map[string]string{}
	for _, family := range families {
		file := "rules/" + strings.ToLower(family.Prefix) + ".md"
		if out[file], err = write(ctx, "family", family); err != nil {
			return nil, err
		}
	}
	out["rules.md"], err = write(ctx, "rules.md", families)
	return out, err
}

// findings are what a page shows of the findings in the bad files.
func (e *Example) findings(ctx context.Context, r *lint.Rule) (out []string, err error) {
	if e.Source { // which takes more than this package to build
		for _, w := range e.Wants {
			out = append(out, fmt.Sprintf("%s:%d: %s: %s [%s]", w.Path, w.Line, r.Severity, w.Message, w.Rule))
		}
		return out, nil
	}
	findings, err := Findings(ctx, e.Bad)
	for _, f := range findings {
		if !slices.ContainsFunc(e.Wants, func(w Want) bool { return w.Rule == f.Rule.ID }) {
			continue // what the example leaves out
		}
		place := f.File
		if !f.Pos.IsZero() {
			place = fmt.Sprintf("%s:%d:%d", f.File, f.Pos.Line, f.Pos.Column)
		}
		out = append(out, fmt.Sprintf("%s: %s: %s [%s]", place, f.Severity, f.Message, f.Rule.ID))
	}
	return out, err
}

// printable shortens a long text, and escapes what cannot be printed.
func printable(text string) string {
	const most, width = 60, 200
	lines := slices.Collect(strings.Lines(text))
	if len(lines) > most || slices.ContainsFunc(lines, func(l string) bool { return len(l) > width }) {
		head := lines[:0:0]
		for _, l := range lines[:min(len(lines), 10)] {
			if len(l) > width {
				l = l[:width] + "…\n"
			}
			head = append(head, l)
		}
		text = strings.Join(head, "") + fmt.Sprintf("# … %d bytes in all\n", len(text))
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		if strings.ContainsFunc(body, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
			quoted := strconv.Quote(body)
			body = quoted[1 : len(quoted)-1]
		}
		out.WriteString(body + "\n")
	}
	return out.String()
}

// corpus writes the findings in the releases below root as a page: each error,
// and how often the other rules fire. Nothing in it depends on where root is.
func corpus(ctx context.Context, root string) (string, error) {
	report, err := judged(ctx, root, nil)
	if err != nil {
		return "", err
	}
	if err := errors.Join(report.Failures...); err != nil {
		return "", err
	}
	type fired struct {
		Rule     *lint.Rule
		Counts   map[string]int // by severity
		Releases map[string]bool
	}
	byID := map[string]*fired{}
	for _, f := range report.Findings {
		n := byID[f.Rule.ID]
		if n == nil {
			n = &fired{f.Rule, map[string]int{}, map[string]bool{}}
			byID[f.Rule.ID] = n
		}
		n.Counts[f.Severity.String()]++
		release := strings.Split(f.File, "/")
		n.Releases[strings.Join(release[:min(2, len(release))], "/")] = true
	}
	var list []*fired
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		list = append(list, byID[id])
	}
	return write(ctx, "corpus-findings.md", map[string]any{"Report": report, "Fired": list, "Rules": len(rules.All)})
}
