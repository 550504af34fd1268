package layouts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Version is a release version: a git tag and a folder name.
type Version struct {
	raw string
	sem semver.Version
}

// ParseVersion accepts what clusterctl accepts as a release version
// (apimachinery's version.ParseSemantic): an optional lower-case v, exactly
// three numbers without leading zeros, an optional pre-release and build part.
func ParseVersion(s string) (Version, error) {
	// StrictNewVersion refuses missing parts, leading zeros and a leading v.
	// Blanks around a version pass, as they do there.
	sem, err := semver.StrictNewVersion(strings.TrimPrefix(strings.TrimRight(strings.TrimLeft(s, " \t\n\f\r"), " \t\f\r"), "v"))
	if err != nil {
		return Version{}, fmt.Errorf("version %q is not a semantic version as clusterctl needs it, for example v1.2.3 or v1.2.3-rc.0: %w", s, err)
	}
	return Version{s, *sem}, nil
}

func (v Version) String() string { return v.raw }

func (v Version) IsZero() bool { return v.raw == "" }

// Major and Minor identify the release series; both are 0 for the zero Version.
func (v Version) Major() uint64 { return v.sem.Major() }

func (v Version) Minor() uint64 { return v.sem.Minor() }

// Prerelease returns the part after the dash, without it.
func (v Version) Prerelease() string { return v.sem.Prerelease() }

// Build returns the part after the plus sign, without it.
func (v Version) Build() string { return v.sem.Metadata() }

// HasV reports whether the version is written with the leading v that
// clusterctl's resolution of "latest" insists on.
func (v Version) HasV() bool { return strings.HasPrefix(v.raw, "v") }

// Series returns "major.minor".
func (v Version) Series() string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }

// Compare orders versions by semantic version precedence; the zero Version is first.
func (v Version) Compare(w Version) int {
	if v.IsZero() || w.IsZero() {
		return cmp.Compare(len(v.raw), len(w.raw))
	}
	return v.sem.Compare(&w.sem)
}

// Tags reports whether a tag is that of an image of the version: its number, with
// or without the v, maybe with a suffix for the build. A pre-release is another
// version.
func (v Version) Tags(tag string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(tag, "v"), strings.TrimPrefix(v.raw, "v"))
	other, err := ParseVersion(tag)
	return ok && !v.IsZero() && (rest == "" || strings.ContainsAny(rest[:1], "-_") &&
		(err != nil || v.Prerelease() != "" || !slices.ContainsFunc(stages, func(s string) bool { return strings.HasPrefix(other.Prerelease(), s) })))
}

// stages are the words that a pre-release begins with.
var stages = []string{"alpha", "beta", "rc", "pre"}
