package transform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clusterctl-repo/clusterctl-repo/layouts"
	"github.com/clusterctl-repo/clusterctl-repo/layouts/config"
)

// Versions are those of the providers of a tree, as tags: the configuration says
// which version a tag means.
type Versions struct {
	// All is that of the providers that Each does not name by their labels.
	All  string
	Each map[string]string
}

// ParseVersions reads versions as people write them: v1.2.3, and after a comma
// bootstrap-x=v0.5.0 for a provider with its own. The error is an *InputError.
func ParseVersions(text string) (v Versions, err error) {
	if text == "" {
		return v, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		label, tag, single := strings.Cut(part, "=")
		switch {
		case strings.TrimSpace(part) != part:
			// clusterctl reads it all the same, and would look for a folder of that name.
			return v, wrongf("the version %q begins or ends with a space", part)
		case single:
			v.set(label, tag)
		case v.All != "":
			return v, wrongf("%q names two versions for all providers; write LABEL=VERSION for single providers", text)
		case part == "":
			return v, wrongf("%q has an empty version", text)
		default:
			v.All = part
		}
	}
	return v, nil
}

func (v *Versions) set(label, tag string) {
	if v.Each == nil {
		v.Each = map[string]string{}
	}
	v.Each[label] = tag
}

func (v Versions) IsZero() bool { return v.All == "" && len(v.Each) == 0 }

// Of returns the version of a provider, "" if none is named.
func (v Versions) Of(label string) string {
	if tag, ok := v.Each[label]; ok {
		return tag
	}
	return v.All
}

// String returns the versions as ParseVersions reads them.
func (v Versions) String() string {
	var parts []string
	if v.All != "" {
		parts = append(parts, v.All)
	}
	for _, label := range slices.Sorted(maps.Keys(v.Each)) {
		parts = append(parts, label+"="+v.Each[label])
	}
	return strings.Join(parts, ",")
}

// release is the version of a release that a tag means.
func release(c *config.Config, tag string) (layouts.Version, error) {
	text, ok := c.Version.Of(tag)
	if !ok && c.Version.TagPattern != "" {
		return layouts.Version{}, c.Version.Errorf("tagPattern", "the version %q is not a release: it does not match tagPattern %q", tag, c.Version.TagPattern)
	}
	v, err := layouts.ParseVersion(text)
	if err == nil && !v.HasV() && c.Version.TagPattern == "" && c.Version.StripPrefix == "" {
		err = fmt.Errorf("the version %q lacks the leading v, so clusterctl would never treat it as the latest; did you mean v%[1]s? To release it anyway, set version.tagPattern in %s", tag, config.FileName)
	}
	return v, err
}
