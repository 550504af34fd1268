package examples

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	r, err := folder.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	report, err := lint.Run(ctx, r, lint.Options{Rules: rules.All, Images: registries})
	if err != nil {
		return nil, err
	}
	for i := range report.Findings {
		rel, err := filepath.Rel(dir, report.Findings[i].File)
		if err != nil {
			return nil, err
		}
		report.Findings[i].File = filepath.ToSlash(rel)
	}
	return report.Findings, errors.Join(report.Failures...)
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

// proofs say how clusterctl or the API server shows that a rule is right.
var proofs = map[Verdict]string{
	ProviderRefuses:          "`clusterctl generate provider` refuses it; the message matches ``%s``.",
	ProviderDamage:           "`clusterctl generate provider` accepts it; the output matches ``%s``, and that of the good example does not.",
	TargetDamage:             "`clusterctl generate provider` with another target namespace accepts it; the output matches ``%s``, and that of the good example does not.",
	RawRefuses:               "`clusterctl generate provider --raw` refuses it; the message matches ``%s``.",
	TemplateRefuses:          "`clusterctl generate cluster` refuses it; the message matches ``%s``.",
	TemplateDamage:           "`clusterctl generate cluster` accepts it; the output matches ``%s``, and that of the good example does not.",
	ListDamage:               "`clusterctl generate cluster --list-variables` shows ``%s``, and for the good example it does not.",
	LatestRefuses:            "`clusterctl generate provider` with a URL that says latest fails; the message matches ``%s``.",
	LatestDamage:             "`clusterctl generate provider` with a URL that says latest gives output that matches ``%s``, and for the good example it does not.",
	ConfigRefuses:            "clusterctl refuses the configuration; the message matches ``%s``.",
	InitRefuses:              "`clusterctl init` fails; the message matches ``%s``.",
	UpgradeRefuses:           "`clusterctl upgrade plan` fails; the message matches ``%s``.",
	APIServerRefuses:         "A real API server refuses an object of the rendered components; the message matches ``%s``.",
	APIServerTemplateRefuses: "A real API server refuses an object of the rendered template; the message matches ``%s``.",
	MoveLeaves:               "`clusterctl move` says ``%s``, and for the good example it does not.",
	MoveRefuses:              "`clusterctl move` fails; the message matches ``%s``.",
	AdmissionRefuses:         "The schema of the API server or the admission code of Cluster API or cert-manager refuses an object; the message matches ``%s``.",
	GenerationRefuses:        "Cluster API's own generator of patches, or the schema of the API server, refuses what the patches make; the message matches ``%s``.",
	Unproved:                 "Not run against clusterctl: %s.",
}

const intro = `# Rules

<!-- Generated from the rows of the rules and from repo/lint/rules/examples; do not edit. -->

Every rule has a severity and a proof. **error**: users are stopped, or get something other than the author intended.
**warning**: it works, but not for all users or not as expected. **info**: worth knowing.

The proof is what shows that the rule is right. **clusterctl**: the real clusterctl refuses the bad example, or treats it
visibly differently from the good one; the page of the rule names the command. **apiserver**: a real API server refuses it.
**contract**: the text of the provider contract. **practice**: experience.

A finding can have a lower severity than its rule if the same fault does less harm.
`

// pages returns the index of the rules and checks and a page for each family, by their path
// below docs.
func pages(ctx context.Context) (map[string]string, error) {
	var index strings.Builder
	index.WriteString(intro)
	out := map[string]string{}
	families := slices.SortedFunc(slices.Values(append(slices.Clone(rules.Families), checks.Family)),
		func(a, b *lint.Family) int { return strings.Compare(a.Prefix, b.Prefix) })
	for _, family := range families {
		file := "rules/" + strings.ToLower(family.Prefix) + ".md"
		fmt.Fprintf(&index,
			"\n## %s: %s\n\n| rule | severity | proof | states |\n|---|---|---|---|\n", family.Prefix, family.Title)
		var page strings.Builder
		fmt.Fprintf(&page, "# %s: %s\n\n<!-- Generated from the rows of the rules and from repo/lint/rules/examples; do not edit. -->\n\nAll rules: [rules.md](../rules.md)\n", family.Prefix, family.Title)
		for _, r := range family.Rules {
			id := strings.ToLower(r.ID)
			fmt.Fprintf(&index, "| <a id=%q></a>[%s](%s#%s) | %s | %s | %s |\n",
				id, r.ID, file, id, r.Severity, r.Proof, escape(r.Title))
			if err := rule(ctx, &page, r); err != nil {
				return nil, fmt.Errorf("%s: %w", r.ID, err)
			}
		}
		out[file] = page.String()
	}
	out["rules.md"] = index.String()
	return out, nil
}

// escape keeps text from being read as markup.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`, "$", `\$`).Replace(text)
}

func rule(ctx context.Context, b *strings.Builder, r *lint.Rule) error {
	if r.Check == nil {
		fmt.Fprintf(b, "\n## %s\n\n**%s** (`%s`, %s, proof: %s, since %s, checked by `%s`)\n\n",
			r.ID, escape(r.Title), r.Name, r.Severity, r.Proof, r.Since, r.Command)
		fmt.Fprintf(b, "Why: %s\n\nFix: %s\n\nSource: %s\n\nExample: %s\n",
			escape(r.Why), escape(r.Fix), escape(r.Source), escape(r.Example))
		return nil
	}
	e, err := Load(r.ID)
	if err != nil {
		return err
	}
	var findings []lint.Finding
	if !e.Source {
		if findings, err = Findings(ctx, e.Bad); err != nil {
			return err
		}
	}
	fmt.Fprintf(b, "\n## %s\n\n**%s** (`%s`, %s, proof: %s, since %s)\n\n",
		r.ID, escape(r.Title), r.Name, r.Severity, r.Proof, r.Since)
	fmt.Fprintf(b, "Why: %s\n\nFix: %s\n\nSource: %s\n\n", escape(r.Why), escape(r.Fix), escape(r.Source))
	if r.Flag != "" {
		fmt.Fprintf(b, "Only applied by `lint %s`.\n\n", r.Flag)
	}
	fmt.Fprintf(b, "Example: %s\n\nBad:\n\n", escape(strings.Join(strings.Fields(e.Prose), " ")))
	show(b, e.Bad)
	b.WriteString("Findings:\n\n```text\n")
	for _, f := range findings {
		if !slices.ContainsFunc(e.Wants, func(w Want) bool { return w.Rule == f.Rule.ID }) {
			continue // what the example leaves out
		}
		if f.Pos.IsZero() {
			fmt.Fprintf(b, "%s: ", f.File)
		} else {
			fmt.Fprintf(b, "%s:%d:%d: ", f.File, f.Pos.Line, f.Pos.Column)
		}
		fmt.Fprintf(b, "%s: %s [%s]\n", f.Severity, f.Message, f.Rule.ID)
	}
	if e.Source { // which takes more than this package to build
		for _, w := range e.Wants {
			fmt.Fprintf(b, "%s:%d: %s: %s [%s]\n", w.Path, w.Line, r.Severity, w.Message, w.Rule)
		}
	}
	b.WriteString("```\n\n")
	if how := proofs[e.Oracle.Verdict]; how != "" {
		fmt.Fprintf(b, how+"\n\n", strings.ReplaceAll(e.Oracle.Pattern, "\n", `\n`))
	}
	b.WriteString("Good:\n\n")
	show(b, e.Good)
	ordinary(b, e.Bases)
	return nil
}

// show writes what the archive shows of one side of an example.
func show(b *strings.Builder, files Files) {
	for _, f := range files.Shown {
		fmt.Fprintf(b, "`%s`\n\n", f.Title())
		if f.Text == "" {
			continue
		}
		language := strings.TrimPrefix(path.Ext(f.Path), ".")
		if language == "yml" {
			language = "yaml"
		}
		fmt.Fprintf(b, "```%s\n%s```\n\n", language, printable(f.Text))
	}
}

// ordinary links to what the example does not show.
func ordinary(b *strings.Builder, bases []string) {
	var links []string
	for _, name := range bases {
		links = append(links, fmt.Sprintf("[%s](../../repo/lint/rules/examples/base/%s.txtar)", name, name))
	}
	if links != nil {
		fmt.Fprintf(b, "Everything else is ordinary: %s\n\n", strings.Join(links, ", "))
	}
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
