package metadata

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/phrase"
	"github.com/clusterctl-repo/clusterctl-repo/repo/text/yamldoc"
)

// Contract is the contract version that clusterctl v1.14 prefers (clusterctl:
// internal/contract/version.go).
const Contract = "v1beta2"

// Compatible returns the contracts that clusterctl accepts, the preferred one
// first (clusterctl: internal/contract/version.go, GetCompatibleVersions).
func Compatible() []string { return []string{Contract, "v1beta1"} }

// Check finds out whether `clusterctl generate provider` accepts a version:
// whether its metadata can be read and lists it with a contract that clusterctl
// implements (clusterctl: client/generate_provider.go). Errors that the file is
// to blame for are a *doc.Error.
func Check(f *yamldoc.File, p layouts.Provider, v string) error {
	m, err := ReadValid(f, p.Label())
	if err != nil {
		return err
	}
	parsed, err := version.ParseSemantic(v)
	if err != nil {
		return err
	}
	s := m.SeriesOf(uint64(parsed.Major()), uint64(parsed.Minor()))
	if s == nil {
		return m.errorf(m.seriesPos,
			"invalid provider metadata: version %s for the provider %s does not match any release series", v, p.Name)
	}
	if !slices.Contains(Compatible(), s.Contract) {
		return &yamldoc.Error{File: f.Name, Pos: s.ContractPos, Err: fmt.Errorf("current version of clusterctl is only compatible with provider implementing %s contract versions, detected %s for provider %s", strings.Join(Compatible(), ", "), s.Contract, p.Name)}
	}
	return nil
}

// ErrNoRelease is what a fetch function returns for a version that exists as a
// tag only. A folder has no such versions.
var ErrNoRelease = errors.New("this version has no release")

// ErrNoVersion says that no version, or none of the series that counts, has a
// release. The words are clusterctl's.
var ErrNoVersion = errors.New("failed to find releases tagged with a valid semantic version number")

// window is how many versions clusterctl tries before it gives up.
const window = 5

// Latest returns the version that "latest" stands for: the newest release, or
// the newest one of the highest series with the current contract if the
// metadata of the newest release lists one (clusterctl:
// client/repository/repository_versions.go, latestContractRelease). A release
// comes before every pre-release.
//
// Versions that are not semantic versions are ignored. Fetch returns the
// metadata.yaml of a version, which is always asked for with a leading v; it is
// asked for few versions. ErrNoRelease makes Latest try the next one, any other
// error ends it and is returned as it is.
func Latest(versions []string, fetch func(version string) ([]byte, error)) (string, error) {
	all := phrase.Some(versions, func(v string) *version.Version {
		parsed, _ := version.ParseSemantic(v) // nil for another one
		return parsed
	})
	newest, data, err := newestRelease(all, fetch)
	if err != nil {
		return "", err
	}
	m, err := Read(yamldoc.NewFile(layouts.MetadataFile, data))
	if err != nil {
		return tag(newest), nil // clusterctl uses it all the same
	}
	s := m.NewestSeries(Contract)
	if s == nil || s.matches(newest) {
		return tag(newest), nil
	}
	newest, _, err = newestRelease(slices.DeleteFunc(all, func(v *version.Version) bool { return !s.matches(v) }), fetch)
	if err != nil {
		return "", err
	}
	return tag(newest), nil
}

func (s *Series) matches(v *version.Version) bool {
	return v.Major() <= math.MaxInt32 && v.Minor() <= math.MaxInt32 &&
		int32(v.Major()) == s.Major && int32(v.Minor()) == s.Minor
}

// tag spells a version as clusterctl asks for it.
func tag(v *version.Version) string { return "v" + v.String() }

func newestRelease(versions []*version.Version, fetch func(string) ([]byte, error)) (*version.Version, []byte, error) {
	versions = slices.Clone(versions)
	early := func(v *version.Version) int { return min(1, len(v.PreRelease())) }
	slices.SortStableFunc(versions, func(a, b *version.Version) int {
		return cmp.Or(early(a)-early(b), compare(b, a))
	})
	for _, v := range versions[:min(window, len(versions))] {
		data, err := fetch(tag(v))
		if errors.Is(err, ErrNoRelease) {
			continue
		}
		return v, data, err
	}
	return nil, nil, ErrNoVersion
}

func compare(a, b *version.Version) int {
	switch {
	case a.LessThan(b):
		return -1
	case b.LessThan(a):
		return 1
	}
	return 0
}
