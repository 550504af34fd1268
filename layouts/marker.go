package layouts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnavailable is why a release cannot be had now, although it may exist.
var ErrUnavailable = errors.New("not available now")

// Marker asks for the newest version of a series of a Go module.
type Marker struct {
	Module string
	// Series is such as 1.12; Pre also takes pre-releases.
	Series string
	Pre    bool
}

// ParseMarker reads go://MODULE@v1.12 or go://MODULE@latest-v1.12.
func ParseMarker(text string) (Marker, error) {
	rest, ok := strings.CutPrefix(text, "go://")
	switch {
	case !ok:
		return Marker{}, fmt.Errorf("unknown release marker scheme: %q does not begin with go://", text)
	case rest == "":
		return Marker{}, errors.New("empty release url")
	}
	parts := strings.Split(rest, "@")
	if len(parts) < 2 {
		return Marker{}, errors.New("go module or version missing: write go://MODULE@v1.2")
	}
	series, pre := strings.CutPrefix(parts[1], "latest-")
	numbers := strings.Split(strings.TrimPrefix(strings.TrimSpace(series), "v")+".0", ".")
	v, err := ParseVersion(strings.Join(append(numbers, "0")[:max(3, len(numbers))], "."))
	if err != nil {
		return Marker{}, fmt.Errorf("parsing semver for %s: write a series such as v1.2", series)
	}
	return Marker{parts[0], v.Series(), pre}, nil
}

// Candidates are the versions that the framework tries for the marker, the best
// first. All pre-releases come before stable versions, as there.
func (m Marker) Candidates(versions []string) []string {
	const most = 5
	var found []Version
	for _, text := range versions {
		v, err := ParseVersion(text)
		if err == nil && v.Series() == m.Series && (m.Pre || v.Prerelease() == "") {
			found = append(found, v)
		}
	}
	slices.SortStableFunc(found, func(a, b Version) int {
		stable := func(v Version) int { return min(1, len(v.Prerelease())) }
		return cmp.Or(stable(b)-stable(a), b.Compare(a))
	})
	var out []string
	for _, v := range found[:min(most, len(found))] {
		out = append(out, "v"+strings.TrimPrefix(v.String(), "v"))
	}
	return out
}

// Page is where a release of the module has its files.
func (m Marker) Page(version string) string {
	at := m.Module
	for prefix, owner := range map[string]string{"k8s.io": "github.com/kubernetes", "sigs.k8s.io": "github.com/kubernetes-sigs"} {
		if rest, ok := strings.CutPrefix(m.Module, prefix); ok {
			at = owner + rest
		}
	}
	return "https://" + at + "/releases/download/" + version + "/" + MetadataFile
}
