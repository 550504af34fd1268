package config

import (
	"cmp"
	"regexp"
	"strings"
)

// defaultTagPattern leaves out the tags of nested Go modules (api/v1.2.3) and
// other tags that do not name releases.
const defaultTagPattern = `^v`

// Of returns the version that a git tag names; ok is false if the tag is none
// of a release. Decode refuses patterns that are not regular expressions.
func (v Version) Of(tag string) (version string, ok bool) {
	re := regexp.MustCompile(cmp.Or(v.TagPattern, defaultTagPattern))
	version = strings.TrimPrefix(tag, v.StripPrefix)
	return version, re.MatchString(tag) && version != ""
}
