package report

import (
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
)

var sarifLevels = map[lint.Severity]string{lint.Off: "none", lint.Error: "error", lint.Warning: "warning", lint.Info: "note"}

// What GitHub takes of a run, and shows of it (GitHub: SARIF support for code
// scanning, limits). It refuses a file with more. So many results of usual length stay
// below its limit of 10 MB, compressed.
const (
	sarifResults   = 25_000
	sarifShown     = 5_000
	sarifLocations = 20 // of a result
)

// findingsSARIF writes SARIF 2.1.0 that GitHub accepts: the most severe results, as
// many as it takes. Positions count characters, as those of repo/text/yamldoc do. The
// objects have their members in the order of the standard.
func findingsSARIF(w io.Writer, r *lint.Report, o Options) error {
	semantic := ""
	if v, err := layouts.ParseVersion(o.Version); err == nil {
		semantic = strings.TrimPrefix(v.String(), "v")
	}
	var notifications []Object
	notify := func(level, format string, args ...any) {
		message := sarifText(fmt.Sprintf(format, args...))
		notifications = append(notifications, Object{{"level", level}, {"message", message}})
	}
	for _, err := range r.Failures {
		notify("error", "%s", err)
	}
	complete := len(r.Failures) == 0
	var left int
	if r, left = mostSevere(r); left > 0 {
		notify("warning", "GitHub accepts %d results of a run, so the %d least severe of %d are left out; -o json lists all",
			sarifResults, left, left+len(r.Findings)+len(r.Suppressed))
	}
	if n := len(r.Findings) + len(r.Suppressed); n > sarifShown {
		notify("note", "GitHub shows the %d most severe of these %d results", sarifShown, n)
	}

	with := &lint.Report{Findings: slices.Clone(r.Findings)}
	for _, suppressed := range r.Suppressed {
		with.Findings = append(with.Findings, suppressed.Finding)
	}
	index, rules, results := map[string]int{}, []Object{}, []Object{}
	for i, same := range byRule(with) {
		index[same[0].Rule.ID] = i
		rules = append(rules, sarifRule(same[0].Rule))
	}
	for i := range with.Findings {
		f := &with.Findings[i]
		suppressions := []Object{} // for all results, or for none (section 3.27.23)
		if i >= len(r.Findings) {
			by := &r.Suppressed[i-len(r.Findings)]
			kind := "inSource"
			if by.By != "" {
				kind = "external"
			}
			suppressions = append(suppressions, Object{{"kind", kind}, {"justification", by.Reason}})
		}
		result := sarifResult(f, index[f.Rule.ID], o.Below)
		results = append(results, append(result, [2]any{"suppressions", suppressions}))
	}
	log := Object{
		{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
		{"version", "2.1.0"},
		{"runs", []Object{{
			{"tool", Object{{"driver", Object{
				{"name", "clusterctl-repo"},
				{"version,omitempty", o.Version},
				{"semanticVersion,omitempty", semantic},
				{"informationUri", "https://github.com/clusterctl-repo/clusterctl-repo"},
				{"rules", rules},
			}}}},
			{"invocations", []Object{{
				{"executionSuccessful", complete},
				{"toolExecutionNotifications,omitempty", notifications},
			}}},
			{"columnKind", "unicodeCodePoints"},
			{"results", results},
		}}},
	}
	if err := EncodeJSON(w, log, "", "  "); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func sarifText(text string) Object { return Object{{"text", text}} }

// mostSevere returns a report with as many findings and suppressed ones together as GitHub
// takes: the most severe ones, in their order, and how many are left out.
func mostSevere(r *lint.Report) (*lint.Report, int) {
	const most = sarifResults
	left := len(r.Findings) + len(r.Suppressed) - most
	if left <= 0 {
		return r, 0
	}
	out := *r
	out.Suppressed = r.Suppressed[:max(0, min(len(r.Suppressed), most-len(r.Findings)))]
	if len(r.Findings) > most {
		kept := map[*lint.Finding]bool{}
		for _, f := range worstFirst(r)[:most] {
			kept[f] = true
		}
		out.Findings = nil
		for i := range r.Findings {
			if f := &r.Findings[i]; kept[f] {
				out.Findings = append(out.Findings, *f)
			}
		}
	}
	return &out, left
}

// site is where the documents of this project are (docs/mkdocs.yml, site_url).
const site = "https://clusterctl-repo.github.io/clusterctl-repo/"

// HelpURI returns the address of the page of a rule. It stays the same for as
// long as the rule exists.
func HelpURI(id string) string { return site + "rules/" + id + "/" }

func sarifRule(r *lint.Rule) Object {
	family := strings.ToLower(strings.TrimRightFunc(r.ID, unicode.IsDigit))
	return Object{
		{"id", r.ID},
		{"name,omitempty", r.Name},
		{"shortDescription", sarifText(r.Title)},
		{"fullDescription", sarifText(r.Why)},
		{"helpUri", HelpURI(r.ID)},
		{"help", Object{
			{"text", fmt.Sprintf("%s\n\nWhat to do: %s\n\nProven by: %s (%s)\n", r.Why, r.Fix, r.Proof, r.Source)},
			{"markdown", fmt.Sprintf("%s\n\n**What to do:** %s\n\nProven by %s (%s). `clusterctl-repo explain %s` shows a bad and a good example.\n",
				RuleProse(r.Why), RuleProse(r.Fix), r.Proof, RuleProse(r.Source), r.ID)},
		}},
		{"defaultConfiguration", Object{{"level", sarifLevels[r.Severity]}}},
		{"properties", Object{{"proof", r.Proof}, {"source", r.Source}, {"tags", []string{"cluster-api", family}}}},
	}
}

func sarifResult(f *lint.Finding, rule int, below string) Object {
	text := sarifMessage(f)
	var related []Object
	for _, p := range f.Also[:min(len(f.Also), sarifLocations)] {
		location := sarifLocation(&lint.Finding{File: p.File, Pos: p.Pos}, below)
		if p.Rule != nil {
			location = append(location, Object{{"message", sarifText(fmt.Sprintf("%s [%s]", p.Message, p.Rule.ID))}}...)
		}
		related = append(related, location)
	}
	if more := len(f.Also) - len(related); more > 0 {
		text += fmt.Sprintf("\n\nThe same fault is in %s.", phrase.Count(more, "more place"))
	}
	var fingerprints Object
	if f.Fingerprint != "" {
		fingerprints = Object{{"clusterctlRepoFinding/v2", f.Fingerprint}}
	}
	return Object{
		{"ruleId", f.Rule.ID},
		{"ruleIndex", rule},
		{"level", sarifLevels[f.Severity]},
		{"message", sarifText(text)},
		{"locations", []Object{sarifLocation(f, below)}},
		{"relatedLocations,omitempty", related},
		{"partialFingerprints,omitempty", fingerprints},
	}
}

// sarifMessage says what is wrong and, if it is special to this place, what to
// do. In SARIF "[a](b)" would be a link.
func sarifMessage(f *lint.Finding) string {
	text := f.Message
	if f.Fix != "" {
		text += "\n\n" + f.Fix
	}
	return strings.ReplaceAll(text, "](", "] (")
}

func sarifLocation(f *lint.Finding, below string) Object {
	var region Object
	if !f.Pos.IsZero() {
		region = Object{{"startLine", f.Pos.Line}, {"startColumn,omitempty", f.Pos.Column}}
		if f.Pos.Before(f.End) {
			region = append(region, Object{{"endLine,omitempty", f.End.Line}, {"endColumn,omitempty", f.End.Column}}...)
		}
	}
	var logical []Object
	if f.Object != "" {
		logical = append(logical, Object{{"fullyQualifiedName", f.Object}, {"kind", "resource"}})
	}
	if f.Way != "" {
		logical = append(logical, Object{{"fullyQualifiedName", f.Way}, {"kind", "member"}})
	}
	return Object{
		{"physicalLocation", Object{
			{"artifactLocation", sarifArtifact(fromRoot(below, f.File))},
			{"region,omitempty", region},
		}},
		{"logicalLocations,omitempty", logical},
	}
}

// sarifArtifact makes a URI of a path or URL. A relative path inside the
// working directory refers to the root of the sources, which the reader knows.
func sarifArtifact(file string) Object {
	slashed := filepath.ToSlash(file)
	uri, base := percent(path.Clean(slashed)), ""
	if u, err := url.Parse(slashed); err == nil && u.Scheme != "" && u.Host != "" {
		uri = u.String()
	} else if filepath.IsAbs(file) {
		uri = "file:///" + percent(strings.TrimPrefix(slashed, "/"))
	} else if !slices.Contains(strings.Split(path.Clean(slashed), "/"), "..") {
		base = "%SRCROOT%"
	}
	return Object{{"uri", uri}, {"uriBaseId,omitempty", base}}
}

// percent escapes a path for a URI (RFC 3986, section 2). Slashes stay.
func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
