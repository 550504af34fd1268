package repository

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/capi/metadata"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint"
	"github.com/clusterctl-repo/clusterctl-repo/repo/lint/rules/internal/view"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/edit"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

var metadataRules = &lint.Family{Prefix: "META", Title: "metadata.yaml", Kinds: onlyMetadata}

var onlyMetadata = []layouts.FileKind{layouts.Metadata}

// faultOf says which rule explains why clusterctl refuses a metadata file.
func faultOf(p *lint.Pass) (rule string, err error) {
	f, m, err := p.File, p.Release.Metadata, p.Release.MetadataErr
	if err == nil {
		return "", nil
	}
	first := firstDocument(f)
	var wrong *json.UnmarshalTypeError
	isType := errors.As(err, &wrong)
	switch {
	case first == nil || first.Err != nil || !first.Root.Is(yamldoc.Map):
		if other := metadataDocument(f); other != nil {
			return "META014", err
		}
		if len(f.Docs().Docs) == 0 {
			return "META001", err
		}
		return "META019", err
	case isType && strings.HasSuffix(wrong.Field, ".contract"):
		return "META005", err
	case isType && strings.HasPrefix(wrong.Field, "releaseSeries."):
		return "META004", err
	case isType && wrong.Field == "releaseSeries":
		return "META003", err
	case isType && (wrong.Field == "apiVersion" || wrong.Field == "kind"):
		return map[string]string{"apiVersion": "META001", "kind": "META002"}[wrong.Field], err
	case isType:
		return "META019", err
	}
	version, kind := first.Root.Get("apiVersion").Str(), first.Root.Get("kind").Str()
	switch other := metadataDocument(f); {
	case version != metadata.APIVersion || kind != metadata.Kind && kind != "":
		if other != nil && other != first {
			return "META014", err
		}
		if version != metadata.APIVersion {
			return "META001", err
		}
		return "META002", err
	case m != nil && len(m.Series) == 0:
		return "META003", err
	}
	return "META019", err
}

// firstDocument returns the document that clusterctl reads, or nil if that is
// empty.
func firstDocument(f *lint.File) *yamldoc.Document {
	docs := f.Docs().Docs
	if len(docs) == 0 {
		return nil
	}
	// Before it there may be a document that is empty.
	start, _ := docs[0].Range()
	for line := range strings.Lines(string(docs[0].Text()[:start])) {
		if strings.HasPrefix(line, "---") {
			chunks, _ := yamldoc.Split(docs[0].Text())
			if len(chunks) > 0 && chunks[0].Start != start {
				return nil
			}
			break
		}
	}
	return docs[0]
}

// metadataDocument returns the first document that says it is a Metadata.
func metadataDocument(f *lint.File) *yamldoc.Document {
	return phrase.First(f.Docs().Docs, func(d *yamldoc.Document) bool {
		return d.Root.Get("apiVersion").Str() == metadata.APIVersion && d.Root.Get("kind").Str() == metadata.Kind
	})
}

var _ = metadataRules.Add(lint.Rule{
	ID: "META001", Name: "metadata-api-version", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The apiVersion of metadata.yaml must be " + metadata.APIVersion,
	Source: "clusterctl client/repository/metadata_client.go, validateMetadata",
	Why:    "Users cannot install the release, because clusterctl refuses it.",
	Fix:    "Write apiVersion: " + metadata.APIVersion + ".",
	Check:  metadataFault,
})

var _ = metadataRules.Add(lint.Rule{
	ID: "META003", Name: "series-empty", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The list releaseSeries must have entries",
	Source: "clusterctl client/repository/metadata_client.go, validateMetadata",
	Why:    "Users cannot install the release, because clusterctl refuses it.",
	Fix:    "List every minor version that was ever released, with its contract.",
	Yields: []string{"META016"},
	Check:  metadataFault,
})

var _ = metadataRules.Add(lint.Rule{
	ID: "META019", Name: "metadata-unreadable", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "metadata.yaml must be decodable",
	Source: "clusterctl client/repository/metadata_client.go, Get",
	Why:    "Users cannot install the release, because clusterctl refuses it.",
	Fix:    "Correct the file; it has the fields apiVersion, kind and releaseSeries.",
	Check:  metadataFault,
})

// metadataFault reports why clusterctl refuses the file, if this rule explains
// it.
func metadataFault(p *lint.Pass) {
	rule, err := faultOf(p)
	if rule != p.Rule.ID {
		return
	}
	pos, message := yamldoc.Pos{}, err.Error()
	var at *yamldoc.Error
	if errors.As(err, &at) {
		pos, message = at.Pos, at.Err.Error()
	}
	// What clusterctl puts in front says no more than the rule does.
	decoding := fmt.Sprintf("error decoding %q for provider %q: ", layouts.MetadataFile, p.Release.Provider.Label())
	message = strings.TrimPrefix(strings.TrimPrefix(message, decoding), "invalid provider metadata: ")
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		message = wrongType(wrong)
	}
	f := view.AtPos(p.File, pos, message)
	f.Severity = lint.Error
	if d := p.File.Docs().Docs; rule == "META003" && len(d) > 0 {
		for _, field := range d[0].Root.Fields() {
			if field.Name != "releaseSeries" && strings.EqualFold(field.Name, "releaseSeries") {
				f = lint.At(p.File, d[0], field.Key(),
					"the key must be spelled releaseSeries, not %s, so the list is empty for clusterctl", field.Name)
				f.Severity, f.Fix = lint.Error, "Write releaseSeries."
			}
		}
	}
	if d := firstDocument(p.File); rule == "META003" && d != nil {
		f = f.Because(view.Key(p.File, d.Root, "releaseSeries"))
	}
	p.Report(f)
}

// wrongType says which type a value has and which one it must have.
func wrongType(e *json.UnmarshalTypeError) string {
	wanted := map[reflect.Kind]string{
		reflect.String: "a string", reflect.Int32: "a 32-bit integer", reflect.Int64: "an integer",
		reflect.Bool: "a boolean", reflect.Slice: "a list",
	}
	kind, literal, _ := strings.Cut(e.Value, " ")
	is := map[string]string{"array": "a list", "object": "a map", "bool": "a boolean"}[kind]
	field := cmp.Or(e.Field, "the document")
	whole, ok := map[string]reflect.Kind{
		"releaseSeries": reflect.Slice, "metadata.finalizers": reflect.Slice, "metadata.ownerReferences": reflect.Slice,
		"metadata.managedFields": reflect.Slice, "metadata.labels": reflect.Map, "metadata.annotations": reflect.Map,
	}[e.Field]
	if ok && e.Type.Kind() != whole {
		field = "an entry of " + field // of which Field has neither index nor key
	}
	return fmt.Sprintf("%s must be %s, but it is %s", field,
		cmp.Or(wanted[e.Type.Kind()], "a map"), cmp.Or(literal, is, "a "+kind))
}

var _ = metadataRules.Add(lint.Rule{
	ID: "META002", Name: "metadata-kind", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The kind of metadata.yaml must be " + metadata.Kind,
	Source: "clusterctl client/repository/metadata_client.go; provider contract, section Metadata YAML",
	Why:    "clusterctl refuses a release with another kind. Without a kind it depends on the version: v1.11.0 refuses the release, others accept it.",
	Fix:    "Write kind: " + metadata.Kind + ".",
	Check: func(p *lint.Pass) {
		metadataFault(p)
		d := firstDocument(p.File)
		if rule, _ := faultOf(p); rule != "" || d == nil || !d.Root.Is(yamldoc.Map) || !view.Blank(d.Root.Get("kind")) {
			return
		}
		n := d.Root.Get("kind")
		f := lint.At(p.File, d, n, "kind is missing, although the contract demands it and clusterctl v1.11.0 refuses the file").As(lint.Warning)
		if n == nil {
			f.Edit = completed(p)
		}
		p.Report(f)
	},
})

// seriesNodes returns the entries of releaseSeries that are mappings.
func seriesNodes(f *lint.File) (d *yamldoc.Document, entries []*yamldoc.Node) {
	if d = firstDocument(f); d == nil {
		return nil, nil
	}
	return d, phrase.Only(d.Root.Get("releaseSeries").List(), func(n *yamldoc.Node) bool { return n.Is(yamldoc.Map) })
}

var _ = metadataRules.Add(lint.Rule{
	ID: "META004", Name: "series-numbers", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The fields major and minor must be integers",
	Source: "clusterctl api/v1alpha3/metadata_type.go, ReleaseSeries",
	Why:    "clusterctl refuses the release if a number is in quotes or has a fraction. A missing number counts as 0, and a negative number matches no version.",
	Fix:    "Write the number without quotes.",
	Yields: []string{"META016"},
	Check: func(p *lint.Pass) {
		metadataFault(p)
		d, entries := seriesNodes(p.File)
		for _, e := range entries {
			for _, field := range []string{"major", "minor"} {
				n := e.Get(field)
				v, isInt := n.Int()
				switch {
				case n == nil || n.Is(yamldoc.Null):
					p.Report(lint.At(p.File, d, e, "%s is missing, so it counts as 0", field).As(lint.Warning).Because(view.Key(p.File, e, field)))
				case isInt && v < 0:
					p.Report(lint.At(p.File, d, n, "no version can have the %s number %d", field, v).As(lint.Warning))
				}
			}
		}
	},
})

// contractForm is a version of the Kubernetes API machinery.
var contractForm = phrase.Pattern(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)

var _ = metadataRules.Add(lint.Rule{
	ID: "META005", Name: "series-contract", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The contract of a series must be a version such as " + metadata.Contract,
	Source: "clusterctl client/generate_provider.go; internal/contract/version.go",
	Why:    "Users can neither install nor upgrade versions of the series, because clusterctl compares contracts character by character.",
	Fix:    "Write the contract in lower case, for example contract: " + metadata.Contract + ".",
	Check:  seriesContract,
})

func seriesContract(p *lint.Pass) {
	metadataFault(p)
	d, entries := seriesNodes(p.File)
	own := ownEntry(p, entries)
	reported := false
	for _, e := range entries {
		n := e.Get("contract")
		var f lint.Finding
		switch {
		case n == nil || n.Is(yamldoc.Null) || n.Is(yamldoc.String) && n.Text() == "":
			f = lint.At(p.File, d, cmp.Or(n, e), "series %s has no contract", seriesName(e))
		case n.Is(yamldoc.String) && !contractForm().MatchString(n.Text()) && !strings.Contains(n.Text(), "${"):
			f = lint.At(p.File, d, n, "%q is not a contract version; clusterctl supports %s",
				n.Text(), strings.Join(metadata.Compatible(), ", "))
		default:
			continue
		}
		if e == own {
			reported = true
		} else {
			f.Severity = lint.Warning // only matters to who has that version
		}
		p.Report(f)
	}
	// Its entry may be written in a way that only clusterctl's decoder reads.
	if _, s := p.Release.Series(); s != nil && !reported &&
		!contractForm().MatchString(s.Contract) && !strings.Contains(s.Contract, "${") {
		p.Report(view.AtPos(p.File, s.Pos, fmt.Sprintf("series %s has contract %q; clusterctl supports %s",
			s, s.Contract, strings.Join(metadata.Compatible(), ", "))))
	}
}

// ownEntry returns the entry that counts for the series of the release: the
// first one, or nil.
func ownEntry(p *lint.Pass, entries []*yamldoc.Node) *yamldoc.Node {
	v := p.Release.Parsed
	if v.IsZero() {
		return nil
	}
	for _, e := range entries {
		major, _ := e.Get("major").Int()
		minor, _ := e.Get("minor").Int()
		if major >= 0 && minor >= 0 && uint64(major) == v.Major() && uint64(minor) == v.Minor() {
			return e
		}
	}
	return nil
}

func seriesName(e *yamldoc.Node) string {
	number := func(field string) string {
		if n := e.Get(field); n != nil {
			return n.Text()
		}
		return "0"
	}
	return number("major") + "." + number("minor")
}

// listed names the series of a metadata file for messages.
func listed(m *metadata.Metadata) string {
	const most = 8
	names := phrase.List(m.Series, metadata.Series.String)
	if len(names) > most {
		return fmt.Sprintf("%d series between %s and %s", len(names), slices.MinFunc(m.Series, byNumber), slices.MaxFunc(m.Series, byNumber))
	}
	return strings.Join(names, ", ")
}

// byNumber orders series.
func byNumber(a, b metadata.Series) int {
	return cmp.Or(cmp.Compare(a.Major, b.Major), cmp.Compare(a.Minor, b.Minor))
}

// atSeries makes a finding at the key releaseSeries.
func atSeries(m *metadata.Metadata, format string, args ...any) lint.Finding {
	for _, d := range yamldoc.Parse(m.File).Docs {
		if field := d.Root.Field("releaseSeries"); field != nil {
			return lint.At(&lint.File{Raw: m.File}, d, field.Key(), format, args...)
		}
	}
	return lint.Finding{File: m.File.Name, Message: fmt.Sprintf(format, args...)}
}

var _ = metadataRules.Add(lint.Rule{
	ID: "META006", Name: "series-missing", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "metadata.yaml must list the series of its own version",
	Source: "clusterctl client/generate_provider.go, GenerateProvider; client/cluster/installer.go",
	Why:    `"clusterctl init" and "clusterctl upgrade" refuse the version. This is the most frequent fault in published releases.`,
	Fix:    "Add an entry with the major and minor number of this version.",
	Yields: []string{"META004", "META016"},
	Check:  seriesMissing,
})

func seriesMissing(p *lint.Pass) {
	if m, s := p.Release.Series(); m != nil && s == nil {
		f := atSeries(m, "%s belongs to series %s, but metadata.yaml lists only %s",
			p.Release.Version, p.Release.Parsed.Series(), listed(m))
		if _, err := metadata.WithSeries(m.File, metadata.NewSeries{Version: p.Release.Parsed}); err == nil {
			f.Edit = completed(p)
		}
		_, entries := seriesNodes(p.File)
		for _, e := range entries {
			for _, field := range seriesFields[:2] {
				if e.Get(field) == nil {
					f = f.Perhaps(view.Key(p.File, e, field))
				}
			}
		}
		p.Report(f.Because("series of " + p.File.Raw.Name))
	}
}

// completed is the edit that adds both the kind and the series of the version, as far
// as they are missing. The name of an object is that of its findings, so those about
// the series are others once there is a kind.
func completed(p *lint.Pass) *lint.Edit {
	text := p.File.Raw.Data
	if m, s := p.Release.Series(); m != nil && s == nil {
		if data, err := metadata.WithSeries(m.File, metadata.NewSeries{Version: p.Release.Parsed}); err == nil {
			text = string(data)
		}
	}
	text, err := withKind(text)
	if err != nil {
		return nil
	}
	return &lint.Edit{End: len(p.File.Raw.Data), Text: text, Proven: true}
}

// withKind is the text of metadata.yaml with its kind as the first key, if it has none.
func withKind(text string) (string, error) {
	s := yamldoc.Parse(yamldoc.NewFile("", text))
	if s.Err != nil || len(s.Docs) == 0 || s.Docs[0].Err != nil {
		return "", errors.New("the file cannot be read")
	}
	root := s.Docs[0].Root
	if len(root.Fields()) == 0 || root.Get("kind") != nil {
		return text, nil
	}
	start, _ := s.Docs[0].Offsets(root)
	kind := yamldoc.Field{Name: "kind", Value: edit.Scalar(metadata.Kind)}
	return edit.Insert(text, start, []string{"kind: " + metadata.Kind}, yamldoc.NewMap(slices.Insert(slices.Clone(root.Fields()), 0, kind)))
}

var _ = metadataRules.Add(lint.Rule{
	ID: "META007", Name: "contract-unsupported", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The version must implement a contract that clusterctl supports",
	Source: "clusterctl internal/contract/version.go, GetCompatibleVersions",
	Why:    "clusterctl refuses to install the version.",
	Fix:    "Correct the contract of the series, or implement a supported contract.",
	Check: func(p *lint.Pass) {
		_, s := p.Release.Series()
		if s == nil || slices.Contains(metadata.Compatible(), s.Contract) || !contractForm().MatchString(s.Contract) {
			return
		}
		p.Report(view.AtPos(p.File, s.ContractPos, fmt.Sprintf("version %s implements contract %s, but clusterctl supports only %s", p.Release.Version, s.Contract, strings.Join(metadata.Compatible(), " and "))))
	},
})

var _ = metadataRules.Add(lint.Rule{
	ID: "META008", Name: "series-twice", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "Every series must be listed once",
	Source: "clusterctl api/v1alpha3/metadata_type.go, GetReleaseSeriesForVersion",
	Why:    "clusterctl uses the first entry and ignores the contract of the others.",
	Fix:    "Remove the wrong entry.",
	Check:  seriesTwice,
})

func seriesTwice(p *lint.Pass) {
	m, _ := p.Release.Series()
	if m == nil {
		return
	}
	type key struct{ major, minor int32 }
	first := map[key]metadata.Series{}
	for _, s := range m.Series {
		k := key{s.Major, s.Minor}
		other, ok := first[k]
		if !ok {
			first[k] = s
			continue
		}
		f := view.AtPos(p.File, s.Pos, fmt.Sprintf("series %s is already listed on line %d", s, other.Pos.Line)).As(lint.Warning)
		if other.Contract != s.Contract {
			f.Severity = lint.Error
			f.Message += fmt.Sprintf(" with contract %s, so %s is ignored", other.Contract, s.Contract)
		}
		p.Report(f)
	}
}

// simulated are the versions of a provider as clusterctl lists them in a folder,
// with what it would fetch.
type simulated struct {
	releases []*lint.Release // oldest first
	byName   map[string]*lint.Release
}

// simulate is only possible if all versions are known.
func simulate(p *lint.Pass) (*simulated, bool) {
	if !p.Provider.Complete || len(p.Provider.Releases) == 0 {
		return nil, false
	}
	s := &simulated{byName: map[string]*lint.Release{}}
	for _, r := range p.Provider.Releases {
		if !r.Parsed.IsZero() {
			s.releases = append(s.releases, r)
			s.byName[r.Version] = r
		}
	}
	return s, len(s.releases) > 0
}

func (s *simulated) newest() *lint.Release { return s.releases[len(s.releases)-1] }

func (s *simulated) versions() []string {
	return phrase.List(s.releases, func(r *lint.Release) string { return r.Version })
}

// missingError is a file that "latest" needs.
type missingError struct{ version, file string }

func (e *missingError) Error() string { return e.version + "/" + e.file + " does not exist" }

// latest resolves "latest".
func (s *simulated) latest() (string, error) {
	return metadata.Latest(s.versions(), func(version string) ([]byte, error) {
		r := s.byName[version]
		if r == nil || r.Artifact(layouts.MetadataFile) == nil {
			return nil, &missingError{version, layouts.MetadataFile}
		}
		return r.Artifact(layouts.MetadataFile).Bytes()
	})
}

var _ = metadataRules.Add(lint.Rule{
	ID: "META009", Name: "earlier-series-missing", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The newest metadata must list the series of all earlier versions",
	Source: "clusterctl client/cluster/upgrader_info.go, getUpgradeInfo",
	Why:    `"clusterctl upgrade plan" fails for the whole management cluster, because it looks for the installed version in the metadata of the newest one.`,
	Fix:    "Keep an entry for every minor version that was ever released.",
	Scope:  lint.ScopeProvider, Check: func(p *lint.Pass) {
		s, ok := simulate(p)
		if !ok || s.newest().Metadata == nil || s.newest().MetadataErr != nil {
			return
		}
		newest := s.newest()
		missing := phrase.Only(s.releases, func(r *lint.Release) bool {
			return newest.Metadata.SeriesOf(r.Parsed.Major(), r.Parsed.Minor()) == nil && r.Parsed.Series() != newest.Parsed.Series()
		})
		for _, of := range phrase.Groups(missing, func(r *lint.Release) string { return r.Parsed.Series() }) {
			last := of[len(of)-1]
			p.Report(atSeries(newest.Metadata, "series %s is missing, so clusterctl upgrade plan fails for users of %s", last.Parsed.Series(), last.Version))
		}
	},
})

// deciding is the metadata that decides which series "latest" is looked for in:
// that of the newest release.
func (s *simulated) deciding() *metadata.Metadata {
	var newest *lint.Release
	for _, r := range s.releases {
		if newest == nil || r.Parsed.Prerelease() == "" || newest.Parsed.Prerelease() != "" {
			newest = r
		}
	}
	return newest.Metadata
}

var _ = metadataRules.Add(lint.Rule{
	ID: "META011", Name: "latest-is-prerelease", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "The newest series of the current contract should have a stable release",
	Source: "clusterctl client/repository/repository_versions.go, latestContractRelease",
	Why:    `Users who ask for "latest" get a pre-release although a stable version exists: clusterctl looks in the highest listed series of its contract.`,
	Fix:    "List a series in the metadata of a stable version only after its first stable release.",
	Scope:  lint.ScopeProvider, Check: func(p *lint.Pass) {
		s, ok := simulate(p)
		if !ok {
			return
		}
		latest, err := s.latest()
		m := s.deciding()
		if err != nil || m == nil || s.byName[latest] == nil || s.byName[latest].Parsed.Prerelease() == "" {
			return
		}
		for _, r := range slices.Backward(s.releases) {
			if r.Parsed.Prerelease() == "" {
				p.Report(atSeries(m, "\"latest\" is %s instead of %s, because series %s is listed but has no stable release", latest, r.Version, s.byName[latest].Parsed.Series()))
				return
			}
		}
	},
})

var _ = metadataRules.Add(lint.Rule{
	ID: "META012", Name: "latest-fails", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "The newest series of the current contract must have a release",
	Source: "clusterctl client/repository/repository_versions.go, latestContractRelease",
	Why:    `Users who ask for "latest" get an error: clusterctl looks in the highest listed series of its contract, which has no release.`,
	Fix:    "Remove series without a release from the metadata.",
	Scope:  lint.ScopeProvider, Check: func(p *lint.Pass) {
		s, ok := simulate(p)
		if !ok {
			return
		}
		_, err := s.latest()
		var missing *missingError
		m := s.deciding()
		if err == nil || errors.As(err, &missing) || m == nil {
			return // a missing file is another rule's matter
		}
		if series := m.NewestSeries(metadata.Contract); series != nil {
			p.Report(view.AtPos(&lint.File{Raw: m.File}, series.Pos, fmt.Sprintf("\"latest\" fails, because series %s is listed but has no release", series)).
				Perhaps("series of " + m.File.Name))
		}
	},
})

// contractRank orders contracts by age.
func contractRank(contract string) int {
	m := contractParts().FindStringSubmatch(contract)
	if m == nil {
		return -1
	}
	const stable, step = 2, 1000
	rank := map[string]int{"alpha": 0, "beta": 1, "": stable}[m[2]]
	number := func(s string) (n int) {
		_, _ = fmt.Sscan(s, &n)
		return min(n, step-1)
	}
	return (number(m[1])*(stable+1)+rank)*step + number(m[3])
}

var contractParts = phrase.Pattern(`^v(\d+)(?:(alpha|beta)(\d+))?$`)

var _ = metadataRules.Add(lint.Rule{
	ID: "META013", Name: "contract-order", Severity: lint.Warning, Proof: lint.Practice,
	Title:  "A later series should not have an earlier contract",
	Source: "provider contract, section Metadata YAML",
	Why:    "Upgrades to the later series return to an older contract, which clusterctl does not support. This is usually a copied line.",
	Fix:    "Correct the contract.",
	Check:  contractOrder,
})

func contractOrder(p *lint.Pass) {
	m, _ := p.Release.Series()
	if m == nil {
		return
	}
	sorted := slices.Clone(m.Series)
	slices.SortStableFunc(sorted, byNumber)
	var highest *metadata.Series
	for i := range sorted {
		s := &sorted[i]
		rank := contractRank(s.Contract)
		switch {
		case rank < 0, s.Major < 0, s.Minor < 0: // META004
		case highest == nil || rank >= contractRank(highest.Contract):
			highest = s
		default:
			p.Report(view.AtPos(p.File, s.ContractPos, fmt.Sprintf("series %s has contract %s, but the earlier series %s has %s", s, s.Contract, highest, highest.Contract)))
		}
	}
}

var _ = metadataRules.Add(lint.Rule{
	ID: "META014", Name: "metadata-documents", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "metadata.yaml must contain one document",
	Source: "clusterctl client/repository/metadata_client.go, Get",
	Why:    "clusterctl only reads the first document. It refuses the release if that is empty or another object, and ignores all others.",
	Fix:    "Remove the other documents.",
	Check:  metadataDocuments,
})

func metadataDocuments(p *lint.Pass) {
	if rule, _ := faultOf(p); rule == p.Rule.ID {
		first := firstDocument(p.File)
		if first == nil {
			p.Span(0, 0, "the first document is empty, but clusterctl reads no other")
			return
		}
		message := "the first document is not Metadata"
		if name := lint.ObjectName(first); name != "" {
			message += " but " + name
		}
		p.Node(first, nil, "%s; clusterctl reads no other", message)
		return
	}
	if docs := p.File.Docs().Docs; len(docs) > 1 {
		p.Report(lint.At(p.File, docs[1], nil, "clusterctl ignores this document, because it is not the first").As(lint.Warning))
	}
}

var _ = metadataRules.Add(lint.Rule{
	ID: "META015", Name: "metadata-variable", Severity: lint.Error, Proof: lint.Clusterctl,
	Title:  "metadata.yaml must not contain variables",
	Source: "clusterctl client/repository/metadata_client.go, Get",
	Why:    "clusterctl reads the expression literally, because it only replaces variables in components and templates.",
	Fix:    "Write the value instead of the variable.",
	Check:  metadataVariable,
})

func metadataVariable(p *lint.Pass) {
	d, entries := seriesNodes(p.File)
	if d == nil {
		return
	}
	own := ownEntry(p, entries)
	// Of several entries of a key, clusterctl reads the last.
	var report func(n *yamldoc.Node, severity lint.Severity)
	report = func(n *yamldoc.Node, severity lint.Severity) {
		if strings.Contains(n.Str(), "${") {
			p.Report(lint.At(p.File, d, n, "clusterctl does not replace %s in %s", n.Text(), layouts.MetadataFile).As(severity))
		}
		for i := range n.Fields() {
			if f := &n.Fields()[i]; n.Field(f.Name) == f {
				report(f.Value, severity)
			}
		}
		for _, item := range n.List() {
			report(item, severity)
		}
	}
	for i := range d.Root.Fields() {
		field := &d.Root.Fields()[i]
		if d.Root.Field(field.Name) != field {
			continue
		}
		switch field.Name {
		case "apiVersion", "kind":
			report(field.Value, lint.Error)
		case "releaseSeries":
			for _, e := range entries {
				severity := lint.Warning // only matters to who has that version
				if e == own || !e.Get("major").Is(yamldoc.Int) || !e.Get("minor").Is(yamldoc.Int) {
					severity = lint.Error
				}
				report(e, severity)
			}
		default:
			report(field.Value, lint.Warning) // clusterctl ignores it
		}
	}
}

// metadataFields are the keys that clusterctl reads, by the path to them.
var (
	metadataFields = []string{"apiVersion", "kind", "metadata", "releaseSeries"}
	seriesFields   = []string{"major", "minor", "contract"}
)

var _ = metadataRules.Add(lint.Rule{
	ID: "META016", Name: "metadata-keys", Severity: lint.Warning, Proof: lint.Clusterctl,
	Title:  "metadata.yaml should only have known keys, each once",
	Source: "clusterctl client/repository/metadata_client.go, Get",
	Why:    "clusterctl ignores unknown keys with their values, and uses only one of two equal keys.",
	Fix:    "Correct or remove the key. Keys are case-sensitive.",
	Check:  metadataKeys,
})

func metadataKeys(p *lint.Pass) {
	d, entries := seriesNodes(p.File)
	if d == nil || !d.Root.Is(yamldoc.Map) {
		return
	}
	check := func(n *yamldoc.Node, known []string) {
		for i := range n.Fields() {
			f := &n.Fields()[i]
			if slices.Contains(known, f.Name) || f.Name == "ReleaseSeries" && d.Root.Get("releaseSeries") == nil {
				continue // META003
			}
			finding := lint.At(p.File, d, f.Key(), "clusterctl ignores the unknown key %s%s", f.Name, phrase.DidYouMean(f.Name, known))
			if meant := phrase.Nearest(f.Name, known); meant != "" && n.Get(meant) == nil {
				finding = finding.Because(view.Key(p.File, n, meant))
			}
			p.Report(finding)
		}
		view.Repeated(n, func(first, again *yamldoc.Field) {
			p.Node(d, again.Key(),
				"the key %s is already on line %d; only the last one is used", again.Name, d.Pos(first.Key()).Line)
		})
	}
	check(d.Root, metadataFields)
	for _, e := range entries {
		check(e, seriesFields)
	}
}

// contractLabel is the label of a CRD before the name of the contract.
const contractLabel = "cluster.x-k8s.io/"

var _ = metadataRules.Add(lint.Rule{
	ID: "META017", Name: "contract-and-crds", Severity: lint.Error, Proof: lint.Contract,
	Title:  "CRDs must have the label of the contract in the metadata",
	Source: "clusterctl provider contract, section Metadata YAML",
	Why:    "Users can install the provider but not use it: clusterctl reads the contract from the metadata, and Cluster API from the labels of the CRDs, where it then finds no version or waits for other fields.",
	Fix:    "List the version of the CRDs in the label cluster.x-k8s.io/CONTRACT and in no other, or correct the contract of the series.",
	Scope:  lint.ScopeRelease, Check: contractAndCRDs,
})

func contractAndCRDs(p *lint.Pass) {
	_, own := p.Release.Series()
	if own == nil || !slices.Contains(metadata.Compatible(), own.Contract) {
		return // META007
	}
	for _, f := range p.Release.OfKind(layouts.Components) {
		var labelled *yamldoc.Document
		var label *yamldoc.Node
		found := map[string]bool{}
		view.Objects(f, func(d *yamldoc.Document) {
			if d.Root.Get("kind").Str() != "CustomResourceDefinition" {
				return
			}
			for _, l := range d.Root.Get("metadata", "labels").Fields() {
				if contract, ok := strings.CutPrefix(l.Name, contractLabel); ok &&
					contractForm().MatchString(contract) {
					found[contract] = true
					if labelled == nil {
						labelled, label = d, l.Key()
					}
				}
			}
		})
		if labelled == nil || found[own.Contract] {
			continue
		}
		contracts := slices.Sorted(maps.Keys(found))
		finding := lint.At(f, labelled, label,
			"the CRDs have labels for %s, but according to the metadata %s implements %s", strings.Join(contracts, ", "), p.Release.Version, own.Contract)
		// Cluster API falls back to older contracts that it knows (internal/contract/version.go,
		// GetLatestContractAndAPIVersionFromContract); an older one knows no newer contract.
		known := metadata.Compatible()
		for _, older := range known[slices.Index(known, own.Contract)+1:] {
			if found[older] {
				finding = finding.As(lint.Warning)
				finding.Message += "; Cluster API uses " + older + " as long as it knows that"
				break
			}
		}
		p.Report(finding.Because("contract of the CRDs"))
	}
}
