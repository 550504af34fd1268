package report

import (
	"bytes"
	"compress/gzip"
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

// The SARIF 2.1.0 objects that are written, in the order of the standard.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name            string      `json:"name"`
		Version         string      `json:"version,omitempty"`
		SemanticVersion string      `json:"semanticVersion,omitempty"`
		InformationURI  string      `json:"informationUri"`
		Rules           []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string             `json:"id"`
		Name                 string             `json:"name,omitempty"`
		ShortDescription     sarifText          `json:"shortDescription"`
		FullDescription      sarifText          `json:"fullDescription"`
		HelpURI              string             `json:"helpUri"`
		Help                 sarifText          `json:"help"`
		DefaultConfiguration sarifConfiguration `json:"defaultConfiguration"`
		Properties           sarifProperties    `json:"properties"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifConfiguration struct {
		Level string `json:"level"`
	}
	sarifProperties struct {
		Proof  string   `json:"proof"`
		Source string   `json:"source"`
		Tags   []string `json:"tags"`
	}
	sarifInvocation struct {
		ExecutionSuccessful        bool                `json:"executionSuccessful"`
		ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID              string             `json:"ruleId"`
		RuleIndex           int                `json:"ruleIndex"`
		Level               string             `json:"level"`
		Message             sarifText          `json:"message"`
		Locations           []sarifLocation    `json:"locations"`
		RelatedLocations    []sarifLocation    `json:"relatedLocations,omitempty"`
		PartialFingerprints map[string]string  `json:"partialFingerprints,omitempty"`
		Suppressions        []sarifSuppression `json:"suppressions"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysicalLocation  `json:"physicalLocation"`
		LogicalLocations []sarifLogicalLocation `json:"logicalLocations,omitempty"`
	}
	sarifPhysicalLocation struct {
		ArtifactLocation sarifArtifactLocation `json:"artifactLocation"`
		Region           *sarifRegion          `json:"region,omitempty"`
	}
	sarifArtifactLocation struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifLogicalLocation struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

var sarifLevels = map[lint.Severity]string{lint.Off: "none", lint.Error: "error", lint.Warning: "warning", lint.Info: "note"}

// What GitHub takes of a run, and shows of it (GitHub: SARIF support for code
// scanning, limits). It refuses a file with more.
const (
	sarifResults   = 25_000
	sarifShown     = 5_000
	sarifSize      = 10_000_000 // compressed
	sarifLocations = 100        // of a result
)

// findingsSARIF writes SARIF 2.1.0 that GitHub accepts: the most severe results, as
// many as it takes. Positions count characters, as those of repo/text/yamldoc do.
func findingsSARIF(w io.Writer, r *lint.Report, o Options) error {
	for most := sarifResults; ; {
		var out bytes.Buffer
		if err := writeJSON(&out, sarifOf(r, o, most)); err != nil {
			return err
		}
		size, err := compressed(out.Bytes())
		if err != nil {
			return err
		}
		if size <= sarifSize || most == 0 {
			_, err := w.Write(out.Bytes())
			return err
		}
		results := min(most, len(r.Findings)+len(r.Suppressed))
		most = max(0, min(results-1, int(float64(results)*0.95*sarifSize/float64(size))))
	}
}

// compressed is the size that GitHub limits; what is small anyway is not compressed.
func compressed(data []byte) (int, error) {
	if len(data) < sarifSize {
		return len(data), nil
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		return 0, err
	}
	err := z.Close()
	return out.Len(), err
}

// sarifOf makes a run with at most so many results.
func sarifOf(r *lint.Report, o Options, most int) sarifLog {
	version := o.Version
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "clusterctl-repo", Version: version,
			InformationURI: "https://github.com/clusterctl-repo/clusterctl-repo",
			Rules:          []sarifRule{},
		}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	if v, err := layouts.ParseVersion(version); err == nil {
		run.Tool.Driver.SemanticVersion = strings.TrimPrefix(v.String(), "v")
	}
	invocation := sarifInvocation{ExecutionSuccessful: len(r.Failures) == 0}
	notify := func(level, format string, args ...any) {
		invocation.ToolExecutionNotifications = append(invocation.ToolExecutionNotifications, sarifNotification{level, sarifText{Text: fmt.Sprintf(format, args...)}})
	}
	for _, err := range r.Failures {
		notify("error", "%s", err)
	}
	var left int
	if r, left = mostSevere(r, most); left > 0 {
		notify("warning", "GitHub takes %d results of a run and %d bytes, compressed, so the %d least severe of %d are left out; -o json has all",
			sarifResults, sarifSize, left, left+len(r.Findings)+len(r.Suppressed))
	}
	if n := len(r.Findings) + len(r.Suppressed); n > sarifShown {
		notify("note", "GitHub shows the %d most severe of these %d results", sarifShown, n)
	}
	run.Invocations = []sarifInvocation{invocation}

	rules := &lint.Report{Findings: slices.Clone(r.Findings)}
	for _, silenced := range r.Suppressed {
		rules.Findings = append(rules.Findings, silenced.Finding)
	}
	index := map[string]int{}
	for i, rule := range rulesOf(rules) {
		index[rule.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(rule))
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		run.Results = append(run.Results, sarifResultOf(f, index[f.Rule.ID], o.Below))
	}
	for i := range r.Suppressed {
		f := &r.Suppressed[i].Finding
		result := sarifResultOf(f, index[f.Rule.ID], o.Below)
		kind := "inSource"
		if r.Suppressed[i].By != "" {
			kind = "external"
		}
		result.Suppressions = []sarifSuppression{{kind, r.Suppressed[i].Reason}}
		run.Results = append(run.Results, result)
	}
	return sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	}
}

// mostSevere returns a report with at most so many findings and suppressed ones
// together: the most severe ones, in their order, and how many are left out.
func mostSevere(r *lint.Report, most int) (*lint.Report, int) {
	left := len(r.Findings) + len(r.Suppressed) - most
	if left <= 0 {
		return r, 0
	}
	out := *r
	out.Suppressed = r.Suppressed[:max(0, min(len(r.Suppressed), most-len(r.Findings)))]
	over := len(r.Findings) - most
	if over <= 0 {
		return &out, left
	}
	out.Findings = slices.Clone(r.Findings)
	for _, s := range []lint.Severity{lint.Info, lint.Warning, lint.Error} {
		// The last ones go first.
		slices.Reverse(out.Findings)
		out.Findings = slices.DeleteFunc(out.Findings, func(f lint.Finding) bool {
			if f.Severity != s || over <= 0 {
				return false
			}
			over--
			return true
		})
		slices.Reverse(out.Findings)
	}
	return &out, left
}

// site is where the documents of this project are (docs/mkdocs.yml, site_url).
const site = "https://clusterctl-repo.github.io/clusterctl-repo/"

// HelpURI returns the address of the page of a rule. It stays the same for as
// long as the rule exists.
func HelpURI(id string) string { return site + "rules/" + id + "/" }

func sarifRuleOf(r *lint.Rule) sarifRule {
	family := strings.ToLower(strings.TrimRightFunc(r.ID, unicode.IsDigit))
	return sarifRule{
		ID: r.ID, Name: r.Name,
		ShortDescription: sarifText{Text: r.Title},
		FullDescription:  sarifText{Text: r.Why},
		HelpURI:          HelpURI(r.ID),
		Help: sarifText{
			Text: fmt.Sprintf("%s\n\nWhat to do: %s\n\nProven by: %s (%s)\n", r.Why, r.Fix, r.Proof, r.Source),
			Markdown: fmt.Sprintf("%s\n\n**What to do:** %s\n\nProven by %s (%s). `clusterctl-repo explain %s` shows a bad and a good example.\n",
				ruleProse(r.Why), ruleProse(r.Fix), r.Proof, ruleProse(r.Source), r.ID),
		},
		DefaultConfiguration: sarifConfiguration{sarifLevels[r.Severity]},
		Properties:           sarifProperties{Proof: string(r.Proof), Source: r.Source, Tags: []string{"cluster-api", family}},
	}
}

func sarifResultOf(f *lint.Finding, rule int, below string) sarifResult {
	result := sarifResult{
		RuleID: f.Rule.ID, RuleIndex: rule, Level: sarifLevels[f.Severity],
		Message: sarifText{Text: sarifMessage(f)}, Locations: []sarifLocation{sarifLocationOf(f, below)},
		Suppressions: []sarifSuppression{}, // for all results, or for none (section 3.27.23)
	}
	for i, p := range f.Also {
		if i == sarifLocations {
			result.Message.Text += fmt.Sprintf("\n\nThe same fault stands in %s.", phrase.Count(len(f.Also)-i, "more place"))
			break
		}
		result.RelatedLocations = append(result.RelatedLocations, sarifLocationOf(&lint.Finding{File: p.File, Pos: p.Pos}, below))
	}
	if f.Fingerprint != "" {
		result.PartialFingerprints = map[string]string{"clusterctlRepoFinding/v2": f.Fingerprint}
	}
	return result
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

func sarifLocationOf(f *lint.Finding, below string) sarifLocation {
	var l sarifLocation
	l.PhysicalLocation.ArtifactLocation = sarifArtifact(fromRoot(below, f.File))
	if !f.Pos.IsZero() {
		region := &sarifRegion{StartLine: f.Pos.Line, StartColumn: f.Pos.Column}
		if f.Pos.Before(f.End) {
			region.EndLine, region.EndColumn = f.End.Line, f.End.Column
		}
		l.PhysicalLocation.Region = region
	}
	if f.Object != "" {
		l.LogicalLocations = append(l.LogicalLocations, sarifLogicalLocation{f.Object, "resource"})
	}
	if f.Way != "" {
		l.LogicalLocations = append(l.LogicalLocations, sarifLogicalLocation{f.Way, "member"})
	}
	return l
}

// sarifArtifact makes a URI of a path or URL. A relative path inside of the
// working directory refers to the root of the sources, which the reader knows.
func sarifArtifact(file string) sarifArtifactLocation {
	slashed := filepath.ToSlash(file)
	if u, err := url.Parse(slashed); err == nil && u.Scheme != "" && u.Host != "" {
		return sarifArtifactLocation{URI: u.String()}
	}
	if filepath.IsAbs(file) {
		return sarifArtifactLocation{URI: "file:///" + percent(strings.TrimPrefix(slashed, "/"))}
	}
	relative := path.Clean(slashed)
	if slices.Contains(strings.Split(relative, "/"), "..") {
		return sarifArtifactLocation{URI: percent(relative)}
	}
	return sarifArtifactLocation{URI: percent(relative), URIBaseID: "%SRCROOT%"}
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
