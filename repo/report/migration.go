package report

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/repo/migrate"
	"github.com/clusterctl-repo/clusterctl-repo/repo/report/internal/markup"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

// MigrationFormats are the names of the formats that WriteMigration knows.
var MigrationFormats = []string{"diff", "text", "json", "markdown"}

// WriteMigration prints what a migration changes, as a diff that git apply reads,
// or what people should know about it.
func WriteMigration(w io.Writer, format string, r *migrate.Report) error {
	switch format {
	case "diff":
		for _, f := range r.Files {
			if _, err := io.WriteString(w, edit.Diff(f.Name, f.Old, f.New)); err != nil {
				return err
			}
		}
		return nil
	case "json":
		return migrationJSON(w, r)
	case "markdown":
		return migrationMarkdown(r).Print(w)
	}
	return migrationText(r, false).Print(w)
}

// totals counts files and objects.
func totals(r *migrate.Report) (changed, migrated, left int) {
	for _, f := range r.Files {
		if f.Changed(f.Old) {
			changed++
		}
		migrated += f.Migrated
		left += f.Result.Left
	}
	return changed, migrated, left
}

type migrationBody struct {
	Files     []migrationFile     `json:"files" doc:"an entry for each file that the migration changes or has findings about"`
	Findings  []migrationFinding  `json:"findings" doc:"what users should know, by file and line"`
	Summary   map[string]int      `json:"summary" doc:"how many findings there are by level, changed files (files) and migrated objects (objects)" enum:"migration"`
	Contracts []migrationStanding `json:"contracts" doc:"the contracts of the providers of a source tree, before and after; empty for other input"`
}

type migrationStanding struct {
	Provider string     `json:"provider" doc:"the provider label"`
	Version  string     `json:"version" doc:"the version of the provider"`
	Contract string     `json:"contract" doc:"the contract that is judged, such as v1beta2"`
	Problem  string     `json:"problem,omitempty" doc:"why it is not known, so that before and after mean nothing; absent if it is known"`
	Before   MatrixCell `json:"before" doc:"how ready the provider was"`
	After    MatrixCell `json:"after" doc:"how ready it is after the migration"`
}

type migrationFile struct {
	File     string `json:"file" doc:"the path of the file, below the folder that was migrated or as it was given"`
	Changed  bool   `json:"changed" doc:"the migration changes the file"`
	Migrated int    `json:"migrated" doc:"objects in the new version"`
	Left     int    `json:"left" doc:"objects in an old version that the migration could not change"`
}
type migrationFinding struct {
	Level   string `json:"level" doc:"note, which is worth knowing; users, who must write other values for a variable; manual, which is left to do by hand" enum:"level"`
	File    string `json:"file" doc:"the path of the file, as in files"`
	Line    int    `json:"line" doc:"the line before the migration, from 1; 0 if it is about the whole file"`
	Object  string `json:"object,omitempty" doc:"kind and name of the object; absent if it is about none"`
	Path    string `json:"path,omitempty" doc:"the field in the old version; absent if it is about none"`
	Message string `json:"message" doc:"what was done or could not be done"`
	Help    string `json:"help,omitempty" doc:"what to do; absent if there is nothing"`
	Go      string `json:"go,omitempty" doc:"Go types to add to the code of the provider; absent if there are none"`
}

func migrationJSON(w io.Writer, r *migrate.Report) error {
	out := migrationBody{
		Files: phrase.List(r.Files, func(f *migrate.File) migrationFile {
			return migrationFile{f.Name, f.Changed(f.Old), f.Migrated, f.Result.Left}
		}),
		Summary: map[string]int{},
		Contracts: phrase.List(r.Standings, func(s migrate.Standing) migrationStanding {
			return migrationStanding{s.Provider, s.Version, s.Contract, s.Problem, cellOf(s.Contract, s.Before), cellOf(s.Contract, s.After)}
		}),
	}
	for level := migrate.Note; level <= migrate.Manual; level++ {
		out.Summary[level.String()] = 0
	}
	for _, f := range r.Findings() {
		out.Findings = append(out.Findings, migrationFinding{f.Level.String(), f.File, f.Line, f.Object, f.Path, f.Message, f.Help, strings.Join(f.Go, "\n")})
		out.Summary[f.Level.String()]++
	}
	out.Summary["files"], out.Summary["objects"], _ = totals(r)
	return documentOf("migrate").Write(w, nil, out)
}

func cellOf(name string, s migrate.State) MatrixCell {
	return MatrixCell{Name: name, Declared: s.Declared, Ready: len(s.Missing) == 0, Missing: append([]string{}, s.Missing...)}
}

// standingText compares a contract before and after.
func standingText(s migrate.Standing) string {
	if s.Problem != "" {
		return "contract " + s.Contract + ": " + s.Problem
	}
	text := s.Provider + " " + s.Version + ", contract " + s.Contract + ": "
	before, after := cellOf(s.Contract, s.Before).text(), cellOf(s.Contract, s.After).text()
	if before != after {
		text += before + "; after the migration: "
	}
	return text + after
}

// migrationTitles are the headings of the levels.
var migrationTitles = [...]string{migrate.Note: "Notes", migrate.Users: "What users must write now", migrate.Manual: "Left to do by hand"}

// MigrationSummary is the text without Go types.
func MigrationSummary(r *migrate.Report) string {
	var b strings.Builder
	_ = migrationText(r, true).Print(&b) // a Builder takes all
	return b.String()
}

// migrationText lists what a person should know, the most important last.
func migrationText(r *migrate.Report, brief bool) *markup.Page {
	p := &markup.Page{}
	for level := migrate.Note; level <= migrate.Manual; level++ {
		title := false
		alike := map[string]int{}
		for _, f := range r.Findings() {
			if f.Level == migrate.Note && (brief || f.Go == nil) {
				alike[f.Message]++
			}
		}
		for _, f := range r.Findings() {
			n := alike[f.Message]
			if f.Level != level || level == migrate.Note && n == 0 && (brief || f.Go == nil) {
				continue
			}
			if !title {
				p.Heading(2, migrationTitles[level], ":")
				title = true
			}
			place := f.File + ":" + strconv.Itoa(f.Line)
			if delete(alike, f.Message); level == migrate.Note && n > 1 {
				p.At(2).Item(place, " and ", phrase.Count(n-1, "other place"), ": ", f.Message)
				continue
			}
			parts := []any{place, ": "}
			if f.Object != "" {
				parts = append(parts, f.Object, ": ")
			}
			parts = append(parts, f.Message)
			if f.Help != "" {
				parts = append(parts, "; ", f.Help)
			}
			p.At(2).Item(parts...)
			if f.Go != nil && !brief {
				code := make([]string, len(f.Go))
				for i, line := range f.Go {
					code[i] = strings.TrimRight(markup.OneLine(strings.ReplaceAll(line, "\t", "    ")), " ")
				}
				p.At(6).Code("go", strings.Join(code, "\n"))
			}
		}
	}
	for _, s := range r.Standings {
		p.Para(standingText(s))
	}
	changed, migrated, left := totals(r)
	text := phrase.Count(migrated, "object") + " in " + phrase.Count(changed, "file") + " migrated"
	if left > 0 {
		text += ", " + phrase.Count(left, "object") + " left unchanged"
	}
	p.Para(text)
	return p
}

// migrationMarkdown has the most important first, with all places.
func migrationMarkdown(r *migrate.Report) *markup.Page {
	p := &markup.Page{Format: "markdown"}
	byLevel := phrase.Groups(r.Findings(), func(f migrate.Finding) migrate.Level { return f.Level })
	slices.SortFunc(byLevel, func(a, b []migrate.Finding) int { return cmp.Compare(b[0].Level, a[0].Level) })
	for _, same := range byLevel {
		p.Heading(2, migrationTitles[same[0].Level])
		p.Table("", "place", "object", "what", "help")
		for _, f := range same {
			p.Row([]any{f.File, markup.Raw(":" + strconv.Itoa(f.Line))}, f.Object, f.Message, f.Help)
		}
	}
	for _, s := range r.Standings {
		p.Item(standingText(s))
	}
	if len(r.Standings) > 0 {
		p.Para("The command contract matrix --contract has the Go types of missing fields.")
	}
	changed, migrated, _ := totals(r)
	p.Para(phrase.Count(migrated, "object"), " in ", phrase.Count(changed, "file"), " migrated.")
	return p
}
