package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// The identity of metadata.yaml (clusterctl: api/v1alpha3).
const (
	APIVersion = "clusterctl.cluster.x-k8s.io/v1alpha3"
	Kind       = "Metadata"
)

// Metadata is the content of metadata.yaml.
type Metadata struct {
	File *yamldoc.File
	// APIVersion may be empty: Read accepts that, Validate does not.
	APIVersion string
	// Series are in the order of the file. They must not be changed.
	Series []Series

	first map[numbers]int // of equal entries of Series the first
	// versionPos and seriesPos are the places of apiVersion and releaseSeries, or
	// the beginning of the document.
	versionPos, seriesPos yamldoc.Pos
}

// Series is one entry of releaseSeries: all versions Major.Minor.x implement
// the contract.
type Series struct {
	Major, Minor int32
	Contract     string
	// Pos is where the entry begins, and ContractPos where its contract does;
	// zero if that is not known.
	Pos, ContractPos yamldoc.Pos
}

// String returns "major.minor".
func (s Series) String() string { return fmt.Sprintf("%d.%d", s.Major, s.Minor) }

// numbers are those of a version or a Series. Negative ones match no version.
type numbers struct{ major, minor int64 }

// Read decodes metadata.yaml (clusterctl: client/repository/metadata_client.go,
// the decoding in Get). Only the first document counts; a file that begins with
// a brace must be JSON; names of fields are case-sensitive; unknown ones are
// ignored; of two equal keys the last wins. The error is a *doc.Error.
func Read(f *yamldoc.File) (*Metadata, error) {
	root := outlineOf(f)
	m, err := decode([]byte(f.Data))
	if err != nil {
		return nil, root.locate(err)
	}
	m.File, m.first = f, map[numbers]int{}
	m.versionPos, m.seriesPos = root.pos("apiVersion"), root.pos("releaseSeries")
	entries := root.get("releaseSeries").List()
	for i := range m.Series {
		s := &m.Series[i]
		if len(entries) == len(m.Series) {
			s.Pos = root.doc.Pos(entries[i])
			s.ContractPos = s.Pos
			if c := entries[i].Get("contract"); c != nil {
				s.ContractPos = root.doc.Pos(c)
			}
		}
		key := numbers{int64(s.Major), int64(s.Minor)}
		if _, ok := m.first[key]; !ok {
			m.first[key] = i
		}
	}
	return m, nil
}

// Validate checks what clusterctl checks after decoding (clusterctl:
// client/repository/metadata_client.go, validateMetadata). Label names the
// provider in messages. The error is a *doc.Error.
func (m *Metadata) Validate(label string) error {
	if m.APIVersion != APIVersion {
		return m.errorf(m.versionPos, "invalid provider metadata: unexpected apiVersion %q for provider %s (expected %q)", m.APIVersion, label, APIVersion)
	}
	if len(m.Series) == 0 {
		return m.errorf(m.seriesPos, "invalid provider metadata: releaseSeries is empty in metadata.yaml for provider %s", label)
	}
	return nil
}

// ReadValid is Read with Validate, and with clusterctl's words around the
// errors.
func ReadValid(f *yamldoc.File, label string) (*Metadata, error) {
	m, err := Read(f)
	if err != nil {
		var at *yamldoc.Error
		if errors.As(err, &at) {
			err = &yamldoc.Error{File: at.File, Pos: at.Pos, Err: fmt.Errorf("error decoding %q for provider %q: %w", "metadata.yaml", label, at.Err)}
		}
		return nil, err
	}
	return m, m.Validate(label)
}

// SeriesOf returns the series of a version, or nil. Of two equal series the
// first counts (clusterctl: api/v1alpha3, GetReleaseSeriesForVersion).
func (m *Metadata) SeriesOf(major, minor uint64) *Series {
	if major > math.MaxInt32 || minor > math.MaxInt32 {
		return nil
	}
	if i, ok := m.first[numbers{int64(major), int64(minor)}]; ok {
		return &m.Series[i]
	}
	return nil
}

// ContractOf returns the contract of the series of a version, "" if there is none.
func (m *Metadata) ContractOf(version string) (string, error) {
	v, err := layouts.ParseVersion(version)
	if err != nil {
		return "", err
	}
	if s := m.SeriesOf(v.Major(), v.Minor()); s != nil {
		return s.Contract, nil
	}
	return "", nil
}

// NewestSeries returns the highest series that implements a contract, or any if that
// is empty; nil if there is none
// (clusterctl: api/v1alpha3, GetReleaseSeriesForContract).
func (m *Metadata) NewestSeries(contract string) *Series {
	var newest *Series
	for i := range m.Series {
		s := &m.Series[i]
		if (contract == "" || s.Contract == contract) && (newest == nil || !s.before(newest)) {
			newest = s
		}
	}
	return newest
}

// before compares as clusterctl does, which takes negative numbers for very
// large ones.
func (s *Series) before(t *Series) bool {
	if s.Major != t.Major {
		return uint64(s.Major) < uint64(t.Major)
	}
	return uint64(s.Minor) < uint64(t.Minor)
}

// outline is the first document with positions, for messages.
type outline struct {
	file *yamldoc.File
	doc  *yamldoc.Document // may be nil
}

func outlineOf(f *yamldoc.File) outline {
	if s := yamldoc.Parse(f); len(s.Docs) > 0 {
		return outline{f, s.Docs[0]}
	}
	return outline{f, nil}
}

func (o outline) get(field string) *yamldoc.Node {
	if o.doc == nil {
		return nil
	}
	return o.doc.Root.Get(field)
}

// pos is the place of a field, or the start of the document if it is missing.
func (o outline) pos(field string) yamldoc.Pos {
	if o.doc == nil {
		return yamldoc.Pos{}
	}
	return o.doc.Pos(o.get(field))
}

func (m *Metadata) errorf(at yamldoc.Pos, format string, args ...any) error {
	return &yamldoc.Error{File: m.File.Name, Pos: at, Err: fmt.Errorf(format, args...)}
}

// locate finds the place of a decoding error.
func (o outline) locate(err error) error {
	var at yamldoc.Pos
	var wrong *json.UnmarshalTypeError
	var identity *identityError
	switch {
	case o.doc == nil:
	case o.doc.Err != nil:
		at = o.doc.Err.Pos
	case errors.As(err, &identity):
		at = o.pos(identity.field)
	case errors.As(err, &wrong):
		at = o.doc.Pos(o.doc.Root.Misfit(wrong))
	default:
		at = o.doc.Pos(nil)
	}
	return &yamldoc.Error{File: o.file.Name, Pos: at, Err: err}
}
